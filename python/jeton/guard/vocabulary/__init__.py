"""Vocabularies that lie: faults of lists, tokens, rules, folders and rows.

Lists are read as the file states them, so that a file which does not load is told apart from one
that loads and is wrong. Nothing is unpickled and no code of a folder is run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jeton._shown import NotebookResult
from jeton.checkpoint import ModelDirectory, read_model_directory
from jeton.guard.verdict import GuardLevel
from jeton.guard.vocabulary.contents import SENSITIVE, content_findings, personal_tokens
from jeton.guard.vocabulary.folder import folder_findings
from jeton.guard.vocabulary.rules import rule_findings
from jeton.guard.vocabulary.source import VocabularyFinding, VocabularySource, found, read_source
from jeton.guard.vocabulary.structure import structure_findings
from jeton.guard.vocabulary.suspects import model_findings
from jeton.registry import TokenizerLike

# The full difference of a vocabulary to the one that it should be.


def base_findings(source: VocabularySource, base: VocabularySource) -> Iterator[VocabularyFinding]:
    """Yield each way in which a vocabulary differs from its base."""
    own = {**{e.token: e.id for e in source.entries}, **{c: i for i, c, _ in source.added}}
    old = {**{e.token: e.id for e in base.entries}, **{c: i for i, c, _ in base.added}}
    where = f"against {base.where}"
    moved = {
        token: (old[token], own[token])
        for token in own
        if token in old and old[token] != own[token]
    }
    if moved:
        swapped = [t for t, (before, now) in moved.items() if (now, before) in set(moved.values())]
        yield found(
            "differs-from-base",
            GuardLevel.CRITICAL,
            f"{len(moved):,} tokens have another id than in the base"
            + (f"; {len(swapped):,} of them were exchanged" if swapped else ""),
            where,
            ids=[now for _, now in moved.values()],
            examples=[f"{token!r}: {before}, now {now}" for token, (before, now) in moved.items()],
        )
    for words, names, values in (
        ("are new", sorted(own.keys() - old.keys()), own),
        ("are gone", sorted(old.keys() - own.keys()), old),
    ):
        if names:
            yield found(
                "differs-from-base",
                GuardLevel.WARNING,
                f"{len(names):,} tokens {words}",
                where,
                ids=[values[name] for name in names],
                examples=[f"{values[name]} {name!r}" for name in names],
            )
    if source.merges is not None and base.merges is not None and source.merges != base.merges:
        first = next(
            (n for n, (a, b) in enumerate(zip(source.merges, base.merges, strict=False)) if a != b),
            min(len(source.merges), len(base.merges)),
        )
        n_changed = len(set(source.merges) ^ set(base.merges))
        yield found(
            "differs-from-base",
            GuardLevel.ERROR,
            f"merges differ from number {first:,} on; {n_changed:,} stand on one side only",
            where,
            n=max(1, n_changed),
        )
    for name in ("normalizer", "pretokenizer", "decoder"):
        before, now = getattr(base, name), getattr(source, name)
        if json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
            yield found("differs-from-base", GuardLevel.ERROR, f"the {name} is another", where, n=1)
    specials = {c for _, c, s in source.added if s} ^ {c for _, c, s in base.added if s}
    if specials:
        yield found(
            "differs-from-base",
            GuardLevel.WARNING,
            f"{len(specials):,} tokens are special on one side only",
            where,
            examples=[repr(one) for one in sorted(specials)],
        )


__all__ = [
    "SENSITIVE",
    "VocabularyFinding",
    "VocabularyReport",
    "check_vocabulary",
    "personal_tokens",
]


@dataclass(frozen=True, slots=True)
class VocabularyReport(NotebookResult):
    """Findings about a vocabulary.

    Attributes:
        tokenizer: Name or path.
        n_tokens: Ids with a token, of the model and added.
        findings: The gravest first.
    """

    _table = "findings"
    _line = ("tokenizer", "findings")

    tokenizer: str
    n_tokens: int
    findings: tuple[VocabularyFinding, ...]

    @property
    def worst(self) -> GuardLevel | None:
        """The gravest severity; None without findings."""
        return max((f.severity for f in self.findings), key=lambda level: level.rank, default=None)

    @property
    def is_clean(self) -> bool:
        """True without any finding."""
        return not self.findings

    def is_below(self, level: GuardLevel | str) -> bool:
        """True if no finding is of this severity or a graver one."""
        return all(f.severity.rank < GuardLevel(level).rank for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "schema_version": "jeton.guard-vocabulary/1",
            "tokenizer": self.tokenizer,
            "n_tokens": self.n_tokens,
            "worst": None if self.worst is None else self.worst.value,
            "findings": [finding.to_dict() for finding in self.findings],
        }


_CHECKS: Final[tuple[Callable[[VocabularySource], Iterator[VocabularyFinding]], ...]] = (
    structure_findings,
    content_findings,
    rule_findings,
)


def check_vocabulary(
    tokenizer: TokenizerLike,
    *,
    model: str | os.PathLike[str] | None = None,
    base: TokenizerLike | None = None,
) -> VocabularyReport:
    """Look for faults of a vocabulary, of the files around it, and of the rows of its model.

    Args:
        tokenizer: A name, a file, a folder or a tokenizer; the file may be one that does not load.
        model: Folder of the model; by default that of the tokenizer, if it has one.
        base: The tokenizer that it should be: every difference is a finding.

    Raises:
        FormatError: A file is no vocabulary.
        NotADirectoryError: ``model`` is no folder.
        OSError: A file cannot be read.

    Example:
        >>> check_vocabulary("jeton-general-32k").is_below("error")
        True
    """
    source = read_source(tokenizer)
    findings = [finding for check in _CHECKS for finding in check(source)]
    folder = source.folder if model is None else Path(model)
    directory: ModelDirectory | None = None
    if folder is not None:
        directory = read_model_directory(folder)
        findings += folder_findings(folder)
    if directory is not None and source.tokenizer is not None:
        findings += model_findings(source.tokenizer, directory)
    if base is not None:
        findings += base_findings(source, read_source(base))
    findings.sort(key=lambda f: (-f.severity.rank, f.kind))
    ids = {entry.id for entry in source.entries} | {id_ for id_, _, _ in source.added}
    return VocabularyReport(source.where, len(ids), tuple(findings))
