"""Which shape a log's record has, and the request that it tells of.

A record is told by the fields it has, each record by itself: logs mix shapes. A request and its
response stand side by side, or one inside the other, or under ``request``, ``body``, ``params``,
``response``, ``result`` as gateways and batch files write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from jeton.corpus.lookup import lookup, parsed_json, text_or_none
from jeton.corpus.requests.fields import NO_FIELDS, FieldNames, Fields, fields_of
from jeton.corpus.requests.messages import chat_of, text_of
from jeton.corpus.requests.parsed import (
    ParsedRequest,
    Report,
    first,
    is_messages,
    read_usage,
)
from jeton.corpus.requests.usage import Usage, normalise_usage

__all__ = ["parse_record"]

_FIRST_FAILING_STATUS: Final = 400
_REQUEST_MARKS: Final = frozenset({"messages", "prompt", "input", "contents", "model", "body"})
_RESPONSE_MARKS: Final = frozenset(
    {"choices", "candidates", "usage", "usageMetadata", "stop_reason", "stopReason"}
)
"""Fields that tell a provider's object from an answer that is JSON itself."""

_FAILED_STATUS: Final = ("error", "failed", "failure")
_FAILED_TYPES: Final = ("errored", "expired", "canceled", "error")
_MAX_NESTING: Final = 8

_Places: TypeAlias = tuple[tuple[Any, Fields], tuple[Any, Fields], tuple[Any, Fields]]
"""Response, request and record, each with the known names that it has."""


def parse_record(
    record: Mapping[str, Any], names: FieldNames, report: Report
) -> ParsedRequest | None:
    """The request of a record; None if there is none in it (``report`` was told why).

    Args:
        record: One JSON object, or a row of a table.
        names: Fields that the user named.
        report: Called with the kind of an issue and its detail.
    """
    of_record = fields_of(record)
    request, response = _halves(record, of_record)
    of_request = of_record if request is record else fields_of(request)
    of_response = NO_FIELDS
    if isinstance(response, dict):
        of_response = of_record if response is record else fields_of(response)
    # The places in which facts are looked for, with the names that they have.
    places = ((response, of_response), (request, of_request), (record, of_record))
    if _is_chunk(response, of_response) or (
        response is not record and _is_chunk(record, of_record)
    ):
        report("stream_chunk", "")
        return None
    parsed = _sent(record, request, response, of_request, names)
    _received(parsed, record, places, names)
    parsed.usage = _usage(record, places, report)
    if not parsed.has_text and not parsed.usage.is_known and parsed.response is None:
        keys = ", ".join(str(key) for key in list(record)[:8])
        report("not_a_request", f"its fields are {keys or 'none'}")
        return None
    if not parsed.has_text and parsed.shape == "plain":
        parsed.shape = "usage"
    parsed.model = _model(record, places, names)
    parsed.time = _time(record, places, names)
    parsed.domain = lookup(record, names.domain) if names.domain else None
    parsed.id = _id(places)
    parsed.failed = _failure(record, places)
    return parsed


def _halves(record: Mapping[str, Any], names: Fields) -> tuple[Mapping[str, Any], Any]:
    """The request's fields and the response (a mapping, a text, or None)."""
    bedrock_in, bedrock_out = record.get("input"), record.get("output")
    if isinstance(bedrock_in, dict) and "inputBodyJson" in bedrock_in:
        body = bedrock_in["inputBodyJson"]
        answer = bedrock_out.get("outputBodyJson") if isinstance(bedrock_out, dict) else None
        return (body if isinstance(body, dict) else {}), answer
    request: Mapping[str, Any] = record
    for place in names.request_places:
        inner = _body(record.get(place), _REQUEST_MARKS)
        if isinstance(inner, dict):
            body = inner.get("body")
            request = body if isinstance(body, dict) else inner
            break
    else:
        if isinstance(bedrock_in, dict) and any(
            key in bedrock_in for key in ("messages", "contents", "prompt")
        ):
            request = bedrock_in
    for place in names.response_places:
        inner = _body(record.get(place), _RESPONSE_MARKS)
        if isinstance(inner, dict | list):
            return request, _unwrapped(inner)
    if isinstance(bedrock_out, dict):
        return request, _unwrapped(bedrock_out)
    is_answer = (
        "choices" in names.has
        or "candidates" in names.has
        or record.get("object") == "response"
        or (record.get("type") == "message" and "content" in names.has)
    )
    return request, record if is_answer else None


def _unwrapped(response: Any) -> Any:
    """The innermost response: batch files and gateways wrap it in a status."""
    for _ in range(_MAX_NESTING):
        if not isinstance(response, dict):
            break
        names = fields_of(response)
        if not names.has.isdisjoint(("choices", "candidates", "usage")):
            break
        for key in names.wrapping:
            inner = _body(response.get(key), _RESPONSE_MARKS)
            if isinstance(inner, dict):
                response = inner
                break
        else:
            break
    return response


