"""Records that tell of one request are joined before they are counted.

An answer is logged several times (blocks of a stream, resumed sessions, copies of files), a span is
exported twice, a step's sum stands around its calls. Here each request stays one row, with the last
counts of its stream. A record that was handed out already is corrected (``columns.Correction``).

Memory: about 150 bytes for each answer that is compared, up to ``MAX_ANSWERS`` of them, and for
spans ``MAX_SPANS``; later repeats are counted as requests, and that is reported.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from jeton.corpus.requests.parsed import SpanPlace
from jeton.corpus.requests.rows import ReadRequest, Row

__all__ = ["JOINED_KINDS", "MAX_ANSWERS", "MAX_SPANS", "Joiner", "ReplacedRow"]

MAX_ANSWERS: Final = 1_000_000
"""Answers compared with one another; later ones are not looked up."""

MAX_SPANS: Final = 200_000
"""Spans kept at a time, about 300 bytes each; the traces touched longest ago go first."""

_MAX_CHAIN: Final = 8
"""Different requests of one id that are compared: more of them is a constant in the id's place."""

_UNLINKED: Final = ""
"""Place of a mark among the spans of a trace: a call with a usage has no parent."""

_MAX_ANCESTORS: Final = 200
_MAX_GONE: Final = 200_000

JOINED_KINDS: Final[dict[str, str]] = {
    "same_answer_again": "records that repeat an answer (the same id, in the same request or "
    "session, or with the same counts): its last counts hold",
    "same_span_again": "spans that were exported again",
    "wrapping_span": "spans of agents and other steps whose usage is that of calls inside them",
    "stream_pieces": "pieces of streamed answers, put together",
    "stream_events": "events of streamed answers, put together",
    "running_totals": "totals of a session that were given again, or that sum up its calls",
}
"""Kinds of joining, with what was joined."""


class ReplacedRow(NamedTuple):
    """A row that was handed out, and the record that replaces its counts; None: it goes."""

    row: int
    by: Row | None


class _Identity(NamedTuple):
    """Hashes of an id, of its scope, and of what the request is; and its output."""

    key: int
    scope: int
    is_strict: bool
    digest: int
    output: int


class _Span:
    """A span as far as it is known."""

    __slots__ = ("answer", "covering", "is_call", "is_known", "parent", "ticket")

    def __init__(self) -> None:
        self.parent = ""
        self.ticket = -1
        self.is_known = False  # its own record was read, not only a child's
        self.is_call = False
        self.answer = ""
        self.covering: set[str] | None = None  # answers of spans inside it that have a usage

    def is_wrapping(self) -> bool:
        """True if its usage is that of the spans inside it."""
        if self.covering is None:
            return False
        # A call with an answer of its own may have another call inside it: both count.
        is_own = self.is_call and self.answer and "" not in self.covering
        return not (is_own and self.answer not in self.covering)


