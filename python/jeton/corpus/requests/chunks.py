"""Chunks of a log's lines, each read by itself, and told by plain values.

``line_chunks`` cuts a text, ``ChunkReader`` reads the lines of a chunk (in another process), and
``records_of_chunk`` makes of its answer what ``RecordParser.take`` takes. A line that cannot be
read by itself is left to the process that asks, which has the chunk.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, Final, NamedTuple

from jeton.corpus.json_records import NOTHING, json_lines, value_of_line
from jeton.corpus.requests.fields import Fields
from jeton.corpus.requests.parsed import ReadEvents, ReadRequest, Reported, Row, SpanPlace
from jeton.corpus.requests.pieces import unwrapped_piece
from jeton.corpus.requests.reading import ReadOptions, RecordReader
from jeton.corpus.requests.usage import Usage

CHUNK_BYTES: Final = 1 << 20
"""1 MiB of lines: a thousand records, so that asking costs little, and little to hold."""

MAX_EVENTS: Final = 10_000
"""Requests and issues of a line, and odd lines of a chunk, that are told; more is left unread."""

Note = tuple[str, int, str]
"""Report on a line: the kind of an issue, the line, a detail."""

Report = Callable[[str, int, str], None]

_LEFT_OUT, _EVENTS, _UNREAD = range(3)
"""Outcome of a line that is not one plain request."""


class LineChunk(NamedTuple):
    """Whole lines; a line that is longer than a chunk is one of its own.

    Attributes:
        first_line: Number of the first one.
        data: The lines.
        notes: Notes that were reported before them.
    """

    first_line: int
    data: bytes
    notes: tuple[Note, ...]

    @property
    def is_long(self) -> bool:
        """True if it is one line that is longer than a chunk."""
        return len(self.data) > CHUNK_BYTES


def line_chunks(
    pieces: Iterable[bytes],
    *,
    max_record_bytes: int,
    take_notes: Callable[[], tuple[Note, ...]],
    first_line: int = 1,
) -> Iterator[LineChunk]:
    """Cut a text between lines.

    Args:
        pieces: The text, cut anywhere.
        max_record_bytes: A longer line that would have to be held is noted and left out.
        take_notes: Returns what was reported since it was called before.
        first_line: Number of the first line.
    """
    line = first_line
    waiting: list[bytes] = []  # the beginning of a line
    n_waiting = 0
    for piece in pieces:
        at = 0
        while at < len(piece):
            split = at + max(0, CHUNK_BYTES - n_waiting)
            end = piece.rfind(b"\n", at, split) + 1 or piece.find(b"\n", split) + 1
            if not end:
                break
            if n_waiting and not waiting:
                end = piece.find(b"\n", at) + 1
                note = ("line_too_long", line, f"{n_waiting + end - 1 - at:,} bytes")
                yield LineChunk(line, b"", (*take_notes(), note))
                line += 1
            else:
                data = b"".join([*waiting, piece[at:end]]) if waiting else piece[at:end]
                yield LineChunk(line, data, take_notes())
                line += piece.count(b"\n", at, end)
            waiting, n_waiting, at = [], 0, end
        if at < len(piece):
            n_waiting += len(piece) - at
            if n_waiting > max_record_bytes:
                waiting.clear()  # from here on it is only measured
            elif waiting or n_waiting == len(piece) - at:
                waiting.append(piece[at:])
    if n_waiting and not waiting:
        note = ("line_too_long", line, f"{n_waiting:,} bytes")
        yield LineChunk(line, b"", (*take_notes(), note))
    elif waiting:
        yield LineChunk(line, b"".join(waiting), take_notes())


class _NotByItselfError(Exception):
    """A record has to be read with those before it, or says too much."""


class ChunkReader:
    """Reads the lines of chunks, as far as that needs nothing but the line."""

    def __init__(self, options: ReadOptions, *, max_record_bytes: int) -> None:
        self._max_record_bytes = max_record_bytes
        self._events: list[ReadRequest | Reported] = []
        self._reader = RecordReader(
            options, template=None, report=self._report, take=self._take, stateful=self._stateful
        )

    def read(self, first_line: int, data: bytes) -> bytes:
        """Returns the lines' content for ``records_of_chunk``; empty: read it yourself."""
        requests: list[ReadRequest] = []
        odd: list[tuple[int, int, int, Any]] = []

        def leave_out(kind: str, number: int, detail: str) -> None:
            odd.append((len(requests), number, _LEFT_OUT, (kind, detail)))

        for number, line in enumerate(data.split(b"\n"), first_line):
            if not line or line.isspace():
                continue
            if len(line) > self._max_record_bytes:
                leave_out("line_too_long", number, f"{len(line):,} bytes")
                continue
            value = value_of_line(line, number, leave_out)
            if value is NOTHING:
                continue
            events = self._events = []
            try:
                self._reader.read(value, number)
            except _NotByItselfError:
                odd.append((len(requests), number, _UNREAD, None))
            else:
                if len(events) == 1 and type(events[0]) is ReadRequest:
                    requests.append(events[0])
                    continue
                told = [None if type(event) is ReadRequest else tuple(event) for event in events]
                odd.append((len(requests), number, _EVENTS, told))
                requests.extend(event for event in events if type(event) is ReadRequest)
            if len(odd) > MAX_EVENTS:
                return b""
        return marshal.dumps((_columns(requests), odd))

    def _report(self, kind: str, detail: str, n: int) -> None:
        if len(self._events) >= MAX_EVENTS:
            raise _NotByItselfError
        self._events.append(Reported(kind, detail, n))

    def _take(self, request: ReadRequest) -> None:
        if len(self._events) >= MAX_EVENTS:
            raise _NotByItselfError
        self._events.append(request)

    def _stateful(self, kind: str, record: Mapping[str, Any], known: Fields) -> bool:
        if kind in ("piece", "bedrock-event") and not unwrapped_piece(record, known)[1]:
            return False
        raise _NotByItselfError


