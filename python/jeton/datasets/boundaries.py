"""Tokens at the two ends of a document: once each, whoever asked for them.

A tokenizer's own template may put special tokens around a text already. So what is asked for is
added only where the template has not got it, and the result is one template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.datasets.options import DatasetOptions

BOS_NAMES = (
    "<s>",
    "<|begin_of_text|>",
    "<bos>",
    "<|startoftext|>",
    "<｜begin▁of▁sentence｜>",  # noqa: RUF001 - the token's own characters
    "[BOS]",
    "<|bos|>",
    "[CLS]",
)
"""Beginning tokens of published vocabularies, in order of preference."""

EOS_NAMES = ("</s>", "<|endoftext|>", "<|end_of_text|>", "<eos>", "[EOS]", "<|eos|>", "[SEP]")
"""End tokens of published vocabularies, for a tokenizer that names none itself."""

PROBE = "a b"
"""A text on which the template shows."""


@dataclass(frozen=True, slots=True)
class BoundaryTokens:
    """The special tokens around each document.

    Attributes:
        before: Ids in front of a document.
        behind: Ids behind a document.
        bos_id: The beginning token among them; None where documents have none.
        eos_id: The end token among them; None where documents have none.
    """

    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    bos_id: int | None = None
    eos_id: int | None = None

    @property
    def n_tokens(self) -> int:
        """Special tokens of a document."""
        return len(self.before) + len(self.behind)

    def frame(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return the tokenizer whose template puts just these tokens around a text.

        Text never becomes one of them, nor any other control token: whoever wrote a document
        cannot end it.
        """
        guarded = self.guard(tokenizer)
        if _template(tokenizer) == (self.before, self.behind):
            # Another one would begin with an empty cache.
            return guarded
        names = [
            [tokenizer.id_to_token(i) or "" for i in ids] for ids in (self.before, self.behind)
        ]
        return guarded.with_template([*names[0], "$A", *names[1]])

    def guard(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return the tokenizer, but text never becomes a control token."""
        ids = (i for i in (*self.before, *self.behind) if 0 <= i < tokenizer.vocab_size)
        names = {tokenizer.id_to_token(i) or "" for i in ids} - {""}
        return tokenizer.guarded(control_tokens=sorted(names))


def find_boundaries(tokenizer: Tokenizer, options: DatasetOptions) -> BoundaryTokens:
    """Return the tokens that go around each document.

    Raises:
        UsageError: A token was asked for that the tokenizer does not have.
    """
    before, behind = _template(tokenizer) if options.use_template else ((), ())
    bos_id = _named(tokenizer, options.bos_token, "--bos-token") if options.bos_token else None
    eos_id = _named(tokenizer, options.eos_token, "--eos-token") if options.eos_token else None
    if options.prepend_bos:
        if bos_id is None:
            bos_id = before[0] if before else _beginning(tokenizer)
        if bos_id not in before:
            before = (bos_id, *before)
    if options.append_eos:
        if eos_id is None:
            eos_id = _end(tokenizer, behind)
        if eos_id not in behind:
            behind = (*behind, eos_id)
    return BoundaryTokens(
        before=before,
        behind=behind,
        bos_id=before[0] if before else None,
        eos_id=behind[-1] if behind else None,
    )


def _template(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that the tokenizer's own template puts before and behind a text."""
    plain = tokenizer.encode(PROBE)
    framed = tokenizer.encode(PROBE, add_special_tokens=True)
    for start in range(len(framed) - len(plain) + 1):
        end = start + len(plain)
        if framed[start:end] == plain:
            return tuple(framed[:start]), tuple(framed[end:])
    raise UsageError(
        "the tokenizer's template changes the text itself, so that no token can be put around it\n"
        "hint: --no-template leaves the template out"
    )


def _named(tokenizer: Tokenizer, text: str, option: str) -> int:
    number = tokenizer.token_to_id(text)
    if number is None:
        special = ", ".join(list(tokenizer.special_tokens)[:8])
        raise UsageError(
            f"{option} {text!r}: the tokenizer has no such token\n"
            f"hint: its special tokens are {special or 'none'}"
        )
    return number


def _beginning(tokenizer: Tokenizer) -> int:
    for name in BOS_NAMES:
        number = tokenizer.special_tokens.get(name)
        if number is not None:
            return number
    raise _missing(tokenizer, "beginning", "--prepend-bos", "--bos-token")


def _end(tokenizer: Tokenizer, behind: tuple[int, ...]) -> int:
    own = tokenizer.end_token_ids
    # The template's own last token is an end of text, where the tokenizer names no other.
    for number in (*own, *reversed(behind)):
        if number in behind:
            return number
    if own:
        return own[0]
    for name in EOS_NAMES:
        found = tokenizer.special_tokens.get(name)
        if found is not None:
            return found
    raise _missing(tokenizer, "end", "--append-eos", "--eos-token")


def _missing(tokenizer: Tokenizer, what: str, option: str, other: str) -> UsageError:
    special = ", ".join(list(tokenizer.special_tokens)[:8])
    return UsageError(
        f"{option}: the tokenizer {tokenizer.name or ''} has no {what} token that is known as one\n"
        f"hint: name one with {other}; its special tokens are {special or 'none'}"
    )
