"""Errors that are both Jeton's and of the built-in class that minbpe raises."""

from __future__ import annotations

from jeton.errors import EncodeError, FormatError, TrainingError, UsageError

__all__ = [
    "DisallowedSpecialTokenError",
    "ModelFileError",
    "NotSavedError",
    "VocabularySizeError",
]


class DisallowedSpecialTokenError(EncodeError, AssertionError):
    """A text spells a special token, and ``allowed_special`` is ``"none_raise"``."""

    def __init__(self, message: str, *, token: str | None = None) -> None:
        super().__init__(message)
        self.token = token


class ModelFileError(FormatError, AssertionError):
    """A file is not a model of minbpe's."""


class NotSavedError(UsageError, NotImplementedError):
    """GPT-4's tokenizer is not trained, saved or loaded here."""


class VocabularySizeError(TrainingError, AssertionError):
    """A vocabulary smaller than the 256 bytes."""
