"""Which shape a log's record has, and the request that it tells of.

A record is told by the fields it has, each record by itself: logs mix shapes. A request and its
response stand side by side, or one inside the other, or under ``request``, ``body``, ``params``,
``response``, ``result`` as gateways and batch files write them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final

from jeton.corpus.requests_messages import chat_of, text_of
from jeton.corpus.requests_parsed import (
    ParsedRequest,
    Report,
    first,
    lookup,
    read_usage,
    text_or_none,
)
from jeton.corpus.requests_usage import USAGE_NAMES

__all__ = ["FieldNames", "known_columns", "parse_record"]

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

_REQUEST_PLACES: Final = ("request", "body", "params", "request_body", "requestBody", "kwargs")
_RESPONSE_PLACES: Final = ("response", "result", "response_body", "responseBody")
_FIRST_FAILING_STATUS: Final = 400
_MAX_NESTING: Final = 8


_OTHER_FIELDS: Final = (
    "messages", "contents", "conversations", "system", "instructions", "tools", "functions",
    "systemInstruction", "system_instruction", "choices", "candidates", "object", "type",
    "attributes", "name", "events", "status", "status_code", "error", "resource", "context",
    "trace_id", "traceId", "span_id", "spanId", "startTimeUnixNano", "start_time_unix_nano",
    "metadata", "anthropic_version",
)  # fmt: skip
"""What else is looked at in a record."""


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Fields that the user names, with dots descending; empty: found by their usual names."""

    prompt: str = ""
    response: str = ""
    model: str = ""
    time: str = ""
    domain: str = ""


def known_columns(names: FieldNames) -> set[str]:
    """The top-level fields that are looked at: what to read of a table with many columns."""
    return {
        *PROMPT_FIELDS, *RESPONSE_FIELDS, *TIME_FIELDS, *MODEL_FIELDS, *ID_FIELDS, *_OTHER_FIELDS,
        *_REQUEST_PLACES, *_RESPONSE_PLACES, *USAGE_NAMES,
        *(path.split(".")[0] for path in astuple(names)), *astuple(names),
    }  # fmt: skip


def parse_record(
    record: Mapping[str, Any], names: FieldNames, report: Report
) -> ParsedRequest | None:
    """The request of a record; None if there is none in it (``report`` was told why).

    Args:
        record: One JSON object, or a row of a table.
        names: Fields that the user named.
        report: Called with the kind of an issue and its detail.
    """
    request, response = _halves(record)
    if _is_chunk(record) or _is_chunk(response):
        report("stream_chunk", "")
        return None
    parsed = _sent(record, request, response, names)
    _received(parsed, record, request, response, names)
    usage_places = (response, request, record, *_usage_places(record))
    parsed.usage = read_usage(usage_places, report)
    if not parsed.has_text and not parsed.usage.is_known and parsed.response is None:
        keys = ", ".join(str(key) for key in list(record)[:8])
        report("not_a_request", f"its fields are {keys or 'none'}")
        return None
    if not parsed.has_text and parsed.shape == "plain":
        parsed.shape = "usage"
    parsed.model = _model(record, request, response, names)
    parsed.time = _time(record, request, response, names)
    parsed.domain = lookup(record, names.domain) if names.domain else None
    parsed.id = _id(record, response)
    parsed.failed = _failure(record, response)
    return parsed


