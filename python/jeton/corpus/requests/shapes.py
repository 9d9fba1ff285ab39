"""Which shape a log's record has, and the request that it tells of.

A record is told by the fields it has, each record by itself: logs mix shapes. A request and its
response stand side by side, or one inside the other, or under ``request``, ``body``, ``params``,
``response``, ``result`` as gateways and batch files write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.lookup import lookup, parsed_json
from jeton.corpus.requests.facts import miss_reason_of, read_facts
from jeton.corpus.requests.facts_plan import Places
from jeton.corpus.requests.fields import LOG_SHAPES, NO_FIELDS, FieldNames, Fields, fields_of
from jeton.corpus.requests.messages import chat_of, text_of
from jeton.corpus.requests.parsed import ParsedRequest, Report, first, is_messages
from jeton.corpus.requests.pieces import answer_of, piece_kind, pieces_of_text

SHAPES: Final = {shape.name: shape.told for shape in LOG_SHAPES if shape.told}
"""Kinds of records, by what they are told."""

_REQUEST_MARKS: Final = frozenset({"messages", "prompt", "input", "contents", "model", "body"})
_RESPONSE_MARKS: Final = frozenset(
    {
        "choices", "candidates", "usage", "usageMetadata", "usage_metadata", "stop_reason",
        "stopReason", "generation", "results", "Usage",
    }
)  # fmt: skip
"""Fields that tell a provider's object from an answer that is JSON itself."""

_MAX_NESTING: Final = 8


def parse_record(
    record: Mapping[str, Any], of_record: Fields, names: FieldNames, report: Report
) -> tuple[ParsedRequest | None, int]:
    """The request of a record; None if there is none in it (``report`` was told why).

    Args:
        record: One JSON object, or a row of a table.
        of_record: The known names that it has.
        names: Fields that the user named.
        report: Called with the kind of an issue and its detail.

    Returns:
        The request, and how many pieces its answer was put together from (0: it was whole).
    """
    shape = next((shape for shape in of_record.shapes if shape.is_it(record)), None)
    request, response = _halves(record, of_record)
    if shape is not None:
        names = shape.names(names)
        if shape.request:
            body = parsed_json(lookup(record, shape.request))
            request = body if isinstance(body, dict) else {}
        if shape.response:
            response = parsed_json(lookup(record, shape.response))
    n_pieces = 0
    if response is not None and response is not record:
        response, n_pieces = _assembled(response)
    of_request = of_record if request is record else fields_of(request)
    of_response = NO_FIELDS
    if isinstance(response, dict):
        of_response = of_record if response is record else fields_of(response)
    # The places in which facts are looked for, with the names that they have.
    places: Places = ((response, of_response), (request, of_request), (record, of_record))
    parsed = _sent(record, request, response, of_request, names)
    _received(parsed, record, places, names)
    read_facts(parsed, record, places, names, report, shape)
    if shape is not None and shape.told and parsed.shape == "plain":
        parsed.shape = shape.name
    if parsed.chat is not None and parsed.chat.sent is not None:
        parsed.chat.sent.request = request
    if isinstance(response, dict) and "diagnostics" in response:
        parsed.miss_reason = miss_reason_of(response)
    if parsed.has_text:
        return parsed, n_pieces
    if not parsed.usage.is_known and parsed.response is None:
        keys = ", ".join(str(key) for key in list(record)[:8])
        report("not_a_request", f"its fields are {keys or 'none'}")
        return None, n_pieces
    if parsed.shape == "plain":
        parsed.shape = "export" if of_record.is_export else "usage"
    return parsed, n_pieces


def _assembled(response: Any) -> tuple[Any, int]:
    """A response that was kept as its pieces, put together; and how many they were."""
    pieces = None
    if isinstance(response, list):
        pieces = response
    elif isinstance(response, str):
        pieces = pieces_of_text(response)
    elif isinstance(response, dict):
        known = fields_of(response)
        if piece_kind(response, known):
            pieces = [response]
        elif known.streams and known.has.isdisjoint(("choices", "candidates")):
            pieces = _kept_pieces(response, known)
    answer = answer_of(pieces) if pieces else None
    return (response, 0) if answer is None else (answer.response(), answer.n_pieces)


def _kept_pieces(fields: Mapping[str, Any], known: Fields) -> list[Any] | None:
    """The pieces of an answer that are kept as a list or as a text; None: there are none."""
    for key in known.streams:
        value = parsed_json(fields.get(key))
        if isinstance(value, str):
            value = pieces_of_text(value)
        if isinstance(value, list):
            # A gateway may keep each piece as the text that came.
            pieces = [parsed_json(piece) for piece in value]
            if answer_of(pieces) is not None:
                return pieces
            text = "\n".join(piece for piece in pieces if isinstance(piece, str))
            found = pieces_of_text(text) if text else None
            if found is not None:
                return found
    return None


