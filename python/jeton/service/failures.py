"""Failures as HTTP has them: a status, a stable type, words, and a hint."""

from __future__ import annotations

import logging
import re
import traceback
from dataclasses import dataclass, field, replace
from typing import Any

from jeton.errors import CatalogError, JetonError, LimitError, MissingExtraError, TemplateLimitError

_STATUS_OF: tuple[tuple[type[Exception], int], ...] = (
    (CatalogError, 404),
    (LimitError, 413),
    (MissingExtraError, 501),
    (TemplateLimitError, 422),
    (JetonError, 400),
)
_FIELDS = ("name", "nearest", "byte_offset", "id", "vocab_size", "limit", "line", "reason")


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """A failure before it has one server's shape.

    Attributes:
        status: HTTP status.
        type: Stable name, in words joined by underscores.
        message: Words, without a client's text.
        hint: Remedy; empty: none is known.
        fields: Values for programs.
        retry_seconds: Time after which another try makes sense; None: it makes none.
    """

    status: int
    type: str
    message: str
    hint: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    retry_seconds: int | None = None

    def with_hint(self, hint: str) -> HttpFailure:
        """Return the failure with another hint."""
        return replace(self, hint=hint)


COMPRESSED = HttpFailure(
    415,
    "compressed",
    "the body is compressed, and this service unpacks nothing",
    "send it without compression (no Content-Encoding, an Arrow stream without codec)",
)
"""A body that would grow behind the gate: refused, because limits count the bytes that come."""


class ServiceFailure(Exception):
    """Raised by routes: the failure that the client is to see."""

    def __init__(self, failure: HttpFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException) -> HttpFailure | None:
    """Return the failure that an error of ours is; None: it is a fault of the service."""
    if isinstance(error, ServiceFailure):
        return error.failure
    if not isinstance(error, JetonError):
        return None
    status = next(status for kind, status in _STATUS_OF if isinstance(error, kind))
    message, _, hint = str(error).partition("\nhint: ")
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name in _FIELDS
        if isinstance(value := getattr(error, name, None), str | int | tuple)
    }
    return HttpFailure(status, _type_of(error), message, hint, fields)


def _type_of(error: BaseException) -> str:
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def own_shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as the own routes do."""
    error: dict[str, Any] = {"type": failure.type, "message": failure.message}
    if failure.hint:
        error["hint"] = failure.hint
    error["fields"] = failure.fields
    return {"error": error}


# The service's log: faults by their place, never by their words, which may quote a text.

LOGGER = logging.getLogger("jeton.service")


def log_fault(error: BaseException, where: str) -> None:
    """Log the place of an unexpected error; its message is left out."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    lines = " < ".join(f"{place.filename}:{place.lineno}" for place in reversed(places))
    LOGGER.error("%s failed: %s at %s", where, type(error).__name__, lines)
