"""OpenTelemetry spans, as JSON lines and as OTLP JSON, in the conventions of several years."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jeton.corpus import RequestBatch, RequestStream, open_requests


def read(*records: Any, **options: Any) -> tuple[RequestBatch, RequestStream]:
    stream = open_requests(iter(records), **options)
    (batch,) = list(stream)
    return batch, stream


INPUT = [{"role": "user", "parts": [{"type": "text", "content": "What is BPE?"}]}]
OUTPUT = [{"role": "assistant", "parts": [{"type": "text", "content": "Merges."}]}]
SYSTEM = [{"type": "text", "content": "Be brief."}]
USAGE = {"gen_ai.usage.input_tokens": 1_017, "gen_ai.usage.output_tokens": 4}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}


def sdk_span(attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """As the Python SDK's console exporter writes spans."""
    return {
        "name": "chat gpt-4o",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "kind": "SpanKind.CLIENT",
        "start_time": "2026-01-01T00:00:00.000000Z",
        "attributes": attributes,
        "events": [],
        **fields,
    }


def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": otlp_attributes(value)}}
    return {"stringValue": value}


def otlp_attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": otlp_value(value)} for key, value in attributes.items()]


def otlp(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": otlp_attributes(resource or {})},
                "scopeSpans": [{"scope": {"name": "s"}, "spans": list(spans)}],
            }
        ]
    }


def otlp_span(attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "chat gpt-4o",
        "startTimeUnixNano": "1767225600000000000",
        "attributes": otlp_attributes(attributes),
        **fields,
    }


CONTENT: dict[str, dict[str, Any]] = {
    "messages as JSON in a string": {
        "gen_ai.input.messages": json.dumps(INPUT),
        "gen_ai.output.messages": json.dumps(OUTPUT),
        "gen_ai.system_instructions": json.dumps(SYSTEM),
    },
    "messages as structures": {
        "gen_ai.input.messages": INPUT,
        "gen_ai.output.messages": OUTPUT,
        "gen_ai.system_instructions": SYSTEM,
    },
    "numbered attributes": {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "What is BPE?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Merges.",
    },
}


@pytest.mark.parametrize("exporter", ["sdk", "otlp"])
@pytest.mark.parametrize("content", CONTENT)
def test_spans(exporter: str, content: str) -> None:
    attributes = {**CHAT, **USAGE, **CONTENT[content]}
    record = sdk_span(attributes) if exporter == "sdk" else otlp(otlp_span(attributes))
    batch, stream = read(record)
    assert list(batch.texts) == ["Be brief.\nWhat is BPE?"]
    assert batch.responses is not None
    assert list(batch.responses) == ["Merges."]
    assert stream.models == ["gpt-4o"]
    assert batch.columns.input_tokens.tolist() == [1_017]
    assert batch.columns.output_tokens.tolist() == [4]
    assert batch.columns.time_s.tolist() == [1_767_225_600.0]
    assert stream.summary().shapes == {"otel": 1}


def test_content_in_events() -> None:
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be brief."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "What is BPE?"}},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": "Merges."})}},
    ]
    batch, _ = read(sdk_span({**CHAT, **USAGE}, events=events))
    assert list(batch.texts) == ["Be brief.\nWhat is BPE?"]
    assert batch.responses is not None
    assert list(batch.responses) == ["Merges."]
    details = {
        "gen_ai.input.messages": json.dumps(INPUT),
        "gen_ai.output.messages": json.dumps(OUTPUT),
    }
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": details}
    batch, _ = read(sdk_span({**CHAT, **USAGE}, events=[event]))
    assert list(batch.texts) == ["What is BPE?"]


def test_openinference() -> None:
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "What is BPE?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Merges.",
        "llm.token_count.prompt": 17,
        "llm.token_count.completion": 4,
        "llm.token_count.prompt_details.cache_read": 10,
    }
    batch, stream = read(sdk_span(attributes))
    assert list(batch.texts) == ["What is BPE?"]
    assert batch.columns.input_tokens.tolist() == [17]
    assert batch.columns.cache_read_tokens.tolist() == [10]
    assert stream.models == ["gpt-4o"]


def test_cached_tokens_are_in_the_input_unless_they_cannot_be() -> None:
    inside = {**CHAT, **USAGE, "gen_ai.usage.cache_read.input_tokens": 1_000}
    beside = {
        **CHAT,
        "gen_ai.usage.input_tokens": 17,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 1_000,
        "gen_ai.usage.cache_creation.input_tokens": 50,
    }
    batch, stream = read(sdk_span(inside), sdk_span(beside, context={"span_id": "3"}))
    assert batch.columns.input_tokens.tolist() == [1_017, 1_067]
    assert batch.columns.cache_write_tokens.tolist() == [-1, 50]
    assert stream.issues["inconsistent_usage"].n == 1
    assert stream.issues["mixed_conventions"].n == 1


def test_spans_around_a_call_are_not_counted_twice() -> None:
    agent = otlp_span({"gen_ai.operation.name": "invoke_agent", **USAGE}, spanId="a")
    tool = otlp_span({"gen_ai.operation.name": "execute_tool"}, spanId="b")
    call = otlp_span({**CHAT, **USAGE, **CONTENT["numbered attributes"]}, spanId="c")
    http = otlp_span({"http.request.method": "POST"}, spanId="d")
    batch, stream = read(otlp(agent, tool, call, http))
    assert len(batch) == 1
    assert stream.issues["not_a_model_call"].n == 2
    assert stream.joined == {"wrapping_span": 1}
    assert stream.n_records == 1


def test_domain_of_a_span_is_an_attribute_of_it_or_of_its_resource() -> None:
    own = otlp_span({**CHAT, **USAGE, "service.name": "inner"})
    other = otlp_span({**CHAT, **USAGE}, spanId="x")
    batch, stream = read(
        otlp(own, other, resource={"service.name": "shop"}), domain_field="service.name"
    )
    assert [stream.domains[i] for i in batch.columns.domain] == ["inner", "shop"]


def test_failed_spans() -> None:
    by_type = sdk_span({**CHAT, **USAGE, "error.type": "timeout"})
    by_status = otlp(otlp_span({**CHAT, **USAGE}, status={"code": 2}))
    _, stream = read(by_type, by_status)
    assert stream.issues["failed_request"].n == 2
