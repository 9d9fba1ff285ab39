"""OpenTelemetry spans of model calls: the GenAI conventions, as JSON lines or as OTLP JSON.

Read are the attributes ``gen_ai.*`` in their present and earlier names, the messages that earlier
conventions put into events or into numbered attributes (``gen_ai.prompt.0.content``), and
OpenInference's ``llm.*``. Spans of agents and tools repeat the usage of the calls inside them: they
count only where no span inside them has one (``joining``).

Sources (read 2026-11): opentelemetry.io, semantic conventions for generative AI (development),
spans and events; opentelemetry-proto, JSON encoding; arize-ai/openinference, spec.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from jeton._foreign import json_of
from jeton.corpus.lookup import lookup, text_or_none
from jeton.corpus.requests.counts import Watch
from jeton.corpus.requests.facts import take_beside, usage_of_amounts, with_facts
from jeton.corpus.requests.fields import SPAN_COLUMNS
from jeton.corpus.requests.messages import chat_of, text_of
from jeton.corpus.requests.parsed import ParsedRequest, Report, SpanPlace, first
from jeton.corpus.requests.tariffs import tariff_of
from jeton.corpus.requests.usage import Usage, family_of
from jeton.corpus.requests.usage_names import (
    READ_BESIDE,
    READ_INSIDE,
    TOTAL,
    WRITE_BESIDE,
    WRITE_INSIDE,
    snake,
)
from jeton.corpus.requests.usage_paths import UsageAmounts, collect
from jeton.providers import provider_id, provider_of_answer, provider_of_model

CALL_OPERATIONS: Final = frozenset(
    {"chat", "text_completion", "generate_content", "completion", "embeddings"}
)
"""Operations that send text to a model (``gen_ai.operation.name``)."""

CALL_KINDS: Final = frozenset({"LLM", "llm", "EMBEDDING"})
"""Values that mark a model call in OpenInference (``openinference.span.kind``)."""

_NUMBERED = re.compile(
    r"^(gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)"
    r"\.(\d{1,6})\.(?:message\.)?(role|content)$"
)
_MODEL_FIELDS: Final = (
    "gen_ai.response.model", "llm.response.model", "ai.response.model", "gen_ai.request.model",
    "llm.model_name", "ai.model.id", "llm.request.model", "mlflow.llm.model",
)  # fmt: skip
_ASKED_FIELDS: Final = ("gen_ai.request.model", "ai.model.id", "llm.request.model")
_PROVIDER_FIELDS: Final = (
    "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider",
    "mlflow.llm.provider",
)  # fmt: skip
_SERVED_FIELDS: Final = (
    "openai.response.service_tier", "gen_ai.openai.response.service_tier",
    "gen_ai.response.service_tier", "gen_ai.usage.service_tier",
)  # fmt: skip
_TIER_FIELDS: Final = (
    "openai.request.service_tier", "gen_ai.openai.request.service_tier",
    "gen_ai.request.service_tier",
)  # fmt: skip
_SPEED_FIELDS: Final = ("gen_ai.usage.speed", "gen_ai.request.speed", "anthropic.speed")
_CONVERSATION_FIELDS: Final = (
    "gen_ai.conversation.id", "session.id", "langfuse.session.id", "conversation.id",
)  # fmt: skip
_CACHE_FIELDS: Final = (
    "gen_ai.cache.hit", "cache.hit", "litellm.cache_hit", "gateway.cache_hit", "cache_hit",
)  # fmt: skip
_SENT_FIELDS: Final = ("gen_ai.input.messages", "gen_ai.prompt")
_RECEIVED_FIELDS: Final = ("gen_ai.output.messages", "gen_ai.completion")
_COST_FIELDS: Final = (
    "gen_ai.usage.cost", "llm.cost.total", "operation.cost", "gen_ai.cost.total_cost", "llm.cost",
)  # fmt: skip
"""Attributes that state the cost of a call, in USD."""

USAGE_PREFIXES: Final = (
    "gen_ai.usage.", "ai.usage.", "llm.usage.", "gen_ai.aggregated_usage.",
)  # fmt: skip
"""Prefixes taken off attribute names that hold amounts; the rest is a path."""

_JSON_USAGES: Final = (
    "langfuse.observation.usage_details", "mlflow.chat.tokenUsage", "gen_ai.usage",
)  # fmt: skip
"""Attributes that hold a whole usage."""

_BESIDE_FIELDS: Final = ("ai.response.providerMetadata",)
"""Attributes that add to a usage what the provider itself said."""

_START_FIELDS: Final = (
    "timeUnixNano",
    "startTimeUnixNano",
    "start_time_unix_nano",
    "start_time",
    "startTime",
    "timestamp",
)
_MAX_NAME_CHARS: Final = 120
_MAX_DEPTH: Final = 8
_CALL_ATTRIBUTES: Final = ("gen_ai.", "llm.", "ai.usage.")
_ERROR_CODES: Final = (2, "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")


def _is_span(record: Mapping[str, Any]) -> bool:
    """True if a record is one span (of any kind)."""
    attributes = record.get("attributes")
    if isinstance(attributes, dict):
        return any(
            key in record for key in ("context", "span_id", "spanId", "trace_id", "traceId")
        ) or any(isinstance(key, str) and key.startswith(_CALL_ATTRIBUTES) for key in attributes)
    return isinstance(attributes, list) and ("spanId" in record or "traceId" in record)


def as_span(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A record as one span (of any kind), with its attributes in one mapping; None: it is none.

    Tables of spans have the attributes as JSON in a string, or each in a column of its own.
    """
    given = record.get("attributes")
    if isinstance(given, dict | list):
        return record if _is_span(record) else None
    given = _json(
        given if given is not None else first(record, ("SpanAttributes", "span_attributes"))
    )
    found = dict(given) if isinstance(given, dict) else {}
    rest: dict[str, Any] = {}
    for key, value in record.items():
        name = key if isinstance(key, str) else ""
        for start in ("attributes.", "span_attributes.", "SpanAttributes."):
            name = name.removeprefix(start)
        if name != key or name.startswith(SPAN_COLUMNS):
            found[name] = value
        elif name.startswith("context."):
            rest[name.removeprefix("context.")] = value
        else:
            rest[snake(name)] = value
    found = _attributes(found)
    if not any(isinstance(key, str) and key.startswith(_CALL_ATTRIBUTES) for key in found):
        return None
    return {**rest, "attributes": found}


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


