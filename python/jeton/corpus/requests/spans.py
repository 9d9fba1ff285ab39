"""OpenTelemetry spans of model calls: the GenAI conventions, as JSON lines or as OTLP JSON.

Read are the attributes ``gen_ai.*`` in their present and earlier names, the messages that earlier
conventions put into events or into numbered attributes (``gen_ai.prompt.0.content``), and
OpenInference's ``llm.*``. Spans of agents and tools repeat the usage of the calls inside them, so
only calls of models count.

Sources (read 2026-11): opentelemetry.io, semantic conventions for generative AI (development),
spans and events; opentelemetry-proto, JSON encoding; arize-ai/openinference, spec.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jeton.corpus.lookup import lookup, text_or_none
from jeton.corpus.requests.messages import chat_of, text_of
from jeton.corpus.requests.parsed import ParsedRequest, Report, first
from jeton.corpus.requests.usage import normalise_usage

__all__ = ["is_span", "parse_span", "spans_of_export"]

CALL_OPERATIONS: Final = frozenset(
    {"chat", "text_completion", "generate_content", "completion", "embeddings"}
)
"""Operations that send text to a model (``gen_ai.operation.name``)."""

CALL_KINDS: Final = frozenset({"LLM", "llm", "EMBEDDING"})
"""The same in OpenInference (``openinference.span.kind``)."""

_NUMBERED = re.compile(
    r"^(gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)"
    r"\.(\d{1,6})\.(?:message\.)?(role|content)$"
)
_USAGE_FIELDS: Final = {
    "input_tokens": (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
        "llm.token_count.completion", "llm.usage.completion_tokens",
    ),
    "total_tokens": (
        "gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens",
    ),
}  # fmt: skip
_READ_FIELDS: Final = (
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.input_tokens.cached", "llm.token_count.prompt_details.cache_read",
)  # fmt: skip
_WRITE_FIELDS: Final = (
    "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens",
    "llm.token_count.prompt_details.cache_write",
)  # fmt: skip
_REASONING_FIELDS: Final = (
    "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.output_tokens.reasoning",
    "gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning",
)  # fmt: skip
_MODEL_FIELDS: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_START_FIELDS: Final = (
    "timeUnixNano",
    "startTimeUnixNano",
    "start_time_unix_nano",
    "start_time",
    "startTime",
    "timestamp",
)
_ERROR_CODES: Final = (2, "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")


def is_span(record: Mapping[str, Any]) -> bool:
    """Whether a record is one span (of any kind)."""
    attributes = record.get("attributes")
    if isinstance(attributes, dict):
        return any(
            key in record for key in ("context", "span_id", "spanId", "trace_id", "traceId")
        ) or any(isinstance(key, str) and key.startswith(("gen_ai.", "llm.")) for key in attributes)
    return isinstance(attributes, list) and ("spanId" in record or "traceId" in record)


def spans_of_export(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The spans and events of an OTLP export, each with its resource."""
    for resource_spans in _dicts(record.get("resourceSpans") or record.get("resource_spans")):
        resource = resource_spans.get("resource")
        for scope in _dicts(
            resource_spans.get("scopeSpans")
            or resource_spans.get("scope_spans")
            or resource_spans.get("instrumentationLibrarySpans")
        ):
            for span in _dicts(scope.get("spans")):
                yield {**span, "resource": resource}
    # Newer conventions log the content of a call as an event of its own.
    for resource_logs in _dicts(record.get("resourceLogs") or record.get("resource_logs")):
        resource = resource_logs.get("resource")
        for scope in _dicts(resource_logs.get("scopeLogs") or resource_logs.get("scope_logs")):
            for event in _dicts(scope.get("logRecords") or scope.get("log_records")):
                yield {**event, "resource": resource, "name": event.get("eventName", "")}


def parse_span(span: Mapping[str, Any], domain_field: str, report: Report) -> ParsedRequest | None:
    """The request of a span; None if it is no call of a model (``report`` was told)."""
    attributes = _attributes(span.get("attributes"))
    if not _is_model_call(attributes):
        report("not_a_model_call", str(span.get("name", ""))[:80])
        return None
    parsed = ParsedRequest("otel")
    parsed.provider = str(
        attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system") or ""
    )
    events = _events(span.get("events"))
    _read_messages(parsed, attributes, events)
    usage = {
        name: value
        for name, fields in _USAGE_FIELDS.items()
        if (value := first(attributes, fields)) is not None
    }
    details = {
        "cached_tokens": first(attributes, _READ_FIELDS),
        "cache_write_tokens": first(attributes, _WRITE_FIELDS),
    }
    usage["input_tokens_details"] = {k: v for k, v in details.items() if v is not None}
    reasoning = first(attributes, _REASONING_FIELDS)
    if reasoning is not None:
        usage["output_tokens_details"] = {"reasoning_tokens": reasoning}
    parsed.usage = normalise_usage(usage, report)
    parsed.model = text_or_none(first(attributes, _MODEL_FIELDS)) or ""
    parsed.time = first(span, _START_FIELDS)
    parsed.id = _span_id(span, attributes)
    status = span.get("status")
    code = None
    if isinstance(status, dict):
        code = status.get("code", status.get("status_code"))
    if attributes.get("error.type") or code in _ERROR_CODES:
        parsed.failed = str(attributes.get("error.type") or "the span's status is an error")[:80]
    if domain_field:
        parsed.domain = attributes.get(domain_field)
        if parsed.domain is None:
            resource = span.get("resource")
            given = _attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
            parsed.domain = given.get(domain_field, lookup(span, domain_field))
    return parsed


