"""The verdict of a gate, as values: budgets, figures, causes, documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from jeton.auditing.gate.budgets import Budget
from jeton.auditing.gate.causes import (
    CAUSES,
    DOCUMENT_LABELS,
    KINDS,
    PART_LABELS,
    CauseEffect,
    label_of,
    shares_of,
)
from jeton.auditing.gate.changes import ChangedDocument
from jeton.auditing.gate.features import FEATURES
from jeton.auditing.gate.values import ChangeInterval

GATE_SCHEMA = "jeton.gate/2"


@dataclass(frozen=True, slots=True)
class Cause:
    """One part of a difference, for people too."""

    part: CauseEffect
    share: float
    detail: str

    @property
    def label(self) -> str:
        """The cause's name in sentences."""
        return label_of(self.part)

    @property
    def remedy(self) -> str:
        """Remedy; empty where nothing is to be done to the text."""
        feature = FEATURES.get(self.part.cause)
        return "" if feature is None or self.part.value == 0 else feature.remedy

    @property
    def check(self) -> str:
        """The check of the audit that looks for it; empty where there is none."""
        feature = FEATURES.get(self.part.cause)
        return "" if feature is None else feature.check

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return KINDS[self.part.cause]


@dataclass(frozen=True, slots=True)
class PartMove:
    """Movement of a figure by a part of the request.

    Attributes:
        part: Its name, or that of a cause that belongs to no part.
        label: Its name in sentences.
        value: Its part of the difference; all of them add up to it.
        share: Its share of all movement; below 0 where it moved the other way.
    """

    part: str
    label: str
    value: Fraction
    share: float


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """One budget, judged on one domain.

    Attributes:
        budget: The budget that was asked; None for the comparison that is made without a budget.
        metric: The figure.
        domain: The domain; None: the whole corpus.
        before: The baseline's value; None without a baseline.
        after: Today's value.
        is_exceeded: True if the budget failed.
        causes: Parts of the difference, which add up to it: features that grew first, then the
            others, each by its size.
        documents: Documents that moved it, those of most effect first.
        interval: 95% interval of the difference of the two means, if both corpora are samples of
            their workloads (tokens_per_document only).
        usd_per_year: Cost of the difference in a year at today's price and traffic; None where that
            is not known.
    """

    budget: Budget | None
    metric: str
    domain: str | None
    before: Fraction | None
    after: Fraction
    is_exceeded: bool
    causes: tuple[Cause, ...] = ()
    documents: tuple[ChangedDocument, ...] = ()
    interval: ChangeInterval | None = None
    usd_per_year: Decimal | None = None

    @property
    def name(self) -> str:
        """The figure with its domain."""
        return self.metric if self.domain is None else f"{self.domain}:{self.metric}"

    @property
    def difference(self) -> Fraction | None:
        """Today's value less the baseline's."""
        return None if self.before is None else self.after - self.before

    @property
    def relative_change(self) -> float | None:
        """The difference as a share of the baseline's value; None where that is 0 or absent."""
        if not self.before:
            return None
        return float((self.after - self.before) / abs(self.before))

    @property
    def by_part(self) -> tuple[PartMove, ...]:
        """The first level: the causes by part of the request, the largest first.

        A cause that belongs to no part (a price, traffic, the tokenizer) stands by its own name.
        """
        sums: dict[str, Fraction] = {}
        for cause in self.causes:
            name = cause.part.where or cause.part.cause
            sums[name] = sums.get(name, Fraction(0)) + cause.part.value
        sums = {name: value for name, value in sums.items() if value}
        shares = shares_of(list(sums.values()), self.difference or Fraction(1))
        found = [
            PartMove(name, PART_LABELS.get(name, CAUSES.get(name, name)), value, share)
            for (name, value), share in zip(sums.items(), shares, strict=True)
        ]
        return tuple(sorted(found, key=lambda move: (-move.share, move.part)))

    @property
    def main_cause(self) -> Cause | None:
        """The first cause in the direction of the difference."""
        difference = self.difference
        if not difference:
            return None
        return next((c for c in self.causes if c.part.value * difference > 0), None)


