"""Hard bounds of the number of tokens from a text's length alone, true for every input.

``docs/guides/prediction.md`` has the proof. A tokenizer's `CountLimits` are read once from its
canonical form; a bound is then a few integer operations, whatever the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from jeton.estimating.growth import Growth, Lengths, growth_of_steps, lengths_of_model
from jeton.registry import TokenizerLike, resolve
from jeton.registry.resolving import PerTokenizer

if TYPE_CHECKING:
    from jeton._core import Tokenizer


@dataclass(frozen=True, slots=True)
class TokenBounds:
    """Numbers of tokens that a text cannot be outside of.

    Attributes:
        lower_tokens: Fewest tokens that a text of this length can have.
        upper_tokens: Most tokens that a text of this length can have.
    """

    lower_tokens: int
    upper_tokens: int


@dataclass(frozen=True, slots=True)
class CountLimits:
    """Limits that a tokenizer's parts set to its counts.

    Attributes:
        longest_bytes: Bytes of the text that one token stands for at most; 0: any number, since
            text can be deleted, or one token can stand for any unknown text.
        longest_special_bytes: ``longest_bytes`` where special tokens in the text are allowed.
        ascii_longest_bytes: ``longest_bytes`` of a text of ASCII alone.
        ascii_longest_special_bytes: ``longest_special_bytes`` of a text of ASCII alone.
        growth: Tokens for each byte of the text at most.
        ascii_growth: ``growth`` of a text of ASCII alone.
        cuts: Times that tokens are looked for in any text and cut it into segments: in the text as
            it is, and in the normalized text.
        special_cuts: ``cuts`` where special tokens in the text are allowed.
        template_tokens: Special tokens that are added where they are asked for.
        template_texts: Times that the text itself stands in the template.
    """

    longest_bytes: int
    longest_special_bytes: int
    ascii_longest_bytes: int
    ascii_longest_special_bytes: int
    growth: Growth
    ascii_growth: Growth
    cuts: int
    special_cuts: int
    template_tokens: int
    template_texts: int


_known = PerTokenizer[CountLimits]()


def count_limits(tokenizer: Tokenizer) -> CountLimits:
    """Return the limits of a tokenizer's counts; the first call for it reads its whole form."""
    return _known.get(tokenizer, lambda: _limits(json.loads(tokenizer.to_canonical())))


def token_bounds(
    tokenizer: TokenizerLike,
    text: str | bytes | bytearray | memoryview,
    *,
    add_special_tokens: bool = False,
    allow_special: Iterable[str] | Literal["all"] | None = None,
) -> TokenBounds:
    """Return the fewest and the most tokens that any text of this length has.

    The bytes of ``bytes`` and of ASCII are counted; of any other ``str`` only its characters,
    which have one to four bytes each. So the call takes constant time, whatever the text.

    Args:
        tokenizer: The tokenizer, or its name or path.
        text: Text, or its UTF-8.
        add_special_tokens: True if special tokens around the text count, too.
        allow_special: Special tokens that are found in the text, as for ``encode``.
    """
    tokenizer = resolve(tokenizer)
    limits = count_limits(tokenizer)
    if isinstance(text, str):
        n_chars = len(text)
        is_ascii = text.isascii()
        # Any other text has a character of at least two bytes.
        fewest, most = (n_chars, n_chars) if is_ascii else (n_chars + 1, 4 * n_chars)
    else:
        is_ascii = False
        fewest = most = memoryview(text).nbytes
    return bounds_of_length(
        limits,
        fewest,
        most,
        is_ascii=is_ascii,
        add_special_tokens=add_special_tokens,
        special=allow_special is not None,
    )


def bounds_of_length(
    limits: CountLimits,
    fewest: int,
    most: int,
    *,
    is_ascii: bool = False,
    add_special_tokens: bool = False,
    special: bool = False,
) -> TokenBounds:
    """Return the bounds of any text that has between ``fewest`` and ``most`` bytes."""
    if is_ascii:
        growth = limits.ascii_growth
        longest = limits.ascii_longest_special_bytes if special else limits.ascii_longest_bytes
    else:
        growth = limits.growth
        longest = limits.longest_special_bytes if special else limits.longest_bytes
    lower = -(-fewest // longest) if longest else 0
    upper = most * growth.tokens // growth.bytes
    prefix = growth.prefix_tokens
    if prefix:
        cuts = limits.special_cuts if special else limits.cuts
        # A token of at least a byte ends a segment of at least a byte, which may get a prefix.
        n_segments = (most + 1) // 2 if cuts else 1
        upper += prefix * max(1, n_segments)
        if cuts > 1:
            upper += prefix * ((upper + 1) // 2)
    if add_special_tokens:
        lower = lower * limits.template_texts + limits.template_tokens
        upper = upper * limits.template_texts + limits.template_tokens
    return TokenBounds(lower, upper)


def _limits(form: dict[str, Any]) -> CountLimits:
    """Limits of a canonical form."""
    model = form["model"]
    added = form["added_tokens"]
    always = [token for token in added if not token["special"]]
    lengths = lengths_of_model(model)
    steps = [*form["normalizer"], *form["pretokenizer"]]
    growth = growth_of_steps(steps, model, lengths, is_ascii=False)
    ascii_growth = growth_of_steps(steps, model, lengths, is_ascii=True)
    template = form["template"]["single"]
    return CountLimits(
        longest_bytes=_longest(lengths, growth, always),
        longest_special_bytes=_longest(lengths, growth, added),
        ascii_longest_bytes=_longest(lengths, ascii_growth, always),
        ascii_longest_special_bytes=_longest(lengths, ascii_growth, added),
        growth=growth,
        ascii_growth=ascii_growth,
        cuts=_cuts(always),
        special_cuts=_cuts(added),
        template_tokens=sum("token" in item for item in template),
        template_texts=sum("text" in item for item in template),
    )


def _cuts(added: list[dict[str, Any]]) -> int:
    """Times that tokens are looked for."""
    if any(token["normalized"] for token in added):
        return 2
    return 1 if added else 0


def _longest(lengths: Lengths, growth: Growth, added: list[dict[str, Any]]) -> int:
    """Bytes of the text that one token stands for at most; 0: any number."""
    if not lengths.longest_bytes or not growth.shrink:
        return 0
    if any(token["lstrip"] or token["rstrip"] for token in added):
        return 0
    # A token that is found in normalized text is normalized itself, and may have grown.
    times, prefix = -(-growth.tokens // growth.bytes), growth.prefix_tokens
    contents = [
        len(token["content"].encode()) * (times if token["normalized"] else 1)
        + (prefix if token["normalized"] else 0)
        for token in added
    ]
    return growth.shrink * max([lengths.longest_bytes, *contents])
