"""The judgement: each budget against today's figures and the baseline's, with causes and names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from jeton._nearest import nearest
from jeton.auditing.gate.baseline import Baseline
from jeton.auditing.gate.budgets import EVERY_DOMAIN, Budget
from jeton.auditing.gate.causes import CAUSES, KINDS, Part, Sides, explain
from jeton.auditing.gate.changes import ChangedDocument, changed_documents
from jeton.auditing.gate.collector import Collector
from jeton.auditing.gate.details import detail
from jeton.auditing.gate.values import domain_values
from jeton.errors import UsageError

__all__ = ["GATE_SCHEMA", "BudgetResult", "Cause", "GateResult", "judge"]

GATE_SCHEMA = "jeton.gate/1"

MAX_NAMED_DOCUMENTS = 10
"""Documents named for a figure: what one looks through; the baseline knows the others."""

DEFAULT_METRIC = "tokens_per_document"
"""What is compared, and never failed, where a baseline is given without a budget."""

_CONFIDENCE_95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""

_TEXT_PER_TOKEN = ("bytes_per_token", "chars_per_token")
"""Figures that fall when tokens rise."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One part of a difference, for people too."""

    part: Part
    share: float | None
    detail: str

    @property
    def label(self) -> str:
        """The cause's name in sentences."""
        return CAUSES[self.part.cause]

    @property
    def kind(self) -> str:
        """``text``, ``mix``, ``tokenizer``, ``volume``, ``price`` or ``unresolved``."""
        return KINDS[self.part.cause]


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """One budget, judged on one domain.

    Attributes:
        budget: What was asked; None for the comparison that is made without a budget.
        metric: The figure.
        domain: The domain; None: the whole corpus.
        before: The baseline's value; None without a baseline.
        after: Today's value.
        is_exceeded: Whether the budget failed.
        causes: Parts of the difference, the largest first; they add up to it.
        documents: Documents that moved it, those of most effect first.
        change_interval: 95% interval of the difference of the two means, if both corpora are
            samples of their workloads (tokens_per_document only).
        usd_per_year: What the difference costs in a year at today's price and traffic; None where
            that is not known.
    """

    budget: Budget | None
    metric: str
    domain: str | None
    before: Fraction | None
    after: Fraction
    is_exceeded: bool
    causes: tuple[Cause, ...] = ()
    documents: tuple[ChangedDocument, ...] = ()
    change_interval: tuple[float, float] | None = None
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
    def main_cause(self) -> Cause | None:
        """The largest cause in the direction of the difference."""
        difference = self.difference
        if not difference:
            return None
        same_way = [c for c in self.causes if c.part.value * difference > 0]
        return max(same_way, key=lambda c: abs(c.part.value), default=None)


@dataclass(frozen=True, slots=True)
class GateResult:
    """What the gate says. ``to_dict`` is its JSON; `GATE_SCHEMA` names the schema."""

    results: tuple[BudgetResult, ...]
    baseline_tokenizer: tuple[str, str] | None
    tokenizer: tuple[str, str]
    is_bridged: bool
    """Whether a changed tokenizer could be told exactly from changed text."""

    @property
    def is_passed(self) -> bool:
        """Whether no budget was exceeded."""
        return not any(result.is_exceeded for result in self.results)

    @property
    def failures(self) -> tuple[BudgetResult, ...]:
        """The budgets that were exceeded."""
        return tuple(result for result in self.results if result.is_exceeded)

    @property
    def is_tokenizer_changed(self) -> bool:
        """Whether the baseline has another tokenizer."""
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
            "results": [_result(result) for result in self.results],
        }


