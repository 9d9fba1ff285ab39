"""Traffic of a log as a whole.

Figures of a log, or of a part of it, which add up to those of the whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from jeton.corpus.names import Names, printable
from jeton.corpus.requests import answers
from jeton.corpus.requests.columns import RequestColumns
from jeton.corpus.requests.issues import IssueLog, LogIssue, Place
from jeton.corpus.requests.messages import OVERHEAD_SOURCE
from jeton.corpus.times import iso_time
from jeton.errors import EmptyCorpusError

MIN_SPAN_S = 3600.0
"""One hour, in seconds: a shorter log does not say how many requests a day brings."""

MAX_STRAY_SHARE = 0.01
"""Largest share of timestamps that may be dropped as outliers. Our choice: more than one in a
hundred is no accident."""

STRAY_SPAN_FACTOR = 10
"""Times are stray that make the span this many times longer; our choice."""

_HOUR_S = 3600
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class ModelRequests:
    """The requests of one model; sums over those that state the count.

    Attributes:
        name: As logged; empty: not stated.
        n_requests: Requests.
        n_with_usage: Requests of these with a token count of the provider.
        input_tokens: Cached ones included.
        cache_read_tokens: Tokens of the input.
        cache_write_tokens: Tokens of the input.
        output_tokens: Reasoning included.
        reasoning_tokens: Tokens of the output.
    """

    name: str
    n_requests: int
    n_with_usage: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True)
class RequestsSummary:
    """A log in figures.

    Attributes:
        n_requests: Requests read.
        n_with_text: Requests of these with their prompt.
        n_with_usage: Requests of these with the provider's count of input or output tokens.
        n_with_response: Requests of these with their answer.
        n_with_time: Requests of these with a time.
        first_time: The earliest, ISO 8601 in UTC; None: no request has a time.
        last_time: The latest.
        requests_per_day: Gaps between requests over the time from the first to the last, without
            the stray times that ``issues`` names; None for less than an hour.
        peak_requests_per_hour: In the fullest hour of the clock (UTC); None without times.
        output_tokens_mean: Reported output tokens a request; None: none is reported.
        cached_share: Cache reads, of the input tokens of the requests that state both; None: none.
        models: Names of the models, the most requests first.
        by_model: Prompts and answers of each model, in one order; the requests that name no model
            are an entry with an empty name.
        shapes: Requests by the shape of their record, the most first.
        chat_format: How chats were made one text, and what was added for their format.
        issues: Faults of the log, by kind.
    """

    n_requests: int
    n_with_text: int
    n_with_usage: int
    n_with_response: int
    n_with_time: int
    first_time: str | None
    last_time: str | None
    requests_per_day: float | None
    peak_requests_per_hour: int | None
    output_tokens_mean: float | None
    cached_share: float | None
    models: tuple[str, ...]
    by_model: tuple[ModelRequests, ...]
    shapes: dict[str, int]
    chat_format: str
    issues: tuple[LogIssue, ...]


class RequestsTally:
    """Sums over batches; memory is bounded by the number of models and of hours in 130 years."""

    def __init__(self) -> None:
        self.n_requests = 0
        self.n_with_response = 0
        self._n_with_text = 0
        self._n_with_usage = 0
        self._first_s = math.inf
        self._last_s = -math.inf
        self._n_with_time = 0
        self._hours: dict[int, int] = {}
        self._n_with_output = 0
        self._cached_input = 0
        self._cached = 0
        # Row 0 holds the requests without a model's name.
        self._by_model: list[list[int]] = [[0] * 7]

    def add(self, columns: RequestColumns, *, n_with_response: int, sign: int = 1) -> None:
        """Count the rows of a batch; take them back with a negative sign."""
        weights = columns.n_requests * sign
        self.n_requests += int(weights.sum())
        self.n_with_response += n_with_response * sign
        self._n_with_text += int(weights[columns.has_text].sum())
        has_output = columns.output_tokens >= 0
        is_known = (columns.input_tokens >= 0) | has_output
        for amounts in columns.extras.values():
            is_known |= amounts > 0
        self._n_with_usage += int(weights[is_known].sum())
        self._n_with_output += int(weights[has_output].sum())
        has_both = (columns.input_tokens >= 0) & (columns.cache_read_tokens >= 0)
        self._cached_input += sign * int(columns.input_tokens[has_both].sum())
        self._cached += sign * int(columns.cache_read_tokens[has_both].sum())
        has_time = ~np.isnan(columns.time_s)
        times = columns.time_s[has_time]
        if len(times):
            self._n_with_time += int(weights[has_time].sum())
            if sign > 0:
                self._first_s = min(self._first_s, float(times.min()))
                self._last_s = max(self._last_s, float(times.max()))
            hours, place = np.unique((times // _HOUR_S).astype(np.int64), return_inverse=True)
            counts = np.bincount(place.reshape(-1), weights=weights[has_time])
            for hour, count in zip(hours.tolist(), counts.tolist(), strict=True):
                self._hours[hour] = self._hours.get(hour, 0) + round(count)
        sums = (
            columns.input_tokens,
            columns.cache_read_tokens,
            columns.cache_write_tokens,
            columns.output_tokens,
            columns.reasoning_tokens,
        )
        for index in np.unique(columns.model).tolist():
            rows = columns.model == index
            while len(self._by_model) <= index + 1:
                self._by_model.append([0] * 7)
            entry = self._by_model[index + 1]
            entry[0] += int(weights[rows].sum())
            entry[1] += int(weights[rows & is_known].sum())
            for column, counts_ in enumerate(sums, start=2):
                entry[column] += sign * int(counts_[rows & (counts_ > 0)].sum())

    def absorb(self, other: RequestsTally, *, models: Names, other_models: Sequence[str]) -> None:
        """Add the requests of another tally.

        Args:
            other: It.
            models: Names of the models here; those of the other are added.
            other_models: Names of its models.
        """
        self.n_requests += other.n_requests
        self.n_with_response += other.n_with_response
        self._n_with_text += other._n_with_text
        self._n_with_usage += other._n_with_usage
        self._first_s = min(self._first_s, other._first_s)
        self._last_s = max(self._last_s, other._last_s)
        self._n_with_time += other._n_with_time
        for hour, count in other._hours.items():
            self._hours[hour] = self._hours.get(hour, 0) + count
        self._n_with_output += other._n_with_output
        self._cached_input += other._cached_input
        self._cached += other._cached
        for index, entry in enumerate(other._by_model):
            place = models.number(other_models[index - 1])[0] + 1 if index else 0
            while len(self._by_model) <= place:
                self._by_model.append([0] * 7)
            self._by_model[place] = [
                a + b for a, b in zip(self._by_model[place], entry, strict=True)
            ]

    def summary(
        self,
        *,
        models: Sequence[str],
        shapes: dict[str, int],
        chat_format: str,
        issues: dict[str, LogIssue],
    ) -> RequestsSummary:
        """The figures so far."""
        names = ["", *models]
        by_model = [
            ModelRequests(names[index], *entry)
            for index, entry in enumerate(self._by_model)
            if entry[0]
        ]
        by_model.sort(key=lambda entry: (-entry.n_requests, entry.name))
        n_output = sum(entry.output_tokens for entry in by_model)
        has_times = self._n_with_time > 0
        found = dict(issues)
        n_stray, n_near, span_s = self._span()
        if n_stray:
            first, last = iso_time(self._first_s), iso_time(self._last_s)
            found["stray_time"] = LogIssue("stray_time", n_stray, (f"from {first} to {last}",))
        return RequestsSummary(
            n_requests=self.n_requests,
            n_with_text=self._n_with_text,
            n_with_usage=self._n_with_usage,
            n_with_response=self.n_with_response,
            n_with_time=self._n_with_time,
            first_time=iso_time(self._first_s) if has_times else None,
            last_time=iso_time(self._last_s) if has_times else None,
            # n times bound n - 1 gaps: the rate of a steady stream is the gaps over the span.
            requests_per_day=(n_near - 1) * _DAY_S / span_s if span_s >= MIN_SPAN_S else None,
            peak_requests_per_hour=max(self._hours.values()) if has_times else None,
            output_tokens_mean=n_output / self._n_with_output if self._n_with_output else None,
            cached_share=self._cached / self._cached_input if self._cached_input else None,
            models=tuple(entry.name for entry in by_model if entry.name),
            by_model=tuple(by_model),
            shapes=dict(sorted(shapes.items(), key=lambda item: (-item[1], item[0]))),
            chat_format=chat_format,
            issues=tuple(found.values()),
        )

    def _span(self) -> tuple[int, int, float]:
        """How many times are stray, how many are not, and the seconds that these span.

        A clock that was not set, or a date that was misread, lies years away: times are stray if
        they are at most 1% of all and the span without them is less than a tenth.
        """
        if not self._hours:
            return 0, 0, 0.0
        span_s = self._last_s - self._first_s
        n_each_side = int(self._n_with_time * MAX_STRAY_SHARE / 2)
        hours = sorted(self._hours)
        low, n_low = _skip(hours, self._hours, n_each_side)
        high, n_high = _skip(hours[::-1], self._hours, n_each_side)
        near_s = float((high - low + 1) * _HOUR_S)
        if not (n_low or n_high) or near_s * STRAY_SPAN_FACTOR > span_s:
            return 0, self._n_with_time, span_s
        return n_low + n_high, self._n_with_time - n_low - n_high, near_s


def _skip(hours: list[int], counts: dict[int, int], n_most: int) -> tuple[int, int]:
    """The first hour after at most ``n_most`` requests, and how many were passed over."""
    n_passed = 0
    for hour in hours:
        if n_passed + counts[hour] > n_most:
            return hour, n_passed
        n_passed += counts[hour]
    return hours[-1], n_passed


_MAX_SHOWN: Final = 10


UNREADABLE_WORDS: Final = {
    "not_json": "not valid JSON",
    "line_too_long": "longer than the limit of a record",
    "not_a_request": "not a request",
    "stream_chunk": "pieces of streamed responses",
    "not_a_model_call": "spans and lines of sessions that call no model",
}
"""Records that give no request, in words."""


@dataclass(slots=True)
class PartEdges:
    """Facts at the edges of a part of a log, where it meets the parts before and after it.

    Attributes:
        path: Its first file.
        begins_inside: True if it begins inside that file, behind another part.
        is_one_file: True if it ends in the same file.
        first_timed: The first request of that file with a time: the time and the place.
        last_time_s: Time of the last request with one, in its last file; -inf: none has one.
        n_lines: Lines of its last file.
    """

    path: str = ""
    begins_inside: bool = False
    is_one_file: bool = True
    first_timed: tuple[float, Place] | None = None
    last_time_s: float = -math.inf
    n_lines: int = 0


@dataclass(slots=True)
class LogFacts:
    """Figures of a log; ``merge`` adds those of the part behind it.

    Attributes:
        tally: Sums over its requests.
        models: Names of the models, by their numbers in the tally.
        shapes: Requests by shape.
        conventions: Requests by the convention of their usage.
        unread: Unknown names of amounts, with how often each was met.
        unread_units: Units that stand under those names.
        joined: Records that were joined with others, by kind.
        issues: Faults.
        has_template: True if chats were written by a template.
        uses_overhead: True if the published overhead was added to a request.
        n_records: Records read.
        n_with_id: Requests that were compared by an id.
        n_rows: Rows, those that were taken back included.
        edges: Where it meets other parts.
    """

    tally: RequestsTally = field(default_factory=RequestsTally)
    models: tuple[str, ...] = ()
    shapes: Counter[str] = field(default_factory=Counter)
    conventions: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    unread_units: Counter[str] = field(default_factory=Counter)
    joined: Counter[str] = field(default_factory=Counter)
    issues: IssueLog = field(default_factory=IssueLog)
    has_template: bool = False
    uses_overhead: bool = False
    n_records: int = 0
    n_with_id: int = 0
    n_rows: int = 0
    edges: PartEdges = field(default_factory=PartEdges)

    def merge(self, other: LogFacts) -> LogFacts:
        """Figures of this part and the one behind it."""
        names, tally = Names(), RequestsTally()
        for part in (self, other):
            tally.absorb(part.tally, models=names, other_models=part.models)
        issues = IssueLog()
        issues.absorb(self.issues)
        return LogFacts(
            edges=_joined_edges(self.edges, other.edges, self.issues, other.issues, issues),
            tally=tally,
            models=tuple(names.names),
            shapes=self.shapes + other.shapes,
            conventions=self.conventions + other.conventions,
            unread=self.unread + other.unread,
            unread_units=self.unread_units + other.unread_units,
            joined=self.joined + other.joined,
            issues=issues,
            has_template=self.has_template or other.has_template,
            uses_overhead=self.uses_overhead or other.uses_overhead,
            n_records=self.n_records + other.n_records,
            n_with_id=self.n_with_id + other.n_with_id,
            n_rows=self.n_rows + other.n_rows,
        )

    def found_issues(self) -> dict[str, LogIssue]:
        """Faults of the log, by kind (``issues.ISSUE_KINDS``)."""
        found = self.issues.issues()
        n_beyond = self.n_with_id - answers.MAX_ANSWERS
        if n_beyond > 0:
            known = found.get("joining_limited")
            found["joining_limited"] = LogIssue(
                "joining_limited",
                n_beyond + (known.n if known else 0),
                known.examples if known else (),
            )
        for kind, counts in (
            ("mixed_schemas", self.shapes),
            ("mixed_conventions", self.conventions),
        ):
            if len(counts) > 1:
                ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                examples = tuple(f"{name}: {n:,} requests" for name, n in ranked[:5])
                found[kind] = LogIssue(kind, sum(n for _, n in ranked[1:]), examples)
        if self.unread:
            ranked = sorted(self.unread.items(), key=lambda item: (-item[1], item[0]))
            shown = tuple(
                f"{printable(name)}: {n:,} requests, {self.unread_units[name]:,} in all"
                for name, n in ranked[:_MAX_SHOWN]
            )
            found["unread_usage"] = LogIssue("unread_usage", sum(self.unread.values()), shown)
        return found

    def chat_format(self) -> str:
        """The way from chats to text, in words."""
        if self.has_template:
            return "rendered by the chat template"
        if self.uses_overhead:
            return (
                "messages joined by line breaks; overhead by OpenAI's published formula "
                f"({OVERHEAD_SOURCE})"
            )
        return "messages joined by line breaks; no overhead added"

    def summary(self) -> RequestsSummary:
        """The log in figures."""
        return self.tally.summary(
            models=self.models,
            shapes=dict(self.shapes),
            chat_format=self.chat_format(),
            issues=self.found_issues(),
        )


def _joined_edges(
    first: PartEdges, second: PartEdges, before: IssueLog, behind: IssueLog, issues: IssueLog
) -> PartEdges:
    """Edges of two parts as one; issues of the second, and where they meet, are added."""
    if not second.begins_inside:
        issues.absorb(behind)
        return PartEdges(
            path=first.path,
            begins_inside=first.begins_inside,
            is_one_file=False,
            first_timed=first.first_timed,
            last_time_s=second.last_time_s,
            n_lines=second.n_lines,
        )
    timed = second.first_timed
    if timed is not None:
        time_s, place = timed
        timed = (time_s, place.behind(second.path, first.n_lines))
        if time_s < first.last_time_s:
            issues.add("time_backwards", timed[1], f"by {first.last_time_s - time_s:,.3f} s")
    issues.absorb(behind, path=second.path, n_lines=first.n_lines)
    has_time = not second.is_one_file or second.last_time_s > -math.inf
    return PartEdges(
        path=first.path,
        begins_inside=first.begins_inside,
        is_one_file=first.is_one_file and second.is_one_file,
        first_timed=first.first_timed or (timed if first.is_one_file else None),
        last_time_s=second.last_time_s if has_time else first.last_time_s,
        n_lines=second.n_lines + (first.n_lines if second.is_one_file else 0),
    )


def empty_log(facts: LogFacts, *, n_skipped: int) -> EmptyCorpusError:
    """The error of a log without a request.

    Args:
        facts: Facts found instead.
        n_skipped: Files that were not read.
    """
    found = "no record" if not facts.n_records else f"no request in {facts.n_records:,} records"
    details = [
        f"{issue.n:,} {UNREADABLE_WORDS[kind]}"
        + (f" ({issue.examples[0]})" if issue.examples else "")
        for kind, issue in facts.found_issues().items()
        if kind in UNREADABLE_WORDS
    ]
    if n_skipped:
        details.append(f"{n_skipped:,} files were skipped")
    message = f"the inputs hold no request: {'; '.join([found, *details])}"
    hint = "give logs that hold requests"
    if facts.n_records:
        hint = (
            "a record has a prompt or messages, or a usage; name the fields with prompt_field= and "
            "response_field= if they are called otherwise"
        )
    return EmptyCorpusError(f"{message}\nhint: {hint}")
