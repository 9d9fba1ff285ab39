"""Scanning the documents of files: folders, JSON Lines, Parquet, standard input.

Memory is that of a batch and of the findings that are kept.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from jeton._shown import NotebookResult
from jeton.errors import GuardRejected
from jeton.guard.policy import Policy, enforce_for
from jeton.guard.reading import GuardDocument, GuardReading, GuardText, JsonPaths
from jeton.guard.scanning import scan_for, special_texts, unicode_version
from jeton.guard.verdict import KINDS, GuardLevel, TextFinding, gravest
from jeton.progress import OnProgress
from jeton.registry import TokenizerLike, resolve

MAX_LISTED: Final = 10_000
"""Findings of a report that are listed; all of them are counted."""

_CONTEXT: Final = 24
"""Characters shown on either side of a finding."""


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding with its place in the inputs.

    Attributes:
        source: Path of the file; ``-`` is standard input.
        document: Number of the document in its file, from 0.
        line: Line in the file, or row of a table, from 1; 0: the whole file.
        column: Column in that line, from 1, in code points; 0: not known.
        end_line: Line of the character behind the last.
        end_column: Its column.
        field: Field of the record (``messages[1].content``); empty: the text is no record.
        action: Action of the policy.
        context: Text around it.
        finding: The finding.
    """

    source: str
    document: int
    line: int
    column: int
    end_line: int
    end_column: int
    field: str
    action: str
    context: str
    finding: TextFinding

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "source": self.source,
            "document": self.document,
            "line": self.line,
            "column": self.column or None,
            "end_line": self.end_line,
            "end_column": self.end_column or None,
            "field": self.field,
            "action": self.action,
            "context": self.context,
            **self.finding.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class ScanReport(NotebookResult):
    """Findings of many documents.

    Attributes:
        policy: Name of the policy.
        fail_at: Severity from which on the scan fails.
        findings: The ``MAX_LISTED`` gravest of those that the policy does not allow, by place.
        counts: Findings by severity and kind, all of them.
        n_documents: Documents.
        n_found_documents: Documents with a finding of ``fail_at`` and above, and inputs not looked
            at.
        n_chars: Code points.
        n_replaced_documents: Documents in which bytes that are not UTF-8 were replaced.
        n_null: Records whose text is null.
        n_bad: Records that could not be used.
        skipped: Files that were not read, with the reason.
    """

    _page = "jeton.report.guard:scan_to_html"
    _table = "findings"
    _line = ("n_documents", "n_found_documents")

    policy: str
    fail_at: GuardLevel
    findings: tuple[PlacedFinding, ...]
    counts: dict[tuple[GuardLevel, str], int]
    n_documents: int
    n_found_documents: int
    n_chars: int
    n_replaced_documents: int
    n_null: int
    n_bad: int
    skipped: dict[str, str]

    @property
    def n_unlisted(self) -> int:
        """Findings that are counted and not listed."""
        return sum(self.counts.values()) - len(self.findings)

    def gravest(self, limit: int) -> list[PlacedFinding]:
        """Return the gravest findings, the gravest first."""
        kept = gravest(self.findings, limit, _level_of)
        return sorted(kept, key=lambda one: -one.finding.severity.rank)

    @property
    def is_failed(self) -> bool:
        """True if a finding is at least as grave as the policy bears."""
        return self.n_found_documents > 0

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "schema_version": "jeton.guard/1",
            "unicode": unicode_version(),
            "policy": self.policy,
            "fail_at": self.fail_at.value,
            "is_failed": self.is_failed,
            "n_documents": self.n_documents,
            "n_found_documents": self.n_found_documents,
            "n_chars": self.n_chars,
            "n_replaced_documents": self.n_replaced_documents,
            "n_null": self.n_null,
            "n_bad": self.n_bad,
            "n_unlisted": self.n_unlisted,
            "skipped": self.skipped,
            "counts": [
                {"severity": level.value, "kind": kind, "n": n}
                for (level, kind), n in sorted(
                    self.counts.items(), key=lambda item: (-item[0][0].rank, item[0][1])
                )
            ],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def scan_files(
    inputs: str | os.PathLike[str] | Sequence[str] | Iterable[Any],
    *,
    policy: Policy | str | os.PathLike[str] = "default",
    tokenizer: TokenizerLike | None = None,
    field: str | None = None,
    documents: Literal["file", "line"] = "file",
    format: Literal["text", "jsonl"] | None = None,  # noqa: A002 - the option's name
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    on_progress: OnProgress | None = None,
) -> ScanReport:
    """Scan the documents of files, folders, globs, data sets, or of an iterator of texts.

    Args:
        inputs: As for ``jeton.corpus.open_documents``.
        policy: A policy, the name of one, or a TOML file.
        tokenizer: The tokenizer whose special tokens are looked for besides public ones.
        field: Field of JSON, CSV and Parquet, with all strings in it; ``[]`` stands for the
            elements of a list. None: every string of a record.
        documents: Document of a text file: the whole file, or each line that is not empty.
        format: Overrides the format that the names tell.
        strict: Bytes that are not UTF-8 are an error; else they are replaced and counted.
        on_bad_record: ``"stop"`` or ``"skip"`` at records without the field; those left out are
            a finding.
        on_progress: Told how far reading has come.

    Raises:
        JetonError: An input cannot be read, or the policy is none.
        OSError: A file cannot be read.
    """
    chosen = Policy.of(policy)
    own = frozenset() if tokenizer is None else special_texts(resolve(tokenizer))
    reading = GuardReading(
        inputs, field, documents, format, strict, on_bad_record, on_progress=on_progress
    )
    listed: list[PlacedFinding] = []
    counts: Counter[tuple[GuardLevel, str]] = Counter()
    n_found = n_chars = 0
    for number, document in _numbered(reading):
        is_found = False
        lines = _Lines(document)
        for text in document.texts:
            n_chars += len(text.text)
            verdict = scan_for(text.text, own)
            kept = {
                key: n
                for key, n in verdict.level_counts.items()
                if chosen.actions[KINDS[key[1]].group] != "allow"
            }
            counts.update(kept)
            is_found |= any(level.rank >= chosen.fail_at.rank for level, _ in kept)
            shown = [f for f in verdict.findings if (f.severity, f.kind) in kept]
            places = text.places(at for f in shown for at in (f.start, f.end)) if shown else {}
            for finding in shown:
                place = lines.place(places[finding.start], places[finding.end], text)
                listed.append(
                    PlacedFinding(
                        document.source,
                        number,
                        *place,
                        chosen.action_of(finding),
                        text.text[max(0, finding.start - _CONTEXT) : finding.end + _CONTEXT],
                        finding,
                    )
                )
        n_found += is_found
        if len(listed) > 2 * MAX_LISTED:
            listed = gravest(listed, MAX_LISTED, _level_of)
    for one in reading.unread:
        level = GuardLevel.INFO if one.is_harmless else GuardLevel.WARNING
        finding = TextFinding("not-read", level, 0, 0, f"not looked at: {one.reason}")
        if (action := chosen.action_of(finding)) != "allow":
            counts[level, "not-read"] += 1
            n_found += level.rank >= chosen.fail_at.rank
            listed.append(
                PlacedFinding(one.source, 0, one.line, 0, one.line, 0, "", action, "", finding)
            )
    return ScanReport(
        policy=chosen.name,
        fail_at=chosen.fail_at,
        findings=tuple(gravest(listed, MAX_LISTED, _level_of)),
        counts=dict(counts),
        n_documents=reading.n_documents,
        n_found_documents=n_found,
        n_chars=n_chars,
        n_replaced_documents=reading.n_replaced,
        n_null=reading.n_null,
        n_bad=reading.n_bad,
        skipped={one.source: one.reason for one in reading.unread if not one.line},
    )


