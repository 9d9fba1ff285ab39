"""Edges of the parts of a log: the knowledge that each needs of the parts before it.

A part is first read as if nothing came before it. It then says what others may have to know: which
ids and traces it met, the sessions, and what its file has stated for the lines to come. ``entries``
makes of that what each part should have known; a part that knew something else is read again. The
result is that of one reader that reads all parts in order.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.corpus.requests import answers, joining
from jeton.corpus.requests.answers import KnownAnswer
from jeton.corpus.requests.columns import HandedOut, History
from jeton.corpus.requests.joining import JoinState, KnownSpan, KnownTrace

if TYPE_CHECKING:
    from jeton.corpus.requests.parsing import RecordParser
    from jeton.corpus.requests.shards import LogPart


def stable_hash(value: Any) -> int:
    """64 bits of strings, numbers and tuples of them, the same in every process."""
    data = repr(value).encode("utf-8", errors="surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True, slots=True)
class PartRow:
    """A row of a part of a log, for others to correct.

    Attributes:
        part: Number of the part.
        row: Number of the row there.
        ticket: Number of the row if rows that went before they were handed out count, too.
        names: Its domain, model, model asked, provider and tariff; None: not stated.
        now: The row as it stands, with numbers of names that mean nothing elsewhere; None: it went.
    """

    part: int
    row: int
    ticket: int
    names: tuple[str | None, ...]
    now: HandedOut | None

    def renamed(self, numbers: Sequence[int]) -> HandedOut | None:
        """The row with other numbers for its names, in their order."""
        if self.now is None:
            return None
        columns = self.now.columns
        given = {
            name: np.full_like(getattr(columns, name), number)
            for name, number in zip(_NAMED, numbers, strict=True)
        }
        return self.now._replace(columns=replace(columns, **given))


_NAMED = ("domain", "model", "model_asked", "provider", "tariff")


@dataclass(frozen=True, slots=True)
class PartEntry:
    """Knowledge that a part has of those before it; their rows and spans have lower numbers.

    Attributes:
        part: Its number.
        joins: Answers and spans that it shares with them.
        rows: Their rows, by the number by which ``joins`` calls them.
        file: Streamed answers that go on in it (``RecordParser.state_of_file``).
    """

    part: int = 0
    joins: JoinState = field(default_factory=lambda: JoinState({}, {}))
    rows: Mapping[int, PartRow] = field(default_factory=dict)
    file: bytes = b""

    def is_like(self, other: PartEntry, n_tickets: int, n_spans: int) -> bool:
        """True if a part with that many rows and spans reads the same with either.

        How far back a row lies matters only if it gets out of reach while the part is read.
        """
        return self._essence(n_tickets, n_spans) == other._essence(n_tickets, n_spans)

    def _essence(self, n_tickets: int, n_spans: int) -> tuple[Any, ...]:
        far = answers.MAX_ANSWERS - n_tickets

        def of(ticket: int | None) -> Any:
            if ticket is None:
                return None
            row = self.rows[ticket]
            return (
                row.part,
                row.row,
                row.names,
                pickle.dumps(row.now),
                -ticket if -ticket >= far else 0,
            )

        return (
            self.file,
            {key: [(*known[:-1], of(known.ticket)) for known in own]
             for key, own in self.joins.answers.items()},
            {key: (trace.trace, trace.touched if n_spans - trace.touched > joining.MAX_SPANS else 0,
                   [(*span[:6], of(span.ticket), *span[7:]) for span in trace.spans])
             for key, trace in self.joins.traces.items()},
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PartState:
    """Knowledge of some ids and traces when a part has been read."""

    joins: JoinState
    rows: Mapping[int, PartRow]


@dataclass(frozen=True, slots=True)
class PartSummary:
    """A part in a few numbers, which show what it shares with others.

    Attributes:
        keys: int64, hashes of the ids that it met.
        traces: int64, hashes of the traces.
        knows_agents: True if it has records of coding agents.
        is_inside_session: True if it ends inside the session of a coding agent.
        n_tickets: Its rows, those included that went.
        n_spans: Its spans.
        file: Streamed answers that go on behind it.
    """

    keys: NDArray[np.int64]
    traces: NDArray[np.int64]
    knows_agents: bool
    is_inside_session: bool
    n_tickets: int
    n_spans: int
    file: bytes


class PartExit:
    """Knowledge that a part leaves for those behind it; ``state_of`` gives what they ask for."""

    def __init__(
        self,
        parser: RecordParser,
        history: History,
        names: Sequence[Sequence[str]],
        entry: PartEntry | None,
        n_lines: int,
    ) -> None:
        """Not for callers: see ``RequestStream.part_exit``."""
        self._entry = entry or PartEntry()
        self._joiner, self._history = parser.joiner, history
        self._names = [list(kind) for kind in names]
        keys, traces = self._joiner.keys()
        self.summary = PartSummary(
            keys=np.array(keys, dtype=np.int64),
            traces=np.array(traces, dtype=np.int64),
            knows_agents=parser.knows_agents,
            is_inside_session=parser.is_inside_session,
            n_tickets=self._joiner.n_tickets,
            n_spans=self._joiner.n_spans,
            file=parser.state_of_file(n_lines),
        )

    def state_of(self, keys: Iterable[int], traces: Iterable[int]) -> PartState:
        """Knowledge of some ids and traces, by their hashes."""
        joins = self._joiner.state_of(keys, traces)
        tickets = {known.ticket for own in joins.answers.values() for known in own}
        tickets |= {
            span.ticket
            for trace in joins.traces.values()
            for span in trace.spans
            if span.ticket is not None
        }
        return PartState(joins, {ticket: self._row(ticket) for ticket in sorted(tickets)})

    def _row(self, ticket: int) -> PartRow:
        row = self._joiner.row_of(ticket)
        now = self._history.row(row)
        names: tuple[str | None, ...] = ()
        if now is not None:
            numbers = [int(getattr(now.columns, name)[0]) for name in _NAMED]
            names = tuple(
                own[number] if number >= 0 else None
                for own, number in zip(self._names, numbers, strict=True)
            )
        if ticket < 0:
            return replace(self._entry.rows[ticket], names=names, now=now)
        return PartRow(self._entry.part, row, ticket, names, now)


def entries(
    parts: Sequence[LogPart],
    summaries: Sequence[PartSummary],
    state_of: Callable[[Mapping[int, tuple[list[int], list[int]]]], Mapping[int, PartState]],
) -> list[PartEntry]:
    """Return the knowledge that each part needs of those before it, as these have said it.

    Args:
        parts: The parts.
        summaries: Summary of each part.
        state_of: Gives the knowledge of parts: for each, of which ids and which traces.
    """
    first_ticket = np.concatenate([[0], np.cumsum([one.n_tickets for one in summaries])]).tolist()
    first_span = np.concatenate([[0], np.cumsum([one.n_spans for one in summaries])]).tolist()
    shared = [
        _shared([one.keys for one in summaries], first_ticket, answers.MAX_ANSWERS),
        _shared([one.traces for one in summaries], first_span, 2 * joining.MAX_SPANS),
    ]
    wanted: dict[int, tuple[list[int], list[int]]] = {}
    for kind, found in enumerate(shared):
        for own in found:
            for key, part in own:
                wanted.setdefault(part, ([], []))[kind].append(key)
    states = state_of(
        {part: (sorted({*a}), sorted({*b})) for part, (a, b) in sorted(wanted.items())}
    )
    files = list(_file_states(parts, summaries))
    made = []
    for part in range(len(summaries)):
        moved = _Moved(first_ticket, part)
        seen: dict[int, tuple[KnownAnswer, ...]] = {}
        for key, other in shared[0][part]:
            known = states[other].joins.answers.get(key, ())
            inside = tuple(moved.near(known, states[other]))
            if inside:
                seen[key] = inside
        traces: dict[int, KnownTrace] = {}
        for key, other in shared[1][part]:
            trace = states[other].joins.traces.get(key)
            if trace is not None:
                traces[key] = trace._replace(
                    touched=trace.touched + first_span[other] - first_span[part],
                    spans=tuple(moved.spans(trace.spans, states[other])),
                )
        made.append(
            PartEntry(
                part=part,
                joins=JoinState(seen, traces),
                rows=dict(sorted(moved.rows.items())),
                file=files[part],
            )
        )
    return made


class _Moved:
    """Answers and spans of parts with the numbers that their rows have for a later part."""

    def __init__(self, first_ticket: Sequence[int], part: int) -> None:
        self.rows: dict[int, PartRow] = {}
        self._first, self._part = first_ticket, part

    def near(self, known: Iterable[KnownAnswer], state: PartState) -> Iterator[KnownAnswer]:
        """Yield the answers that are still compared."""
        for answer in known:
            row = state.rows[answer.ticket]
            ticket = self._ticket(row)
            if 0 < -ticket <= answers.MAX_ANSWERS:
                self.rows[ticket] = row
                yield answer._replace(ticket=ticket)

    def spans(self, known: Iterable[KnownSpan], state: PartState) -> Iterator[KnownSpan]:
        """Yield all spans."""
        for span in known:
            if span.ticket is None:
                yield span
                continue
            row = state.rows[span.ticket]
            ticket = self._ticket(row)
            if ticket >= 0:
                yield span._replace(ticket=None)
                continue
            self.rows[ticket] = row
            yield span._replace(ticket=ticket)

    def _ticket(self, row: PartRow) -> int:
        # Zero and above: the part of the row was read again since this was said, and has fewer rows
        # now. The part that said it will be read again, too.
        return self._first[row.part] + row.ticket - self._first[self._part]


def _shared(
    keys: Sequence[NDArray[np.int64]], first: Sequence[int], reach: int
) -> list[list[tuple[int, int]]]:
    """For each part, the keys that an earlier one within reach has, with the last such part."""
    found: list[list[tuple[int, int]]] = [[] for _ in keys]
    together = np.concatenate([np.empty(0, dtype=np.int64), *keys])
    parts = np.repeat(np.arange(len(keys)), [len(own) for own in keys])
    order = np.argsort(together, kind="stable")
    together, parts = together[order], parts[order]
    for place in np.flatnonzero(together[1:] == together[:-1]).tolist():
        part, other = int(parts[place + 1]), int(parts[place])
        if first[part] - first[other + 1] <= reach:
            found[part].append((int(together[place]), other))
    return found


def _file_states(parts: Sequence[LogPart], summaries: Sequence[PartSummary]) -> Iterator[bytes]:
    """For each part, what its file has stated before it."""
    state = b""
    for part, summary in zip(parts, summaries, strict=True):
        yield state if part[0].start else b""
        state = summary.file


def can_be_apart(parts: Sequence[LogPart], summaries: Sequence[PartSummary]) -> bool:
    """True if parts know enough of one another by ``entries``.

    Files of coding agents state facts for the files behind them (parents of forks, models of a
    task) that only one reader has: they must not lie in several parts, nor be cut.
    """
    is_cut = any(
        one.is_inside_session and part[-1].end >= 0
        for part, one in zip(parts, summaries, strict=True)
    )
    return not is_cut and sum(one.knows_agents for one in summaries) <= 1
