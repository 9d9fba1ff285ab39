"""Fields that requests share: one text, several, or a chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from jeton.errors import UsageError

Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
"""A number of tokens or texts."""

Id = Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)]
"""An id of a token."""


class TextRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One text or several, and the tokenizer.

    Attributes:
        text: One text.
        texts: Several texts; the answer has a list.
        tokenizer: Name of the tokenizer; the service's first one by default.
    """

    text: str | None = None
    texts: list[str] | None = None
    tokenizer: str | None = None


def is_single(request: TextRequest) -> bool:
    """True if a request has one text.

    Raises:
        UsageError: It has both ``text`` and ``texts``, or neither.
    """
    if (request.text is None) == (request.texts is None):
        raise UsageError("give text or texts, and not both\nhint: {'text': '...'}")
    return request.text is not None


def batch_of(request: Any) -> Sequence[str]:
    """Return the texts of a request as a batch."""
    return [request.text] if is_single(request) else request.texts or []
