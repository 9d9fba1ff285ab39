"""Scanning the documents of files: folders, JSON Lines, Parquet, standard input.

Memory is that of a batch and of the findings that are kept.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from jeton._shown import NotebookResult
from jeton.corpus import open_documents, require_text
from jeton.errors import GuardRejected
from jeton.guard.kinds import GuardLevel
from jeton.guard.policy import Policy, enforce_for
from jeton.guard.scanning import scan_for, special_texts, unicode_version
from jeton.guard.verdict import TextFinding
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
        line: Line in the file, from 1; 0: not known.
        column: Column in that line, from 1, in code points; 0: not known.
        action: Action of the policy.
        context: Text around it.
        finding: The finding.
    """

    source: str
    document: int
    line: int
    column: int
    action: str
    context: str
    finding: TextFinding

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "source": self.source,
            "document": self.document,
            "line": self.line,
            "column": self.column,
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
        findings: The first ``MAX_LISTED`` that the policy does not allow.
        counts: Findings by severity and kind.
        n_documents: Documents.
        n_found_documents: Documents with a finding of at least ``fail_at``.
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
    field: str = "text",
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
        field: Field of the text in JSON, CSV and Parquet.
        documents: Document of a text file: the whole file, or each line that is not empty.
        format: Overrides the format that the names tell.
        strict: Bytes that are not UTF-8 are an error; else they are replaced and counted.
        on_bad_record: ``"stop"`` or ``"skip"`` at records that cannot be used.
        on_progress: Told how far reading has come.

    Raises:
        JetonError: An input cannot be read, or the policy is none.
        OSError: A file cannot be read.
    """
    chosen = Policy.of(policy)
    own = frozenset() if tokenizer is None else special_texts(resolve(tokenizer))
    stream = open_documents(
        inputs,
        field=field,
        documents=documents,
        format=format,
        strict=strict,
        on_bad_record=on_bad_record,
        with_places=True,
        on_progress=on_progress,
    )
    skipped = {file.path: file.skipped_because for file in stream.skipped}
    if not stream.files:
        require_text(n_documents=0, n_bytes=0, skipped=stream.skipped)
    listed: list[PlacedFinding] = []
    counts: Counter[tuple[GuardLevel, str]] = Counter()
    n_documents = n_found = n_chars = n_replaced = 0
    numbers: Counter[str] = Counter()
    for file, batch in stream:
        n_replaced += batch.n_replaced_documents
        places = stream.batch_places
        for index, text in enumerate(batch):
            number = numbers[file.path]
            numbers[file.path] += 1
            n_documents += 1
            n_chars += len(text)
            verdict = scan_for(text, own)
            if not verdict.findings:
                continue
            kept = [f for f in verdict.findings if chosen.action_of(f) != "allow"]
            n_found += any(f.severity.rank >= chosen.fail_at.rank for f in kept)
            counts.update((f.severity, f.kind) for f in kept)
            room = MAX_LISTED - len(listed)
            line = places.lines[index] if places is not None else 0
            lines = _Lines(text, line, is_record=_is_record(file.format, documents))
            for finding in kept[: max(0, room)]:
                at_line, column = lines.place(finding.start)
                listed.append(
                    PlacedFinding(
                        file.path,
                        number,
                        at_line,
                        column,
                        chosen.action_of(finding),
                        text[max(0, finding.start - _CONTEXT) : finding.end + _CONTEXT],
                        finding,
                    )
                )
    return ScanReport(
        policy=chosen.name,
        fail_at=chosen.fail_at,
        findings=tuple(listed),
        counts=dict(counts),
        n_documents=n_documents,
        n_found_documents=n_found,
        n_chars=n_chars,
        n_replaced_documents=n_replaced,
        n_null=stream.n_null_documents,
        n_bad=stream.n_bad_records,
        skipped=skipped,
    )


def _is_record(format_: str, documents: str) -> bool:
    return format_ != "text" or documents == "line"


class _Lines:
    """Lines and columns of rising positions in one document."""

    def __init__(self, text: str, line: int, *, is_record: bool) -> None:
        self._text = text
        self._line = line if is_record else max(1, line)
        self._is_record = is_record
        self._start = 0
        self._at = 0

    def place(self, at: int) -> tuple[int, int]:
        if self._is_record:
            # Inside a record, line ends are escaped: the record's own line is the place.
            return self._line, 0
        while (end := self._text.find("\n", self._at, at)) >= 0:
            self._line += 1
            self._at = self._start = end + 1
        self._at = max(self._at, at)
        return self._line, at - self._start + 1


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

    def fix(self, text: str) -> str:
        """Return a text as the policy leaves it.

        Raises:
            GuardRejected: The policy rejects it.
        """
        self._n_documents += 1
        try:
            found = enforce_for(text, self.policy, self._own)
        except GuardRejected:
            self._n_rejected += 1
            raise
        if found.changes:
            self._n_changed += 1
            self._changes.update((change.kind, change.action) for change in found.changes)
        return found.text

    @property
    def tally(self) -> FixTally:
        """Counts so far."""
        return FixTally(self._n_documents, self._n_changed, self._n_rejected, dict(self._changes))
