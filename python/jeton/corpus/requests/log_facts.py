"""Figures of a log, or of a part of it, which add up to those of the whole."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from jeton.corpus.names import Names, printable
from jeton.corpus.requests import answers
from jeton.corpus.requests.issues import IssueLog, LogIssue, Place
from jeton.corpus.requests.messages import OVERHEAD_SOURCE
from jeton.corpus.requests.summary import RequestsSummary, RequestsTally
from jeton.errors import EmptyCorpusError

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
