"""Requests measured: the integers of each, from its text and its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton.corpus.languages import language_class
from jeton.watch.signals import SIGNALS

# Default_Ignorable_Code_Point of Unicode, with the blocks that it fills.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)

_SCRIPT_CHARS: Final = 512
"""Characters read to tell the script: enough for a label."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Integers of one request; None: not known.

    Attributes:
        n_tokens: Tokens sent, overhead of a chat format included.
        n_bytes: UTF-8 bytes of the text; None without text.
        n_chars: Code points.
        n_single_byte: Tokens of one byte.
        n_unknown: Unknown tokens.
        n_special_hits: Special tokens that the text spells.
        n_invisible: Characters that nobody sees.
        n_padding: Tokens of padding beside ``n_tokens``.
        n_estimated: Tokens that were estimated before the request was counted.
        n_billed: Tokens that the service or the provider counted.
        script: Language or script of the text; empty without text.
    """

    n_tokens: int
    n_bytes: int | None = None
    n_chars: int | None = None
    n_single_byte: int | None = None
    n_unknown: int | None = None
    n_special_hits: int | None = None
    n_invisible: int | None = None
    n_padding: int | None = None
    n_estimated: int | None = None
    n_billed: int | None = None
    script: str = ""

    def levels(self) -> dict[str, int]:
        """Levels of the signals that the request has."""
        n, values = self.n_tokens, {"tokens_per_request": float(self.n_tokens)}
        if self.n_bytes:
            values["tokens_per_byte"] = n / self.n_bytes
        for name, part, whole in (
            ("single_byte_share", self.n_single_byte, n),
            ("unknown_share", self.n_unknown, n),
            ("invisible_share", self.n_invisible, self.n_chars or 0),
            ("padding_share", self.n_padding, n + (self.n_padding or 0)),
        ):
            if part is not None and whole:
                values[name] = part / whole
        if self.n_special_hits is not None:
            values["special_hit_share"] = float(self.n_special_hits > 0)
        counted = self.n_billed or n
        if self.n_estimated and counted:
            values["estimate_ratio"] = self.n_estimated / counted
        found = {}
        for name, value in values.items():
            level = SIGNALS[name].level(value)
            if level is not None:
                found[name] = level
        return found


class Measurer:
    """Measures texts under one tokenizer.

    Args:
        tokenizer: The tokenizer in use.

    Example:
        >>> import jeton
        >>> found = Measurer(jeton.load("jeton-general-32k")).measure(["It is late."])
        >>> next(found).n_chars
        11
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._is_single = np.zeros(tokenizer.vocab_size, dtype=bool)
        for id_ in _single_byte_ids(tokenizer):
            self._is_single[id_] = True
        names = sorted((name for name in tokenizer.special_tokens if name), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, names))) if names else None

    def measure(
        self, texts: Sequence[str], *, overheads: Sequence[int] | None = None
    ) -> Iterator[RequestCounts]:
        """Yield the integers of each text; ``overheads`` are tokens that a chat format adds."""
        batch = TextBatch.from_texts(texts)
        tokens = self.tokenizer.encode_batch(batch)
        ids, sizes = tokens.ids, np.diff(batch.offsets)
        unknown = self.tokenizer.unknown_id
        single = np.concatenate([[0], np.cumsum(self._is_single[ids])])
        strange = np.concatenate([[0], np.cumsum(ids == unknown)]) if unknown is not None else None
        for i, (first, last) in enumerate(pairwise(tokens.offsets.tolist())):
            text = texts[i]
            hits = 0 if self._special is None else sum(1 for _ in self._special.finditer(text))
            yield RequestCounts(
                n_tokens=last - first + (overheads[i] if overheads is not None else 0),
                n_bytes=int(sizes[i]),
                n_chars=len(text),
                n_single_byte=int(single[last] - single[first]),
                n_unknown=0 if strange is None else int(strange[last] - strange[first]),
                n_special_hits=hits,
                n_invisible=0 if text.isascii() else len(_INVISIBLE.findall(text)),
                script=language_class(text[:_SCRIPT_CHARS].lower()),
            )


def _single_byte_ids(tokenizer: Tokenizer) -> Iterator[int]:
    for id_ in range(tokenizer.vocab_size):
        try:
            if len(tokenizer.id_to_bytes(id_)) == 1:
                yield id_
        except LookupError:
            continue  # a row without a token
