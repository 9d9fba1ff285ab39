"""Documents of both sides matched, and the change of each with its causes.

Documents are matched by the name that a record gives itself; else by its text; else by its
wording, which no change of preprocessing touches; else by its place. Files are the same where their
paths are, or their names, or where there is one on each side: a corpus may lie in another folder
today. The rest is new or gone. Each document is weighed with what it did to the mean (a new
document: how far it lies from the baseline's mean).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import PurePath
from typing import TypeAlias

from jeton.auditing.gate.causes import Compared
from jeton.auditing.gate.documents import Document, DocumentTable
from jeton.auditing.gate.features import TOKENIZER, UNRESOLVED, WORDING
from jeton.auditing.gate.rewriting import STEPS

Pair: TypeAlias = tuple[Document, Document]


@dataclass(frozen=True, slots=True)
class Matches:
    """The documents of two tables.

    Attributes:
        pairs: Pairs of the baseline and of today.
        new: Documents of today alone; those that the baseline may only have left out are not here.
        gone: Documents of the baseline alone, likewise.
        by: How many pairs were found how: ``id``, ``text``, ``wording``, ``place``.
    """

    pairs: tuple[Pair, ...]
    new: tuple[Document, ...]
    gone: tuple[Document, ...]
    by: dict[str, int]


def match_documents(before: DocumentTable, after: DocumentTable) -> Matches:
    """Match the documents of two tables, each once."""
    search = _Search(before.documents, after.documents)
    search.by_key("id", lambda document: document.record or None)
    has_stable_ids = bool(search.by["id"])
    search.by_key("text", lambda document: document.text)
    search.by_key("wording", lambda document: document.wording)
    search.by_place(
        # Records that name themselves, and are known by their names, are others than they were.
        lambda document: not (has_stable_ids and document.record),
        is_complete=before.is_complete and after.is_complete,
    )
    return Matches(
        pairs=tuple(search.pairs),
        new=tuple(d for d in search.after if _would_be_in(before, d)),
        gone=tuple(d for d in search.before if _would_be_in(after, d)),
        by=search.by,
    )


class _Search:
    """The documents that are not matched yet, and the pairs."""

    def __init__(self, before: list[Document], after: list[Document]) -> None:
        self.before, self.after = before, after
        self._n_documents = [_n_by_source(side) for side in (before, after)]
        self.pairs: list[Pair] = []
        self.by = dict.fromkeys(("id", "text", "wording", "place"), 0)

    def by_key(self, name: str, key_of: Callable[[Document], int | None]) -> None:
        """Pair documents of the same key, in their order."""
        waiting: defaultdict[int, list[Document]] = defaultdict(list)
        # Backwards, so that the first one is taken first.
        for document in reversed(self.before):
            key = key_of(document)
            if key is not None:
                waiting[key].append(document)
        found = []
        for document in self.after:
            key = key_of(document)
            if key is not None and waiting.get(key):
                found.append((waiting[key].pop(), document))
        self._take(name, found)

    def by_place(self, may: Callable[[Document], bool], *, is_complete: bool) -> None:
        """Pair documents of the same number in the same file, counted from the last known pair."""
        left: dict[str, dict[int, Document]] = defaultdict(dict)
        for document in filter(may, self.before):
            left[document.source][document.index] = document
        sources = self._same_sources(is_complete=is_complete)
        anchors: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for old, new in self.pairs:
            if sources.get(new.source) == old.source:
                anchors[new.source].append((new.index, old.index))
        for known in anchors.values():
            known.sort()
        found = []
        for document in filter(may, self.after):
            source = sources.get(document.source)
            if source is None:
                continue
            known = anchors[document.source]
            place = bisect.bisect_right(known, (document.index, len(self._n_documents))) - 1
            shift = known[place][1] - known[place][0] if place >= 0 else 0
            old_document = left[source].pop(document.index + shift, None)
            if old_document is not None:
                found.append((old_document, document))
        self._take("place", found)

    def _same_sources(self, *, is_complete: bool) -> dict[str, str]:
        """The source of the baseline that each of today's is."""
        old, new = self._n_documents
        same = {source: source for source in new if source in old}
        left = [[s for s in side if s not in same] for side in (old, new)]
        by_name: list[dict[str, list[str]]] = [_by_name(side) for side in left]
        for name, sources in by_name[1].items():
            others = by_name[0].get(name, [])
            if len(sources) == len(others) == 1:
                same[sources[0]] = others[0]
        taken = set(same.values())
        left = [[s for s in old if s not in taken], [s for s in new if s not in same]]
        if len(left[0]) == len(left[1]):
            same.update(zip(sorted(left[1]), sorted(left[0]), strict=True))
        # In another file, a document of the same number is the same one only if all of them are.
        return {
            source: other
            for source, other in same.items()
            if source == other or not is_complete or old[other] == new[source]
        }

    def _take(self, name: str, found: list[Pair]) -> None:
        self.pairs += found
        self.by[name] += len(found)
        gone = {id(old) for old, _ in found}
        here = {id(new) for _, new in found}
        self.before = [d for d in self.before if id(d) not in gone]
        self.after = [d for d in self.after if id(d) not in here]


