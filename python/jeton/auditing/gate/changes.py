"""Which documents a difference comes from, by name.

A document whose text is on both sides is unchanged, wherever it stands now. Of the others, those in
the same place are one document that was changed; the rest is new or gone. Each is weighed with
what it did to the mean (a new document: how far it lies from the baseline's mean).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from jeton.auditing.gate.causes import TOKENIZER, UNRESOLVED, WORDING, Sides
from jeton.auditing.gate.documents import Document, DocumentTable
from jeton.auditing.gate.rewriting import STEPS

__all__ = ["ChangedDocument", "Status", "changed_documents"]


class Status(StrEnum):
    """What happened to a document."""

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
        domain: Its domain.
        status: What happened to it.
        n_tokens_before: Its tokens in the baseline; None if it is new.
        n_tokens_after: Its tokens today; None if it is gone.
        cause: The largest cause of its own difference; empty for new and gone ones.
        effect_tokens: What it added to the sum of tokens, a new or gone one beside the mean.
    """

    source: str
    index: int
    domain: str
    status: Status
    n_tokens_before: int | None
    n_tokens_after: int | None
    cause: str
    effect_tokens: Fraction


def changed_documents(
    sides: Sides, *, domain: str | None, mean_before: Fraction, sign: int, limit: int
) -> tuple[ChangedDocument, ...]:
    """The documents that moved the tokens most in one direction.

    Args:
        sides: What was counted.
        domain: Only documents of this domain; None: of all.
        mean_before: Tokens a document of the baseline.
        sign: 1 for documents that became dearer, -1 for cheaper ones.
        limit: How many.
    """
    old = _of(sides.before_documents, domain)
    new = _of(sides.current.documents, domain)
    bridge = new if sides.is_same_tokenizer else {}
    if sides.other is not None:
        bridge = _of(sides.other.documents, domain)
    old_by_text = _by_text(old)
    found: list[ChangedDocument] = []
    unmatched: dict[int, Document] = {}
    for key, document in sorted(new.items(), key=lambda item: (item[1].source, item[1].index)):
        same = old_by_text[document.text]
        twin = same.pop() if same else None
        if twin is None:
            unmatched[key] = document
        elif twin.n_tokens[0] != document.n_tokens[0]:
            found.append(_changed(twin, document, bridge.get(key), Status.SAME))
    left = {document.key: document for same in old_by_text.values() for document in same}
    for key, document in unmatched.items():
        before = left.pop(key, None)
        if before is not None:
            found.append(_changed(before, document, bridge.get(key), Status.CHANGED))
        elif _would_be_in(sides.before_documents, key):
            found.append(_lone(document, Status.NEW, document.n_tokens[0] - mean_before))
    for key, document in left.items():
        if _would_be_in(sides.current.documents, key):
            found.append(_lone(document, Status.GONE, mean_before - document.n_tokens[0]))
    moved = [document for document in found if document.effect_tokens * sign > 0]
    moved.sort(key=lambda d: (-d.effect_tokens * sign, d.source, d.index))
    return tuple(moved[:limit])


def _of(table: DocumentTable, domain: str | None) -> dict[int, Document]:
    return {
        key: document
        for key, document in table.documents.items()
        if domain is None or document.domain == domain
    }


def _by_text(documents: dict[int, Document]) -> defaultdict[int, list[Document]]:
    by_text: defaultdict[int, list[Document]] = defaultdict(list)
    # Backwards, so that the first one is taken first.
    for document in sorted(documents.values(), key=lambda d: (d.source, d.index), reverse=True):
        by_text[document.text].append(document)
    return by_text


def _would_be_in(table: DocumentTable, key: int) -> bool:
    """Whether a table that kept some documents would have kept this one, had it been there."""
    largest = table.largest_key
    return largest is None or key <= largest


def _changed(
    before: Document, after: Document, bridge: Document | None, status: Status
) -> ChangedDocument:
    difference = after.n_tokens[0] - before.n_tokens[0]
    return ChangedDocument(
        source=after.source,
        index=after.index,
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
        domain=document.domain,
        status=status,
        n_tokens_before=None if status is Status.NEW else n_tokens,
        n_tokens_after=n_tokens if status is Status.NEW else None,
        cause="",
        effect_tokens=effect,
    )
