"""From a record to the requests in it, each as a row: all that needs nothing but the record.

A record is one request, several (an export of spans, a chat by its turns), a piece of one, or none.
Facts that depend on the records before it are asked of ``stateful`` (pieces of streams, sessions).

Usage exports read as logs: rows of OpenAI and Anthropic that add up many requests.

A bucket states the time of its rows. ``jeton.read_usage`` reads the same files as records
of usage.

Records inside a record: elements of a list, spans of an export, lines kept by a collector.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from jeton.corpus.lookup import parsed_json, text_or_none
from jeton.corpus.places import record_id
from jeton.corpus.requests.fields import FieldNames, Fields, fields_of
from jeton.corpus.requests.kinds import STATEFUL, kinds_of
from jeton.corpus.requests.messages import ChatRenderer, CountedChat, published_overhead, text_of
from jeton.corpus.requests.observations import parse_langfuse, parse_langsmith
from jeton.corpus.requests.parsed import ParsedRequest, ReadRequest, Reported, Row
from jeton.corpus.requests.pieces import answer_of
from jeton.corpus.requests.sent import packed
from jeton.corpus.requests.shapes import parse_record
from jeton.corpus.requests.spans import as_span, parse_span, spans_of_export
from jeton.corpus.requests.usage import UNKNOWN_USAGE
from jeton.corpus.times import TimeUnit, parse_time
from jeton.errors import JetonError

_WRAPPERS: Final = (
    "data", "records", "requests", "spans", "traces", "items", "logs", "results", "logEvents",
)  # fmt: skip
_INSIDE: Final = ("observations", "child_runs")
_ENVELOPES: Final = (
    "log", "@message", "message", "msg", "line", "jsonPayload", "json_payload", "textPayload",
    "text_payload", "_raw",
)  # fmt: skip
"""Fields in which log collectors keep a program's line."""

_EXPORTS: Final = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
ASIDE: Final = frozenset((*_WRAPPERS, *_EXPORTS, *_INSIDE, *_ENVELOPES))
_OWN: Final = frozenset(
    {
        "usage", "messages", "prompt", "input", "request", "response", "choices", "model", "body",
        "model_id", "modelId", "inputTextTokenCount", "start_time", "starting_at",
    }
)  # fmt: skip
"""Fields of a record that is a request itself, whatever lists it has."""

_EVENTS: Final = ("session.", "assistant.")
"""Beginnings of the kinds of events of an agent, which say whose ``data`` it is (Copilot)."""

_MAX_UNWRAPPING: Final = 4


def parts_of(record: Any, depth: int = 0) -> Iterator[Any]:
    """The records inside a record: spans of an export, elements of a list or of a wrapper."""
    if isinstance(record, list):
        if record and all(isinstance(item, dict) and _has_role(item) for item in record):
            yield {"messages": record}
            return
        if len(record) > 1 and answer_of(record) is not None:
            yield {"response": record}
            return
        for item in record:
            yield from parts_of(item, depth + 1) if depth < _MAX_UNWRAPPING else (item,)
        return
    if isinstance(record, dict):
        if any(name in record for name in _EXPORTS):
            yield from spans_of_export(record)
            return
        for key in _INSIDE:
            inner = record.get(key)
            if depth < _MAX_UNWRAPPING and isinstance(inner, list) and inner:
                if key == "child_runs":
                    yield {name: value for name, value in record.items() if name != key}
                yield from parts_of(inner, depth + 1)
                return
        if _OWN.isdisjoint(record):
            inside = _enveloped(record)
            if inside is not None and depth < _MAX_UNWRAPPING:
                yield from parts_of(inside, depth + 1)
                return
        # A wrapper has its list and little else: totals, a cursor, the kind of object.
        is_small = depth < _MAX_UNWRAPPING and len(record) <= 8
        if is_small and _OWN.isdisjoint(record):
            for key in _WRAPPERS:
                inner = record.get(key)
                if isinstance(inner, list) and inner and all(isinstance(i, dict) for i in inner):
                    yield from parts_of(inner, depth + 1)
                    return
            is_event = str(record.get("type", "")).startswith(_EVENTS)
            if len(record) <= 2 and isinstance(record.get("data"), dict) and not is_event:
                yield from parts_of(record["data"], depth + 1)
                return
    yield record


def _enveloped(record: Mapping[str, Any]) -> Any:
    """The object that a collector keeps of a program's line, with the collector's time; or None."""
    for key in _ENVELOPES:
        if key in record:
            inner = record[key]
            inner = parsed_json(inner.strip()) if isinstance(inner, str) else inner
            is_object = isinstance(inner, dict) and (
                isinstance(record[key], str) or key in ("jsonPayload", "json_payload")
            )
            if not is_object:
                continue
            times = fields_of(record).time
            if times and not fields_of(inner).time:
                return {**inner, "timestamp": record[times[0]]}
            return inner
    return None


