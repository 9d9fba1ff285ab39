"""Parts that all readers of coding agents share: how one is registered, and its memory of a file.

Agents log what the provider counted and not all of what was sent: each call is read as a request
without a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from jeton.corpus.lookup import lookup
from jeton.corpus.requests.counts import DOUBTS, Report
from jeton.corpus.requests.fields import FieldNames
from jeton.corpus.requests.parsed import ParsedRequest
from jeton.corpus.requests.usage import Usage

MAX_KEPT = 100_000
"""Sessions, threads and folders that a reader remembers."""


@dataclass(slots=True)
class FileState:
    """Facts that lines of a file state for those behind them.

    Attributes:
        join: Called with a kind of joining and how many records were joined.
        names: Fields that the user named.
        path: The file.
        own: Facts of this file, by the reader that keeps them.
        shared: Facts of all files so far, by the reader that keeps them.
        waiting: Requests that count at the end of the file, unless a later line replaces them.
        at_end: Give the requests that count after the last file, by the reader.
    """

    join: Callable[[str, int], None]
    names: FieldNames = field(default_factory=FieldNames)
    path: str = ""
    own: dict[str, Any] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)
    waiting: list[ParsedRequest] = field(default_factory=list)
    at_end: dict[str, Callable[[], list[ParsedRequest]]] = field(default_factory=dict)

    def next_file(self, path: str) -> FileState:
        """Returns the memory for another file: what is shared stays."""
        return FileState(self.join, self.names, path, shared=self.shared, at_end=self.at_end)

    def in_domain(self, parsed: ParsedRequest, record: Mapping[str, Any]) -> ParsedRequest:
        """Returns a request with the domain that its record names."""
        if self.names.domain:
            parsed.domain = lookup(record, self.names.domain)
        return parsed


Reader: TypeAlias = Callable[[Mapping[str, Any], FileState, Report], list[ParsedRequest] | None]
"""Gives the requests of a record; None: the record is of another kind."""


class Agent(NamedTuple):
    """One kind of record of a coding agent.

    Attributes:
        kind: Name of its own.
        shape: The agent's name, as a log's shape.
        told: Words that describe its records.
        is_it: Tells by the names of a record's fields, in small letters with underscores, whether
            it may be one; the reader asks the values.
        read: The reader.
    """

    kind: str
    shape: str
    told: str
    is_it: Callable[[frozenset[str]], bool]
    read: Reader


def text(value: Any) -> str:
    """A value as text; empty where it is none."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def child(record: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """The mapping at a path of keys; an empty one where there is none."""
    found: Any = record
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def summed(usage: Usage) -> Usage:
    """A usage that adds up a number of requests that is not known."""
    return usage._replace(facts={**usage.facts, "summed_requests": 1})


def doubtful(usage: Usage, kind: str, detail: str, report: Report) -> Usage:
    """A usage whose price is an estimate, for a reason that is reported."""
    assert kind in DOUBTS, kind
    report(kind, detail)
    return usage._replace(facts={**usage.facts, "doubtful_requests": 1})
