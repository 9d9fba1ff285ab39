"""One request as a log's record tells it, before it becomes a row and a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jeton.corpus.requests.messages import Chat
from jeton.corpus.requests.usage import UNKNOWN_USAGE, Usage, find_usage, normalise_usage

__all__ = [
    "ParsedRequest",
    "Report",
    "first",
    "is_messages",
    "read_usage",
]

Report = Callable[[str, str], None]
"""Called with the kind of an issue and its detail."""


@dataclass(slots=True)
class ParsedRequest:
    """One request.

    Attributes:
        shape: The kind of record: ``openai-chat``, ``openai-responses``, ``anthropic``,
            ``gemini``, ``bedrock``, ``otel``, ``plain``, ``usage``.
        prompt: What was sent, as one text; None for a chat or if it is not logged.
        chat: What was sent, as messages.
        response: What came back; None if it is not logged.
        model: The model that answered, else the one asked for.
        time: As logged; None if it is not.
        usage: Token counts in one convention.
        domain: The value of the domain's field.
        id: The response's identity, for finding repetitions.
        failed: Why the request failed; empty: it did not, or the log does not say.
        provider: Whose chat format it was sent in, as far as the shape tells.
        n_attachments: In the prompt or the response.
    """

    shape: str
    prompt: str | None = None
    chat: Chat | None = None
    response: str | None = None
    model: str = ""
    time: Any = None
    usage: Usage = field(default=UNKNOWN_USAGE)
    domain: Any = None
    id: str = ""
    failed: str = ""
    provider: str = ""
    n_attachments: int = 0

    @property
    def has_text(self) -> bool:
        """Whether it is known what was sent."""
        return self.prompt is not None or bool(self.chat and self.chat.messages)


def read_usage(places: Sequence[Any], report: Report) -> Usage:
    """The usage in the first place that has one."""
    for place in places:
        if isinstance(place, dict):
            found = find_usage(place)
            if found is not None:
                usage = normalise_usage(found, report, is_nested=found is not place)
                if usage.is_known:
                    return usage
    return UNKNOWN_USAGE


def first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of the fields that is there and not null."""
    for name in names:
        value = fields.get(name)
        if value is not None:
            return value
    return None


def is_messages(value: Any) -> bool:
    """Whether a value is a list of messages, each with a role and a content."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(item, dict) and "role" in item and ("content" in item or "parts" in item)
            for item in value
        )
    )
