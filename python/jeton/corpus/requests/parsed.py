"""One request as a log's record tells it, before it becomes a row and a text.

Requests on their way from a record to a batch: rows, and what joining needs to know of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jeton.corpus.requests.messages import CountedChat
from jeton.corpus.requests.usage import UNKNOWN_USAGE, Usage

Report = Callable[[str, str], None]
"""Called with the kind of an issue and its detail."""


class SpanPlace(NamedTuple):
    """Where a span stands in its trace.

    Attributes:
        trace: Id of the trace.
        span: Id of the span.
        parent: Id of the span around it; empty: none.
        is_call: True if it says that it is a call of a model.
        answer: Id of the provider's answer; empty: not stated.
    """

    trace: str
    span: str
    parent: str
    is_call: bool
    answer: str


@dataclass(slots=True)
class ParsedRequest:
    """One request.

    Attributes:
        shape: The kind of record (``shapes.SHAPES``).
        prompt: The prompt, as one text; None for a chat or if it is not logged.
        chat: The prompt, as messages.
        response: The answer; None if it is not logged.
        model: The model that answered, else the one asked for.
        model_asked: The model asked for; empty: not stated.
        provider: The provider that answered, as the price list calls it; empty: not known.
        tariff: ``standard``, or what the provider served instead.
        time: As logged; None if it is not.
        usage: Amounts in one convention.
        domain: The value of the domain's field.
        id: The answer's identity, for finding repetitions; empty: not stated.
        is_own_id: The id is the provider's of its answer, not the log's of its record.
        scope: The request's id beside the answer's, or the session's; empty: not stated.
        is_strict_scope: Another scope is another request, whatever its counts.
        conversation: Id of the conversation, session or trace; empty: not stated.
        n_requests: Requests that the record adds up.
        from_gateway_cache: The gateway answered from a cache of its own.
        failed: Why the request failed; empty: it did not, or the log does not say.
        chat_format: The provider whose chat format it has, as far as the shape tells.
        n_attachments: In the prompt or the response.
        place: Place of a span.
        is_session: A record of a coding agent's session, which does not log what was sent.
        agent: Id of the sub-agent that sent it; empty: none.
        miss_reason: The provider's own reason why its cache had no prefix; empty: not stated.
        more: Calls of other models that the record tells of beside its own.
    """

    shape: str
    prompt: str | None = None
    chat: CountedChat | None = None
    response: str | None = None
    model: str = ""
    model_asked: str = ""
    provider: str = ""
    tariff: str = "standard"
    time: Any = None
    usage: Usage = field(default=UNKNOWN_USAGE)
    domain: Any = None
    id: str = ""
    is_own_id: bool = False
    scope: str = ""
    is_strict_scope: bool = False
    conversation: str = ""
    n_requests: int = 1
    from_gateway_cache: bool = False
    failed: str = ""
    chat_format: str = ""
    n_attachments: int = 0
    place: SpanPlace | None = None
    is_session: bool = False
    agent: str = ""
    miss_reason: str = ""
    more: list[ParsedRequest] = field(default_factory=list)

    @property
    def has_text(self) -> bool:
        """True if it is known what was sent."""
        return self.prompt is not None or bool(self.chat and self.chat.messages)


def first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of the fields that is there and not null."""
    for name in names:
        value = fields.get(name)
        if value is not None:
            return value
    return None


def is_messages(value: Any) -> bool:
    """True if a value is a list of messages, each with a role and a content."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(item, dict) and "role" in item and ("content" in item or "parts" in item)
            for item in value
        )
    )


class Row(NamedTuple):
    """One request as it enters a batch."""

    text: str
    response: str | None
    usage: Usage
    model: str
    model_asked: str
    provider: str
    tariff: str
    conversation: int
    n_requests: int
    from_gateway_cache: bool
    time_s: float
    domain: str | None
    overhead_tokens: int
    has_text: bool
    line: int = 0
    record_id: str = ""
    blocks: tuple[int, ...] = ()
    """Kind, start and end (code points of ``text``) of each block, one after another; empty: the
    parts of the text are not known."""
    sent: bytes = b""
    """Hashes and lengths of what was sent (`sent.packed`); empty: the log does not show it."""


class Reported(NamedTuple):
    """An issue of a request.

    Attributes:
        kind: One of ``issues.ISSUE_KINDS``.
        detail: The oddity.
        n: How often.
    """

    kind: str
    detail: str = ""
    n: int = 1


class ReadRequest(NamedTuple):
    """A request that was read from a record, before it is joined with others.

    Attributes:
        row: As it would enter a batch.
        shape: The kind of record (``shapes.SHAPES``).
        id: The answer's identity; empty: not stated.
        scope: The request's id beside the answer's, or the session's; empty: not stated.
        is_own_id: The id is the provider's of its answer, not the log's of its record.
        is_strict_scope: Another scope is another request, whatever its counts.
        place: Place of a span.
        oddities: Counted if the request counts, and is not joined with another.
        earlier: Requests of the same chat before it, which count if it does.
    """

    row: Row
    shape: str
    id: str
    scope: str
    is_own_id: bool
    is_strict_scope: bool
    place: SpanPlace | None = None
    oddities: tuple[Reported, ...] = ()
    earlier: tuple[Row, ...] = ()


class ReadEvents(NamedTuple):
    """Requests and issues of a record that is not one plain request, in order."""

    events: tuple[ReadRequest | Reported, ...]
