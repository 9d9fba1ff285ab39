"""First lines of an audit: the sum, the possible saving, the findings, the worst terms."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any

from jeton.metrics.quality import loses_text
from jeton.report.numbers import Numbers, Shown, unit_after_number

MONTHS_PER_YEAR = 12
_ORDER = ("exact", "calibrated", "estimated")

N_FINDINGS = 5
"""Findings said in full: what one remembers of a report; the others follow in short."""

_PERIODS = (
    ("usd_per_year", "a year"),
    ("usd_per_month", "a month"),
    ("usd_per_day", "a day"),
    ("usd_per_request", "a request"),
)


@dataclass(frozen=True, slots=True)
class Headline:
    """The sum of the workload and the largest single saving.

    Attributes:
        total: Money, or the mean tokens of a request where no price is known.
        period: Period of the sum (``"a year"``; ``"tokens per request"``).
        is_money: True if ``total`` is money.
        tokenizer: Index of the tokenizer in use, whose sum it is.
        saving: Money a year that all remedies save one after another; without a waterfall what the
            largest single finding saves; without money the change in tokens that the best candidate
            brings; None where nothing is saved.
        saving_share: ``saving`` as a share of the yearly sum.
        remaining: The rest of the sum with all remedies.
        n_remedies: Remedies that save it; 0 without a waterfall.
        finding: Index of the single finding that saves it.
        candidate: Index of the tokenizer that saves tokens (without money).
    """

    total: Shown
    period: str
    tokenizer: int
    _: KW_ONLY
    is_money: bool
    saving: Shown | None = None
    saving_share: Shown | None = None
    remaining: Shown | None = None
    n_remedies: int = 0
    finding: int | None = None
    candidate: int | None = None


@dataclass(frozen=True, slots=True)
class FirstStep:
    """The finding to act on first; ``saving`` is what that saves a year, where it is known."""

    index: int
    saving: Shown | None


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding with its numbers written."""

    index: int
    data: dict[str, Any]
    figure: Shown
    saving: Shown | None

    @property
    def sign(self) -> str:
        """A sign for the severity, so that colour is not needed."""
        return {"error": "\u2715", "warning": "!", "info": "i", "good": "\u2713"}[
            self.data["severity"]
        ]

    @property
    def unit(self) -> str:
        """The figure's unit as it is said after the written number."""
        return unit_after_number(str(self.data["figure"]["unit"]))


@dataclass(frozen=True, slots=True)
class TermRow:
    """A term with its numbers; ``index`` is its place in the report."""

    index: int
    data: dict[str, Any]
    occurrences: Shown
    cuts: tuple[Shown, ...]
    cost: Shown | None


def weakest_basis(bases: list[str]) -> str:
    """Return the weakest of some bases; a sum is as good as its weakest part."""
    return max(bases, key=_ORDER.index, default="exact")


def once_shown(numbers: Numbers) -> Shown | None:
    """Return what carrying out the remedies costs once; None where it costs nothing."""
    data = numbers.data.get("waterfall")
    if data is None or not Decimal(data.get("usd_once") or 0):
        return None
    return numbers.show("waterfall.usd_once", "usd", basis="estimated")


def payback_shown(numbers: Numbers) -> Shown | None:
    """Return the months in which the saving pays for that; None where it does not, or need not."""
    data = numbers.data.get("comparison")
    if data is None or once_shown(numbers) is None:
        return None
    return numbers.show("comparison.payback_months", "ratio", basis="estimated")


def current_tokenizer(data: dict[str, Any]) -> int:
    """Return the index of the tokenizer in use (the first, if none says so)."""
    tokenizers = data["tokenizers"]
    return next((i for i, tokenizer in enumerate(tokenizers) if tokenizer["is_current"]), 0)


