"""From a record to the rows of a batch, with every oddity counted.

A record is one request, several (an export of spans, a chat by its turns), or none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from jeton.corpus.lookup import text_or_none
from jeton.corpus.requests.fields import FieldNames
from jeton.corpus.requests.issues import IssueLog
from jeton.corpus.requests.messages import (
    OVERHEAD_SOURCE,
    Chat,
    ChatRenderer,
    published_overhead,
    text_of,
)
from jeton.corpus.requests.parsed import ParsedRequest
from jeton.corpus.requests.shapes import parse_record
from jeton.corpus.requests.spans import is_span, parse_span, spans_of_export
from jeton.corpus.requests.usage import UNKNOWN_USAGE, Usage
from jeton.corpus.times import TimeUnit, parse_time
from jeton.errors import JetonError

__all__ = ["RecordParser", "Row", "Turns"]

Turns: TypeAlias = Literal["last", "each"]

MAX_TURNS: Final = 1_000
"""Requests made of one chat: its text grows with the square of its turns."""

MAX_TRACKED_IDS: Final = 1_000_000
"""Ids compared with one another, about 100 bytes each; later ones are not checked."""

USAGE_SLACK_TOKENS: Final = 64
"""Input tokens beyond one for each byte before a usage counts as larger than its text can be: what
formats add that the overhead leaves out (a begin of sequence, a date, a hidden preamble)."""

_WRAPPERS: Final = ("data", "records", "requests", "spans", "traces", "items", "logs", "results")
_EXPORTS: Final = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_ASIDE: Final = frozenset((*_WRAPPERS, *_EXPORTS))
_OWN: Final = frozenset(
    {"usage", "messages", "prompt", "input", "request", "response", "choices", "model", "body"}
)
"""Fields of a record that is a request itself, whatever lists it has."""

_MAX_UNWRAPPING: Final = 4
# Chat formats for which the overhead of OpenAI's would be an invention.
_UNPUBLISHED: Final = ("anthropic", "google", "gcp", "bedrock", "aws", "mistral", "cohere")


class Row(NamedTuple):
    """One request as it enters a batch."""

    text: str
    response: str | None
    usage: Usage
    model: str
    time_s: float
    domain: str | None
    overhead_tokens: int
    has_text: bool


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
    ) -> None:
        self.shapes: Counter[str] = Counter()
        """Requests by shape."""
        self.conventions: Counter[str] = Counter()
        """Requests by the convention of their usage."""
        self.uses_overhead = False
        """Whether the published overhead was added to a request."""
        self._names = names
        self._template = template
        self._turns = turns
        self._time_unit: TimeUnit = time_unit
        self._issues = issues
        self._ids: set[int] = set()
        self._last_time_s = -math.inf

    def start_file(self) -> None:
        """Times are compared within a file."""
        self._last_time_s = -math.inf

    def rows(self, record: Any, place: str) -> Iterable[Row]:
        """The requests of a record."""
        if isinstance(record, dict) and _ASIDE.isdisjoint(record):
            return self._rows_of_part(record, place)  # nearly every record
        return self._rows_of_parts(record, place)

    def _rows_of_parts(self, record: Any, place: str) -> Iterator[Row]:
        is_empty = True
        for part in _parts(record, 0):
            is_empty = False
            yield from self._rows_of_part(part, place)
        if is_empty:
            self._issues.add("not_a_request", place, "it holds no record")

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

    def _requests_of(self, part: Any, place: str) -> list[Row]:
        def report(kind: str, detail: str) -> None:
            self._issues.add(kind, place, detail)

        if not isinstance(part, dict):
            report("not_a_request", f"it is {_kind_of(part)}")
            return []
        if "attributes" in part and is_span(part):
            parsed = parse_span(part, self._names.domain, report)
            if parsed is not None and not (parsed.has_text or parsed.usage.is_known):
                report("not_a_request", "a span without content and without token counts")
                return []
        else:
            parsed = parse_record(part, self._names, report)
        return [] if parsed is None else self._rows_of_request(parsed, place)

    def _rows_of_part(self, part: Any, place: str) -> list[Row]:
        try:
            return self._requests_of(part, place)
        except RecursionError:
            # It could be read, and is nested too deeply to be written again.
            self._issues.add("not_a_request", place, "nested too deeply")
            return []

    def _rows_of_request(self, parsed: ParsedRequest, place: str) -> list[Row]:
        add = self._issues.add
        self.shapes[parsed.shape] += 1
        if parsed.usage.convention:
            self.conventions[parsed.usage.convention] += 1
        if parsed.failed:
            add("failed_request", place, parsed.failed)
        if parsed.n_attachments:
            add("attachment", place, n=parsed.n_attachments)
        if not parsed.has_text:
            add("missing_text", place)
        if parsed.response is None:
            add("missing_response", place)
        if not parsed.usage.is_known:
            add("missing_usage", place)
        if not parsed.model:
            add("missing_model", place)
        if parsed.id:
            self._check_id(parsed.id, place)
        domain = (text_or_none(parsed.domain) or None) if self._names.domain else None
        if self._names.domain and domain is None:
            add("missing_domain", place)
        time_s = self._time(parsed.time, place)
        chat = parsed.chat
        rows: list[Row] = []
        if chat is not None and self._turns == "each":
            rows += self._earlier_turns(parsed, chat, time_s, domain, place)
        text, overhead = self._text(parsed, chat, place)
        if (
            parsed.has_text
            and not parsed.n_attachments
            and parsed.usage.input > len(text) + overhead + USAGE_SLACK_TOKENS
        ):
            n_bytes = len(text.encode("utf-8", errors="replace"))
            if parsed.usage.input > n_bytes + overhead + USAGE_SLACK_TOKENS:
                detail = f"{parsed.usage.input:,} tokens, {n_bytes:,} bytes"
                add("usage_exceeds_text", place, detail)
        rows.append(
            Row(
                text,
                parsed.response,
                parsed.usage,
                parsed.model,
                time_s,
                domain,
                overhead,
                parsed.has_text,
            )
        )
        return rows

    def _earlier_turns(
        self, parsed: ParsedRequest, chat: Chat, time_s: float, domain: str | None, place: str
    ) -> Iterator[Row]:
        """A request for each answer inside a chat: what preceded it was sent then."""
        answers = [
            index
            for index, message in enumerate(chat.messages)
            if index and message["role"] in ("assistant", "model", "gpt", "bot", "ai", "chatgpt")
        ]
        if len(answers) > MAX_TURNS:
            self._issues.add("too_many_turns", place, f"{len(answers):,} turns")
            answers = answers[-MAX_TURNS:]
        for index in answers:
            before = Chat(messages=chat.messages[:index], tools=chat.tools)
            text, overhead = self._text(parsed, before, place)
            said, _ = text_of({k: v for k, v in chat.messages[index].items() if k != "role"})
            # What the provider counted is the last request's alone.
            yield Row(
                text, said, UNKNOWN_USAGE, parsed.model, time_s, domain, overhead, has_text=True
            )

    def _text(self, parsed: ParsedRequest, chat: Chat | None, place: str) -> tuple[str, int]:
        """What was sent as one text, and the tokens that the chat's format adds."""
        if chat is None:
            return parsed.prompt or "", 0
        if self._template is not None:
            try:
                return self._template(chat.messages, chat.tools), 0
            except JetonError as error:
                self._issues.add("template_failed", place, str(error).split("\n", 1)[0])
        if not chat.messages or any(name in parsed.provider for name in _UNPUBLISHED):
            return chat.joined(), 0
        self.uses_overhead = True
        return chat.joined(), published_overhead(chat)

    def _check_id(self, identity: str, place: str) -> None:
        number = hash(identity)
        if number in self._ids:
            self._issues.add("duplicate_id", place, identity)
        elif len(self._ids) < MAX_TRACKED_IDS:
            self._ids.add(number)

    def _time(self, value: Any, place: str) -> float:
        if value is None:
            self._issues.add("missing_time", place)
            return math.nan
        time_s, kind = parse_time(value, unit=self._time_unit)
        if kind:
            self._issues.add(kind, place, repr(value)[:60])
        if time_s < self._last_time_s:
            self._issues.add("time_backwards", place, f"by {self._last_time_s - time_s:,.3f} s")
        if not math.isnan(time_s):
            self._last_time_s = time_s
        return time_s


