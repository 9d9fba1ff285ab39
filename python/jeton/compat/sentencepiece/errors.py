"""Errors that are both Jeton's and of the built-in class that sentencepiece 0.2.3 raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jeton.errors import (
    FormatError,
    InvalidTextError,
    TrainingError,
    UnknownTokenIdError,
    UsageError,
)


class MessageError(FormatError):
    """Bytes that are no message of the kind."""


class ModelFormatError(FormatError, RuntimeError):
    """A model that cannot be loaded."""


class ModelNotFoundError(FileNotFoundError, RuntimeError):
    """The file of a model cannot be read."""


class ModelTrainingError(TrainingError, RuntimeError):
    """Training that cannot succeed: no text, a vocabulary that the text is not enough for ..."""


class NotLoadedError(UsageError, RuntimeError):
    """A processor that has no model yet."""


class PieceIdError(UnknownTokenIdError, IndexError):
    """An id that the model does not have."""


class ProtoOptionError(UsageError, RuntimeError):
    """An option that the result asked for, or this kind of model, does not take."""


class SurrogateTextError(InvalidTextError, RuntimeError, TypeError):
    """A text with half a surrogate pair."""


class UndefinedPieceError(UsageError):
    """The model has no piece for the beginning or the end of a text, or none for the unknown."""


class UnsupportedError(UsageError, NotImplementedError):
    """Feature that only sentencepiece itself has."""


# Values that Python gives as texts, pieces and ids, checked as sentencepiece 0.2.3 does.

# Ids are 32-bit integers there; larger ones of arrays are out of range like these.
_MAX_INT = 2**31 - 1


def is_sequence(value: object) -> bool:
    """True if a value has a length and is no text."""
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def as_bytes(text: object, *, what: str = "input") -> bytes:
    """A text as UTF-8, or the bytes that were given."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"{what} must be str or bytes, not {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SurrogateTextError(
            f"{what} has half a surrogate pair at {error.start}, which is no Unicode text"
        ) from None


def as_texts(texts: object) -> list[bytes]:
    """Texts or pieces as UTF-8."""
    if not is_sequence(texts) or isinstance(texts, (dict, set, frozenset)):
        raise TypeError(f"expected a sequence of str or bytes, not {type(texts).__name__}")
    sequence: Any = texts
    elements = _items(sequence)
    return [
        bytes(one) if isinstance(one, bytearray) else as_bytes(one, what="an element")
        for one in elements
    ]


def as_ids(ids: Any) -> list[int]:
    """Ids of a sequence or an array of integers with one dimension."""
    if isinstance(ids, (np.ndarray, memoryview)):
        array = np.asarray(ids)
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise TypeError(
                f"ids must be integers in one dimension, not {array.dtype} in {array.ndim}"
            )
        return [min(max(int(number), -1), _MAX_INT) for number in array.tolist()]
    if isinstance(ids, (str, bytes, dict)) or not hasattr(ids, "__len__"):
        raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")
    return [as_int(number) for number in _items(ids)]


def as_int(number: Any) -> int:
    """An integer of 32 bits."""
    try:
        value = number.__index__()
    except AttributeError:
        raise TypeError(f"an id must be an integer, not {number!r}") from None
    if not -_MAX_INT - 1 <= value <= _MAX_INT:
        raise TypeError(f"an id must have 32 bits, which {value} has not")
    return int(value)


def _items(sequence: Sequence[Any]) -> list[Any]:
    return [sequence[place] for place in range(len(sequence))]