def headline(numbers: Numbers) -> Headline:
    """Choose what a reader who reads one sentence should read."""
    current = current_tokenizer(numbers.data)
    engineered = _waterfall_headline(numbers, current)
    if engineered is not None:
        return engineered
    counted = _provider_total(numbers)
    if counted is not None:
        return _money_headline(numbers, *counted, current)
    if not numbers.data["tokenizers"]:
        return _ledger_headline(numbers)
    economics = f"tokenizers[{current}].economics"
    for key, period in _PERIODS:
        total = numbers.figure(f"{economics}.{key}", "usd")
        if total is not None:
            return _money_headline(numbers, total, period, current)
    total = numbers.show(f"tokenizers[{current}].tokens_per_document.mean", "count")
    if total is None:  # the schema does not allow it
        raise ValueError("the report has no mean number of tokens")
    candidate = _fewest_tokens(numbers.data)
    if candidate == current:
        return Headline(total, "tokens per request", current, is_money=False)
    saving = numbers.change(f"tokenizers[{candidate}].n_tokens", f"tokenizers[{current}].n_tokens")
    return Headline(
        total, "tokens per request", current, is_money=False, saving=saving, candidate=candidate
    )


def _ledger_headline(numbers: Numbers) -> Headline:
    """The sum of logs that show no text: the ledger's, or else the number of requests."""
    for path, period in (
        ("ledger.usd_per_year", "a year"),
        ("ledger.usd", "in the log"),
    ):
        data = numbers.data["ledger"] or {}
        if Decimal(data.get(path.partition(".")[2]) or 0):
            total = numbers.show(path, "usd", basis="exact")
            if total is not None:
                return Headline(total, period, 0, is_money=True)
    total = numbers.show("requests.n_requests", "count")
    if total is None:  # the schema does not allow it
        raise ValueError("the report has no number of requests")
    return Headline(total, "requests", 0, is_money=False)


def first_step(numbers: Numbers) -> FirstStep | None:
    """Choose what to do first: mend an error, else take the largest saving, else a warning.

    A saving is the one that the waterfall has, so that the page says one number for it.
    """
    found: list[dict[str, Any]] = numbers.data["findings"]
    with_remedy = [index for index, finding in enumerate(found) if finding["remedy"]]
    errors = [index for index in with_remedy if found[index]["severity"] == "error"]
    if errors:
        return FirstStep(errors[0], None)
    steps = (numbers.data.get("waterfall") or {}).get("steps") or []
    index_of = {found[index]["id"]: index for index in reversed(with_remedy)}
    saving = [
        (Decimal(step["delta_usd_per_month"]), place, index_of[step["id"]])
        for place, step in enumerate(steps)
        if step["id"] in index_of and Decimal(step["delta_usd_per_month"]) < 0
    ]
    if saving:
        _, place, index = min(saving)
        shown = numbers.scaled(
            f"waterfall.steps[{place}].delta_usd_per_month",
            "usd",
            times=-MONTHS_PER_YEAR,
            basis=steps[place]["basis"],
        )
        return FirstStep(index, shown)
    warnings = [index for index in with_remedy if found[index]["severity"] == "warning"]
    return FirstStep(warnings[0], None) if warnings else None


def findings_of(numbers: Numbers) -> tuple[FindingView, ...]:
    """Return the findings in the order of the report: ranked, the first matter most."""
    views = []
    for index, data in enumerate(numbers.data["findings"]):
        figure = numbers.figure(f"findings[{index}].figure")
        if figure is None:  # the schema does not allow it
            raise ValueError(f"finding {data['id']!r} has no figure")
        saving = numbers.show(
            f"findings[{index}].saving_usd_per_year", "usd", basis=data["saving_basis"]
        )
        views.append(FindingView(index, data, figure, saving if _is_positive(saving) else None))
    return tuple(views)


def n_open_findings(data: dict[str, Any]) -> int:
    """Return how many findings are said in full: those that ask for something, five at most.

    Findings that only inform follow in short, unless there are no others.
    """
    asking = [
        index
        for index, finding in enumerate(data["findings"])
        if finding["severity"] in ("error", "warning")
        or Decimal(finding["saving_usd_per_year"] or 0) > 0
    ]
    return min(N_FINDINGS, max(asking, default=N_FINDINGS - 1) + 1)


def worst_terms(numbers: Numbers, *, limit: int) -> tuple[TermRow, ...]:
    """Return the terms whose pieces cost most: occurrences x (tokens - 1) where in use."""
    if not numbers.data["tokenizers"]:
        return ()
    current = numbers.data["tokenizers"][current_tokenizer(numbers.data)]["name"]

    def cost(entry: tuple[int, dict[str, Any]]) -> tuple[int, str, int]:
        index, term = entry
        n_tokens = next((c["n_tokens"] for c in term["cuts"] if c["tokenizer"] == current), 1)
        return -term["n_occurrences"] * (n_tokens - 1), term["term"], index

    ranked = sorted(enumerate(numbers.data["terms"]), key=cost)[:limit]
    return tuple(_term_row(numbers, index, term) for index, term in ranked)


