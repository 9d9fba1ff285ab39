"""Faults of a log: counted by kind, with a few places, never silently dropped.

The kinds are a closed list; each says what it means and what becomes of the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from jeton.corpus.names import printable

MAX_EXAMPLES = 5
"""Places kept of each kind: what one looks up before one knows the pattern."""

MAX_DETAIL_CHARS = 160
"""Characters of an example: a place and a value, not the record."""

ISSUE_KINDS: dict[str, str] = {
    # records that give no request
    "not_json": "lines that are not valid JSON: left out",
    "line_too_long": "records longer than the limit: left out unread",
    "not_a_request": "records in which neither a text nor a usage was found: left out",
    "stream_chunk": "pieces of a streamed response without a text and without counts: left out",
    "not_a_model_call": "spans, runs and lines of sessions that are no call of a model: left out",
    # what a request lacks
    "missing_text": "requests without their prompt: counted as requests, with no text",
    "missing_response": "requests without an answer: their output is not seen",
    "missing_usage": "requests without the provider's token counts",
    "usage_half_known": "requests of which the input is known and not the output, or the reverse: "
    "the known count is in the bill",
    "missing_time": "requests without a time",
    "missing_model": "requests without the model's name",
    "missing_domain": "requests or documents without the field of the domain: in no domain",
    "failed_request": "requests that failed: counted as requests",
    # what is odd about it
    "mixed_schemas": "records of another shape than most: read by their own shape",
    "mixed_conventions": "requests whose usage follows another convention than most: converted",
    "negative_count": "token counts below zero: taken as unknown",
    "absurd_count": "token counts above any context window: taken as unknown",
    "bad_count": "token counts that are no whole numbers: taken as unknown",
    "inconsistent_usage": "token counts that contradict each other: kept as given, and the price "
    "is an estimate",
    "convention_undecided": "requests of which nothing tells whether cached or reasoning tokens "
    "are in a count or beside it: taken as in it",
    "unread_usage": "amounts under names that are not known: not counted, and the price is an "
    "estimate",
    "unknown_tariff": "words for a tariff that are not known: taken as standard, and the price is "
    "an estimate",
    "cache_not_logged": "requests of agents that log no reads of a cache: priced as if there were "
    "none, and the price is an estimate",
    "bad_cost": "stated costs that are no amounts of USD: not compared",
    "refused_unbilled": "requests that the provider refused before any output: not billed",
    "usage_exceeds_text": "requests with more input tokens than their text has bytes: "
    "something was sent that the log does not show",
    "bad_time": "times that cannot be read, or lie outside the years 1970 to 2100: unknown",
    "time_without_zone": "times without a time zone: taken as UTC",
    "time_backwards": "requests earlier than the one before them in the same file",
    "stray_time": "times far away from all others: not in the requests per day",
    "duplicate_id": "requests with the id of an earlier one and other counts: counted as another",
    "joining_limited": "requests beyond the number of ids that are compared: repeats of "
    "earlier ones count",
    "late_span": "spans whose trace began too long ago: a sum around them may count twice",
    "attachment": "images, audio, files and prompts of token ids, which are no text to count",
    "invalid_unicode": "texts with bytes or surrogates that are no Unicode: replaced by U+FFFD",
    "template_failed": "chats that the template refused: counted by the messages' text",
    "too_many_turns": "chats with more turns than the limit: the first ones are left out",
    "too_many_names": "names of models or domains beyond the limit: counted together as (other)",
}
"""Every kind, with what it means and what becomes of the records."""


@dataclass(frozen=True, slots=True)
class LogIssue:
    """One kind of trouble.

    Attributes:
        kind: One of ``ISSUE_KINDS``.
        n: How often it was met.
        examples: The first few places, ``path, line N: detail``.
    """

    kind: str
    n: int
    examples: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """Meaning of the fault, and the fate of its records."""
        return ISSUE_KINDS[self.kind]


class Place(NamedTuple):
    """A place in a log.

    Attributes:
        path: The file.
        unit: Unit of its records, ``line`` or ``row``; empty: the file as a whole.
        line: Number of the record, from 1 in the part of the file that was read.
    """

    path: str
    unit: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}, {self.unit} {self.line}" if self.unit else self.path

    def behind(self, path: str, n_lines: int) -> Place:
        """The place where ``n_lines`` of a file come before the part that was read."""
        is_moved = self.unit and self.path == path
        return self._replace(line=self.line + n_lines) if is_moved else self


class IssueLog:
    """Counts issues as they are met; mergeable."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[tuple[Place, str]]] = {}

    def add(self, kind: str, place: Place, detail: str = "", *, n: int = 1) -> None:
        """Count an issue at a place."""
        self._counts[kind] = self._counts.get(kind, 0) + n
        examples = self._examples.setdefault(kind, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append((place, detail[: 2 * MAX_DETAIL_CHARS]))

    def count(self, kind: str, n: int) -> None:
        """Count an issue of which the examples suffice; a negative number takes back."""
        self._counts[kind] = self._counts.get(kind, 0) + n
        self._examples.setdefault(kind, [])

    def wants_example(self, kind: str) -> bool:
        """True if another place of a kind would be kept."""
        return len(self._examples.get(kind, ())) < MAX_EXAMPLES

    def n(self, kind: str) -> int:
        """How often a kind was met."""
        return self._counts.get(kind, 0)

    def absorb(self, other: IssueLog, *, path: str = "", n_lines: int = 0) -> None:
        """Add the issues of the part of a log that comes next.

        Args:
            other: They.
            path: A file that the part goes on with.
            n_lines: Lines of it before the part.
        """
        for kind, n in other._counts.items():
            self._counts[kind] = self._counts.get(kind, 0) + n
            examples = self._examples.setdefault(kind, [])
            for place, detail in other._examples[kind]:
                if len(examples) < MAX_EXAMPLES:
                    examples.append((place.behind(path, n_lines), detail))

    def issues(self) -> dict[str, LogIssue]:
        """The issues so far, in the order of ``ISSUE_KINDS``."""
        return {
            kind: LogIssue(
                kind, self._counts[kind], tuple(_shown(*e) for e in self._examples[kind])
            )
            for kind in ISSUE_KINDS
            if self._counts.get(kind, 0) > 0
        }


def _shown(place: Place, detail: str) -> str:
    text = printable(f"{place}: {detail}" if detail else str(place))
    return text if len(text) <= MAX_DETAIL_CHARS else text[:MAX_DETAIL_CHARS] + "…"
