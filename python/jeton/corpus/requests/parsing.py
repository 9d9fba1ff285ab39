"""From records to the rows of a batch, with every oddity counted and all that repeats joined.

``RecordReader`` reads a record by itself; here is what depends on the records before it.
"""

from __future__ import annotations

import math
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

from jeton.corpus.places import record_id
from jeton.corpus.requests.agents import TAKEN_APART, FileState
from jeton.corpus.requests.fields import Fields, fields_of
from jeton.corpus.requests.issues import IssueLog, Place
from jeton.corpus.requests.joining import Joiner
from jeton.corpus.requests.kinds import AGENTS_BY_KIND
from jeton.corpus.requests.messages import ChatRenderer
from jeton.corpus.requests.parsed import ReadEvents, ReadRequest
from jeton.corpus.requests.pieces import Answer, unwrapped_piece
from jeton.corpus.requests.reading import JOINED_PIECES, ReadOptions, RecordReader
from jeton.corpus.requests.shapes import parse_record

MAX_OPEN_ANSWERS: Final = 256
"""Streamed answers whose pieces are waited for at a time."""

MAX_UNREAD_NAMES: Final = 100
"""Names of unknown amounts that are counted apart."""

_EVENTS: Final = ("anthropic", "bedrock", "responses", "cohere")


