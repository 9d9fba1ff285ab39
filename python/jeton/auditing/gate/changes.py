"""Which documents a difference comes from, by name.

Documents are the same by `matching`; the rest is new or gone. Each is weighed with what it did to
the mean (a new document: how far it lies from the baseline's mean).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from jeton.auditing.gate.cause_names import TOKENIZER, UNRESOLVED, WORDING
from jeton.auditing.gate.causes import Compared
from jeton.auditing.gate.documents import Document
from jeton.auditing.gate.matching import Matches
from jeton.auditing.gate.rewriting import STEPS


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
