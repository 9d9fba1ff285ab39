"""Where the tokens of a text come from: the input of everything else in this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton._core import Encoding
from jeton.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class TokenPlaces:
    """The tokens of one text; all arrays have shape (n_tokens,).

    Attributes:
        text: The text.
        starts_bytes: First byte of each token in the UTF-8 of the text.
        ends_bytes: One past its last byte; equal to the start for a token that covers nothing.
        word_ids: The word that each token belongs to, -1: none; None: not known.
        is_special: Tokens that were put around the text, and belong to none of it.
    """

    text: str
    starts_bytes: NDArray[np.int64]
    ends_bytes: NDArray[np.int64]
    word_ids: NDArray[np.int64] | None
    is_special: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts_bytes)


def token_places(encoding: Encoding, text: str) -> TokenPlaces:
    """The places of an encoding of this text.

    Raises:
        UsageError: the encoding is of a longer text.
    """
    return _checked(
        text,
        np.asarray(encoding.starts_bytes, np.int64),
        np.asarray(encoding.ends_bytes, np.int64),
        np.asarray(encoding.word_ids, np.int64),
        np.asarray(encoding.special_tokens_mask, np.bool_),
    )


def places_from_offsets(
    text: str,
    offsets: ArrayLike,
    *,
    unit: Literal["characters", "bytes"] = "characters",
    word_ids: Sequence[int | None] | NDArray[Any] | None = None,
    special_tokens_mask: ArrayLike | None = None,
) -> TokenPlaces:
    """The places that another library gives (``offset_mapping`` of ``transformers``).

    Args:
        text: The text.
        offsets: (n_tokens, 2): first and one past the last, of each token.
        unit: Unit of the offsets: code points or bytes of UTF-8.
        word_ids: (n_tokens,); None or -1: no word. Not given: word units cannot be made.
        special_tokens_mask: (n_tokens,). Not given: tokens without a word are special if word ids
            are given, and else those with the offsets (0, 0).

    Raises:
        UsageError: a shape is wrong, or a place is not in the text.
    """
    pairs = np.asarray(offsets)
    if pairs.size == 0:
        pairs = pairs.reshape(0, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or (len(pairs) and pairs.dtype.kind not in "iu"):
        raise UsageError(
            f"offsets have shape {pairs.shape} and type {pairs.dtype}; "
            "expected integers of shape (n_tokens, 2)"
        )
    pairs = pairs.astype(np.int64)
    n_tokens = len(pairs)
    if word_ids is None:
        words = None
        special = np.asarray(~pairs.any(axis=1))
    else:
        words = np.array([-1 if word is None else int(word) for word in word_ids], np.int64)
        special = words < 0
    if special_tokens_mask is not None:
        special = np.asarray(special_tokens_mask).astype(np.bool_)
    for name, values in (("word_ids", words), ("special_tokens_mask", special)):
        if values is not None and values.shape != (n_tokens,):
            raise UsageError(f"{name} has shape {values.shape}; expected ({n_tokens},)")
    if unit == "characters":
        _check_range(pairs[:, 0], pairs[:, 1], len(text), "code points")
        before = bytes_before(text)
        pairs = before[pairs]
    return _checked(text, pairs[:, 0].copy(), pairs[:, 1].copy(), words, special)


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, shape (n_characters,)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def bytes_before(text: str) -> NDArray[np.int64]:
    """Bytes of UTF-8 before each code point, and the length: shape (n_characters + 1,)."""
    points = code_points(text)
    lengths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _checked(
    text: str,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: NDArray[np.int64] | None,
    special: NDArray[np.bool_],
) -> TokenPlaces:
    _check_range(starts, ends, len(text.encode("utf-8", "surrogatepass")), "bytes")
    return TokenPlaces(text, starts, ends, words, special)


def _check_range(
    starts: NDArray[np.int64], ends: NDArray[np.int64], length: int, unit: str
) -> None:
    wrong = np.flatnonzero((starts < 0) | (ends < starts) | (ends > length))
    if len(wrong):
        at = int(wrong[0])
        raise UsageError(
            f"token {at} has the place {starts[at]} to {ends[at]}; "
            f"expected one in a text of {length} {unit}\n"
            "hint: give the text that was encoded"
        )
