"""Records that tell of one request are joined before they are counted.

An answer is logged several times (blocks of a stream, resumed sessions, copies of files), a span is
exported twice, a step's sum stands around its calls. Here each request stays one row, with the last
counts of its stream. A record that was handed out already is corrected (``columns.Correction``).

Comparison stays within a number of requests or spans, so that memory is bounded. A part of a log
can be read by itself, with the answers and spans that it shares with parts before it (``seams``).
Later repeats are counted as requests, and that is reported.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from jeton.corpus.requests import answers
from jeton.corpus.requests.answers import MAX_CHAIN, AnswerIdentity, AnswerIndex, KnownAnswer
from jeton.corpus.requests.parsed import ReadRequest, Row, SpanPlace

MAX_SPANS: Final = 200_000
"""Spans read since a trace had its last one, until it is given up; about 300 bytes each."""

_UNLINKED: Final = ""
"""Place of a mark among the spans of a trace: a call with a usage has no parent."""

_MAX_ANCESTORS: Final = 200

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


class KnownSpan(NamedTuple):
    """A span of another part of the log; see ``_Span``."""

    name: str
    parent: str
    is_known: bool
    is_call: bool
    answer: str
    covering: tuple[str, ...] | None
    ticket: int | None
    output: int
    input: int


class KnownTrace(NamedTuple):
    """A trace of another part of the log.

    Attributes:
        trace: Its id.
        touched: Number of the span that touched it last.
        spans: Its spans.
    """

    trace: str
    touched: int
    spans: tuple[KnownSpan, ...]


class JoinState(NamedTuple):
    """Knowledge of some ids and traces.

    Attributes:
        answers: By hash of an id.
        traces: By hash of a trace's id.
    """

    answers: Mapping[int, tuple[KnownAnswer, ...]]
    traces: Mapping[int, KnownTrace]


class _Span:
    """A span as far as it is known."""

    __slots__ = (
        "answer", "covering", "input", "is_call", "is_known", "output", "parent", "ticket",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parent = ""
        self.ticket: int | None = None
        self.output = self.input = -1  # tokens of its row
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


class _Trace:
    """The spans of a trace by name, and the number of the span that touched it last."""

    __slots__ = ("spans", "touched")

    def __init__(self) -> None:
        self.spans: dict[str, _Span] = {}
        self.touched = 0


class Joiner:
    """Holds the rows of the next batch, and knows what was counted before.

    Args:
        report: Called with an issue and its detail.
        hash_of: Hash of what is compared, below 2 ** 63 either way. Python's own hash differs
            from process to process.
    """

    def __init__(
        self, report: Callable[[str, str], None], hash_of: Callable[[Any], int] = hash
    ) -> None:
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
        self._hash = hash_of
        self._answers = AnswerIndex()
        self.n_with_id = 0
        """Rows that were compared by an id."""
        self._traces: OrderedDict[str, _Trace] = OrderedDict()
        self.n_spans = 0
        """Spans read."""

    @property
    def n_tickets(self) -> int:
        """Rows appended so far, those that went included: the number of the next one."""
        return self._first_ticket + len(self.pending)

    def join(self, kind: str, n: int) -> None:
        """Count records that were joined elsewhere."""
        if n > 0:
            self.joined[kind] = self.joined.get(kind, 0) + n

    def append(self, row: Row) -> int:
        """Count a row; its ticket."""
        self.pending.append(row)
        self.n_chars += len(row.text) + len(row.response or "")
        return self.n_tickets - 1

    def add(self, request: ReadRequest) -> bool:
        """Count a request, or join it with an earlier one; whether it counts."""
        if request.place is not None and request.place.span:
            return self._add_span(request, request.place)
        if request.id:
            return self._add_answer(request) is not None
        self.append(request.row)
        return True

    def is_repeat(self, request: ReadRequest) -> bool:
        """True if a request would be joined with an earlier one."""
        if not request.id or request.place is not None:
            return False
        return self._answers.find(self._identity(request), self.n_tickets)[0] >= 0

    def take(self) -> tuple[list[Row], list[ReplacedRow]]:
        """The rows of the next batch, and changes to rows of earlier ones.

        Rows of parts of the log before this one have their numbers, which are below zero.
        """
        changes = [ReplacedRow(self.row_of(ticket), by) for ticket, by in self._changes]
        rows = [row for row in self.pending if row is not None]
        if len(rows) < len(self.pending):
            self._gone.extend(
                self._first_ticket + place for place, row in enumerate(self.pending) if row is None
            )
        self._first_ticket += len(self.pending)
        self.pending, self._changes, self.n_chars = [], [], 0
        return rows, changes

    def row_of(self, ticket: int) -> int:
        """Number of a row that was handed out."""
        return ticket - bisect_left(self._gone, ticket)

    # Answers

    def _add_answer(self, request: ReadRequest) -> int | None:
        """The ticket of a new row; None if it was joined."""
        row = request.row
        identity = self._identity(request)
        now = self.n_tickets
        found, last = self._answers.find(identity, now)
        if found >= 0:
            self.join("same_answer_again", 1)
            self._answers.follow(found, identity)
            ticket = self._answers.improve(found, row.usage.output, row.usage.input)
            if ticket is not None:
                self._replace(ticket, row)
            return None
        ticket = self.append(row)
        self.n_with_id += 1
        if last >= 0:
            self._report("duplicate_id", request.id)
        self._answers.enter(identity, row.usage.input, ticket, last)
        return ticket

    def _identity(self, request: ReadRequest) -> AnswerIdentity:
        row = request.row
        usage = row.usage
        parts: tuple[object, ...] = (row.model, usage[:4], row.from_gateway_cache)
        if not usage.is_known:
            parts = (*parts, row.text, row.response)
        if not request.is_own_id or row.from_gateway_cache:
            # The log's own numbers of rows begin anew in each file; a cache gives one answer often.
            time_s = None if math.isnan(row.time_s) else row.time_s
            parts = (*parts, usage.output, time_s, row.text)
        hash_of = self._hash
        record = 0
        if request.scope and not request.is_strict_scope and row.record_id not in ("", request.id):
            record = hash_of((row.record_id, str(row.time_s)))  # a time that is not known, too
        return AnswerIdentity(
            hash_of(request.id),
            hash_of(request.scope) if request.scope else 0,
            request.is_strict_scope,
            hash_of(parts),
            usage.output,
            record,
        )

    def _replace(self, ticket: int, by: Row) -> None:
        place = ticket - self._first_ticket
        if place < 0:
            self._change(ticket, by)
            return
        old = self.pending[place]
        if old is not None:
            self.pending[place] = old._replace(
                usage=by.usage, tariff=by.tariff, response=by.response or old.response
            )

    def _remove(self, ticket: int) -> None:
        place = ticket - self._first_ticket
        if place < 0:
            self._change(ticket, None)
            return
        self.pending[place] = None

    def _change(self, ticket: int, by: Row | None) -> None:
        if self.n_tickets - ticket > answers.MAX_ANSWERS:
            self._report("joining_limited", "a row too far back")
            return
        self._changes.append((ticket, by))

    # Spans

    def _add_span(self, request: ReadRequest, place: SpanPlace) -> bool:
        row = request.row
        spans = self._spans_of(place.trace)
        span = spans.get(place.span)
        if span is None:
            span = spans[place.span] = _Span()
        has_usage = row.usage.is_known
        if span.is_known:
            is_other = has_usage and span.answer and place.answer and span.answer != place.answer
            if not is_other:
                self.join("same_span_again", 1)
                counts = (row.usage.output, row.usage.input)
                if has_usage and span.ticket is not None and counts > (span.output, span.input):
                    span.output, span.input = counts
                    self._replace(span.ticket, row)
                return False
            # Several calls were logged as events of one span.
            return self._add_answer(request) is not None
        span.is_known = True
        span.parent, span.is_call, span.answer = place.parent, place.is_call, place.answer
        if span.covering is not None:
            for answer in sorted(span.covering):
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
        span.output, span.input = row.usage.output, row.usage.input
        return span.ticket is not None

    def _without_links(self, spans: dict[str, _Span], span: _Span) -> bool:
        """True if a step is beside calls in a trace that does not say what is inside what.

        A trace has one root: several spans without a parent mean that parents were not logged.
        """
        if not span.is_call:
            return _UNLINKED in spans
        spans.setdefault(_UNLINKED, _Span())
        for other in spans.values():
            if other.ticket is not None and not other.is_call and not other.parent:
                self._take_out(other, other.ticket)
        return False

    def _spans_of(self, trace: str) -> dict[str, _Span]:
        self.n_spans += 1
        known = self._traces.get(trace)
        if known is None:
            known = self._traces[trace] = _Trace()
        else:
            self._traces.move_to_end(trace)
            if self.n_spans - known.touched > MAX_SPANS:
                self._report("late_span", trace)
                known.spans = {}
        known.touched = self.n_spans
        self._give_up_traces()
        return known.spans

    def _give_up_traces(self) -> None:
        """Drop traces that were touched long ago; the names of some are kept, to say it."""
        while self._traces:
            name, oldest = next(iter(self._traces.items()))
            if self.n_spans - oldest.touched <= 2 * MAX_SPANS:
                break
            del self._traces[name]

    def _take_out(self, span: _Span, ticket: int) -> None:
        """A span whose row was counted turned out to stand around others."""
        self.join("wrapping_span", 1)
        self._remove(ticket)
        if span.answer:
            # A call inside a span may have the span's own answer.
            self._answers.forget(self._hash(span.answer), ticket)
        span.ticket = None

    def _cover(self, spans: dict[str, _Span], name: str, answer: str) -> None:
        """Spans around one that has a usage do not count their own."""
        for _ in range(_MAX_ANCESTORS):
            if not name:
                return
            span = spans.get(name)
            if span is None:
                span = spans[name] = _Span()
            if span.covering is None:
                span.covering = set()
            if answer in span.covering:
                return
            if len(span.covering) < MAX_CHAIN:
                span.covering.add(answer)
            elif answer != span.answer:
                answer = ""
                span.covering.add(answer)
            if span.ticket is not None and span.is_wrapping():
                self._take_out(span, span.ticket)
            name = span.parent

    # Other parts of the log

    def __getstate__(self) -> dict[str, Any]:
        """The knowledge; a copy of it takes no more rows."""
        return {name: value for name, value in self.__dict__.items() if name != "_report"}

    def keys(self) -> tuple[list[int], list[int]]:
        """Hashes of the ids and of the traces that were met here."""
        return self._answers.keys(), [self._hash(trace) for trace in self._traces]

    def state_of(self, keys: Iterable[int], traces: Iterable[int]) -> JoinState:
        """Knowledge of some ids and traces, by their hashes."""
        wanted = set(traces)
        found = {}
        for name, trace in self._traces.items() if wanted else ():
            if (key := self._hash(name)) in wanted:
                found[key] = KnownTrace(name, trace.touched, _spans_as_known(trace.spans))
        return JoinState({key: self._answers.known(key) for key in keys}, found)

    def seed(self, state: JoinState) -> None:
        """Know what parts of the log before this one knew; their numbers are below zero."""
        for key, known in state.answers.items():
            self._answers.seed(key, known)
        for trace in sorted(state.traces.values(), key=lambda trace: trace.touched):
            seeded = self._traces[trace.trace] = _Trace()
            seeded.touched = trace.touched
            seeded.spans = _spans_of_known(trace.spans)


def _spans_as_known(spans: dict[str, _Span]) -> tuple[KnownSpan, ...]:
    return tuple(
        KnownSpan(
            name, span.parent, span.is_known, span.is_call, span.answer,
            None if span.covering is None else tuple(sorted(span.covering)),
            span.ticket, span.output, span.input,
        )
        for name, span in spans.items()
    )  # fmt: skip


def _spans_of_known(known: tuple[KnownSpan, ...]) -> dict[str, _Span]:
    spans = {}
    for one in known:
        span = spans[one.name] = _Span()
        span.parent, span.is_known, span.is_call = one.parent, one.is_known, one.is_call
        span.answer, span.ticket = one.answer, one.ticket
        span.output, span.input = one.output, one.input
        span.covering = None if one.covering is None else set(one.covering)
    return spans
