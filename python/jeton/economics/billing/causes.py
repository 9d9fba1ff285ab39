"""Why a bill differs from the records: causes that add up to the difference.

First what the bill itself says (other charges, models and days that the records do not have), then
what the log does not know (requests without a count or a price), then what fits an amount: each
explanation predicts a difference from the records, model by model, and counts only if the records
allow it and the bill shows that difference. The rest is "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

from jeton.corpus.bills.rows import CENT, BillItem
from jeton.economics.billing.explanations import BillHypothesis, explanations
from jeton.economics.billing.models import SEARCHES, Records, UsedModel
from jeton.findings import Basis

FIT_SHARE = Decimal("0.002")
"""An explanation counts if it predicts the difference to this share, or to the rounding of the
rows. A judgement: rounding is far below it, and two explanations seldom come as near."""

_CAUSE_STEP = Decimal("0.0001")

_DOUBT_SHARE = 0.001
"""Part of the requests from which on an issue of the log counts as an explanation."""

_KNOWN_PARTS = 10
"""A request that is not fully known is taken to cost at most so many times the mean."""


@dataclass(frozen=True, slots=True)
class BillCause:
    """A part of the unexplained rest and what it comes from.

    Attributes:
        id: Stable identifier (``"not-in-records"``, ``"batch-tariff"``, ..., ``"unknown"``).
        title: In a sentence.
        usd: Its part of the rest; may be below 0.
        basis: Exact where the bill says so; estimated where an explanation fits the amount.
        model: The model it belongs to; None for the whole bill.
        also: Other explanations that fit the amount nearly as well.
    """

    id: str
    title: str
    usd: Decimal
    basis: Basis
    model: str | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Precision:
    """How finely a bill states its amounts.

    Attributes:
        decimals: Decimal places of its rows, 2 to 6.
    """

    decimals: int

    @classmethod
    def of(cls, items: Sequence[BillItem]) -> Precision:
        """Return the precision of a bill's rows: that of the row with most decimal places."""
        places = (-int(item.usd.normalize().as_tuple().exponent) for item in items)
        return cls(min(max((2, *places)), 6))

    @property
    def step(self) -> Decimal:
        """Smallest amount that a row states."""
        return Decimal(1).scaleb(-self.decimals)

    def rounding(self, n_rows: int) -> Decimal:
        """Return the most that rounding changes in so many rows."""
        return self.step / 2 * n_rows

    def rounded(self, usd: Decimal) -> Decimal:
        """Return an amount as precisely as the bill states its own, to 4 places at least."""
        return usd.quantize(min(self.step, _CAUSE_STEP))


def find_causes(
    records: Records,
    billed: Sequence[BillItem],
    difference: Decimal,
    log_issues: Mapping[str, int],
) -> tuple[BillCause, ...]:
    """Return the causes of a difference, largest first; they add up to it to the cent.

    Args:
        records: The usage, at list prices.
        billed: The bill's rows, models named as in the records.
        difference: Billed less computed.
        log_issues: Issues of the log by kind, with the number of requests that have them.
    """
    search = _Search(records, billed, log_issues)
    names_models = any(item.model is not None for item in billed)
    causes = search.by_model() if names_models else search.by_total(difference)
    causes = [cause for cause in causes if cause.usd]
    causes.sort(key=lambda cause: (-abs(cause.usd), cause.id, cause.model or ""))
    left = difference - sum((cause.usd for cause in causes), Decimal(0))
    # Both sums are shown to the cent: less than half of one between them is nothing.
    if abs(left) > CENT / 2 + search.precision.rounding(len(causes)):
        causes.append(search.left(left))
    return tuple(causes)