@dataclass(frozen=True, slots=True)
class FeaturePlace:
    """The document that has most of a feature: its file, its line (0: not known), the tokens."""

    source: str
    line: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class GateResult:
    """Verdict of the gate. ``to_dict`` is its JSON; `GATE_SCHEMA` names the schema."""

    results: tuple[BudgetResult, ...]
    baseline_tokenizer: tuple[str, str] | None
    tokenizer: tuple[str, str]
    is_bridged: bool
    """True if a changed tokenizer could be told exactly from changed text."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the verdict, a sentence each."""
    sides: tuple[str, str] | None = None
    """Names of the baseline and of today's corpus, where two corpora were compared."""
    places: Mapping[str, FeaturePlace] = field(default_factory=dict)
    """Returns the place with most of a feature, for each check that looks for one."""

    @property
    def is_passed(self) -> bool:
        """True if no budget was exceeded."""
        return not any(result.is_exceeded for result in self.results)

    @property
    def failures(self) -> tuple[BudgetResult, ...]:
        """The budgets that were exceeded."""
        return tuple(result for result in self.results if result.is_exceeded)

    @property
    def is_tokenizer_changed(self) -> bool:
        """True if the baseline has another tokenizer."""
        return self.baseline_tokenizer is not None and self.baseline_tokenizer != self.tokenizer

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema_version": GATE_SCHEMA,
            "is_passed": self.is_passed,
            "tokenizer": _identity(self.tokenizer),
            "baseline_tokenizer": (
                None if self.baseline_tokenizer is None else _identity(self.baseline_tokenizer)
            ),
            "sides": (
                None if self.sides is None else {"before": self.sides[0], "after": self.sides[1]}
            ),
            "notes": list(self.notes),
            "results": [_result(result) for result in self.results],
        }


def _identity(tokenizer: tuple[str, str]) -> dict[str, str]:
    return {"name": tokenizer[0], "fingerprint": tokenizer[1]}


def _result(result: BudgetResult) -> dict[str, Any]:
    budget, interval = result.budget, result.interval
    return {
        "budget": None if budget is None else budget.text,
        "metric": result.metric,
        "domain": result.domain,
        "before": None if result.before is None else float(result.before),
        "after": float(result.after),
        "relative_change": result.relative_change,
        "is_exceeded": result.is_exceeded,
        "main_cause": None if result.main_cause is None else result.main_cause.part.cause,
        "parts": [
            {"part": m.part, "label": m.label, "value": float(m.value), "share": m.share}
            for m in result.by_part
        ],
        "causes": [
            {
                "cause": cause.part.cause,
                "level": cause.part.level,
                "part": cause.part.where or None,
                "kind": cause.kind,
                "value": float(cause.part.value),
                "share": cause.share,
                "basis": str(cause.part.basis),
                "label": cause.label,
                "detail": cause.detail,
                "check": cause.check,
                "remedy": cause.remedy,
            }
            for cause in result.causes
        ],
        "documents": [
            {
                "source": document.source,
                "index": document.index,
                "line": document.line or None,
                "domain": document.domain,
                "status": str(document.status),
                "n_tokens_before": document.n_tokens_before,
                "n_tokens_after": document.n_tokens_after,
                "cause": document.cause,
                "label": DOCUMENT_LABELS.get(document.cause, ""),
                "effect_tokens": float(document.effect_tokens),
            }
            for document in result.documents
        ],
        "change_interval_95": None if interval is None else [interval.low, interval.high],
        "change_interval_kind": None if interval is None else str(interval.kind),
        "n_matched_documents": None if interval is None else interval.n_matched,
        "usd_per_year": None if result.usd_per_year is None else format(result.usd_per_year, "f"),
    }