def _parts(record: Any, depth: int) -> Iterator[Any]:
    """The records inside a record: spans of an export, elements of a list or of a wrapper."""
    if isinstance(record, list):
        if record and all(isinstance(item, dict) and _has_role(item) for item in record):
            yield {"messages": record}
            return
        for item in record:
            yield from _parts(item, depth + 1) if depth < _MAX_UNWRAPPING else (item,)
        return
    if isinstance(record, dict):
        if any(name in record for name in _EXPORTS):
            yield from spans_of_export(record)
            return
        # A wrapper has its list and little else: totals, a cursor, the kind of object.
        is_small = depth < _MAX_UNWRAPPING and len(record) <= 8
        if is_small and _OWN.isdisjoint(record):
            for key in _WRAPPERS:
                inner = record.get(key)
                if isinstance(inner, list) and inner and all(isinstance(i, dict) for i in inner):
                    yield from _parts(inner, depth + 1)
                    return
    yield record


def _has_role(item: Mapping[str, Any]) -> bool:
    return ("role" in item and ("content" in item or "parts" in item)) or (
        "from" in item and "value" in item
    )


def _kind_of(value: Any) -> str:
    names = {str: "a string", int: "a number", float: "a number", bool: "a truth value"}
    return "null" if value is None else names.get(type(value), f"of type {type(value).__name__}")
