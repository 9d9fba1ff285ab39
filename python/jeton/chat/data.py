"""Values that a template gets: plain JSON, rebuilt from the caller's values.

The rules are those of transformers 5.23.0 (``render_jinja_template``, ``apply_chat_template``; read
2026-11-21): values are copied into plain types, anything else becomes a placeholder that names its
type; fields of a message that are None are left out; reasoning is passed under the names that
templates read.

One thing is different. A string is untrusted, but for a message's ``role`` if it is one of the
known ones: templates make control tokens of it (``'<|' + message['role'] + '|>'``), and it is the
program, not the user, that sets it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jeton._foreign import json_of
from jeton.chat.text import TAIL, TRUSTED, Text, joined
from jeton.errors import RecordError, UsageError

KNOWN_ROLES = frozenset(
    {
        "assistant",
        "context",
        "developer",
        "documents",
        "function",
        "ipython",
        "model",
        "observation",
        "system",
        "tool",
        "tool_response",
        "tools",
        "user",
    }
)
"""Roles that published chat templates know by name (read 2026-11-21)."""

TAIL_TEXT = "CONTINUE_FINAL_MESSAGE_TAG "
"""Text behind a final message that is to be continued: transformers' words; a template may look at
it. It is found again by its provenance, never by its characters."""

_REASONING = ("reasoning_content", "thinking", "reasoning")
_MAX_DEPTH = 100
"""Levels of nesting in a value; JSON of chats has a handful."""


def plain_data(value: Any, *, depth: int = 0) -> Any:
    """A value in plain types. ``Text`` keeps its provenance; all other strings have none.

    Raises:
        UsageError: It is nested too deeply (or within itself).
    """
    if depth > _MAX_DEPTH:
        raise UsageError(
            f"a value for a chat template is nested more than {_MAX_DEPTH} levels deep\n"
            "hint: messages, tools and documents are trees of a few levels"
        )
    if value is None or isinstance(value, Text) or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    below = depth + 1
    if isinstance(value, Mapping):
        return {
            plain_data(key, depth=below): plain_data(item, depth=below)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [plain_data(item, depth=below) for item in value]
    if isinstance(value, tuple):
        return tuple(plain_data(item, depth=below) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain_data(getattr(value, field.name), depth=below)
            for field in dataclasses.fields(value)
        }
    for method in ("model_dump", "item"):
        # pydantic models; NumPy's scalars, which are no Python numbers.
        if callable(getattr(value, method, None)) and not isinstance(value, type):
            if method == "item" and getattr(value, "shape", None) != ():
                continue
            return plain_data(getattr(value, method)(), depth=below)
    return f"<{type(value).__name__}>"


def messages_for_template(
    messages: Sequence[Any],
    *,
    trusted_roles: frozenset[str],
    continued: str | None,
    may_be_empty: bool = False,
) -> list[dict[str, Any]]:
    """Messages as a template sees them.

    Args:
        messages: Mappings (or dataclasses, or pydantic models) with a role and whatever else.
        trusted_roles: Roles that are trusted text.
        continued: Name of the field of the last message that is to be continued; None: none is.
        may_be_empty: True if a chat may have no message.

    Raises:
        UsageError: They are no messages, or the last one has nothing to continue.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise UsageError(
            f"messages are a {type(messages).__name__}; expected a list of messages\n"
            'hint: [{"role": "user", "content": "..."}]'
        )
    if not messages and (continued is not None or not may_be_empty):
        raise UsageError("there are no messages\nhint: give at least one")
    seen = [_message(index, message, trusted_roles) for index, message in enumerate(messages)]
    if continued is not None:
        _mark_tail(seen[-1], continued)
    return seen


def _message(index: int, message: Any, trusted_roles: frozenset[str]) -> dict[str, Any]:
    plain = plain_data(message)
    if not isinstance(plain, dict):
        raise UsageError(
            f"message {index} is a {type(message).__name__}; expected a mapping\n"
            'hint: {"role": "user", "content": "..."}'
        )
    plain = {key: value for key, value in plain.items() if value is not None}
    role = plain.get("role")
    if type(role) is str and role in trusted_roles:
        plain["role"] = Text.all_of(role, TRUSTED)
    reasoning = next((plain[name] for name in _REASONING if name in plain), None)
    if reasoning is not None:
        plain = {"thinking": reasoning, **plain, "reasoning_content": reasoning}
    return plain