class RecordParser:
    """Turns records into rows; knows what came before in the file."""

    def __init__(
        self,
        options: ReadOptions,
        *,
        template: ChatRenderer | None,
        issues: IssueLog,
        place: Callable[[int], Place],
        hash_of: Callable[[Any], int] = hash,
    ) -> None:
        self.shapes: Counter[str] = Counter()
        """Requests by shape."""
        self.conventions: Counter[str] = Counter()
        """Requests by the convention of their usage."""
        self.unread: Counter[str] = Counter()
        """Unknown names of amounts, with how often each was met."""
        self.unread_units: Counter[str] = Counter()
        """Units that stand under those names."""
        self.uses_overhead = False
        """True if the published overhead was added to a request."""
        self.joiner = Joiner(self._report, hash_of)
        """The rows of the next batch."""
        self.reader = RecordReader(
            options,
            template=template,
            report=self._report,
            take=self._add,
            stateful=self._take_stateful,
        )
        """Reads records by themselves."""
        self._names = options.names
        self.has_template = template is not None
        """True if chats are written by a template."""
        self._issues = issues
        self._place = place
        self.first_timed: tuple[float, Place] | None = None
        """Time and place of the first request with one, in the first file."""
        self.last_time_s = -math.inf
        """Time of the last request with one, in the file that is read."""
        self.knows_agents = False
        """True if a record of a coding agent was read, which may need those of other files."""
        self._n_files = 0
        self._state = FileState(self.joiner.join, options.names)
        self._open: OrderedDict[tuple[str, str], tuple[Answer, dict[str, Any], int]] = OrderedDict()

    def start_file(self, path: str) -> None:
        """Times are compared within a file; so are the lines of a session."""
        self._n_files += 1
        self.last_time_s = -math.inf
        self._state = self._state.next_file(path)

    def end_file(self, *, is_last: bool = False) -> None:
        """Answers and requests that were waited for are taken as they are."""
        while self._open:
            self._close(next(iter(self._open)))
        waiting, self._state.waiting = self._state.waiting, []
        if is_last:
            waiting += [parsed for rest in self._state.at_end.values() for parsed in rest()]
        for parsed in waiting:
            self.reader.add(parsed)

    def take(self, record: Any, line: int) -> None:
        """Add the requests of a record to the joiner, or those that were read from it already."""
        if type(record) is ReadRequest:
            self.reader.line = line
            self._add(record)
        elif type(record) is ReadEvents:
            self.reader.line = line
            for event in record.events:
                if type(event) is ReadRequest:
                    self._add(event)
                else:
                    self._report(*event)
        elif type(record) is list and PurePath(self._state.path).name in TAKEN_APART:
            for part in record:
                self.reader.read(part, line)
        else:
            self.reader.read(record, line)

    @property
    def is_inside_session(self) -> bool:
        """True if the file of a coding agent stated facts for its lines to come."""
        return bool(self._state.own or self._state.waiting)

    def state_of_file(self, n_lines: int) -> bytes:
        """Streamed answers that go on in the lines to come; empty: none.

        Args:
            n_lines: Lines of the part of the file that was read.
        """
        if not self._open:
            return b""
        return pickle.dumps(
            [
                (key, answer, around, line - n_lines)
                for key, (answer, around, line) in self._open.items()
            ]
        )

    def go_on(self, state: bytes) -> None:
        """Go on with the streamed answers of the part of the file before."""
        if state:
            waiting = pickle.loads(state)
            self._open.update(
                (key, (answer, around, line)) for key, answer, around, line in waiting
            )

    def _report(self, kind: str, detail: str = "", n: int = 1) -> None:
        if kind == "unread_usage":
            name, _, number = detail.rpartition("=")
            if name not in self.unread and len(self.unread) >= MAX_UNREAD_NAMES:
                name = "(others)"
            self.unread[name] += n
            self.unread_units[name] += n * int(number)
        elif kind == JOINED_PIECES:
            self.joiner.join(kind, n)
        elif self._issues.wants_example(kind):
            self._issues.add(kind, self._place(self.reader.line), detail, n=n)
        else:
            self._issues.count(kind, n)

    def _take_stateful(self, kind: str, record: Mapping[str, Any], known: Fields) -> bool:
        """Read a record that belongs to those before it; False: it does not, by its values."""
        if kind in ("piece", "bedrock-event"):
            return self._take_piece(record, known)
        self.knows_agents = True
        found = AGENTS_BY_KIND[kind].read(record, self._state, self._report)
        if found is None:
            return False
        for parsed in found:
            self.reader.add(self._state.in_domain(parsed, record))
        return True

    # Pieces of streams, one a line

    def _take_piece(self, record: Mapping[str, Any], known: Fields) -> bool:
        piece, kind = unwrapped_piece(record, known)
        if not kind:
            return False
        key = (kind, self._key_of_piece(kind, piece))
        if kind == "ollama" and piece.get("done") is True and key not in self._open:
            return False  # a whole answer
        is_start = piece.get("type") in ("message_start", "message-start") or "messageStart" in (
            piece
        )
        if is_start and key in self._open:
            self._close(key)
        entry = self._open.get(key)
        if entry is None:
            if len(self._open) >= MAX_OPEN_ANSWERS:
                self._close(next(iter(self._open)))
            entry = self._open[key] = (
                Answer(kind),
                self._around(record, piece, known),
                self.reader.line,
            )
        answer = entry[0]
        answer.add(piece)
        if answer.is_finished:
            self._close(key)
        return True

    def _key_of_piece(self, kind: str, piece: Mapping[str, Any]) -> str:
        """Answer that a piece belongs to; events without an id belong to the one that is open."""
        if kind == "openai":
            return str(piece.get("id") or "")
        if kind == "ollama":
            return str(piece.get("model") or "")
        if kind == "responses":
            response = piece.get("response")
            own = response.get("id") if isinstance(response, dict) else piece.get("response_id")
            if own:
                return str(own)
            return next((key for kind, key in reversed(self._open) if kind == "responses"), "")
        return ""

    def _around(
        self, record: Mapping[str, Any], piece: Mapping[str, Any], known: Fields
    ) -> dict[str, Any]:
        """The fields of the record around a piece, which its request keeps."""
        if piece is not record:
            return {
                key: value
                for key, value in record.items()
                if value is not piece and key not in ("chunk", "data", "event")
            }
        kept = {key: record[key] for key in (*known.time, *known.conversation) if key != "created"}
        for path in (self._names.domain, self._names.time, self._names.model):
            head = path.split(".")[0]
            if head and head in record:
                kept[head] = record[head]
        return kept

    def _close(self, key: tuple[str, str]) -> None:
        reader = self.reader
        answer, around, line = self._open.pop(key)
        now, reader.line = reader.line, line
        record = {**around, "response": answer.response()}
        own_id, reader.record_id = reader.record_id, record_id(record)
        parsed, _ = parse_record(record, fields_of(record), self._names, self._quiet)
        kind = "stream_events" if answer.kind in _EVENTS else "stream_pieces"
        if parsed is None or not (parsed.usage.is_known or parsed.response or parsed.has_text):
            self._report("stream_chunk", answer.kind, answer.n_pieces)
        else:
            self.joiner.join(kind, answer.n_pieces - 1)
            parsed.is_own_id = True
            reader.add(parsed)
        reader.line, reader.record_id = now, own_id

    def _quiet(self, kind: str, detail: str) -> None:
        if kind != "not_a_request":
            self._report(kind, detail)

    # Rows

    def _add(self, request: ReadRequest) -> None:
        if request.earlier and not self.joiner.is_repeat(request):
            for before in request.earlier:
                self.joiner.append(before)
        row = request.row
        if row.overhead_tokens:
            self.uses_overhead = True
        if not self.joiner.add(request):
            return
        self.shapes[request.shape] += 1
        if row.usage.convention:
            self.conventions[row.usage.convention] += 1
        for oddity in request.oddities:
            self._report(*oddity)
        time_s = row.time_s
        if time_s < self.last_time_s:
            self._report("time_backwards", f"by {self.last_time_s - time_s:,.3f} s")
        if time_s == time_s:  # not unknown
            if self.first_timed is None and self._n_files == 1:
                self.first_timed = time_s, self._place(self.reader.line)
            self.last_time_s = time_s