def _halves(record: Mapping[str, Any], names: Fields) -> tuple[Mapping[str, Any], Any]:
    """The request's fields and the response (a mapping, a text, or None)."""
    has = names.has
    bedrock_in = record.get("input") if "input" in has else None
    bedrock_out = record.get("output") if "output" in has else None
    request: Mapping[str, Any] = record
    for place in names.request_places:
        inner = record.get(place)
        if type(inner) is not dict:
            inner = _body(inner, _REQUEST_MARKS)
        if isinstance(inner, dict):
            body = parsed_json(inner.get("body", inner.get("request_body")))
            request = body if isinstance(body, dict) else inner
            break
    else:
        if isinstance(bedrock_in, dict) and any(
            key in bedrock_in for key in ("messages", "contents", "prompt")
        ):
            request = bedrock_in
    for place in names.response_places:
        inner = record.get(place)
        if type(inner) is not dict:
            inner = _body(inner, _RESPONSE_MARKS)
        if isinstance(inner, dict | list):
            return request, _unwrapped(inner)
        if isinstance(inner, str) and pieces_of_text(inner) is not None:
            return request, inner
    if names.streams and not names.usage and "choices" not in has:
        kept = _kept_pieces(record, names)
        if kept is not None:
            return request, kept
    if isinstance(bedrock_out, dict):
        is_answer = "stopReason" in record or "stop_reason" in record
        return request, record if is_answer else _unwrapped(bedrock_out)
    is_answer = (
        "choices" in has
        or "candidates" in has
        or record.get("object") == "response"
        or (record.get("type") == "message" and "content" in has)
    )
    return request, record if is_answer else None


def _unwrapped(response: Any) -> Any:
    """The innermost response: batch files and gateways wrap it in a status."""
    for _ in range(_MAX_NESTING):
        if not isinstance(response, dict):
            break
        names = fields_of(response)
        if not names.has.isdisjoint(("choices", "candidates", "usage", "usage_metadata")):
            break
        if piece_kind(response, names):
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
    if isinstance(parsed, list) and parsed and answer_of(parsed) is not None:
        return parsed
    return value


def _sent(
    record: Mapping[str, Any],
    request: Mapping[str, Any],
    response: Any,
    of_request: Fields,
    names: FieldNames,
) -> ParsedRequest:
    """Read the request, and the shape that it tells."""
    if names.prompt:
        return _from_prompt(lookup(record, names.prompt), "plain")
    has = of_request.has
    tools = None
    if "tools" in has or "functions" in has:
        tools = request.get("tools") or request.get("functions")
    if "contents" in has and isinstance(request.get("contents"), list):
        system = request.get("systemInstruction") or request.get("system_instruction")
        chat = chat_of(request["contents"], system=system, tools=tools)
        return ParsedRequest(
            "gemini", chat=chat, chat_format="google", n_attachments=chat.n_attachments
        )
    if "messages" in has:
        messages = parsed_json(request.get(of_request.keys["messages"]))
        is_answer = isinstance(messages, list) and "usage" in has and request is record
        if isinstance(messages, list) and not (is_answer and _are_answers(messages)):
            shape, chat_format = _chat_shape(request, response)
            chat = chat_of(messages, system=request.get("system"), tools=tools)
            return ParsedRequest(
                shape, chat=chat, chat_format=chat_format, n_attachments=chat.n_attachments
            )
    conversations = request.get("conversations") if "conversations" in has else None
    if isinstance(conversations, list):
        chat = chat_of(conversations, system=request.get("system"), tools=tools)
        return ParsedRequest("plain", chat=chat, n_attachments=chat.n_attachments)
    given = request.get("input") if "input" in has else None
    instructions = request.get("instructions") if "instructions" in has else None
    if isinstance(given, list) and any(isinstance(item, dict) for item in given):
        chat = chat_of(given, system=instructions, tools=tools)
        shape = "openai-responses" if _is_responses(request, response) else "plain"
        return ParsedRequest(shape, chat=chat, n_attachments=chat.n_attachments)
    if isinstance(given, str) and (instructions or _is_responses(request, response)):
        chat = chat_of([given], system=instructions, tools=tools)
        return ParsedRequest("openai-responses", chat=chat, chat_format="openai")
    if response is record and "usage" in has and not has & {"prompt", "input", "query", "question"}:
        return ParsedRequest("plain")  # an answer alone: its text was not sent
    value = first(request, of_request.prompt)
    if value is None and "request" in record and isinstance(record["request"], str):
        value = record["request"]
    shape = (
        "openai-completions" if isinstance(response, dict) and "choices" in response else "plain"
    )
    if isinstance(response, dict) and "stopReason" in response:
        shape = "bedrock"
    return _from_prompt(value, shape)


def _are_answers(messages: list[Any]) -> bool:
    """True if messages beside a usage are those that came back (.NET)."""
    roles = {str(m.get("role", m.get("Role", ""))).lower() for m in messages if isinstance(m, dict)}
    return roles == {"assistant"}


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
    """Tell the kind of a chat."""
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
    parsed: ParsedRequest, record: Mapping[str, Any], places: Places, names: FieldNames
) -> None:
    """Read the response into ``parsed``."""
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
        return text_of(response) if response else (None, 0)
    if not isinstance(response, dict):
        return None, 0
    choices = response.get("choices")
    if isinstance(choices, list):
        if len(choices) == 1 and isinstance(choices[0], dict):
            choice = choices[0]
            return text_of(choice.get("message") or choice.get("text") or "")
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