def _mark_tail(message: dict[str, Any], field: str) -> None:
    """Put the tail behind what is to be continued."""
    tail = Text.all_of(TAIL_TEXT, TAIL)
    value = message.get(field)
    if isinstance(value, list | tuple):
        blocks = [block for block in value if isinstance(block, dict) and "text" in block]
        if not blocks or not isinstance(blocks[-1]["text"], str):
            raise UsageError(
                f"the last message has no text to continue in {field!r}\n"
                "hint: it takes a text block"
            )
        blocks[-1]["text"] = joined((blocks[-1]["text"], tail))
        return
    if not isinstance(value, str):
        raise UsageError(
            f"the last message has no text {field!r} to continue\n"
            "hint: continue_final_message names another field, or must be false"
        )
    same = [name for name in _REASONING if message.get(name) == value]
    for name in same if field in _REASONING else [field]:
        message[name] = joined((value, tail))


# Files of chats: one chat as JSON, or many, as a list or as JSON Lines.

_EXPECTED = (
    'hint: expected [{"role": "user", "content": "..."}], or {"messages": [...]} with what else '
    "the template reads, one of them or one a line"
)
_MESSAGE_FIELDS = ("messages", "conversations", "conversation", "chat")
_FOR_OPTIONS = frozenset(
    (
        "add_generation_prompt",
        "continue_final_message",
        "control",
        "may_be_empty",
        "template_name",
        "trusted_roles",
    )
)
"""Names of arguments, which a record cannot set."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat of a file.

    Attributes:
        messages: Its messages.
        variables: Other fields of its record for the template: tools, documents ...
        where: The place in the file, for messages to people.
    """

    messages: list[Any]
    variables: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""


def chats_of(data: bytes, *, name: str) -> list[Chat]:
    """The chats of a file.

    Args:
        data: Content of the file: a list of messages; an object with ``messages``; a list of such
            lists or objects; or lines of them.
        name: Name of the file in messages.

    Raises:
        RecordError: It is no JSON, or a line is none.
        UsageError: It is JSON, and no chat.
    """
    try:
        value = json_of(data, any_integer=True)
    except RecursionError:
        raise RecordError(f"{name} is nested too deeply\n{_EXPECTED}", path=name) from None
    except ValueError as error:
        lines = data.splitlines()
        if sum(1 for line in lines if line.strip()) < 2:
            raise RecordError(
                f"{name} is no JSON: {_said(error)}\n{_EXPECTED}", path=name
            ) from None
        return list(_of_lines(lines, name))
    if isinstance(value, list) and value and all(_is_chat(item) for item in value):
        return [_chat(item, f"{name}, chat {i}") for i, item in enumerate(value, start=1)]
    return [_chat(value, name)]


def _of_lines(lines: list[bytes], name: str) -> Iterator[Chat]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            value = json_of(line, any_integer=True)
        except (RecursionError, ValueError) as error:
            raise RecordError(
                f"{where} is no JSON: {_said(error)}\n{_EXPECTED}", path=name, line=number
            ) from None
        yield _chat(value, where)


def _said(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _is_chat(value: object) -> bool:
    """True if an item of a list is a chat, and no message."""
    if isinstance(value, list):
        return True
    return isinstance(value, dict) and "role" not in value and _field_of(value) is not None


def _field_of(record: Mapping[str, Any]) -> str | None:
    return next((name for name in _MESSAGE_FIELDS if isinstance(record.get(name), list)), None)


def _chat(value: object, where: str) -> Chat:
    if isinstance(value, list):
        return Chat(value, {}, where)
    name = _field_of(value) if isinstance(value, dict) else None
    if name is None or not isinstance(value, dict):
        raise UsageError(f"{where} has no list of messages\n{_EXPECTED}")
    taken = sorted(_FOR_OPTIONS & value.keys())
    if taken:
        raise UsageError(f"{where} sets {', '.join(taken)}\nhint: those are for options")
    return Chat(value[name], {k: v for k, v in value.items() if k != name}, where)
