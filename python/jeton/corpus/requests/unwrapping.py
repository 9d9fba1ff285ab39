"""Records inside a record: elements of a list, spans of an export, lines kept by a collector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jeton.corpus.lookup import parsed_json
from jeton.corpus.requests.fields import fields_of
from jeton.corpus.requests.pieces import answer_of
from jeton.corpus.requests.spans import spans_of_export

_WRAPPERS: Final = (
    "data", "records", "requests", "spans", "traces", "items", "logs", "results", "logEvents",
)  # fmt: skip
_INSIDE: Final = ("observations", "child_runs")
_ENVELOPES: Final = (
    "log", "@message", "message", "msg", "line", "jsonPayload", "json_payload", "textPayload",
    "text_payload", "_raw",
)  # fmt: skip
"""Where collectors of logs keep the line that a program wrote."""

_EXPORTS: Final = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
ASIDE: Final = frozenset((*_WRAPPERS, *_EXPORTS, *_INSIDE, *_ENVELOPES))
_OWN: Final = frozenset(
    {
        "usage", "messages", "prompt", "input", "request", "response", "choices", "model", "body",
        "model_id", "modelId", "inputTextTokenCount", "start_time", "starting_at",
    }
)  # fmt: skip
"""Fields of a record that is a request itself, whatever lists it has."""

_EVENTS: Final = ("session.", "assistant.")
"""Beginnings of the kinds of events of an agent, which say whose ``data`` it is (Copilot)."""

_MAX_UNWRAPPING: Final = 4


def parts_of(record: Any, depth: int = 0) -> Iterator[Any]:
    """The records inside a record: spans of an export, elements of a list or of a wrapper."""
    if isinstance(record, list):
        if record and all(isinstance(item, dict) and _has_role(item) for item in record):
            yield {"messages": record}
            return
        if len(record) > 1 and answer_of(record) is not None:
            yield {"response": record}
            return
        for item in record:
            yield from parts_of(item, depth + 1) if depth < _MAX_UNWRAPPING else (item,)
        return
    if isinstance(record, dict):
        if any(name in record for name in _EXPORTS):
            yield from spans_of_export(record)
            return
        for key in _INSIDE:
            inner = record.get(key)
            if depth < _MAX_UNWRAPPING and isinstance(inner, list) and inner:
                if key == "child_runs":
                    yield {name: value for name, value in record.items() if name != key}
                yield from parts_of(inner, depth + 1)
                return
        if _OWN.isdisjoint(record):
            inside = _enveloped(record)
            if inside is not None and depth < _MAX_UNWRAPPING:
                yield from parts_of(inside, depth + 1)
                return
        # A wrapper has its list and little else: totals, a cursor, the kind of object.
        is_small = depth < _MAX_UNWRAPPING and len(record) <= 8
        if is_small and _OWN.isdisjoint(record):
            for key in _WRAPPERS:
                inner = record.get(key)
                if isinstance(inner, list) and inner and all(isinstance(i, dict) for i in inner):
                    yield from parts_of(inner, depth + 1)
                    return
            is_event = str(record.get("type", "")).startswith(_EVENTS)
            if len(record) <= 2 and isinstance(record.get("data"), dict) and not is_event:
                yield from parts_of(record["data"], depth + 1)
                return
    yield record


def _enveloped(record: Mapping[str, Any]) -> Any:
    """The object that a collector keeps of a program's line, with the collector's time; or None."""
    for key in _ENVELOPES:
        if key in record:
            inner = record[key]
            inner = parsed_json(inner.strip()) if isinstance(inner, str) else inner
            is_object = isinstance(inner, dict) and (
                isinstance(record[key], str) or key in ("jsonPayload", "json_payload")
            )
            if not is_object:
                continue
            times = fields_of(record).time
            if times and not fields_of(inner).time:
                return {**inner, "timestamp": record[times[0]]}
            return inner
    return None


def _has_role(item: Mapping[str, Any]) -> bool:
    return ("role" in item and ("content" in item or "parts" in item)) or (
        "from" in item and "value" in item
    )
