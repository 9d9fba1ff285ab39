"""Errors that are both Jeton's and of the built-in class that tiktoken 0.14.0 raises."""

from __future__ import annotations

from typing import Any

from jeton.errors import DecodeError, EncodeError, UsageError, VocabularyError


class DisallowedSpecialTokenError(EncodeError):
    """A text spells a special token that is not allowed there. ``.token``: which one."""

    def __init__(self, token: str) -> None:
        super().__init__(
            f"the text spells the special token {token!r}, which is disallowed\n"
            f"hint: allowed_special={{{token!r}}} makes it that token, disallowed_special=() "
            "ordinary text"
        )
        self.token = token

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.token,)


class IdRangeError(DecodeError, OverflowError):
    """An id is negative, or needs more than 32 bits."""


class NotAnIdError(UsageError, AssertionError, TypeError):
    """Value in the place of an id that is no integer."""


class NotATokenError(EncodeError, KeyError):
    """Text or bytes that are no token."""

    # KeyError would show the message in quotation marks.
    __str__ = Exception.__str__


class UnknownEncodingError(UsageError):
    """No encoding has this name."""


class UnmappedModelError(UsageError, KeyError):
    """It is not known which encoding a model uses."""

    __str__ = Exception.__str__


class VocabularySizeError(VocabularyError, AssertionError):
    """A vocabulary does not have the size that it should have."""


class VocabularyTypeError(VocabularyError, TypeError):
    """A vocabulary does not map bytes, or text, to whole numbers."""