def parse_span(span: Mapping[str, Any], domain_field: str, report: Report) -> ParsedRequest:
    """The request of a span; of a step that calls no model, only its counts and its place."""
    attributes = _attributes(span.get("attributes"))
    plan = _plan(attributes)
    is_call = _is_model_call(attributes, plan)
    parsed = ParsedRequest("otel")
    given = str(first(attributes, plan.provider) or "").strip('"')
    parsed.chat_format = given
    if is_call:
        _read_messages(parsed, attributes, plan, _events(span.get("events")))
    # MLflow writes each value as JSON.
    parsed.model = (text_or_none(first(attributes, plan.model)) or "").strip('"')
    parsed.model_asked = text_or_none(first(attributes, plan.asked)) or ""
    answer = attributes.get("gen_ai.response.id", attributes.get("ai.response.id"))
    parsed.id = answer[:128] if isinstance(answer, str) else ""
    parsed.is_own_id = True
    parsed.provider = (
        provider_of_model(parsed.model) or provider_of_answer(parsed.id) or provider_id(given)
    )
    parsed.usage = _usage(
        attributes,
        plan,
        parsed,
        report,
        has_no_output="embed" in str(attributes.get("gen_ai.operation.name", ""))
        or "embed" in parsed.model,
    )
    if plan.served or plan.tier or plan.speed:
        parsed.tariff, unknown = tariff_of(
            first(attributes, plan.served),
            first(attributes, plan.tier),
            first(attributes, plan.speed),
            is_batch=False,
        )
        if unknown:
            report("unknown_tariff", unknown)
    parsed.from_gateway_cache = any(attributes[name] is True for name in plan.cache)
    parsed.time = first(span, _START_FIELDS)
    parsed.place = _place(span, is_call=is_call, answer=parsed.id)
    conversation = text_or_none(first(attributes, plan.conversation))
    parsed.conversation = (conversation or parsed.place.trace)[:128]
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
            inner = _attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
            parsed.domain = inner.get(domain_field, lookup(span, domain_field))
    return parsed