class Joiner:
    """Holds the rows of the next batch, and knows what was counted before."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self.pending: list[Row | None] = []
        """Rows that are not handed out yet; None: joined with another."""
        self.n_chars = 0
        """Characters of their texts."""
        self.joined: dict[str, int] = {}
        """Records that were joined, by kind."""
        self._report = report
        # Tickets number all rows ever appended; of the rows handed out, those that went before.
        self._first_ticket = 0
        self._gone = array("q")
        self._changes: list[tuple[int, Row | None]] = []
        self._index: dict[int, int] = {}
        self._tickets = array("q")
        self._digests = array("q")
        self._scopes = array("q")
        self._outputs = array("q")
        self._inputs = array("q")
        self._next = array("q")
        self._traces: OrderedDict[str, dict[str, _Span]] = OrderedDict()
        self._n_spans = 0
        self._gone_traces: set[int] = set()

    def join(self, kind: str, n: int) -> None:
        """Count records that were joined elsewhere."""
        if n > 0:
            self.joined[kind] = self.joined.get(kind, 0) + n

    def append(self, row: Row) -> int:
        """Count a row; its ticket."""
        self.pending.append(row)
        self.n_chars += len(row.text) + len(row.response or "")
        return self._first_ticket + len(self.pending) - 1

    def add(self, request: ReadRequest) -> bool:
        """Count a request, or join it with an earlier one; whether it counts."""
        if request.place is not None and request.place.span:
            return self._add_span(request, request.place)
        if request.id:
            return self._add_answer(request) >= 0
        self.append(request.row)
        return True

    def is_repeat(self, request: ReadRequest) -> bool:
        """True if a request would be joined with an earlier one."""
        if not request.id or request.place is not None:
            return False
        return self._find(_identity(request))[0] >= 0

    def take(self) -> tuple[list[Row], list[ReplacedRow]]:
        """The rows of the next batch, and changes to rows of earlier ones."""
        changes = [ReplacedRow(ticket - bisect_left(self._gone, ticket), by)
                   for ticket, by in self._changes]  # fmt: skip
        rows = [row for row in self.pending if row is not None]
        if len(rows) < len(self.pending):
            self._gone.extend(
                self._first_ticket + place for place, row in enumerate(self.pending) if row is None
            )
        self._first_ticket += len(self.pending)
        self.pending, self._changes, self.n_chars = [], [], 0
        return rows, changes

    # Answers

    def _add_answer(self, request: ReadRequest) -> int:
        """The ticket of a new row; -1 if it was joined."""
        row = request.row
        identity = _identity(request)
        key, scope, _, digest, _ = identity
        found, last = self._find(identity)
        if found >= 0:
            self.join("same_answer_again", 1)
            self._keep_better(found, row)
            return -1
        ticket = self.append(row)
        if last >= 0:
            self._report("duplicate_id", request.id)
        if len(self._tickets) >= MAX_ANSWERS:
            self._report("joining_limited", f"the id {request.id} and those behind it")
            return ticket
        slot = len(self._tickets)
        self._tickets.append(ticket)
        self._digests.append(digest)
        self._scopes.append(scope)
        self._outputs.append(row.usage.output)
        self._inputs.append(row.usage.input)
        self._next.append(-1)
        if last >= 0:
            self._next[last] = slot
        else:
            self._index[key] = slot
        return ticket

    def _find(self, identity: _Identity) -> tuple[int, int]:
        """The place of the same answer, else -1; and the last place of its id, else -1."""
        key, scope, is_strict, digest, output = identity
        slot = self._index.get(key, -1)
        last = -1
        n = 0
        while slot >= 0:
            other = self._scopes[slot]
            is_same = self._digests[slot] == digest
            if scope and other:
                is_copy = is_same and not is_strict and self._outputs[slot] == output
                if scope == other or is_copy:
                    return slot, slot
            elif is_same:
                return slot, slot
            last, slot = slot, self._next[slot]
            n += 1
            if n >= _MAX_CHAIN:
                break
        return -1, last

    def _keep_better(self, slot: int, row: Row) -> None:
        """Keep the counts of the record whose stream went further, of two with one answer."""
        output, given = row.usage.output, row.usage.input
        if (output, given) <= (self._outputs[slot], self._inputs[slot]):
            return
        self._outputs[slot], self._inputs[slot] = output, given
        self._replace(self._tickets[slot], row)

    def _replace(self, ticket: int, by: Row) -> None:
        place = ticket - self._first_ticket
        if place < 0:
            self._changes.append((ticket, by))
            return
        old = self.pending[place]
        if old is not None:
            self.pending[place] = old._replace(
                usage=by.usage, tariff=by.tariff, response=by.response or old.response
            )

    def _remove(self, ticket: int) -> None:
        place = ticket - self._first_ticket
        if place < 0:
            self._changes.append((ticket, None))
            return
        self.pending[place] = None

    # Spans

    def _add_span(self, request: ReadRequest, place: SpanPlace) -> bool:
        row = request.row
        spans = self._spans_of(place.trace)
        span = spans.get(place.span)
        if span is None:
            span = spans[place.span] = _Span()
            self._n_spans += 1
        has_usage = row.usage.is_known
        if span.is_known:
            is_other = has_usage and span.answer and place.answer and span.answer != place.answer
            if not is_other:
                self.join("same_span_again", 1)
                if has_usage and span.ticket >= 0:
                    self._replace_if_larger(span.ticket, row)
                return False
            # Several calls were logged as events of one span.
            return self._add_answer(request) >= 0
        span.is_known = True
        span.parent, span.is_call, span.answer = place.parent, place.is_call, place.answer
        if span.covering is not None:
            for answer in span.covering:
                self._cover(spans, place.parent, answer)
        if has_usage:
            self._cover(spans, place.parent, place.answer)
            is_covered = self._without_links(spans, span) if not place.parent else False
            if is_covered or span.is_wrapping():
                self.join("wrapping_span", 1)
                return False
        elif not (place.is_call and (row.has_text or row.response is not None)):
            kind = "not_a_request" if place.is_call else "not_a_model_call"
            detail = "a span without content and without token counts" if place.is_call else ""
            self._report(kind, detail)
            return False
        span.ticket = self._add_answer(request) if request.id else self.append(row)
        return span.ticket >= 0

    def _without_links(self, spans: dict[str, _Span], span: _Span) -> bool:
        """True if a step is beside calls in a trace that does not say what is inside what.

        A trace has one root: several spans without a parent mean that parents were not logged.
        """
        if not span.is_call:
            return _UNLINKED in spans
        spans.setdefault(_UNLINKED, _Span())
        for other in spans.values():
            if other.ticket >= 0 and not other.is_call and not other.parent:
                self.join("wrapping_span", 1)
                self._remove(other.ticket)
                self._forget(other.answer, other.ticket)
                other.ticket = -1
        return False

    def _spans_of(self, trace: str) -> dict[str, _Span]:
        spans = self._traces.get(trace)
        if spans is not None:
            self._traces.move_to_end(trace)
            return spans
        if hash(trace) in self._gone_traces:
            self._report("late_span", trace)
        while self._n_spans >= MAX_SPANS and self._traces:
            gone, old = self._traces.popitem(last=False)
            self._n_spans -= len(old)
            if len(self._gone_traces) < _MAX_GONE:
                self._gone_traces.add(hash(gone))
        spans = self._traces[trace] = {}
        return spans

    def _cover(self, spans: dict[str, _Span], name: str, answer: str) -> None:
        """Spans around one that has a usage do not count their own."""
        for _ in range(_MAX_ANCESTORS):
            if not name:
                return
            span = spans.get(name)
            if span is None:
                span = spans[name] = _Span()
                self._n_spans += 1
            if span.covering is None:
                span.covering = set()
            if answer in span.covering:
                return
            if len(span.covering) < _MAX_CHAIN:
                span.covering.add(answer)
            elif answer != span.answer:
                answer = ""
                span.covering.add(answer)
            if span.ticket >= 0 and span.is_wrapping():
                self.join("wrapping_span", 1)
                self._remove(span.ticket)
                self._forget(span.answer, span.ticket)
                span.ticket = -1
            name = span.parent

    def _forget(self, answer: str, ticket: int) -> None:
        """A call inside a span may have the span's own answer."""
        slot = self._index.get(hash(answer), -1) if answer else -1
        if slot >= 0 and self._tickets[slot] == ticket:
            after = self._next[slot]
            if after >= 0:
                self._index[hash(answer)] = after
            else:
                del self._index[hash(answer)]

    def _replace_if_larger(self, ticket: int, row: Row) -> None:
        place = ticket - self._first_ticket
        old = self.pending[place] if place >= 0 else None
        if old is not None and (row.usage.output, row.usage.input) > (
            old.usage.output,
            old.usage.input,
        ):
            self._replace(ticket, row)


def _identity(request: ReadRequest) -> _Identity:
    row = request.row
    usage = row.usage
    parts: tuple[object, ...] = (row.model, usage[:4], row.from_gateway_cache)
    if not usage.is_known:
        parts = (*parts, row.text, row.response)
    if not request.is_own_id or row.from_gateway_cache:
        # The log's own numbers of rows begin anew in each file; a cache gives one answer often.
        time_s = None if math.isnan(row.time_s) else row.time_s
        parts = (*parts, usage.output, time_s, row.text)
    scope = hash(request.scope) if request.scope else 0
    return _Identity(hash(request.id), scope, request.is_strict_scope, hash(parts), usage.output)
