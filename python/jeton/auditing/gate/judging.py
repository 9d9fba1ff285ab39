"""The judgement: each budget against today's figures and the baseline's, with causes and names."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from jeton.auditing.caching.result import CacheReport
from jeton.auditing.gate.baseline import Baseline
from jeton.auditing.gate.budgets import EVERY_DOMAIN, Budget, unknown_domain, unknown_figure
from jeton.auditing.gate.causes import (
    CauseEffect,
    Compared,
    causes_of,
    shares_of,
)
from jeton.auditing.gate.changes import ChangedDocument, Matches, changed_documents, match_documents
from jeton.auditing.gate.collector import Collector
from jeton.auditing.gate.details import detail
from jeton.auditing.gate.features import (
    CACHE,
    CONTENT,
    DOCUMENTS,
    DOMAIN_MIX,
    FEATURES,
    TOKENIZER,
    UNRESOLVED,
)
from jeton.auditing.gate.results import BudgetResult, Cause, FeaturePlace, GateResult
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.shared_text import Divergence
from jeton.auditing.gate.values import ChangeInterval, change_interval, domain_values
from jeton.economics.billed import OUTPUT_PARTS
from jeton.errors import UsageError

MAX_NAMED_DOCUMENTS = 10
"""Documents named for a figure: what one looks through; the baseline knows the others."""

DEFAULT_METRIC = "tokens_per_document"
"""Metric that is compared, and never failed, where a baseline is given without a budget."""

_TEXT_PER_TOKEN = ("bytes_per_token", "chars_per_token")
"""Figures that fall when tokens rise."""


def judge(
    current: Baseline,
    collector: Collector,
    baseline: Baseline | None,
    budgets: Sequence[Budget],
    *,
    figures: Sequence[str] = (),
    sides: tuple[str, str] | None = None,
    may_quote: bool = True,
    cache: CacheReport | None = None,
) -> GateResult:
    """Judge an audit.

    Args:
        current: Today's figures (`Baseline.build`).
        collector: The collector that saw today's texts.
        baseline: The baseline to compare with.
        budgets: The budgets that must hold.
        figures: Figures that are compared beside the budgets, where both sides have them.
        sides: Names of the baseline and of today's corpus; None: they have none.
        may_quote: True if the verdict may quote the place at which requests begin to differ.
        cache: Verdicts on today's prompt caches, to name the block behind a failed figure.

    Raises:
        UsageError: A budget names a figure or a domain that is not there, or wants a baseline.
    """
    compared = None
    if baseline is not None:
        compared = Compared(
            before=baseline.side,
            before_documents=baseline.documents,
            after=current.side,
            current=collector.current,
            other=collector.other,
            is_same_tokenizer=baseline.tokenizer.fingerprint == current.tokenizer.fingerprint,
        )
    judged = _Judge(current, baseline, compared, collector if may_quote else None)
    results: list[BudgetResult] = []
    for budget in budgets:
        results += judged.results(budget)
    for metric in figures or (() if budgets or baseline is None else (DEFAULT_METRIC,)):
        if judged.has(metric):
            results.append(judged.result(None, metric, None))
    bridge = None if compared is None else compared.bridge()
    return GateResult(
        results=tuple(results),
        baseline_tokenizer=(
            None if baseline is None else (baseline.tokenizer.name, baseline.tokenizer.fingerprint)
        ),
        tokenizer=(current.tokenizer.name, current.tokenizer.fingerprint),
        is_bridged=bridge is not None and bridge[1] == 1,
        notes=(*judged.notes, *_cache_notes(results, cache, may_quote=may_quote)),
        sides=sides,
        places=_feature_places(collector),
    )


def _cache_notes(
    results: Sequence[BudgetResult], cache: CacheReport | None, *, may_quote: bool
) -> tuple[str, ...]:
    """Name the dearest fault, and its block, where a figure of caches failed."""
    if cache is None or not any(r.is_exceeded and r.metric in cache.figures for r in results):
        return ()
    notes = []
    for group in cache.faults[:3]:
        note = f"{group.verdict}: {group.n_requests:,} requests"
        if group.block:
            note += f", first at {group.block}"
        if group.change:
            note += f" ({group.change})"
        if may_quote and group.before:
            note += f", {group.before!r} -> {group.after!r}"
        notes.append(f"{note}; {group.remedy}" if group.remedy else note)
    return tuple(notes)


def _feature_places(collector: Collector) -> dict[str, FeaturePlace]:
    """For each check, the document with most tokens of the features that it looks for."""
    steps = [(step, FEATURES[name].check) for step, name in enumerate(STEPS)]
    found: dict[str, FeaturePlace] = {}
    for document in collector.current.documents.documents:
        tokens = document.n_tokens
        for step, check in steps:
            n = tokens[step] - tokens[step + 1]
            if check and n > 0 and (check not in found or n > found[check].n_tokens):
                found[check] = FeaturePlace(document.source, document.line, n)
    return found


def _has_documents(parts: Sequence[CauseEffect]) -> bool:
    """True if the text moved: documents explain no price."""
    return any(part.where not in ("", "unlogged", *OUTPUT_PARTS) for part in parts) or any(
        part.cause in (TOKENIZER, DOMAIN_MIX, DOCUMENTS, UNRESOLVED, *STEPS, CONTENT)
        for part in parts
    )


class _Judge:
    def __init__(
        self,
        current: Baseline,
        baseline: Baseline | None,
        sides: Compared | None,
        collector: Collector | None,
    ) -> None:
        self._collector = collector
        self._current = current
        self._baseline = baseline
        self._sides = sides
        changed = sides is not None and not sides.is_same_tokenizer
        self._derived = {"tokenizer_changed": Fraction(int(changed))}
        self._matches: Matches | None = None
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader, each once."""
        return tuple(self._notes)

    def _note(self, words: str) -> None:
        self._notes[words] = None

    @property
    def _matched(self) -> Matches:
        """The documents of both sides, matched once."""
        assert self._sides is not None
        if self._matches is None:
            self._matches = match_documents(
                self._sides.before_documents, self._sides.current.documents
            )
        return self._matches

    def has(self, metric: str) -> bool:
        """True if both sides have a figure."""
        sides = [side for side in (self._current, self._baseline) if side is not None]
        return all(metric in self._values(side, None) for side in sides)

    def results(self, budget: Budget) -> list[BudgetResult]:
        """A budget on one domain, or on each."""
        if budget.needs_baseline and self._baseline is None:
            raise UsageError(
                f"{budget.text!r} is a change, and there is nothing to compare with\n"
                "hint: --baseline F, a file that --save-baseline wrote"
            )
        domains = self._current.side.text.domains
        if budget.domain == EVERY_DOMAIN:
            named = [domain for domain in domains if domain]
            if budget.kind is not budget.kind.VALUE and self._baseline is not None:
                # A domain that was not there has not changed: it is a change of the mix.
                known = set(self._baseline.side.text.domains)
                named = [domain for domain in named if domain in known]
            if not named:
                self._note(
                    f"{budget.text}: there are no domains to compare, so the whole corpus is "
                    "judged; --domain-field names a field that has them"
                )
                return [self.result(budget, budget.metric, None)]
            return [self.result(budget, budget.metric, domain) for domain in named]
        if budget.domain is not None and budget.domain not in domains:
            raise UsageError(unknown_domain(budget.domain, domains, budget))
        return [self.result(budget, budget.metric, budget.domain)]

    def result(self, budget: Budget | None, metric: str, domain: str | None) -> BudgetResult:
        """Judge one figure."""
        after = self._values(self._current, domain)
        if metric not in after:
            raise UsageError(unknown_figure(metric, after, budget))
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
        parts = causes_of(metric, self._sides, domain=domain, before=before, after=after)
        difference = after[metric] - old
        shares = shares_of([part.value for part in parts], difference)
        causes = tuple(
            Cause(
                part,
                share,
                detail(
                    part,
                    self._sides,
                    domain=domain,
                    before=before,
                    after=after,
                    divergence=self._divergence(part.cause),
                ),
            )
            for part, share in zip(parts, shares, strict=True)
        )
        return BudgetResult(
            budget,
            metric,
            domain,
            old,
            after[metric],
            is_exceeded,
            causes,
            self._documents(metric, domain, before, difference) if _has_documents(parts) else (),
            self._interval(metric, domain),
            self._money(metric, domain, before, after),
        )

    def _divergence(self, cause: str) -> Divergence | None:
        """The place at which requests of today begin to differ, for a cache that serves less."""
        if cause != CACHE or self._collector is None:
            return None
        return self._collector.beginnings.divergence(self._collector.current.tokenizer)

    def _values(self, side: Baseline, domain: str | None) -> dict[str, Fraction]:
        if domain is not None:
            return domain_values(side.side.text, domain)
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
            self._sides,
            self._matched,
            domain=domain,
            mean_before=mean,
            sign=sign,
            limit=MAX_NAMED_DOCUMENTS,
        )

    def _interval(self, metric: str, domain: str | None) -> ChangeInterval | None:
        if metric != "tokens_per_document" or self._sides is None:
            return None
        before, after = self._sides.before.text, self._sides.current.statistics
        if before.text_digest == after.text_digest:
            return None
        return change_interval(
            before.histogram(domain=domain),
            after.histogram(domain=domain),
            [
                (old.n_tokens[0], new.n_tokens[0])
                for old, new in self._matched.pairs
                if domain is None or (old.domain == new.domain == domain)
            ],
            is_complete=(
                self._sides.before_documents.is_complete
                and self._sides.current.documents.is_complete
            ),
        )

    def _money(
        self,
        metric: str,
        domain: str | None,
        before: dict[str, Fraction],
        after: dict[str, Fraction],
    ) -> Decimal | None:
        """Yearly input cost of the difference of tokens a document, at today's price."""
        tokens = ("tokens_per_document", "bytes_per_token", "chars_per_token", "n_tokens")
        if domain is not None or metric not in tokens or self._current.side.billed.n_requests:
            return None  # of logs the dollars are a figure of their own, with other causes too
        rate, traffic = after.get("usd_per_mtok_input"), after.get("requests_per_day")
        if rate is None or traffic is None or "tokens_per_document" not in before:
            return None
        change = after["tokens_per_document"] - before["tokens_per_document"]
        usd = change * rate / 1_000_000 * traffic * 365
        return (Decimal(usd.numerator) / Decimal(usd.denominator)).quantize(Decimal("0.01"))