def _columns(requests: list[ReadRequest]) -> tuple[Any, ...]:
    """Requests by their fields, without the earlier ones, as types that ``marshal`` knows."""
    if not requests:
        return ()
    rows, *facts, _ = zip(*requests, strict=True)
    text, response, usage, *rest = zip(*rows, strict=True)
    *facts, places, oddities = facts
    return (
        (text, response, [one[:] for one in usage], *rest),
        tuple(facts),
        [None if place is None else place[:] for place in places],
        [tuple(one[:] for one in own) for own in oddities],
    )


def _requests(columns: tuple[Any, ...]) -> list[ReadRequest]:
    """The reverse of ``_columns``."""
    if not columns:
        return []
    (text, response, usage, *rest), facts, places, oddities = columns
    rows = map(Row._make, zip(text, response, map(Usage._make, usage), *rest, strict=True))
    spans = (None if place is None else SpanPlace._make(place) for place in places)
    issues = (tuple(map(Reported._make, own)) if own else () for own in oddities)
    return list(map(ReadRequest._make, zip(rows, *facts, spans, issues, repeat(()), strict=False)))


def records_of_chunk(
    chunk: LineChunk, answer: bytes, *, max_record_bytes: int, report: Report
) -> tuple[Iterator[tuple[int, Any]], int]:
    """Content of the lines of a chunk, and the number left unread.

    Args:
        chunk: The lines.
        answer: Answer of a ``ChunkReader``; empty: they are read here.
        max_record_bytes: A longer line is reported and left out.
        report: Called for what is left out.

    Returns:
        Line and what ``RecordParser.take`` takes, for each line that has a record; a number.
    """
    if not answer:
        records = json_lines(
            [chunk.data],
            max_record_bytes=max_record_bytes,
            report=report,
            first_line=chunk.first_line,
        )
        return records, chunk.data.count(b"\n")
    columns, odd = marshal.loads(answer)
    n_unread = sum(1 for _, _, what, _ in odd if what == _UNREAD)
    return _records(chunk, _requests(columns), odd, report), n_unread


def _records(
    chunk: LineChunk,
    requests: list[ReadRequest],
    odd: list[tuple[int, int, int, Any]],
    report: Report,
) -> Iterator[tuple[int, Any]]:
    lines: list[bytes] = []
    at = 0
    for position, number, what, told in odd:
        for request in requests[at:position]:
            yield request.row.line, request
        at = position
        if what == _LEFT_OUT:
            kind, detail = told
            report(kind, number, detail)
        elif what == _UNREAD:
            lines = lines or chunk.data.split(b"\n")
            value = value_of_line(lines[number - chunk.first_line], number, report)
            if value is not NOTHING:
                yield number, value
        else:
            events: list[ReadRequest | Reported] = []
            for one in told:
                if one is None:
                    events.append(requests[at])
                    at += 1
                else:
                    events.append(Reported._make(one))
            yield number, ReadEvents(tuple(events))
    for request in requests[at:]:
        yield request.row.line, request
