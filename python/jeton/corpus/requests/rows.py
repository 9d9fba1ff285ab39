"""Requests on their way from a record to a batch: rows, and what joining needs to know of them."""

from __future__ import annotations

from typing import NamedTuple

from jeton.corpus.requests.parsed import SpanPlace
from jeton.corpus.requests.usage import Usage


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