def _body(value: Any, marks: frozenset[str]) -> Any:
    """A body that is written as a string; a text that is JSON by chance stays a text."""
    parsed = parsed_json(value)
    if parsed is value or (isinstance(parsed, dict) and not marks.isdisjoint(parsed)):
        return parsed
    return value


def _is_chunk(response: Any, names: Fields) -> bool:
    if names.has.isdisjoint(("object", "type")):
        return False
    kind = response.get("object") or response.get("type")
    return isinstance(kind, str) and (
        kind.endswith(".chunk")
        or kind in ("content_block_delta", "message_delta", "content_block_start")
    )


def _sent(
    record: Mapping[str, Any],
    request: Mapping[str, Any],
    response: Any,
    of_request: Fields,
    names: FieldNames,
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
    messages = parsed_json(request.get("messages"))
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
    value = first(request, of_request.prompt)
    if value is None and isinstance(record.get("request"), str):
        value = record["request"]
    shape = (
        "openai-completions" if isinstance(response, dict) and "choices" in response else "plain"
    )
    return _from_prompt(value, shape)


def _from_prompt(value: Any, shape: str) -> ParsedRequest:
    """A prompt: a text, several texts, or messages after all."""
    if isinstance(value, str):
        messages = parsed_json(value) if '"role"' in value[:4096] else None
        if not is_messages(messages):
            return ParsedRequest(shape, prompt=value)
        value = messages
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
    parsed: ParsedRequest, record: Mapping[str, Any], places: _Places, names: FieldNames
) -> None:
    """What came back: into ``parsed``."""
    if names.response:
        answer = lookup(record, names.response)
        text, n = (None, 0) if answer is None else text_of(answer)
    else:
        response, of_response = places[0]
        text, n = _answer_text(response, of_response)
        if text is None:
            for fields, known in places[:0:-1]:
                value = first(fields, known.response)
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


def _answer_text(response: Any, names: Fields) -> tuple[str | None, int]:
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
    for key in names.answer:
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


def _usage(record: Mapping[str, Any], places: _Places, report: Report) -> Usage:
    """The first usage that is found: of the response, of the request, of the record, elsewhere."""
    for fields, known in places:
        for name in known.usage:
            inner = fields[name]
            if isinstance(inner, dict) and inner:
                usage = normalise_usage(inner, report)
                if usage.is_known:
                    return usage
        if known.is_usage:
            usage = normalise_usage(fields, report, is_nested=False)
            if usage.is_known:
                return usage
    return read_usage(_further_places(record), report)


def _further_places(record: Mapping[str, Any]) -> list[Any]:
    """Beside the bodies of a Bedrock log, in the last streamed piece, in metadata."""
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


def _model(record: Mapping[str, Any], places: _Places, names: FieldNames) -> str:
    """The model that answered, else the one asked for."""
    if names.model:
        return text_or_none(lookup(record, names.model)) or ""
    for fields, known in places:
        for name in known.model:
            value = fields[name]
            if isinstance(value, str) and value:
                return value
    return ""


def _time(record: Mapping[str, Any], places: _Places, names: FieldNames) -> Any:
    """Of the record, of the request, of the response."""
    if names.time:
        return lookup(record, names.time)
    for fields, known in reversed(places):
        for name in known.time:
            value = fields[name]
            if value is not None and not isinstance(value, dict | list):
                return value
    return None


def _id(places: _Places) -> str:
    for fields, known in (places[0], places[2]):
        for name in known.id:
            value = fields[name]
            if isinstance(value, str | int) and not isinstance(value, bool):
                return str(value)[:128]
    return ""


def _failure(record: Mapping[str, Any], places: _Places) -> str:
    """Why the request failed, as far as the record says."""
    seen = [places[2], places[0]]
    for name in ("response", "result"):
        outer = record.get(name)
        if isinstance(outer, dict) and outer is not places[0][0]:
            seen.append((outer, fields_of(outer)))
    for fields, known in seen:
        for name in known.status:
            status = fields[name]
            if type(status) is int and status >= _FIRST_FAILING_STATUS:
                return f"status {status}"
            if isinstance(status, str) and status[:10].lower() in _FAILED_STATUS:
                return f"status {status[:10]}"
        if "error" in known.has and fields["error"]:
            text, _ = text_of(fields["error"])
            return f"error {text[:80]}".strip()
        if "type" in known.has and fields["type"] in _FAILED_TYPES:
            return str(fields["type"])
    return ""