def _level_of(one: PlacedFinding) -> GuardLevel:
    return one.finding.severity


def _numbered(reading: GuardReading) -> Iterator[tuple[int, GuardDocument]]:
    """Documents with their numbers in their files."""
    source, number = "", 0
    for document in reading:
        number = number + 1 if document.source == source else 0
        source = document.source
        yield number, document


class _Lines:
    """Lines, columns and fields of places in one document; cheap where they rise."""

    def __init__(self, document: GuardDocument) -> None:
        self._document = document
        self._text = document.whole
        self._paths: JsonPaths | None = None
        self._line = document.line
        self._start = self._at = 0

    def place(self, start: int, end: int, text: GuardText) -> tuple[int, int, int, int, str]:
        if text.start < 0:
            line = self._document.line
            return line, 0, line, 0, text.where
        if start < self._start:
            self._line, self._start, self._at = self._document.line, 0, 0
        while (at := self._text.find("\n", self._at, start)) >= 0:
            self._line += 1
            self._at = self._start = at + 1
        self._at = max(self._at, start)
        last = max(self._start, self._text.rfind("\n", start, end) + 1)
        n_lines = self._text.count("\n", start, end)
        where = text.where
        if text.raw is not None:
            self._paths = self._paths or JsonPaths(self._text)
            where = self._paths.at(text.start)
        return self._line, start - self._start + 1, self._line + n_lines, end - last + 1, where


@dataclass(frozen=True, slots=True)
class FixTally:
    """Changes of many documents, counted.

    Attributes:
        n_documents: Documents.
        n_changed: Documents that were changed.
        n_rejected: Documents that the policy rejects.
        changes: Changes by kind and action.
    """

    n_documents: int
    n_changed: int
    n_rejected: int
    changes: dict[tuple[str, str], int]


class Fixer:
    """Enforces a policy on many texts and counts: for files, steps and data sets."""

    def __init__(
        self,
        policy: Policy | str | os.PathLike[str] = "default",
        *,
        tokenizer: TokenizerLike | None = None,
    ) -> None:
        self.policy = Policy.of(policy)
        self._own = frozenset() if tokenizer is None else special_texts(resolve(tokenizer))
        self._changes: Counter[tuple[str, str]] = Counter()
        self._n_documents = self._n_changed = self._n_rejected = 0

    def fix(
        self, text: str, through: Callable[[str, Callable[[str], str]], str] | None = None
    ) -> str:
        """Return a text as the policy leaves it.

        Args:
            text: A document.
            through: Takes the document and a function that cleans a part of it; None: the
                document is one text.

        Raises:
            GuardRejected: The policy rejects it.
        """
        self._n_documents += 1
        n_before = self._changes.total()
        try:
            fixed = self._fixed(text) if through is None else through(text, self._fixed)
        except GuardRejected as error:
            self._n_rejected += 1
            error.document = self._n_documents
            raise
        self._n_changed += self._changes.total() > n_before
        return fixed

    def _fixed(self, text: str) -> str:
        found = enforce_for(text, self.policy, self._own)
        self._changes.update((change.kind, change.action) for change in found.changes)
        return found.text

    @property
    def tally(self) -> FixTally:
        """Counts so far."""
        return FixTally(self._n_documents, self._n_changed, self._n_rejected, dict(self._changes))