class _Search:
    def __init__(
        self, records: Records, billed: Sequence[BillItem], log_issues: Mapping[str, int]
    ) -> None:
        self.records = records
        self.billed = billed
        self.precision = Precision.of(billed)
        ledger = records.ledger
        least = max(1, ledger.n_requests * _DOUBT_SHARE)
        issues = dict(log_issues)
        for issue in ledger.issues:
            issues[issue.kind] = max(issues.get(issue.kind, 0), issue.n)
        self.doubts = {kind: n for kind, n in issues.items() if n >= least}

    # -- a bill that names models ---------------------------------------------------------------

    def by_model(self) -> list[BillCause]:
        """Causes of a bill whose rows name models."""
        causes = self._other_charges([item for item in self.billed if self._is_other(item)])
        rows = [item for item in self.billed if not self._is_other(item)]
        causes += self._unknown_models(rows)
        differences: dict[str, tuple[Decimal, Decimal, int]] = {}
        for name, model in self.records.models.items():
            own = [item for item in rows if self._name(item) == name]
            if not own:
                causes.append(self._not_on_bill(model))
                continue
            by_days, billed_usd, computed = self._days(model, own)
            causes += by_days
            differences[name] = (billed_usd, computed, len(own))
        return causes + self._explain(differences)

    def _name(self, item: BillItem) -> str | None:
        if item.what == "search" and item.model not in self.records.models:
            return SEARCHES
        return item.model

    def _is_other(self, item: BillItem) -> bool:
        if item.what == "search" and SEARCHES in self.records.models:
            return False
        return item.what == "other" or item.model is None

    def _cause(
        self,
        kind: str,
        title: str,
        usd: Decimal,
        *,
        model: str | None = None,
        basis: Basis = Basis.EXACT,
        also: tuple[str, ...] = (),
    ) -> BillCause:
        return BillCause(kind, title, self.precision.rounded(usd), basis, model, also)

    def _other_charges(self, items: Sequence[BillItem]) -> list[BillCause]:
        sums: dict[str, Decimal] = {}
        for item in items:
            what = item.description or "charge without a model"
            sums[what] = sums.get(what, Decimal(0)) + item.usd
        return [
            self._cause("other-charge", f"not tokens: {what}", usd) for what, usd in sums.items()
        ]

    def _unknown_models(self, rows: Sequence[BillItem]) -> list[BillCause]:
        sums: dict[str, Decimal] = {}
        for item in rows:
            name = self._name(item)
            if name is not None and name not in self.records.models:
                sums[name] = sums.get(name, Decimal(0)) + item.usd
        causes = []
        for model, usd in sums.items():
            logged = self.records.not_priced_of(model)
            if logged:
                kind = "not-priced"
                title = (
                    f"{model} is billed; the log has {logged:,} requests of it, and there is no "
                    "price to check them against"
                )
            else:
                kind = "not-in-records"
                title = f"{model} is billed, and no record names it: these requests are not logged"
            causes.append(self._cause(kind, title, usd, model=model))
        return causes

    def _not_on_bill(self, model: UsedModel) -> BillCause:
        title = (
            f"the records have {model.name}, and the bill does not: another account, or not "
            "billed yet"
        )
        return self._cause("not-on-bill", title, -model.usd, model=model.name)

    def _days(
        self, model: UsedModel, rows: Sequence[BillItem]
    ) -> tuple[list[BillCause], Decimal, Decimal]:
        """Return causes of days that one side lacks, and what both have on common days."""
        billed = sum((item.usd for item in rows), Decimal(0))
        computed = model.usd
        bill_days = {item.day for item in rows}
        record_days = set(model.usd_by_day)
        known = sorted(day for day in bill_days if day is not None)
        # A bill by the month names one day a month; only one by the day is compared by the day.
        daily = any(b - a == timedelta(days=1) for a, b in pairwise(known))
        if not daily or None in bill_days or None in record_days:
            return [], billed, computed
        causes = []
        unlogged = [item for item in rows if item.day not in record_days]
        if unlogged:
            usd = sum((item.usd for item in unlogged), Decimal(0))
            n_days = len({item.day for item in unlogged})
            title = f"{model.name}: {n_days} billed day(s) without any record"
            causes.append(self._cause("day-not-in-records", title, usd, model=model.name))
            billed -= usd
        unbilled = [day for day in record_days if day not in bill_days]
        if unbilled:
            usd = sum((model.usd_by_day[day] for day in unbilled), Decimal(0))
            title = f"{model.name}: {len(unbilled)} day(s) of records that the bill does not have"
            causes.append(self._cause("day-not-on-bill", title, -usd, model=model.name))
            computed -= usd
        return causes, billed, computed

    def _explain(self, differences: dict[str, tuple[Decimal, Decimal, int]]) -> list[BillCause]:
        """Find what fits each model's difference; where not all fit, a common ratio comes first."""
        found: dict[str, BillCause | None] = {}
        for name, (billed, computed, n_rows) in differences.items():
            rounding = max(self.precision.rounding(n_rows), CENT / 2)
            if abs(billed - computed) <= rounding:
                continue
            model = self.records.models[name]
            rest = billed - computed
            found[name] = self._not_known(model, rest) or self._fit(
                [model], rest, rounding=rounding, name=name
            )
        if not all(found.values()):
            common = self._common_rate(differences)
            if common is not None:
                return [common]
        causes = []
        for name, cause in found.items():
            if cause is None:
                billed, computed, n_rows = differences[name]
                rest = billed - computed
                cause = self._rounding(rest, n_rows, name) or self._doubt(rest, name)
            if cause is None:
                times = f"{billed / computed:.3f} times" if computed else "more than"
                title = f"{name}: no cause found; the bill is {times} the sum of the records"
                cause = self._cause("unknown", title, rest, model=name)
            causes.append(cause)
        return causes

    def _common_rate(
        self, differences: dict[str, tuple[Decimal, Decimal, int]]
    ) -> BillCause | None:
        """Return a discount or surcharge that several models share, if there is one."""
        ratios = {
            model: billed / computed
            for model, (billed, computed, _) in differences.items()
            if computed >= 1
        }
        if len(ratios) < 2 or max(ratios.values()) - min(ratios.values()) > FIT_SHARE:
            return None
        billed = sum((differences[model][0] for model in ratios), Decimal(0))
        computed = sum((differences[model][1] for model in ratios), Decimal(0))
        change = billed / computed - 1
        if abs(change) <= FIT_SHARE:
            return None
        kind = "surcharge or tax" if change > 0 else "discount"
        title = f"a {kind} of {abs(change) * 100:.2f}% on all {len(ratios)} models alike"
        return self._cause("common-rate", title, billed - computed, basis=Basis.ESTIMATED)

    # -- a bill of a total ----------------------------------------------------------------------

    def by_total(self, difference: Decimal) -> list[BillCause]:
        """Causes of a bill that names no model: one model at a time, and all together."""
        models = [m for m in self.records.models.values() if m.sums]
        rounding = max(self.precision.rounding(len(self.billed)), CENT / 2)
        if abs(difference) <= rounding:
            return []
        for model in models:
            unknown = self._not_known(model, difference)
            if unknown is not None:
                return [unknown]
        groups = [models] + ([[model] for model in models] if len(models) > 1 else [])
        found = [
            (own, e)
            for own in groups
            for e in self._fitting(own, difference, rounding, share=FIT_SHARE / 4)
        ]
        if found:
            # Sorted by how well they fit; one model comes before all where it is the same amount.
            found.sort(key=lambda pair: (abs(pair[1].usd - difference), len(pair[0])))
            own, best = found[0]
            name = own[0].name if len(own) == 1 else None
            others = (
                pair for pair in found[1:] if (pair[1].id, pair[1].usd) != (best.id, best.usd)
            )
            also = tuple(dict.fromkeys(self._title(models, e) for models, e in others))
            return [
                self._cause(
                    best.id,
                    self._title(own, best),
                    best.usd,
                    model=name,
                    basis=Basis.ESTIMATED,
                    also=also,
                )
            ]
        if difference > 0 and self.records.not_priced:
            n = sum(e.n_requests for own in self.records.not_priced.values() for e in own)
            title = f"{n:,} requests of the log have no price and are not in the records' sum"
            return [self._cause("not-priced", title, difference, basis=Basis.ESTIMATED)]
        doubt = self._doubt(difference, None)
        return [] if doubt is None else [doubt]

    def _title(self, models: Sequence[UsedModel], explanation: BillHypothesis) -> str:
        if len(models) == 1:
            return f"{models[0].name}: {explanation.title}"
        return explanation.title

    # -- what fits ------------------------------------------------------------------------------

    def _fitting(
        self, models: Sequence[UsedModel], difference: Decimal, rounding: Decimal, share: Decimal
    ) -> list[BillHypothesis]:
        found = []
        for explanation in explanations(self.records, models):
            if explanation.is_doubted_by(self.doubts) or abs(explanation.usd) <= 2 * rounding:
                continue
            miss = abs(explanation.usd - difference)
            if miss <= max(rounding, share * abs(explanation.usd)):
                found.append(explanation)
        return found

    def _fit(
        self, models: Sequence[UsedModel], difference: Decimal, *, rounding: Decimal, name: str
    ) -> BillCause | None:
        """Return the explanation that predicts the difference best, if any does well enough."""
        found = self._fitting(models, difference, rounding, FIT_SHARE)
        if not found:
            return None
        found.sort(key=lambda e: abs(e.usd - difference))
        best = found[0]
        return self._cause(
            best.id,
            f"{name}: {best.title}",
            best.usd,
            model=name,
            basis=Basis.ESTIMATED,
            also=tuple(f"{name}: {e.title}" for e in found[1:]),
        )

    def _not_known(self, model: UsedModel, difference: Decimal) -> BillCause | None:
        """Return what requests of the model may cost that the log does not fully know."""
        n_left_out = self.records.not_priced_of(model.name)
        n = model.n_half_known + n_left_out
        if not n or difference <= 0 or not model.n_requests:
            return None
        mean = model.usd / model.n_requests
        if difference > mean * n * _KNOWN_PARTS:
            return None
        title = (
            f"{model.name}: {n:,} request(s) whose counts the log lacks or contradicts; their part "
            "is not in the records' sum"
        )
        return self._cause(
            "not-fully-known", title, difference, model=model.name, basis=Basis.ESTIMATED
        )

    def _doubt(self, difference: Decimal, model: str | None) -> BillCause | None:
        """Return the issue of the log that may explain a difference, where there is one."""
        repeats = sum(self.doubts.get(kind, 0) for kind in _REPEATS)
        unclear = sum(self.doubts.get(kind, 0) for kind in _UNCLEAR)
        if difference < 0 and repeats:
            title = f"{repeats:,} records of the log may be repeats that were counted again"
        elif unclear:
            title = f"{unclear:,} records of the log have counts that contradict one another"
        else:
            return None
        where = "" if model is None else f"{model}: "
        return self._cause(
            "log-issue", where + title, difference, model=model, basis=Basis.ESTIMATED
        )

    def _rounding(self, usd: Decimal, n_rows: int, model: str | None) -> BillCause | None:
        if self.precision.decimals > 2 or abs(usd) > CENT / 2 * max(n_rows, 1):
            return None
        where = "" if model is None else f"{model}: "
        title = f"{where}rounding of {n_rows} row(s) to the cent"
        return self._cause("rounding", title, usd, model=model, basis=Basis.ESTIMATED)

    def left(self, usd: Decimal) -> BillCause:
        """Return what is left when all causes are taken off."""
        n_rows = len(self.billed)
        rounding = self._rounding(usd, n_rows, None)
        return rounding or self._cause("unknown", "no cause found", usd)


_REPEATS = ("duplicate_id", "joining_limited", "possible_repeats")
_UNCLEAR = ("inconsistent_usage", "convention_undecided")