class _Plan(NamedTuple):
    """Attributes that a span has, each list in the order in which it is looked up.

    Attributes:
        paths: Mappings that hold an amount, with their path.
        beside: Of ``_BESIDE_FIELDS``.
        usages: Usages by ``_JSON_USAGES``; so are the rest.
        model: Of ``_MODEL_FIELDS``.
        asked: Of ``_ASKED_FIELDS``.
        provider: Of ``_PROVIDER_FIELDS``.
        served: Of ``_SERVED_FIELDS``.
        tier: Of ``_TIER_FIELDS``.
        speed: Of ``_SPEED_FIELDS``.
        conversation: Of ``_CONVERSATION_FIELDS``.
        cache: Of ``_CACHE_FIELDS``.
        sent: Of ``_SENT_FIELDS``.
        received: Of ``_RECEIVED_FIELDS``.
        numbered: Names of messages that are spread over attributes.
    """

    paths: tuple[tuple[str, str], ...]
    beside: tuple[str, ...]
    usages: tuple[str, ...]
    model: tuple[str, ...]
    asked: tuple[str, ...]
    provider: tuple[str, ...]
    served: tuple[str, ...]
    tier: tuple[str, ...]
    speed: tuple[str, ...]
    conversation: tuple[str, ...]
    cache: tuple[str, ...]
    sent: tuple[str, ...]
    received: tuple[str, ...]
    numbered: tuple[tuple[str, str, int, str], ...]


_plans: dict[tuple[Any, ...], _Plan] = {}


def _plan(attributes: Mapping[str, Any]) -> _Plan:
    keys = tuple(attributes)
    found = _plans.get(keys)
    if found is not None:
        return found
    paths = []
    for key in keys:
        if not isinstance(key, str) or len(key) > _MAX_NAME_CHARS:
            continue
        prefix = next((start for start in USAGE_PREFIXES if key.startswith(start)), "")
        if prefix:
            paths.append((key, key[len(prefix) :]))
        elif key.startswith("llm.token_count."):
            paths.append((key, key))
    numbered = []
    for key in keys:
        match = _NUMBERED.match(key) if isinstance(key, str) else None
        if match:
            numbered.append((key, match[1], int(match[2]), match[3]))

    def of(wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in wanted if name in attributes)

    found = _Plan(
        tuple(paths), of(_BESIDE_FIELDS), of(_JSON_USAGES), of(_MODEL_FIELDS), of(_ASKED_FIELDS),
        of(_PROVIDER_FIELDS), of(_SERVED_FIELDS), of(_TIER_FIELDS), of(_SPEED_FIELDS),
        of(_CONVERSATION_FIELDS), of(_CACHE_FIELDS), of(_SENT_FIELDS), of(_RECEIVED_FIELDS),
        tuple(numbered),
    )  # fmt: skip
    if len(keys) <= 128 and sum(len(key) for key in keys if isinstance(key, str)) <= 8192:
        if len(_plans) >= 4096:
            _plans.clear()
        _plans[keys] = found
    return found


def _usage(
    attributes: Mapping[str, Any],
    plan: _Plan,
    parsed: ParsedRequest,
    report: Report,
    *,
    has_no_output: bool,
) -> Usage:
    amounts, watch = UsageAmounts(), Watch(report)
    report = watch
    if plan.paths:
        collect({path: attributes[key] for key, path in plan.paths}, amounts, report)
    for name in plan.usages:
        value = _json(attributes[name])
        if isinstance(value, dict) and not amounts.is_whole:
            collect(value, amounts, report)
    for name in plan.beside:
        take_beside(amounts, attributes[name], report)
    rest = amounts.rest
    beside = [name for name in (READ_BESIDE, WRITE_BESIDE) if name in rest]
    if beside:
        # The convention counts them in the input; earlier emitters did not all do so.
        n_cached = sum(rest[name] for name in beside)
        given = max(amounts.inputs.values(), default=0)
        family = family_of(parsed.provider, parsed.model)
        if n_cached and TOTAL not in rest and n_cached <= given and family in ("anthropic", "aws"):
            report(
                "convention_undecided",
                f"{n_cached:,} cached tokens in or beside {given:,} input tokens; taken as in them",
            )
        for name, inside in ((READ_BESIDE, READ_INSIDE), (WRITE_BESIDE, WRITE_INSIDE)):
            if name in rest:
                rest[inside] = max(rest.pop(name), rest.get(inside, 0))
    usage = usage_of_amounts(amounts, report, parsed, has_no_output=has_no_output)
    cost = next((attributes[name] for name in _COST_FIELDS if name in attributes), None)
    return with_facts(usage, watch, cost, amounts)


