"""Text of a chat's messages, whatever shape they have.

A message's content is a string, or parts: of OpenAI (``text``, ``input_text``, ``image_url`` ...),
Anthropic (``text``, ``tool_use``, ``tool_result``, ``thinking`` ...), Gemini (``parts``),
Bedrock (``toolUse`` ...) or OpenTelemetry (``{"type": "text", "content": ...}``). Calls of tools
and their results are text that is sent, so they are kept as the JSON they are sent as; images,
audio and files are counted, not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from jeton.corpus.requests.blocks import (
    BlockKind,
    kinds_of_last_turn,
    may_have_passages,
    passages_in,
)
from jeton.corpus.requests.sent import SentChat, compact_json, plain_value

__all__ = [
    "OVERHEAD_SOURCE",
    "ChatRenderer",
    "CountedChat",
    "chat_of",
    "compact_json",
    "published_overhead",
    "text_of",
]

ChatRenderer: TypeAlias = Callable[
    [Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]] | None], str
]
"""Writes a chat as it is sent: called with messages (each with ``role`` and ``content``, a str) and
tools (or None); the text ends where the answer begins. A chat template makes one::

    lambda messages, tools: template.render(
        messages, tools=tools, add_generation_prompt=True
    ).text
"""

TOKENS_PER_MESSAGE: Final = 3
TOKENS_PER_ROLE: Final = 1
TOKENS_PER_NAME: Final = 1
TOKENS_PER_REPLY: Final = 3
OVERHEAD_SOURCE: Final = (
    "OpenAI Cookbook, How_to_count_tokens_with_tiktoken.ipynb, num_tokens_from_messages: 3 tokens "
    "a message, the role (1 token), 1 for a name, 3 to prime the reply; gpt-3.5-turbo-0613 and "
    "later, gpt-4, gpt-4o (read 2026-11)"
)
"""Where the overhead of chats comes from that no template rendered. In tokens."""

_MAX_DEPTH: Final = 32
"""Parts within parts: real ones are three deep (a message, a tool's result, its text)."""

_MAX_PARTS: Final = 100_000
"""Parts of a content: more of them is an array of numbers or an attack, not a message."""

_ATTACHMENT_TYPES: Final = frozenset(
    {
        "image", "image_url", "input_image", "image_file", "audio", "input_audio", "audio_url",
        "video", "video_url", "document", "file", "input_file", "blob", "uri", "media",
    }
)  # fmt: skip
_TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})
_PLAIN_TYPES: Final = ("text", "input_text", "output_text")  # of any value, hashable or not
_ATTACHMENT_KEYS: Final = (
    "inlineData", "inline_data", "fileData", "file_data", "image_url", "input_audio",
)  # fmt: skip
# The fields of a part that hold what it says, the most telling first.
_TEXT_KEYS: Final = (
    "text", "content", "parts", "thinking", "refusal", "output", "result", "response", "value",
    "message", "summary",
)  # fmt: skip
_CALL_KEYS: Final = ("functionCall", "function_call", "toolUse", "function")
_ANSWER_KEYS: Final = ("functionResponse", "function_response", "toolResult")
_ATTACHMENTS: Final = frozenset(_ATTACHMENT_KEYS)
_CALL_AND_ANSWER_KEYS: Final = (*_CALL_KEYS, *_ANSWER_KEYS)
_CALLS_AND_ANSWERS: Final = frozenset(_CALL_AND_ANSWER_KEYS)


_OF_PARTS: Final = frozenset({"parts", "role"})
_EXTRAS: Final = frozenset(
    {
        "tool_calls", "function_call", "name", "type", "text", "reasoning_content", "reasoning",
        *_ATTACHMENT_KEYS, *_CALL_KEYS, *_ANSWER_KEYS,
    }
)  # fmt: skip
"""Fields of a message that make more of it than its content."""


_TOOL, _QUESTION = int(BlockKind.TOOL), int(BlockKind.QUESTION)


