"""Files of chats: one chat as JSON, or many, as a list or as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jeton._foreign import json_of
from jeton.errors import RecordError, UsageError

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