def judge(
    current: Baseline, collector: Collector, baseline: Baseline | None, budgets: Sequence[Budget]
) -> GateResult:
    """Judge an audit.

    Args:
        current: Today's figures (`Baseline.build`).
        collector: What saw today's texts.
        baseline: What to compare with.
        budgets: What must not happen.

    Raises:
        UsageError: A budget names a figure or a domain that is not there, or wants a baseline.
    """
    sides = None
    if baseline is not None:
        sides = Sides(
            before=baseline.statistics,
            before_documents=baseline.documents,
            current=collector.current,
            other=collector.other,
            is_same_tokenizer=baseline.tokenizer.fingerprint == current.tokenizer.fingerprint,
        )
    judged = _Judge(current, baseline, sides)
    results: list[BudgetResult] = []
    for budget in budgets:
        results += judged.results(budget)
    if not budgets and baseline is not None:
        results.append(judged.result(None, DEFAULT_METRIC, None))
    comparison = None if sides is None else sides.comparison()
    return GateResult(
        results=tuple(results),
        baseline_tokenizer=(
            None if baseline is None else (baseline.tokenizer.name, baseline.tokenizer.fingerprint)
        ),
        tokenizer=(current.tokenizer.name, current.tokenizer.fingerprint),
        is_bridged=comparison is not None and comparison.scale == 1,
    )


class _Judge:
    def __init__(self, current: Baseline, baseline: Baseline | None, sides: Sides | None) -> None:
        self._current = current
        self._baseline = baseline
        self._sides = sides
        changed = sides is not None and not sides.is_same_tokenizer
        self._derived = {"tokenizer_changed": Fraction(int(changed))}

    def results(self, budget: Budget) -> list[BudgetResult]:
        """A budget on one domain, or on each."""
        if budget.needs_baseline and self._baseline is None:
            raise UsageError(
                f"{budget.text!r} is a change, and there is nothing to compare with\n"
                "hint: --baseline F, a file that --save-baseline wrote"
            )
        domains = self._current.statistics.domains
        if budget.domain == EVERY_DOMAIN:
            named = [domain for domain in domains if domain]
            if not named:
                raise UsageError(
                    f"{budget.text!r}: the corpus has no domains\nhint: --domain-field names them"
                )
            if budget.kind is not budget.kind.VALUE and self._baseline is not None:
                # A domain that was not there has not changed: it is a change of the mix.
                known = set(self._baseline.statistics.domains)
                named = [domain for domain in named if domain in known]
            return [self.result(budget, budget.metric, domain) for domain in named]
        if budget.domain is not None and budget.domain not in domains:
            raise UsageError(_unknown("domain", budget.domain, domains, budget))
        return [self.result(budget, budget.metric, budget.domain)]

    def result(self, budget: Budget | None, metric: str, domain: str | None) -> BudgetResult:
        """Judge one figure."""
        after = self._values(self._current, domain)
        if metric not in after:
            raise UsageError(_unknown("figure", metric, after, budget))
        before: dict[str, Fraction] = {}
        if self._baseline is not None:
            before = self._values(self._baseline, domain)
            if metric == "tokenizer_changed":
                before = {**before, metric: Fraction(0)}
            if budget is not None and budget.needs_baseline and metric not in before:
                where = f"domain {domain!r}" if domain is not None else "figure"
                raise UsageError(
                    f"{budget.text!r}: the baseline does not have this {where}\n"
                    "hint: save it again with the same options"
                )
        old = before.get(metric)
        is_exceeded = budget is not None and budget.is_exceeded(old, after[metric])
        if old is None or self._sides is None or old == after[metric]:
            return BudgetResult(budget, metric, domain, old, after[metric], is_exceeded)
        parts = explain(metric, self._sides, domain=domain, before=before, after=after)
        difference = after[metric] - old
        causes = tuple(
            Cause(
                part,
                float(part.value / difference),
                detail(part, self._sides, domain=domain, before=before, after=after),
            )
            for part in parts
        )
        return BudgetResult(
            budget,
            metric,
            domain,
            old,
            after[metric],
            is_exceeded,
            causes,
            self._documents(metric, domain, before, difference) if parts else (),
            self._interval(metric, domain),
            self._money(metric, domain, before, after),
        )

    def _values(self, side: Baseline, domain: str | None) -> dict[str, Fraction]:
        if domain is not None:
            return domain_values(side.statistics, domain)
        return {**side.values, **self._derived}

    def _documents(
        self, metric: str, domain: str | None, before: dict[str, Fraction], difference: Fraction
    ) -> tuple[ChangedDocument, ...]:
        assert self._sides is not None
        sign = 1 if difference > 0 else -1
        if metric in _TEXT_PER_TOKEN:
            sign = -sign
        # All tokens fall by a whole document that goes; a mean by how far that lay from it.
        mean = Fraction(0) if metric == "n_tokens" else before["tokens_per_document"]
        return changed_documents(
            self._sides, domain=domain, mean_before=mean, sign=sign, limit=MAX_NAMED_DOCUMENTS
        )

    def _interval(self, metric: str, domain: str | None) -> tuple[float, float] | None:
        """Welch's interval of the difference of two means, normal approximation."""
        if metric != "tokens_per_document" or self._sides is None:
            return None
        before, after = self._sides.before, self._sides.current.statistics
        if before.text_digest == after.text_digest:
            return None
        moments = [_moments(side.histogram(domain=domain)) for side in (before, after)]
        if any(moment is None for moment in moments):
            return None
        (old, old_error), (new, new_error) = (m for m in moments if m is not None)
        half = _CONFIDENCE_95 * math.sqrt(old_error + new_error)
        return new - old - half, new - old + half

    def _money(
        self,
        metric: str,
        domain: str | None,
        before: dict[str, Fraction],
        after: dict[str, Fraction],
    ) -> Decimal | None:
        """Yearly input cost of the difference of tokens a document, at today's price."""
        tokens = ("tokens_per_document", "bytes_per_token", "chars_per_token", "n_tokens")
        if domain is not None or metric not in tokens:
            return None
        rate, traffic = after.get("usd_per_mtok_input"), after.get("requests_per_day")
        if rate is None or traffic is None or "tokens_per_document" not in before:
            return None
        change = after["tokens_per_document"] - before["tokens_per_document"]
        usd = change * rate / 1_000_000 * traffic * 365
        return (Decimal(usd.numerator) / Decimal(usd.denominator)).quantize(Decimal("0.01"))


