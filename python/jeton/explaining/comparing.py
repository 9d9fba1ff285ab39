"""Two tokenizers on the same texts: which texts do they treat differently?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import TokenBatch, Tokenizer
from jeton.errors import EncodeError, InvalidTextError, UnknownTokenIdError
from jeton.explaining.result import By, Cut


def cut(tokenizer: Tokenizer, text: str, *, special: bool) -> Cut:
    """Cut a text with a tokenizer; ``special``: special tokens are added and allowed.

    Raises:
        InvalidTextError: The given text is no text, which is the caller's fault alone.
    """
    try:
        ids = tokenizer.encode(
            text, add_special_tokens=special, allow_special="all" if special else None
        )
    except InvalidTextError:
        raise
    except EncodeError as error:
        return Cut(ids=(), tokens=(), special=(), error=str(error).split("\n", 1)[0])
    added = {token.id for token in tokenizer.added_tokens}
    return Cut(
        ids=tuple(ids),
        tokens=tuple(tokenizer.id_to_bytes(token_id) for token_id in ids),
        special=tuple(token_id in added for token_id in ids),
    )


def same_cut(a: Cut, b: Cut, *, by: By) -> bool:
    """True if two cuts are alike. Two failures are: neither gives ids."""
    if a.error is not None or b.error is not None:
        return (a.error is None) == (b.error is None)
    return a.ids == b.ids if by == "ids" else a.tokens == b.tokens


class Pair:
    """Two tokenizers and what it means that they differ."""

    def __init__(self, a: Tokenizer, b: Tokenizer, *, by: By, special: bool) -> None:
        self.a = a
        self.b = b
        self.by: By = by
        self.special = special
        self._numbers = _common_numbers(a, b) if by == "bytes" else None

    def differing(self, texts: Sequence[str]) -> list[int]:
        """Places of the texts that the two treat differently, ascending."""
        try:
            a, b = self._encode(self.a, texts), self._encode(self.b, texts)
        except EncodeError:
            # Some text has no ids; only one by one does it show which.
            return [index for index, text in enumerate(texts) if self._differs(text)]
        a_ids, b_ids = np.asarray(a.ids), np.asarray(b.ids)
        if self._numbers is not None:
            a_ids, b_ids = self._numbers[0][a_ids], self._numbers[1][b_ids]
        a_ends, b_ends = np.asarray(a.offsets), np.asarray(b.offsets)
        if np.array_equal(a_ends, b_ends) and np.array_equal(a_ids, b_ids):
            return []
        return [
            index
            for index in range(len(texts))
            if not np.array_equal(
                a_ids[a_ends[index] : a_ends[index + 1]], b_ids[b_ends[index] : b_ends[index + 1]]
            )
        ]

    def _encode(self, tokenizer: Tokenizer, texts: Sequence[str]) -> TokenBatch:
        return tokenizer.encode_batch(
            texts,
            add_special_tokens=self.special,
            allow_special="all" if self.special else None,
        )

    def _differs(self, text: str) -> bool:
        a = cut(self.a, text, special=self.special)
        b = cut(self.b, text, special=self.special)
        return not same_cut(a, b, by=self.by)


def _common_numbers(a: Tokenizer, b: Tokenizer) -> tuple[NDArray[Any], NDArray[Any]]:
    """Number token bytes, the same bytes alike in both: id -> number, uint32 (vocab_size,)."""
    numbers: dict[bytes, int] = {}
    found = []
    for tokenizer in (a, b):
        table = np.zeros(tokenizer.vocab_size, dtype=np.uint32)
        for token_id in range(tokenizer.vocab_size):
            try:
                token = tokenizer.id_to_bytes(token_id)
            except UnknownTokenIdError:  # a hole, which no text is encoded to
                continue
            table[token_id] = numbers.setdefault(token, len(numbers))
        found.append(table)
    return found[0], found[1]
