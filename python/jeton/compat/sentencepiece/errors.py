"""Errors that are both Jeton's and of the built-in class that sentencepiece 0.2.3 raises."""

from __future__ import annotations

from jeton.errors import (
    FormatError,
    InvalidTextError,
    TrainingError,
    UnknownTokenIdError,
    UsageError,
)

__all__ = [
    "MessageError",
    "ModelFormatError",
    "ModelNotFoundError",
    "ModelTrainingError",
    "NotLoadedError",
    "PieceIdError",
    "ProtoOptionError",
    "SurrogateTextError",
    "UndefinedPieceError",
    "UnsupportedError",
]


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