def _has_role(item: Mapping[str, Any]) -> bool:
    return ("role" in item and ("content" in item or "parts" in item)) or (
        "from" in item and "value" in item
    )


_TIMES: Final = ("start_time", "starting_at", "start_time_iso")


def rows_of_bucket(bucket: Mapping[str, Any]) -> Iterator[Mapping[str, Any]] | None:
    """The rows of a bucket, each with its time; None: it is none."""
    results = bucket.get("results")
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        return None
    time = next((bucket[name] for name in _TIMES if bucket.get(name) is not None), None)
    if time is None:
        return None
    return ({"start_time": time, **row} for row in results)


Turns: TypeAlias = Literal["last", "each"]

MAX_TURNS: Final = 1_000
"""Requests made of one chat: its text grows with the square of its turns."""

USAGE_SLACK_TOKENS: Final = 64
"""Input tokens beyond one for each byte before a usage counts as larger than its text can be: what
formats add that the overhead leaves out (a begin of sequence, a date, a hidden preamble)."""

JOINED_PIECES: Final = "stream_pieces"
"""A kind of joining (``joining.JOINED_KINDS``) that a record by itself may report."""

# Chat formats for which the overhead of OpenAI's would be an invention.
_UNPUBLISHED: Final = ("anthropic", "google", "gcp", "bedrock", "aws", "mistral", "cohere")
_ASSISTANTS: Final = ("assistant", "model", "gpt", "bot", "ai", "chatgpt")


class ReadOptions(NamedTuple):
    """How records are read.

    Attributes:
        names: Fields that the user named.
        turns: A chat is one request, or one for each of its answers.
        time_unit: Unit of times that are numbers.
    """

    names: FieldNames
    turns: Turns = "last"
    time_unit: TimeUnit = "auto"


