"""Names that a record's fields have in the logs of the field, and which of them a record has.

A log has few kinds of records and many of each. So the names that matter are looked up once for
each set of names, not for each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from jeton.corpus.requests.usage import USAGE_MARKS, USAGE_NAMES, USAGE_PLACES

__all__ = ["NO_FIELDS", "FieldNames", "Fields", "fields_of", "known_columns"]

PROMPT_FIELDS: Final = ("prompt", "input", "query", "question", "text", "instruction", "inputs")
"""Plain records: where what was sent is looked for, in this order."""

RESPONSE_FIELDS: Final = (
    "response", "completion", "output", "answer", "generated_text", "generation", "reply",
    "response_text", "output_text",
)  # fmt: skip
"""Plain records: where what came back is looked for, in this order."""

TIME_FIELDS: Final = (
    "timestamp", "time", "ts", "created_at", "createdAt", "created", "start_time", "startTime",
    "request_time", "requestTimestamp", "datetime", "date", "@timestamp", "TIMESTAMP",
)  # fmt: skip
"""Where the time is looked for, in this order: of the record, then of the response."""

MODEL_FIELDS: Final = ("model", "model_name", "modelName", "model_id", "modelId", "modelVersion")
ID_FIELDS: Final = ("id", "request_id", "requestId", "responseId", "custom_id")
STATUS_FIELDS: Final = ("status_code", "statusCode", "status", "http_status")
REQUEST_PLACES: Final = ("request", "body", "params", "request_body", "requestBody", "kwargs")
RESPONSE_PLACES: Final = ("response", "result", "response_body", "responseBody")
ANSWER_FIELDS: Final = (
    "candidates", "output", "content", "message", "text", "completion", "generation",
)  # fmt: skip
"""Where a response object has its text, if it has no ``choices``."""

WRAPPING_FIELDS: Final = ("body", "message", "data", "response")
_OTHER_FIELDS: Final = (
    "messages", "contents", "conversations", "system", "instructions", "tools", "functions",
    "systemInstruction", "system_instruction", "choices", "object", "type", "attributes", "name",
    "events", "error", "resource", "context", "trace_id", "traceId", "span_id", "spanId",
    "startTimeUnixNano", "start_time_unix_nano", "metadata", "anthropic_version", "stop_reason",
    "stopReason", "usage",
)  # fmt: skip
"""What else is looked at in a record."""

_ALL_NAMES: Final = frozenset(
    (
        *PROMPT_FIELDS, *RESPONSE_FIELDS, *TIME_FIELDS, *MODEL_FIELDS, *ID_FIELDS, *STATUS_FIELDS,
        *REQUEST_PLACES, *RESPONSE_PLACES, *ANSWER_FIELDS, *WRAPPING_FIELDS, *_OTHER_FIELDS,
        *USAGE_NAMES,
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Fields that the user names, with dots descending; empty: found by their usual names."""

    prompt: str = ""
    response: str = ""
    model: str = ""
    time: str = ""
    domain: str = ""


class Fields(NamedTuple):
    """Which of the known names a mapping has; each list in the order in which it is looked up.

    Attributes:
        has: All of them.
        prompt: Of ``PROMPT_FIELDS``.
        response: Of ``RESPONSE_FIELDS``.
        time: Of ``TIME_FIELDS``.
        model: Of ``MODEL_FIELDS``.
        id: Of ``ID_FIELDS``.
        status: Of ``STATUS_FIELDS``.
        request_places: Of ``REQUEST_PLACES``.
        response_places: Of ``RESPONSE_PLACES``.
        answer: Of ``ANSWER_FIELDS``.
        wrapping: Of ``WRAPPING_FIELDS``.
        usage: Of the places of a usage.
        is_usage: Whether token counts are among the fields themselves.
    """

    has: frozenset[str]
    prompt: tuple[str, ...]
    response: tuple[str, ...]
    time: tuple[str, ...]
    model: tuple[str, ...]
    id: tuple[str, ...]
    status: tuple[str, ...]
    request_places: tuple[str, ...]
    response_places: tuple[str, ...]
    answer: tuple[str, ...]
    wrapping: tuple[str, ...]
    usage: tuple[str, ...]
    is_usage: bool


def fields_of(mapping: Mapping[str, Any]) -> Fields:
    """Which of the known names a mapping has."""
    return _fields_of_names(tuple(filter(_ALL_NAMES.__contains__, mapping)))


# Keyed by known names alone, so that a hostile log cannot fill it with names of its own.
@lru_cache(maxsize=4096)
def _fields_of_names(names: tuple[str, ...]) -> Fields:
    has = frozenset(names)

    def of(wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in wanted if name in has)

    return Fields(
        has,
        of(PROMPT_FIELDS),
        of(RESPONSE_FIELDS),
        of(TIME_FIELDS),
        of(MODEL_FIELDS),
        of(ID_FIELDS),
        of(STATUS_FIELDS),
        of(REQUEST_PLACES),
        of(RESPONSE_PLACES),
        of(ANSWER_FIELDS),
        of(WRAPPING_FIELDS),
        of(USAGE_PLACES),
        not USAGE_MARKS.isdisjoint(has),
    )


NO_FIELDS: Final = _fields_of_names(())
"""Of something that is no mapping."""


def known_columns(names: FieldNames) -> set[str]:
    """The top-level fields that are looked at: what to read of a table with many columns."""
    given = astuple(names)
    return {*_ALL_NAMES, *given, *(path.split(".")[0] for path in given)}