def _n_by_source(documents: Iterable[Document]) -> dict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for document in documents:
        counts[document.source] += 1
    return dict(counts)


def _by_name(sources: Iterable[str]) -> dict[str, list[str]]:
    named: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources:
        named[PurePath(source).name].append(source)
    return dict(named)


def _would_be_in(table: DocumentTable, document: Document) -> bool:
    """True if a table that kept some documents would have kept this one, had it been there."""
    largest = table.largest_key
    return largest is None or document.key <= largest


class Status(StrEnum):
    """Fate of a document."""

    SAME = "same text"
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """One document that moved the figure.

    Attributes:
        source: Where it is read from.
        index: Its number in that source, from 0.
        line: Its line in that source (row of a table), from 1; 0: not known.
        domain: Its domain.
        status: Fate of the document.
        n_tokens_before: Its tokens in the baseline; None if it is new.
        n_tokens_after: Its tokens today; None if it is gone.
        cause: The largest cause of its own difference; empty for new and gone ones.
        effect_tokens: Its effect on the sum of tokens, a new or gone one beside the mean.
    """

    source: str
    index: int
    line: int
    domain: str
    status: Status
    n_tokens_before: int | None
    n_tokens_after: int | None
    cause: str
    effect_tokens: Fraction


def changed_documents(
    sides: Compared,
    matches: Matches,
    *,
    domain: str | None,
    mean_before: Fraction,
    sign: int,
    limit: int,
) -> tuple[ChangedDocument, ...]:
    """The documents that moved the tokens most in one direction.

    Args:
        sides: The counts.
        matches: Which documents are which.
        domain: Only documents of this domain; None: of all.
        mean_before: Tokens a document of the baseline.
        sign: 1 for documents that became dearer, -1 for cheaper ones.
        limit: How many.
    """
    bridge: dict[tuple[str, int], Document] = {}
    if sides.other is not None:
        bridge = {(d.source, d.index): d for d in sides.other.documents.documents}
    found: list[ChangedDocument] = []
    for before, after in matches.pairs:
        if not _is_of(after, domain) or before.n_tokens[0] == after.n_tokens[0]:
            continue
        as_before = after if sides.is_same_tokenizer else bridge.get((after.source, after.index))
        status = Status.SAME if before.text == after.text else Status.CHANGED
        found.append(_changed(before, after, as_before, status))
    for document in matches.new:
        if _is_of(document, domain):
            found.append(_lone(document, Status.NEW, document.n_tokens[0] - mean_before))
    for document in matches.gone:
        if _is_of(document, domain):
            found.append(_lone(document, Status.GONE, mean_before - document.n_tokens[0]))
    moved = [document for document in found if document.effect_tokens * sign > 0]
    moved.sort(key=lambda d: (-d.effect_tokens * sign, d.source, d.index))
    return tuple(moved[:limit])


def _is_of(document: Document, domain: str | None) -> bool:
    return domain is None or document.domain == domain


def _changed(
    before: Document, after: Document, bridge: Document | None, status: Status
) -> ChangedDocument:
    difference = after.n_tokens[0] - before.n_tokens[0]
    return ChangedDocument(
        source=after.source,
        index=after.index,
        line=after.line,
        domain=after.domain,
        status=status,
        n_tokens_before=before.n_tokens[0],
        n_tokens_after=after.n_tokens[0],
        cause=_cause(before, after, bridge, status, 1 if difference > 0 else -1),
        effect_tokens=Fraction(difference),
    )


def _cause(
    before: Document, after: Document, bridge: Document | None, status: Status, sign: int
) -> str:
    if status is Status.SAME:
        return TOKENIZER
    if bridge is None:
        return UNRESOLVED
    old, new = before.n_tokens, bridge.n_tokens
    parts = {step: (new[i] - new[i + 1]) - (old[i] - old[i + 1]) for i, step in enumerate(STEPS)}
    parts[WORDING] = new[-1] - old[-1]
    parts[TOKENIZER] = after.n_tokens[0] - bridge.n_tokens[0]
    return max(parts, key=lambda cause: parts[cause] * sign)


def _lone(document: Document, status: Status, effect: Fraction) -> ChangedDocument:
    n_tokens = document.n_tokens[0]
    return ChangedDocument(
        source=document.source,
        index=document.index,
        line=document.line,
        domain=document.domain,
        status=status,
        n_tokens_before=None if status is Status.NEW else n_tokens,
        n_tokens_after=n_tokens if status is Status.NEW else None,
        cause="",
        effect_tokens=effect,
    )