def _term_row(numbers: Numbers, index: int, term: dict[str, Any]) -> TermRow:
    occurrences = numbers.show(f"terms[{index}].n_occurrences", "count")
    cuts = (
        numbers.show(f"terms[{index}].cuts[{position}].n_tokens", "count")
        for position in range(len(term["cuts"]))
    )
    if occurrences is None:  # the schema does not allow it
        raise ValueError(f"term {term['term']!r} has no number of occurrences")
    return TermRow(
        index,
        term,
        occurrences,
        tuple(cut for cut in cuts if cut is not None),
        numbers.show(f"terms[{index}].usd_per_year_above_one_token", "usd", basis="estimated"),
    )


def _waterfall_headline(numbers: Numbers, current: int) -> Headline | None:
    """The bill as it is against the bill with all remedies; None where nothing is saved."""
    data = numbers.data.get("waterfall")
    if data is None:
        return None
    naive, engineered = "waterfall.naive_usd_per_month", "waterfall.engineered_usd_per_month"
    if Decimal(data["engineered_usd_per_month"]) >= Decimal(data["naive_usd_per_month"]):
        return None
    basis = weakest_basis([factor["value"]["basis"] for factor in data["factors"]])
    last = weakest_basis([basis, *(step["basis"] for step in data["steps"])])
    total = numbers.scaled(naive, "usd", times=MONTHS_PER_YEAR, basis=basis)
    if total is None:  # the schema does not allow it
        return None
    return Headline(
        total,
        "a year",
        current,
        is_money=True,
        saving=numbers.scaled(naive, "usd", minus=engineered, times=MONTHS_PER_YEAR, basis=last),
        saving_share=numbers.share(naive, naive, minus=engineered, basis=last),
        remaining=numbers.scaled(engineered, "usd", times=MONTHS_PER_YEAR, basis=last),
        n_remedies=sum(Decimal(step["delta_usd_per_month"]) < 0 for step in data["steps"]),
    )


def _provider_total(numbers: Numbers) -> tuple[Shown, str] | None:
    """The sum by what the provider of a closed model counts; None where that is not known."""
    data = numbers.data.get("provider_count")
    if data is None:
        return None
    if data["usd_per_month"] is not None and numbers.data.get("waterfall") is not None:
        # The waterfall begins with this count, and knows what a cache serves.
        basis = data["usd_per_month"]["basis"]
        path = "waterfall.naive_usd_per_month"
        total = numbers.scaled(path, "usd", times=MONTHS_PER_YEAR, basis=basis)
        return None if total is None else (total, "a year")
    total = numbers.figure("provider_count.usd_per_request", "usd")
    return None if total is None else (total, "a request")


def _money_headline(numbers: Numbers, total: Shown, period: str, current: int) -> Headline:
    savings = [
        (Decimal(finding["saving_usd_per_year"]), -index)
        for index, finding in enumerate(numbers.data["findings"])
        if finding["saving_usd_per_year"] is not None
    ]
    best, position = max(savings, default=(Decimal(0), 0))
    if best <= 0:
        return Headline(total, period, current, is_money=True)
    finding = -position
    path = f"findings[{finding}].saving_usd_per_year"
    basis = numbers.data["findings"][finding]["saving_basis"]
    share = (
        numbers.share(path, total.path, basis=basis) if total.path.endswith("year.value") else None
    )
    saving = numbers.show(path, "usd", basis=basis)
    return Headline(
        total,
        period,
        current,
        is_money=True,
        saving=saving,
        saving_share=share,
        finding=finding,
    )


def _fewest_tokens(data: dict[str, Any]) -> int:
    """The tokenizer with the fewest tokens among those that lose no text."""
    current = current_tokenizer(data)
    faithful = [
        (tokenizer["n_tokens"], index != current, index)
        for index, tokenizer in enumerate(data["tokenizers"])
        if not loses_text(tokenizer["unreturned_by_cause"])
    ]
    return min(faithful)[2] if faithful else current


def _is_positive(shown: Shown | None) -> bool:
    return shown is not None and Decimal(shown.raw) > 0