class RecordReader:
    """Reads one record after another; keeps nothing of them.

    Args:
        options: How they are read.
        template: Writes a chat as it is sent; None: messages are joined.
        report: Called with the kind of an issue, its detail and how often.
        take: Called with each request.
        stateful: Called with the kind of a record of ``STATEFUL``; returns False if the record is
            not of it after all.
    """

    def __init__(
        self,
        options: ReadOptions,
        *,
        template: ChatRenderer | None,
        report: Callable[[str, str, int], None],
        take: Callable[[ReadRequest], None],
        stateful: Callable[[str, Mapping[str, Any], Fields], bool],
    ) -> None:
        self.line = 0
        """Place of the record that is read."""
        self.record_id = ""
        """Id that the record gives itself."""
        self._names = options.names
        self._turns = options.turns
        self._time_unit: TimeUnit = options.time_unit
        self._template = template
        self._report_n = report
        self._take = take
        self._stateful = stateful

    def read(self, record: Any, line: int) -> None:
        """Take the requests of a record."""
        self.line = line
        if type(record) is dict and ASIDE.isdisjoint(record):
            try:
                self._read_record(record)  # nearly every record
            except RecursionError:
                self._report("not_a_request", "nested too deeply")
            return
        is_empty = True
        for part in parts_of(record):
            is_empty = False
            self._read_part(part)
        if is_empty:
            self._report("not_a_request", "it holds no record")

    def _report(self, kind: str, detail: str) -> None:
        self._report_n(kind, detail, 1)

    def _read_part(self, part: Any) -> None:
        if not isinstance(part, dict):
            self._report("not_a_request", f"it is {_kind_of(part)}")
            return
        try:
            self._read_record(part)
        except RecursionError:
            # It could be read, and is nested too deeply to be written again.
            self._report("not_a_request", "nested too deeply")

    def _read_record(self, record: Mapping[str, Any]) -> None:
        self.record_id = record_id(record)
        known = fields_of(record)
        for kind in kinds_of(record, known):
            if self._read_special(kind, record, known):
                return
        self._read_plain(record, known)

    def _read_special(self, kind: str, record: Mapping[str, Any], known: Fields) -> bool:
        """Read a record of a special kind; False: it is not, by its values."""
        if kind in STATEFUL:
            return self._stateful(kind, record, known)
        if kind == "span":
            span = as_span(record)
            if span is None:
                return False
            self.add(parse_span(span, self._names.domain, self._report))
            return True
        if kind in ("langfuse", "langsmith"):
            parse = parse_langfuse if kind == "langfuse" else parse_langsmith
            self.add(parse(record, known, self._names, self._report))
            return True
        # A bucket of an export.
        rows = rows_of_bucket(record)
        if rows is None:
            return False
        for row in rows:
            self._read_plain(row, fields_of(row))
        return True

    def _read_plain(self, record: Mapping[str, Any], known: Fields) -> None:
        parsed, n_pieces = parse_record(record, known, self._names, self._report)
        if n_pieces > 1:
            self._report_n(JOINED_PIECES, "", n_pieces - 1)
        if parsed is not None:
            self.add(parsed)

    def add(self, parsed: ParsedRequest) -> None:
        """Take a request as a row."""
        domain = (text_or_none(parsed.domain) or None) if self._names.domain else None
        time_s = math.nan if parsed.time is None else self._time(parsed.time)
        chat = parsed.chat
        earlier: tuple[Row, ...] = ()
        text, overhead = "", 0
        blocks: tuple[int, ...] = ()
        if chat is not None or parsed.prompt:
            if chat is not None and self._turns == "each":
                earlier = tuple(self._earlier_turns(parsed, chat, time_s, domain))
            text, overhead, blocks = self._text(parsed, chat)
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
            self.line,
            self.record_id,
            blocks,
            packed(chat.sent if chat is not None else None, parsed.agent, parsed.miss_reason),
        )
        self._take(
            ReadRequest(
                row,
                parsed.shape,
                parsed.id,
                parsed.scope,
                parsed.is_own_id,
                parsed.is_strict_scope,
                parsed.place,
                self._oddities(parsed, row),
                earlier,
            )
        )
        for other in parsed.more:
            other.time, other.domain = parsed.time, parsed.domain
            other.conversation = parsed.conversation
            self.add(other)

    def _oddities(self, parsed: ParsedRequest, row: Row) -> tuple[Reported, ...]:
        """Issues of a request, for when it counts."""
        found: list[Reported] = []
        usage = parsed.usage
        if parsed.failed:
            found.append(Reported("failed_request", parsed.failed))
        if parsed.n_attachments:
            found.append(Reported("attachment", n=parsed.n_attachments))
        if not row.has_text:
            found.append(Reported("missing_text"))
        if parsed.response is None and not parsed.is_session and parsed.shape != "export":
            found.append(Reported("missing_response"))
        if usage.input < 0 or usage.output < 0:
            if not usage.is_known:
                found.append(Reported("missing_usage"))
            elif usage.is_half_known:
                given, missing = ("input", "output") if usage.input >= 0 else ("output", "input")
                found.append(
                    Reported("usage_half_known", f"the {given} is known and the {missing} is not")
                )
        if not parsed.model:
            found.append(Reported("missing_model"))
        if self._names.domain and row.domain is None:
            found.append(Reported("missing_domain"))
        if parsed.time is None:
            found.append(Reported("missing_time"))
        limit = len(row.text) + row.overhead_tokens + USAGE_SLACK_TOKENS
        if usage.input > limit and row.has_text and not parsed.n_attachments:
            n_bytes = len(row.text.encode("utf-8", errors="replace"))
            if usage.input > n_bytes + row.overhead_tokens + USAGE_SLACK_TOKENS:
                found.append(
                    Reported("usage_exceeds_text", f"{usage.input:,} tokens, {n_bytes:,} bytes")
                )
        return tuple(found)

    def _earlier_turns(
        self, parsed: ParsedRequest, chat: CountedChat, time_s: float, domain: str | None
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
            before = CountedChat(messages=chat.messages[:index], tools=chat.tools)
            text, overhead, blocks = self._text(parsed, before)
            said, _ = text_of({k: v for k, v in chat.messages[index].items() if k != "role"})
            # The provider's count is the last request's alone.
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
                line=self.line,
                record_id=self.record_id,
                blocks=blocks,
            )

    def _text(
        self, parsed: ParsedRequest, chat: CountedChat | None
    ) -> tuple[str, int, tuple[int, ...]]:
        """Returns the sent text, the tokens that the chat's format adds, and its blocks."""
        if chat is None:
            return parsed.prompt or "", 0, ()
        if self._template is not None:
            try:
                return self._template(chat.messages, chat.tools), 0, ()
            except JetonError as error:
                self._report("template_failed", str(error).split("\n", 1)[0])
        text, blocks = chat.joined_blocks()
        if not chat.messages or _is_unpublished(parsed.chat_format):
            return text, 0, blocks
        return text, published_overhead(chat), blocks

    def _time(self, value: Any) -> float:
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