@dataclass(slots=True)
class CountedChat:
    """Messages as they are counted.

    Attributes:
        messages: Each with ``role``, ``content`` as one string, and whatever else it had.
        tools: Definitions of tools, as they were sent.
        n_attachments: Images, audio, files and token ids, whose tokens are not in the text.
        sent: Messages and tools as the log has them; None: it was made from nothing sent.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[Mapping[str, Any]] | None = None
    n_attachments: int = 0
    sent: SentChat | None = None

    def joined(self) -> str:
        """Tools and messages as one text, a line break between them.

        Tools come first, as the prefix that a provider's cache sees does (Anthropic documents
        tools, system, messages; read 2026-11).
        """
        return self.joined_blocks()[0]

    def joined_blocks(self) -> tuple[str, tuple[int, ...]]:
        """Return ``joined()``, and kind, start and end (code points) of each of its blocks."""
        pieces = [(_TOOL, compact_json(tool)) for tool in self.tools or ()]
        kinds = kinds_of_last_turn([message["role"] for message in self.messages])
        for kind, message in zip(kinds, self.messages, strict=True):
            pieces.append((kind, message["content"]))
            if len(message) > 2:
                pieces.extend((kind, call) for call in _calls_of(message))
        texts: list[str] = []
        blocks: list[int] = []
        at = 0
        for kind, text in pieces:
            if not text:
                continue
            end = at + len(text)
            if kind != _QUESTION or not may_have_passages(text):
                blocks += (kind, at, end)
            else:
                for part, first, behind in passages_in(text):
                    blocks += (int(part), at + first, at + behind)
            texts.append(text)
            at = end + 1
        return "\n".join(texts), tuple(blocks)


def chat_of(messages: Sequence[Any], *, system: Any = None, tools: Any = None) -> CountedChat:
    """A chat from messages of any shape.

    Args:
        messages: Mappings with a role and a content, or strings (of a user).
        system: Instructions beside the messages, as Anthropic, Gemini and OpenAI's responses have.
        tools: A list of definitions, or None.
    """
    chat = CountedChat(sent=SentChat(messages, system, tools))
    if isinstance(tools, list):
        chat.tools = [tool for tool in tools if isinstance(tool, dict)] or None
    if system:
        text, n = text_of(system)
        chat.n_attachments += n
        chat.messages.append({"role": "system", "content": text})
    for message in messages:
        if isinstance(message, dict):
            content = message.get("content")
            is_short = len(message) == 2 and "role" in message
            if type(content) is str and (
                is_short or ("role" in message and _EXTRAS.isdisjoint(message))
            ):
                # The usual form of a message.
                chat.messages.append({"role": str(message["role"]), "content": content})
                continue
            if is_short:
                parts = message.get("parts") if content is None else content
                plain = _plain_parts(parts) if isinstance(parts, list) else None
                if plain is not None and isinstance(message["role"], str) and message["role"]:
                    chat.messages.append({"role": message["role"], "content": plain})
                    continue
            calls = ("tool_calls", "function_call")
            said = {k: v for k, v in message.items() if k not in calls and k != "role"}
            role = message.get("role") or message.get("from") or message.get("type") or "user"
            text, n = text_of(said)
            kept = {key: message[key] for key in (*calls, "name") if message.get(key)}
            chat.messages.append({"role": str(role), "content": text, **kept})
        else:
            text, n = text_of(message)
            chat.messages.append({"role": "user", "content": text})
        chat.n_attachments += n
    return chat


def published_overhead(chat: CountedChat) -> int:
    r"""Tokens that OpenAI's chat format adds to those of ``chat.joined()``; see OVERHEAD_SOURCE.

    The line breaks that join the messages are no part of the format. They are not taken off: most
    end in a token that the text has anyway ("?" and "?\n" are one token each), so that they add 0.1
    tokens a message (docs/reference/inputs.md). An estimate: for other providers' formats, and for
    tools, nothing is published.
    """
    n = len(chat.messages)
    if not n:
        return 0
    n_names = len([1 for message in chat.messages if message.get("name")])
    per_message = TOKENS_PER_MESSAGE + TOKENS_PER_ROLE
    return n * per_message + n_names * TOKENS_PER_NAME + TOKENS_PER_REPLY


def text_of(content: Any) -> tuple[str, int]:
    """The text of a content, parts joined by line breaks, and how many parts are no text."""
    if isinstance(content, str):
        return content, 0
    if type(content) is dict and type(content.get("content")) is str:
        # A message, of which the content is all there is, or its refusal beside it is null.
        if _EXTRAS.isdisjoint(content):
            return content["content"], 0
    elif isinstance(content, list):
        plain = _plain_parts(content)
        if plain is not None:
            return plain, 0
    elif type(content) is dict and "parts" in content and _OF_PARTS.issuperset(content):
        parts = content["parts"]  # what Gemini sends and answers
        plain = _plain_parts(parts) if type(parts) is list and len(parts) <= _MAX_PARTS else None
        if plain is not None:
            return plain, 0
    texts: list[str] = []
    if isinstance(content, dict) and isinstance(content.get("content"), str | list):
        # A message, of which the content is all there is.
        inner = content["content"]
        if _EXTRAS.isdisjoint(content):
            return text_of(inner)
    n_attachments = _collect(content, texts, 0)
    return "\n".join([text for text in texts if text]) if len(texts) != 1 else texts[0], (
        n_attachments
    )


def _plain_parts(parts: list[Any]) -> str | None:
    """The text of parts that are text alone, as nearly all are; None: see ``_collect``."""
    texts = []
    for part in parts:
        if type(part) is not dict:
            return None
        if len(part) == 2:
            if part.get("type") not in _PLAIN_TYPES:
                return None
            text = part.get("text")
            if text is None:
                text = part.get("content")
        elif len(part) == 1:
            text = part.get("text")
        else:
            return None
        if type(text) is not str:
            return None
        texts.append(text)
    if len(texts) == 1:
        return texts[0]
    return "\n".join([text for text in texts if text])


def _collect(content: Any, texts: list[str], depth: int) -> int:
    if isinstance(content, str):
        texts.append(content)
        return 0
    if content is None:
        return 0
    if depth > _MAX_DEPTH:
        return 1
    if isinstance(content, list):
        if len(content) > _MAX_PARTS or (content and type(content[0]) is int):
            return 1  # a prompt as token ids: there is no text to count
        return sum([_collect(part, texts, depth + 1) for part in content])
    if not isinstance(content, dict):
        is_bytes = isinstance(content, bytes)
        texts.append(plain_value(content) if is_bytes else compact_json(content))
        return 0
    given = content.get("type")
    kind = given if isinstance(given, str) else None
    if kind in _TEXT_TYPES:
        text = content.get("text")
        if isinstance(text, str):
            texts.append(text)
            return 0
    if kind in _ATTACHMENT_TYPES or not _ATTACHMENTS.isdisjoint(content):
        source = content.get("source")
        if isinstance(source, dict) and source.get("type") in ("text", "content"):
            return _collect(source.get("data") or source.get("content"), texts, depth + 1)
        return 1
    if _is_call(content, kind):
        texts.append(_call_text(content))
        return 0
    for key in () if _CALLS_AND_ANSWERS.isdisjoint(content) else _CALL_AND_ANSWER_KEYS:
        inner = content.get(key)
        if isinstance(inner, dict):
            if key in _ANSWER_KEYS:
                return _collect(inner.get("content", inner), texts, depth + 1)
            texts.append(_call_text(inner))
            return 0
    n = 0
    calls = content.get("tool_calls")
    reasoning = content.get("reasoning_content") or content.get("reasoning")
    if isinstance(reasoning, str):
        texts.append(reasoning)
    for key in _TEXT_KEYS:
        inner = content.get(key)
        if inner is not None and not isinstance(inner, bool | int | float):
            is_data = key in ("result", "response", "output") and isinstance(inner, dict)
            if is_data and not any(k in inner for k in _TEXT_KEYS):
                texts.append(compact_json(inner))
            else:
                n += _collect(inner, texts, depth + 1)
            break
    if isinstance(calls, list):
        texts.extend(_calls_of(content))
    return n


def _is_call(part: Mapping[str, Any], kind: Any) -> bool:
    return kind in ("tool_use", "function_call", "tool_call", "server_tool_use") or (
        "name" in part and "arguments" in part
    )


def _call_text(call: Mapping[str, Any]) -> str:
    """A call of a tool: its name and its arguments, as the model writes them."""
    given = next(
        (call[key] for key in ("arguments", "input", "args") if call.get(key) is not None), ""
    )
    name = call.get("name")
    arguments = given if isinstance(given, str) else compact_json(given)
    return f"{name} {arguments}" if isinstance(name, str) else arguments


def _calls_of(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    found = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    single = message.get("function_call")
    if isinstance(single, dict):
        found.append(single)
    inner = [call.get("function") for call in found]
    return [
        _call_text(function if isinstance(function, dict) else call)
        for call, function in zip(found, inner, strict=True)
    ]