def _is_model_call(attributes: Mapping[str, Any], plan: _Plan) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str):
        return operation in CALL_OPERATIONS
    kind = attributes.get("openinference.span.kind") or attributes.get("traceloop.span.kind")
    if isinstance(kind, str):
        return kind in CALL_KINDS
    operation = attributes.get("ai.operationId")
    if isinstance(operation, str):
        return operation.rpartition(".")[2].startswith("do")
    # Instrumentations before the operation's name was required.
    return any(name in attributes for name in ("gen_ai.request.model", "llm.model_name")) or bool(
        plan.paths
    )


def _read_messages(
    parsed: ParsedRequest,
    attributes: Mapping[str, Any],
    plan: _Plan,
    events: list[tuple[str, dict[str, Any]]],
) -> None:
    """Read request and response from all places where the conventions have put them over time."""
    sent = _json(first(attributes, plan.sent))
    received = _json(first(attributes, plan.received))
    system = _json(attributes.get("gen_ai.system_instructions"))
    for name, fields in events:
        sent = sent or _json(first(fields, _SENT_FIELDS))
        received = received or _json(first(fields, _RECEIVED_FIELDS))
        system = system or _json(fields.get("gen_ai.system_instructions"))
        if name == "gen_ai.choice" and not received:
            received = [_json(fields.get("message")) or fields]
    if not sent:
        sent = _numbered(attributes, plan, ("gen_ai.prompt", "llm.input_messages"))
    if not sent and events:
        kinds = {"gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message",
                 "gen_ai.tool.message"}  # fmt: skip
        sent = [{"role": name.split(".")[1], **fields} for name, fields in events if name in kinds]
    if not received:
        received = _numbered(attributes, plan, ("gen_ai.completion", "llm.output_messages"))
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


def _numbered(
    attributes: Mapping[str, Any], plan: _Plan, prefixes: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Messages spread over attributes: ``PREFIX.0.role``, ``PREFIX.0.content`` ..."""
    found: dict[int, dict[str, Any]] = {}
    for name, prefix, index, part in plan.numbered:
        if prefix in prefixes:
            found.setdefault(index, {})[part] = _json(attributes[name])
    return [found[index] for index in sorted(found)]


def _attributes(given: Any) -> dict[str, Any]:
    """Attributes by name, from a mapping or from OTLP's list of keys and typed values."""
    if isinstance(given, dict):
        return given if given.keys().isdisjoint(_HEADS) else _flat(given)
    return {str(item.get("key")): _value(item.get("value"), 0) for item in _dicts(given)}


_HEADS: Final = frozenset({"gen_ai", "llm", "ai", "openinference", "traceloop", "openai"})
"""Beginnings of attributes; some collectors nest them, so that each is a key with a table."""


def _flat(given: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested attributes under their full names."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, dict) and depth < _MAX_DEPTH and (prefix or key in _HEADS):
            found.update(_flat(value, f"{prefix}{key}.", depth + 1))
        else:
            found[f"{prefix}{key}"] = value
    return found


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
            return json_of(value, any_integer=True)
        except (ValueError, RecursionError):
            return value
    return value


def _place(span: Mapping[str, Any], *, is_call: bool, answer: str) -> SpanPlace:
    context = span.get("context")
    fields = context if isinstance(context, dict) else span
    return SpanPlace(
        trace=str(first(fields, ("trace_id", "traceId")) or "")[:128],
        span=str(first(fields, ("span_id", "spanId")) or "")[:128],
        parent=str(first(span, ("parent_id", "parentSpanId", "parent_span_id")) or "")[:128],
        is_call=is_call,
        answer=answer,
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in _list(value) if isinstance(item, dict)]