def _moments(histogram: Counter[int]) -> tuple[float, float] | None:
    """The mean and the squared error of the mean; None below two documents."""
    n = histogram.total()
    if n < 2:
        return None
    total = sum(length * count for length, count in histogram.items())
    squares = sum(length * length * count for length, count in histogram.items())
    variance = Fraction(squares * n - total * total, n * (n - 1))
    return total / n, float(variance / n)


def _unknown(
    kind: str, name: str, known: Sequence[str] | dict[str, Fraction], budget: Budget | None
) -> str:
    near = nearest(name, sorted(known))
    message = f"unknown {kind} {name!r}"
    if budget is not None:
        message += f" in {budget.text!r}"
    if near:
        message += f"; the nearest are {', '.join(near)}"
    if kind == "figure":
        message += "\nhint: a figure of money, a model or a GPU needs the option that it comes from"
    return message


def _identity(tokenizer: tuple[str, str]) -> dict[str, str]:
    return {"name": tokenizer[0], "fingerprint": tokenizer[1]}


def _result(result: BudgetResult) -> dict[str, Any]:
    budget = result.budget
    return {
        "budget": None if budget is None else budget.text,
        "metric": result.metric,
        "domain": result.domain,
        "before": None if result.before is None else float(result.before),
        "after": float(result.after),
        "relative_change": result.relative_change,
        "is_exceeded": result.is_exceeded,
        "causes": [
            {
                "cause": cause.part.cause,
                "kind": cause.kind,
                "value": float(cause.part.value),
                "share": cause.share,
                "basis": str(cause.part.basis),
                "detail": cause.detail,
            }
            for cause in result.causes
        ],
        "documents": [
            {
                "source": document.source,
                "index": document.index,
                "domain": document.domain,
                "status": str(document.status),
                "n_tokens_before": document.n_tokens_before,
                "n_tokens_after": document.n_tokens_after,
                "cause": document.cause,
                "effect_tokens": float(document.effect_tokens),
            }
            for document in result.documents
        ],
        "change_interval_95": None
        if result.change_interval is None
        else list(result.change_interval),
        "usd_per_year": None if result.usd_per_year is None else format(result.usd_per_year, "f"),
    }