def _is_model_call(attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str):
        return operation in CALL_OPERATIONS
    kind = attributes.get("openinference.span.kind") or attributes.get("traceloop.span.kind")
    if isinstance(kind, str):
        return kind in CALL_KINDS
    # Instrumentations before the operation's name was required.
    return any(name in attributes for name in ("gen_ai.request.model", "llm.model_name")) or any(
        field in attributes for field in _USAGE_FIELDS["input_tokens"]
    )


def _read_messages(
    parsed: ParsedRequest, attributes: Mapping[str, Any], events: list[tuple[str, dict[str, Any]]]
) -> None:
    """What was sent and what came back, from wherever the conventions have put it over time."""
    sent = _json(first(attributes, ("gen_ai.input.messages", "gen_ai.prompt")))
    received = _json(first(attributes, ("gen_ai.output.messages", "gen_ai.completion")))
    system = _json(attributes.get("gen_ai.system_instructions"))
    for name, fields in events:
        sent = sent or _json(first(fields, ("gen_ai.input.messages", "gen_ai.prompt")))
        received = received or _json(first(fields, ("gen_ai.output.messages", "gen_ai.completion")))
        system = system or _json(fields.get("gen_ai.system_instructions"))
        if name == "gen_ai.choice" and not received:
            received = [_json(fields.get("message")) or fields]
    if not sent:
        sent = _numbered(attributes, ("gen_ai.prompt", "llm.input_messages"))
    if not sent:
        kinds = {"gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message",
                 "gen_ai.tool.message"}  # fmt: skip
        sent = [{"role": name.split(".")[1], **fields} for name, fields in events if name in kinds]
    if not received:
        received = _numbered(attributes, ("gen_ai.completion", "llm.output_messages"))
    tools = _json(attributes.get("gen_ai.tool.definitions"))
    if not sent and not system and isinstance(attributes.get("input.value"), str):
        sent = attributes["input.value"]
        received = received or attributes.get("output.value")
    if isinstance(sent, str):
        parsed.prompt = sent
    elif sent or system:
        messages = sent if isinstance(sent, list) else [sent] if sent else []
        parsed.chat = chat_of(messages, system=system, tools=tools)
        parsed.n_attachments = parsed.chat.n_attachments
    if received:
        parsed.response, n = text_of(received)
        parsed.n_attachments += n


def _numbered(attributes: Mapping[str, Any], prefixes: tuple[str, ...]) -> list[dict[str, Any]]:
    """Messages spread over attributes: ``PREFIX.0.role``, ``PREFIX.0.content`` ..."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match = _NUMBERED.match(name) if isinstance(name, str) else None
        if match and match[1] in prefixes:
            found.setdefault(int(match[2]), {})[match[3]] = _json(value)
    return [found[index] for index in sorted(found)]


def _attributes(given: Any) -> dict[str, Any]:
    """Attributes by name, from a mapping or from OTLP's list of keys and typed values."""
    if isinstance(given, dict):
        return given
    return {str(item.get("key")): _value(item.get("value"), 0) for item in _dicts(given)}


def _value(value: Any, depth: int) -> Any:
    """A value of OTLP's JSON encoding (whole numbers come as strings)."""
    if not isinstance(value, dict) or depth > 32:
        return value
    for key in ("stringValue", "boolValue", "doubleValue", "string_value", "double_value"):
        if key in value:
            return value[key]
    for key in ("intValue", "int_value"):
        if key in value:
            number = value[key]
            is_number = (
                isinstance(number, str) and number.lstrip("-").isdecimal() and len(number) < 21
            )
            return int(number) if is_number else number
    array = value.get("arrayValue")
    if isinstance(array, dict):
        return [_value(item, depth + 1) for item in _list(array.get("values"))]
    mapping = value.get("kvlistValue")
    if isinstance(mapping, dict):
        return {
            str(item.get("key")): _value(item.get("value"), depth + 1)
            for item in _dicts(mapping.get("values"))
        }
    return None


def _events(given: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (str(event.get("name", "")), _attributes(event.get("attributes")))
        for event in _dicts(given)
    ]


def _json(value: Any) -> Any:
    """Structured attributes come as JSON in a string where spans allow only plain ones."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _span_id(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    own = attributes.get("gen_ai.response.id")
    if isinstance(own, str) and own:
        return own[:128]
    context = span.get("context")
    fields = context if isinstance(context, dict) else span
    trace = first(fields, ("trace_id", "traceId"))
    number = first(fields, ("span_id", "spanId"))
    return f"{trace}/{number}"[:128] if number else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