def _halves(record: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """The request's fields and the response (a mapping, a text, or None)."""
    bedrock_in, bedrock_out = record.get("input"), record.get("output")
    if isinstance(bedrock_in, dict) and "inputBodyJson" in bedrock_in:
        body = bedrock_in["inputBodyJson"]
        answer = bedrock_out.get("outputBodyJson") if isinstance(bedrock_out, dict) else None
        return (body if isinstance(body, dict) else {}), answer
    request: Mapping[str, Any] = record
    for place in _REQUEST_PLACES:
        inner = _parsed_json(record.get(place))
        if isinstance(inner, dict):
            body = inner.get("body")
            request = body if isinstance(body, dict) else inner
            break
    else:
        if isinstance(bedrock_in, dict) and any(
            key in bedrock_in for key in ("messages", "contents", "prompt")
        ):
            request = bedrock_in
    for place in _RESPONSE_PLACES:
        inner = _parsed_json(record.get(place))
        if isinstance(inner, dict | list):
            return request, _unwrapped(inner)
    if isinstance(bedrock_out, dict):
        return request, _unwrapped(bedrock_out)
    if request is record or not any(key in record for key in ("choices", "candidates")):
        answer = record if any(k in record for k in ("choices", "candidates")) else None
        if answer is None and record.get("object") == "response":
            answer = record
        if answer is None and record.get("type") == "message" and "content" in record:
            answer = record
        return request, answer
    return request, record


def _unwrapped(response: Any) -> Any:
    """The innermost response: batch files and gateways wrap it in a status."""
    for _ in range(_MAX_NESTING):
        if not isinstance(response, dict):
            break
        for key in ("body", "message", "data", "response"):
            inner = _parsed_json(response.get(key))
            is_wrapper = isinstance(inner, dict) and not any(
                k in response for k in ("choices", "candidates", "usage")
            )
            if is_wrapper:
                response = inner
                break
        else:
            break
    return response


def _parsed_json(value: Any) -> Any:
    """An object that is written as a string, as gateways log bodies."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _is_chunk(response: Any) -> bool:
    if not isinstance(response, dict):
        return False
    kind = response.get("object") or response.get("type")
    return isinstance(kind, str) and (
        kind.endswith(".chunk")
        or kind in ("content_block_delta", "message_delta", "content_block_start")
    )


def _sent(
    record: Mapping[str, Any], request: Mapping[str, Any], response: Any, names: FieldNames
) -> ParsedRequest:
    """What was sent, and the shape it tells."""
    if names.prompt:
        return _from_prompt(lookup(record, names.prompt), "plain")
    tools = request.get("tools") or request.get("functions")
    contents = request.get("contents")
    if isinstance(contents, list):
        system = request.get("systemInstruction") or request.get("system_instruction")
        chat = chat_of(contents, system=system, tools=tools)
        return ParsedRequest(
            "gemini", chat=chat, provider="google", n_attachments=chat.n_attachments
        )
    messages = _parsed_json(request.get("messages"))
    if isinstance(messages, list):
        shape, provider = _chat_shape(request, response)
        chat = chat_of(messages, system=request.get("system"), tools=tools)
        return ParsedRequest(shape, chat=chat, provider=provider, n_attachments=chat.n_attachments)
    conversations = request.get("conversations")
    if isinstance(conversations, list):
        chat = chat_of(conversations, system=request.get("system"), tools=tools)
        return ParsedRequest("plain", chat=chat, n_attachments=chat.n_attachments)
    given = request.get("input")
    instructions = request.get("instructions")
    if isinstance(given, list) and any(isinstance(item, dict) for item in given):
        chat = chat_of(given, system=instructions, tools=tools)
        shape = "openai-responses" if _is_responses(request, response) else "plain"
        return ParsedRequest(shape, chat=chat, n_attachments=chat.n_attachments)
    if isinstance(given, str) and (instructions or _is_responses(request, response)):
        chat = chat_of([given], system=instructions, tools=tools)
        return ParsedRequest("openai-responses", chat=chat, provider="openai")
    value = first(request, PROMPT_FIELDS)
    if value is None and isinstance(record.get("request"), str):
        value = record["request"]
    shape = (
        "openai-completions" if isinstance(response, dict) and "choices" in response else "plain"
    )
    return _from_prompt(value, shape)


def _from_prompt(value: Any, shape: str) -> ParsedRequest:
    """A prompt: a text, several texts, or messages after all."""
    value = _parsed_json(value) if isinstance(value, str) and '"role"' in value[:4096] else value
    if isinstance(value, str):
        return ParsedRequest(shape, prompt=value)
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        chat = chat_of(value)
        return ParsedRequest(shape, chat=chat, n_attachments=chat.n_attachments)
    if isinstance(value, dict | list) and value:
        text, n = text_of(value)
        return ParsedRequest(shape, prompt=text or None, n_attachments=n)
    return ParsedRequest(shape)


def _chat_shape(request: Mapping[str, Any], response: Any) -> tuple[str, str]:
    """Whose chat this is."""
    if isinstance(response, dict):
        if response.get("type") == "message" or "stop_reason" in response:
            return "anthropic", "anthropic"
        if "choices" in response:
            return "openai-chat", "openai"
        if "stopReason" in response:
            return "bedrock", "bedrock"
    if "anthropic_version" in request or request.get("system"):
        return "anthropic", "anthropic"
    model = request.get("model")
    if isinstance(model, str) and "claude" in model:
        return "anthropic", "anthropic"
    return ("openai-chat", "openai") if "model" in request else ("plain", "")


def _is_responses(request: Mapping[str, Any], response: Any) -> bool:
    return (isinstance(response, dict) and response.get("object") == "response") or (
        "instructions" in request and "model" in request
    )


def _received(
    parsed: ParsedRequest,
    record: Mapping[str, Any],
    request: Mapping[str, Any],
    response: Any,
    names: FieldNames,
) -> None:
    """What came back: into ``parsed``."""
    if names.response:
        answer = lookup(record, names.response)
        text, n = (None, 0) if answer is None else text_of(answer)
    else:
        text, n = _answer_text(response)
        if text is None:
            for fields in (record, request) if request is not record else (record,):
                value = first(fields, RESPONSE_FIELDS)
                if value is not None and not isinstance(value, bool | int | float):
                    text, n = text_of(value)
                    break
    chat = parsed.chat
    if text is None and chat is not None and len(chat.messages) > 1:
        last = chat.messages[-1]
        if last["role"] in ("assistant", "model", "gpt", "bot", "ai", "chatgpt"):
            # A chat that was kept with its answer: the answer was not sent.
            text, _ = text_of({k: v for k, v in last.items() if k != "role"})
            chat.messages.pop()
    parsed.response = text
    parsed.n_attachments += n


def _answer_text(response: Any) -> tuple[str | None, int]:
    """The text of a provider's response object; None: it has none."""
    if isinstance(response, str):
        return response, 0
    if isinstance(response, list):
        return _streamed_text(response) if response else (None, 0)
    if not isinstance(response, dict):
        return None, 0
    choices = response.get("choices")
    if isinstance(choices, list):
        parts = [
            text_of(choice.get("message") or choice.get("text") or "")
            for choice in choices
            if isinstance(choice, dict)
        ]
        return "\n".join(text for text, _ in parts), sum(n for _, n in parts)
    for key in ("candidates", "output", "content", "message", "text", "completion", "generation"):
        value = response.get(key)
        if value is not None and not isinstance(value, bool | int | float):
            return text_of(value)
    return None, 0


def _streamed_text(chunks: list[Any]) -> tuple[str | None, int]:
    """A response kept as the list of its pieces."""
    texts: list[str] = []
    for chunk in chunks:
        choices = chunk.get("choices") if isinstance(chunk, dict) else None
        if not isinstance(choices, list):
            return text_of(chunks)
        for choice in choices:
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(delta, dict) and isinstance(delta.get("content"), str):
                texts.append(delta["content"])
    return "".join(texts), 0


def _usage_places(record: Mapping[str, Any]) -> list[Any]:
    """Further places of usage: beside the bodies of a Bedrock log, in the last streamed piece."""
    given, answer = record.get("input"), record.get("output")
    places: list[Any] = []
    if isinstance(given, dict) and isinstance(answer, dict) and "inputTokenCount" in given:
        places.append({**answer, **given})
    pieces = record.get("response")
    if isinstance(pieces, list) and pieces:
        places.append(pieces[-1])
    metadata = record.get("metadata")
    if isinstance(metadata, dict):
        places.append(metadata)
    return places


def _model(
    record: Mapping[str, Any], request: Mapping[str, Any], response: Any, names: FieldNames
) -> str:
    """The model that answered, else the one asked for."""
    if names.model:
        return text_or_none(lookup(record, names.model)) or ""
    for fields in (response, request, record):
        if isinstance(fields, dict):
            name = first(fields, MODEL_FIELDS)
            if isinstance(name, str) and name:
                return name
    return ""


def _time(
    record: Mapping[str, Any], request: Mapping[str, Any], response: Any, names: FieldNames
) -> Any:
    if names.time:
        return lookup(record, names.time)
    for fields in (record, request, response):
        if isinstance(fields, dict):
            value = first(fields, TIME_FIELDS)
            if value is not None and not isinstance(value, dict | list):
                return value
    return None


def _id(record: Mapping[str, Any], response: Any) -> str:
    for fields in (response, record):
        if isinstance(fields, dict):
            value = first(fields, ID_FIELDS)
            if isinstance(value, str | int) and not isinstance(value, bool):
                return str(value)[:128]
    return ""


def _failure(record: Mapping[str, Any], response: Any) -> str:
    """Why the request failed, as far as the record says."""
    outer = record.get("response")
    for fields in (record, outer, response, record.get("result")):
        if not isinstance(fields, dict):
            continue
        for key in ("status_code", "statusCode", "status", "http_status"):
            status = fields.get(key)
            if type(status) is int and status >= _FIRST_FAILING_STATUS:
                return f"status {status}"
        error = fields.get("error")
        if error:
            text, _ = text_of(error)
            return f"error {text[:80]}".strip()
        if fields.get("type") in ("errored", "expired", "canceled", "error"):
            return str(fields["type"])
    return ""
