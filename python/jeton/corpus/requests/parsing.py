"""From a record to the rows of a batch, with every oddity counted.

A record is one request, several (an export of spans, a chat by its turns), a piece of one, or none.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from jeton.corpus.lookup import text_or_none
from jeton.corpus.places import record_id
from jeton.corpus.requests.exports import rows_of_bucket
from jeton.corpus.requests.fields import FieldNames, Fields, fields_of
from jeton.corpus.requests.issues import IssueLog
from jeton.corpus.requests.joining import Joiner, Row
from jeton.corpus.requests.messages import (
    OVERHEAD_SOURCE,
    Chat,
    ChatRenderer,
    published_overhead,
    text_of,
)
from jeton.corpus.requests.observations import parse_langfuse, parse_langsmith
from jeton.corpus.requests.parsed import ParsedRequest
from jeton.corpus.requests.pieces import Answer, unwrapped_piece
from jeton.corpus.requests.sessions import SESSION_READERS, FileState
from jeton.corpus.requests.shapes import parse_record
from jeton.corpus.requests.spans import as_span, parse_span
from jeton.corpus.requests.unwrapping import ASIDE, parts_of
from jeton.corpus.requests.usage import UNKNOWN_USAGE
from jeton.corpus.times import TimeUnit, parse_time
from jeton.errors import JetonError

__all__ = ["RecordParser", "Turns"]

Turns: TypeAlias = Literal["last", "each"]

MAX_TURNS: Final = 1_000
"""Requests made of one chat: its text grows with the square of its turns."""

USAGE_SLACK_TOKENS: Final = 64
"""Input tokens beyond one for each byte before a usage counts as larger than its text can be: what
formats add that the overhead leaves out (a begin of sequence, a date, a hidden preamble)."""

MAX_OPEN_ANSWERS: Final = 256
"""Streamed answers whose pieces are waited for at a time."""

MAX_UNREAD_NAMES: Final = 100
"""Names of unknown amounts that are counted apart."""

# Chat formats for which the overhead of OpenAI's would be an invention.
_UNPUBLISHED: Final = ("anthropic", "google", "gcp", "bedrock", "aws", "mistral", "cohere")
_EVENTS: Final = ("anthropic", "bedrock", "responses", "cohere")
_ASSISTANTS: Final = ("assistant", "model", "gpt", "bot", "ai", "chatgpt")


class RecordParser:
    """Turns records into rows; knows what came before in the file."""

    def __init__(
        self,
        *,
        names: FieldNames,
        template: ChatRenderer | None,
        turns: Turns,
        time_unit: TimeUnit,
        issues: IssueLog,
        place: Callable[[int], str],
    ) -> None:
        self.shapes: Counter[str] = Counter()
        """Requests by shape."""
        self.conventions: Counter[str] = Counter()
        """Requests by the convention of their usage."""
        self.unread: Counter[str] = Counter()
        """Unknown names of amounts."""
        self.uses_overhead = False
        """Whether the published overhead was added to a request."""
        self.joiner = Joiner(self._report)
        """The rows of the next batch."""
        self._names = names
        self._template = template
        self._turns = turns
        self._time_unit: TimeUnit = time_unit
        self._issues = issues
        self._place = place
        self._line = 0
        self._record_id = ""
        self._last_time_s = -math.inf
        self._state = FileState(self.joiner.join)
        self._open: OrderedDict[tuple[str, str], tuple[Answer, dict[str, Any], int]] = OrderedDict()

    def start_file(self) -> None:
        """Times are compared within a file; so are the lines of a session."""
        self._last_time_s = -math.inf
        self._state = FileState(self.joiner.join, sessions=self._state.sessions)

    def end_file(self) -> None:
        """Streamed answers that were waited for are taken as they are."""
        while self._open:
            self._close(next(iter(self._open)))

    def take(self, record: Any, line: int) -> None:
        """Add the requests of a record to the joiner."""
        self._line = line
        if isinstance(record, dict) and ASIDE.isdisjoint(record):
            self._take_part(record)  # nearly every record
            return
        is_empty = True
        for part in parts_of(record):
            is_empty = False
            self._take_part(part)
        if is_empty:
            self._report("not_a_request", "it holds no record")

    def chat_format(self) -> str:
        """How chats became text, in words."""
        if self._template is not None:
            return "rendered by the chat template"
        if self.uses_overhead:
            return (
                "messages joined by line breaks; overhead by OpenAI's published formula "
                f"({OVERHEAD_SOURCE})"
            )
        return "messages joined by line breaks; no overhead added"

    def _report(self, kind: str, detail: str = "", n: int = 1) -> None:
        if kind == "unread_usage":
            if detail not in self.unread and len(self.unread) >= MAX_UNREAD_NAMES:
                detail = "(others)"
            self.unread[detail] += n
            return
        if self._issues.wants_example(kind):
            self._issues.add(kind, self._place(self._line), detail, n=n)
        else:
            self._issues.count(kind, n)

    def _take_part(self, part: Any) -> None:
        if not isinstance(part, dict):
            self._report("not_a_request", f"it is {_kind_of(part)}")
            return
        try:
            self._take_record(part)
        except RecursionError:
            # It could be read, and is nested too deeply to be written again.
            self._report("not_a_request", "nested too deeply")

    def _take_record(self, record: Mapping[str, Any]) -> None:
        self._record_id = record_id(record)
        known = fields_of(record)
        for kind in known.kinds:
            if self._take_special(kind, record, known):
                return
        self._take_plain(record, known)

    def _take_special(self, kind: str, record: Mapping[str, Any], known: Fields) -> bool:
        """Read a record of a special kind; False: it is not, by its values."""
        if kind in ("piece", "bedrock-event"):
            return self._take_piece(record, known)
        if kind == "span":
            span = as_span(record)
            if span is None:
                return False
            self._add(parse_span(span, self._names.domain, self._report))
            return True
        if kind in ("langfuse", "langsmith"):
            parse = parse_langfuse if kind == "langfuse" else parse_langsmith
            parsed = parse(record, known, self._names, self._report)
            self._add(parsed)
            return True
        if kind == "bucket":
            rows = rows_of_bucket(record)
            if rows is None:
                return False
            for row in rows:
                self._take_plain(row, fields_of(row))
            return True
        found = SESSION_READERS[kind](record, known, self._state, self._names, self._report)
        if found is None:
            return False
        for parsed in found:
            self._add(parsed)
        return True

    def _take_plain(self, record: Mapping[str, Any], known: Fields) -> None:
        parsed, n_pieces = parse_record(record, known, self._names, self._report)
        if n_pieces > 1:
            self.joiner.join("stream_pieces", n_pieces - 1)
        if parsed is not None:
            self._add(parsed)

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
            entry = self._open[key] = (Answer(kind), self._around(record, piece, known), self._line)
        answer = entry[0]
        answer.add(piece)
        if answer.is_finished:
            self._close(key)
        return True

    def _key_of_piece(self, kind: str, piece: Mapping[str, Any]) -> str:
        """Whose answer a piece belongs to; events without an id belong to the one that is open."""
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
        answer, around, line = self._open.pop(key)
        now, self._line = self._line, line
        record = {**around, "response": answer.response()}
        own_id, self._record_id = self._record_id, record_id(record)
        parsed, _ = parse_record(record, fields_of(record), self._names, self._quiet)
        kind = "stream_events" if answer.kind in _EVENTS else "stream_pieces"
        if parsed is None or not (parsed.usage.is_known or parsed.response or parsed.has_text):
            self._report("stream_chunk", answer.kind, answer.n_pieces)
        else:
            self.joiner.join(kind, answer.n_pieces - 1)
            parsed.is_own_id = True
            self._add(parsed)
        self._line, self._record_id = now, own_id

    def _quiet(self, kind: str, detail: str) -> None:
        if kind != "not_a_request":
            self._report(kind, detail)

    # Rows

    def _add(self, parsed: ParsedRequest) -> None:
        domain = (text_or_none(parsed.domain) or None) if self._names.domain else None
        time_s = self._time(parsed.time)
        chat = parsed.chat
        earlier: list[Row] = []
        text, overhead = "", 0
        if chat is not None or parsed.prompt:
            if chat is not None and self._turns == "each":
                earlier = list(self._earlier_turns(parsed, chat, time_s, domain))
            text, overhead = self._text(parsed, chat)
        row = Row(
            text,
            parsed.response,
            parsed.usage,
            parsed.model,
            parsed.model_asked,
            parsed.provider,
            parsed.tariff,
            _hash_of(parsed.conversation) if parsed.conversation else 0,
            parsed.n_requests,
            parsed.from_gateway_cache,
            time_s,
            domain,
            overhead,
            parsed.has_text,
            self._line,
            self._record_id,
        )
        if earlier and not self.joiner.is_repeat(row, parsed):
            for before in earlier:
                self.joiner.append(before)
        if self.joiner.add(row, parsed):
            self._count_oddities(parsed, row)

    def _count_oddities(self, parsed: ParsedRequest, row: Row) -> None:
        report = self._report
        usage = parsed.usage
        self.shapes[parsed.shape] += 1
        if usage.convention:
            self.conventions[usage.convention] += 1
        if parsed.failed:
            report("failed_request", parsed.failed)
        if parsed.n_attachments:
            report("attachment", n=parsed.n_attachments)
        if not row.has_text:
            report("missing_text")
        if parsed.response is None and not parsed.is_session and parsed.shape != "export":
            report("missing_response")
        if not usage.is_known:
            report("missing_usage")
        elif usage.is_half_known:
            given, missing = ("input", "output") if usage.input >= 0 else ("output", "input")
            report("usage_half_known", f"the {given} is known and the {missing} is not")
        if not parsed.model:
            report("missing_model")
        if self._names.domain and row.domain is None:
            report("missing_domain")
        if math.isnan(row.time_s):
            if parsed.time is None:
                report("missing_time")
        else:
            if row.time_s < self._last_time_s:
                report("time_backwards", f"by {self._last_time_s - row.time_s:,.3f} s")
            self._last_time_s = row.time_s
        limit = len(row.text) + row.overhead_tokens + USAGE_SLACK_TOKENS
        if row.has_text and not parsed.n_attachments and usage.input > limit:
            n_bytes = len(row.text.encode("utf-8", errors="replace"))
            if usage.input > n_bytes + row.overhead_tokens + USAGE_SLACK_TOKENS:
                report("usage_exceeds_text", f"{usage.input:,} tokens, {n_bytes:,} bytes")

    def _earlier_turns(
        self, parsed: ParsedRequest, chat: Chat, time_s: float, domain: str | None
    ) -> Iterator[Row]:
        """A request for each answer inside a chat: what preceded it was sent then."""
        answers = [
            index
            for index, message in enumerate(chat.messages)
            if index and message["role"] in _ASSISTANTS
        ]
        if len(answers) > MAX_TURNS:
            self._report("too_many_turns", f"{len(answers):,} turns")
            answers = answers[-MAX_TURNS:]
        for index in answers:
            before = Chat(messages=chat.messages[:index], tools=chat.tools)
            text, overhead = self._text(parsed, before)
            said, _ = text_of({k: v for k, v in chat.messages[index].items() if k != "role"})
            # What the provider counted is the last request's alone.
            yield Row(
                text,
                said,
                UNKNOWN_USAGE,
                parsed.model,
                parsed.model_asked,
                parsed.provider,
                parsed.tariff,
                _hash_of(parsed.conversation) if parsed.conversation else 0,
                1,
                from_gateway_cache=False,
                time_s=time_s,
                domain=domain,
                overhead_tokens=overhead,
                has_text=True,
                line=self._line,
                record_id=self._record_id,
            )

    def _text(self, parsed: ParsedRequest, chat: Chat | None) -> tuple[str, int]:
        """What was sent as one text, and the tokens that the chat's format adds."""
        if chat is None:
            return parsed.prompt or "", 0
        if self._template is not None:
            try:
                return self._template(chat.messages, chat.tools), 0
            except JetonError as error:
                self._report("template_failed", str(error).split("\n", 1)[0])
        if not chat.messages or _is_unpublished(parsed.chat_format):
            return chat.joined(), 0
        self.uses_overhead = True
        return chat.joined(), published_overhead(chat)

    def _time(self, value: Any) -> float:
        if value is None:
            return math.nan
        time_s, kind = parse_time(value, unit=self._time_unit)
        if kind:
            self._report(kind, repr(value)[:60])
        return time_s


@lru_cache(maxsize=256)
def _is_unpublished(chat_format: str) -> bool:
    return any(name in chat_format for name in _UNPUBLISHED)


@lru_cache(maxsize=4096)
def _hash_of(conversation: str) -> int:
    """64 bits, the same in every process: logs are read in parts and merged."""
    digest = hashlib.blake2b(conversation.encode("utf-8", errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


def _kind_of(value: Any) -> str:
    names = {str: "a string", int: "a number", float: "a number", bool: "a truth value"}
    return "null" if value is None else names.get(type(value), f"of type {type(value).__name__}")
