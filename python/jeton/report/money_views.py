"""The bill taken apart: its factors, what each remedy changes, and a real bill beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jeton.report.numbers import Kind, Numbers, Shown

MONTHS_PER_YEAR = 12
_N_BILL_MODELS = 8
_N_BILL_CAUSES = 5

_ORDER = ("exact", "calibrated", "estimated")
_FACTORS: dict[str, tuple[str, Kind]] = {
    "requests_per_month": ("requests a month", "count"),
    "bytes_per_request": ("bytes a request", "count"),
    "tokens_per_byte": ("tokens a byte", "rate"),
    "usd_per_mtok_input": ("a million input tokens", "usd"),
    "output_tokens_per_request": ("output tokens a request", "count"),
    "usd_per_mtok_output": ("a million output tokens", "usd"),
    "cached_input_share": ("of the input read from a cache", "share"),
    "usd_per_mtok_cached_input": ("a million cached tokens", "usd"),
}
"""Unit behind the number of a factor, and the form of the number."""

_PRODUCTS = (
    (
        "input",
        ("requests_per_month", "bytes_per_request", "tokens_per_byte", "usd_per_mtok_input"),
    ),
    ("output", ("requests_per_month", "output_tokens_per_request", "usd_per_mtok_output")),
)


@dataclass(frozen=True, slots=True)
class FactorView:
    """One factor: its number, what is said after it, and where it stands in the report."""

    path: str
    number: Shown
    words: str


@dataclass(frozen=True, slots=True)
class Product:
    """A part of the bill as factors to multiply; ``total`` where the report has the part.

    ``is_equal`` is false where a cache serves some of the tokens at another rate.
    """

    part: str
    factors: tuple[FactorView, ...]
    total: Shown | None
    is_equal: bool = True


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """A bar of the waterfall: the bill as it is, a remedy, or the bill after all of them.

    Attributes:
        index: Index of the step in the report; None for the first and the last bar.
        name: Its name, or the path of its name.
        after: The bill a month once this is done.
        delta: Its change of a month's cost; None for the first and the last bar.
        left, width: Where the bar lies, percent of the widest bill.
        finding: Number of the finding that proposes it, from 1; None where none does.
    """

    index: int | None
    name: str
    after: Shown
    delta: Shown | None
    left: float
    width: float
    is_saving: bool = False
    finding: int | None = None


@dataclass(frozen=True, slots=True)
class WaterfallView:
    """The bill, its factors and its bars; ``others`` are factors beside the products."""

    products: tuple[Product, ...]
    others: tuple[FactorView, ...]
    rows: tuple[WaterfallRow, ...]
    saving_share: Shown | None
    saving: Shown | None
    n_remedies: int


@dataclass(frozen=True, slots=True)
class BillRow:
    """A line of a bill with its numbers."""

    index: int
    n_tokens: Shown | None
    price: Shown | None
    computed: Shown | None
    billed: Shown | None
    difference: Shown | None


@dataclass(frozen=True, slots=True)
class BillModelRow:
    """A model of a bill with its sums."""

    path: str
    requests: Shown | None
    computed: Shown | None
    billed: Shown | None
    difference: Shown | None


@dataclass(frozen=True, slots=True)
class CauseLine:
    """Cause of a part of the difference; ``usd`` where that is known."""

    path: str
    usd: Shown | None


@dataclass(frozen=True, slots=True)
class BillView:
    """A bill beside what was computed from the log.

    Attributes:
        models: The dearest models.
        n_more_models: Models beyond those.
        rows: Lines by model and kind of token.
        has_billed_lines: True if the bill goes into that detail.
        remarks: Paths of what was odd about the bill, no sentence twice.
        price_sources: Price lists, each once.
    """

    models: tuple[BillModelRow, ...]
    n_more_models: int
    rows: tuple[BillRow, ...]
    has_billed_lines: bool
    billed: Shown | None
    explained: Shown | None
    difference: Shown | None
    difference_share: Shown | None
    causes: tuple[CauseLine, ...]
    remarks: tuple[str, ...]
    price_sources: tuple[str, ...]


def weakest_basis(bases: list[str]) -> str:
    """Return the weakest of some bases; a sum is as good as its weakest part."""
    return max(bases, key=_ORDER.index, default="exact")


def waterfall_view(numbers: Numbers) -> WaterfallView | None:
    """Return the waterfall; None where the report has none."""
    data = numbers.data.get("waterfall")
    if data is None:
        return None
    basis = weakest_basis([factor["value"]["basis"] for factor in data["factors"]])
    last = weakest_basis([basis, *(step["basis"] for step in data["steps"])])
    factors = [_factor(numbers, index, factor) for index, factor in enumerate(data["factors"])]
    products = tuple(
        Product(
            part,
            tuple(factors[position] for position in positions),
            _part_total(numbers, data, part, basis),
            part != "input" or not _cached_share(data),
        )
        for part, names in _PRODUCTS
        if (positions := _positions(data["factors"], names)) is not None
    )
    used = {factor.path for product in products for factor in product.factors}
    if not _cached_share(data):
        used |= {
            f.path for f, d in zip(factors, data["factors"], strict=True) if "cached" in d["name"]
        }
    if not any(
        d["value"]["value"] for d in data["factors"] if d["name"] == "output_tokens_per_request"
    ):
        # Nothing is said of output where there is none.
        used |= {
            f.path for f, d in zip(factors, data["factors"], strict=True) if "output" in d["name"]
        }
    naive = "waterfall.naive_usd_per_month"
    engineered = "waterfall.engineered_usd_per_month"
    return WaterfallView(
        products=products,
        others=tuple(factor for factor in factors if factor.path not in used),
        rows=_rows(numbers, data, basis, last),
        saving_share=numbers.share(naive, naive, minus=engineered, basis=last),
        saving=numbers.scaled(naive, "usd", minus=engineered, basis=last),
        n_remedies=sum(Decimal(step["delta_usd_per_month"]) < 0 for step in data["steps"]),
    )


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


def bill_view(numbers: Numbers) -> BillView | None:
    """Return the reconciled bill; None where the report has none."""
    data = numbers.data.get("bill")
    if data is None:
        return None
    rows = tuple(
        BillRow(
            index,
            numbers.show(f"bill.lines[{index}].n_tokens", "count"),
            numbers.show(f"bill.lines[{index}].usd_per_mtok", "usd"),
            numbers.show(f"bill.lines[{index}].usd_computed", "cents"),
            numbers.show(f"bill.lines[{index}].usd_billed", "cents"),
            numbers.show(f"bill.lines[{index}].difference", "cents_change"),
        )
        for index in range(len(data["lines"]))
    )
    ranked = sorted(range(len(data["models"])), key=lambda i: (-_amount(data["models"][i]), i))
    issues = data.get("issues") or ()
    return BillView(
        models=tuple(_model_row(numbers, index) for index in ranked[:_N_BILL_MODELS]),
        n_more_models=max(0, len(ranked) - _N_BILL_MODELS),
        rows=rows,
        has_billed_lines=any(line["usd_billed"] is not None for line in data["lines"]),
        billed=numbers.show("bill.usd_billed", "cents"),
        explained=numbers.show("bill.usd_explained", "cents"),
        difference=numbers.show("bill.usd_difference", "cents_change"),
        difference_share=numbers.share("bill.usd_difference", "bill.usd_billed"),
        causes=tuple(
            _cause(numbers, index, cause)
            for index, cause in enumerate(data["causes"][:_N_BILL_CAUSES])
        ),
        remarks=tuple(
            f"bill.issues[{index}]"
            for index, issue in enumerate(issues)
            if issue not in issues[:index]
        ),
        price_sources=price_lists(data.get("price_source") or ""),
    )


def price_lists(source: str) -> tuple[str, ...]:
    """Return the price lists and addresses of a source, each once, without the days.

    A bill of a month is priced day by day, and says so for each model and day.
    """
    parts = (re.sub(r" in force on .*", "", part).strip() for part in source.split(";"))
    return tuple(dict.fromkeys(part for part in parts if part))


def _amount(model: dict[str, Any]) -> Decimal:
    billed = model["usd_billed"]
    return Decimal(model["usd_computed"] if billed is None else billed)


def _model_row(numbers: Numbers, index: int) -> BillModelRow:
    path = f"bill.models[{index}]"
    return BillModelRow(
        path,
        numbers.show(f"{path}.n_requests", "count"),
        numbers.show(f"{path}.usd_computed", "cents"),
        numbers.show(f"{path}.usd_billed", "cents"),
        numbers.show(f"{path}.difference", "cents_change"),
    )


def _cause(numbers: Numbers, index: int, cause: str | dict[str, Any]) -> CauseLine:
    path = f"bill.causes[{index}]"
    if isinstance(cause, str):
        return CauseLine(path, None)
    usd = numbers.show(f"{path}.usd", "cents_change", basis=cause["basis"])
    return CauseLine(f"{path}.title", usd)


def _factor(numbers: Numbers, index: int, factor: dict[str, Any]) -> FactorView:
    path = f"waterfall.factors[{index}]"
    known = _FACTORS.get(factor["name"])
    if known is None:
        number, words = numbers.figure(f"{path}.value"), str(factor["value"]["unit"])
    else:
        number, words = numbers.figure(f"{path}.value", known[1]), known[0]
    if number is None:  # the schema does not allow it
        raise ValueError(f"factor {factor['name']!r} has no value")
    return FactorView(path, number, words)


def _positions(factors: list[dict[str, Any]], names: tuple[str, ...]) -> list[int] | None:
    """Places of some factors; None where one is missing, or a part of it is nothing."""
    places = {factor["name"]: index for index, factor in enumerate(factors)}
    if any(name not in places for name in names):
        return None
    if any(not Decimal(str(factors[places[name]]["value"]["value"])) for name in names):
        return None
    return [places[name] for name in names]


def _cached_share(data: dict[str, Any]) -> Decimal:
    """The share of the input that a cache serves already; its tokens cost another rate."""
    values = (f["value"]["value"] for f in data["factors"] if f["name"] == "cached_input_share")
    return Decimal(str(next(values, 0)))


def _part_total(numbers: Numbers, data: dict[str, Any], part: str, basis: str) -> Shown | None:
    key = f"{part}_usd_per_month"
    return numbers.show(f"waterfall.{key}", "usd", basis=basis) if key in data else None


def _rows(
    numbers: Numbers, data: dict[str, Any], basis: str, last: str
) -> tuple[WaterfallRow, ...]:
    naive, engineered = Decimal(data["naive_usd_per_month"]), data["engineered_usd_per_month"]
    bills = [naive, *(Decimal(step["usd_per_month"]) for step in data["steps"])]
    top = max(bills) or Decimal(1)
    numbers_of = {finding["id"]: i + 1 for i, finding in reversed([*enumerate(_findings(numbers))])}

    def whole(path: str, name: str, value: Decimal, basis: str) -> WaterfallRow:
        after = numbers.show(path, "usd", basis=basis)
        if after is None:  # the schema does not allow it
            raise ValueError("the waterfall has no sum")
        return WaterfallRow(None, name, after, None, 0.0, _percent(value, top))

    rows = [whole("waterfall.naive_usd_per_month", "Today", naive, basis)]
    for index, step in enumerate(data["steps"]):
        path = f"waterfall.steps[{index}]"
        after = numbers.show(f"{path}.usd_per_month", "usd", basis=step["basis"])
        delta = numbers.show(f"{path}.delta_usd_per_month", "usd_change", basis=step["basis"])
        if after is None:  # the schema does not allow it
            raise ValueError(f"the step {step['id']!r} has no sum")
        low, high = sorted((bills[index], bills[index + 1]))
        rows.append(
            WaterfallRow(
                index,
                f"{path}.name",
                after,
                delta,
                _percent(low, top),
                _percent(high - low, top),
                bills[index + 1] <= bills[index],
                numbers_of.get(step["id"]),
            )
        )
    if data["steps"]:
        rows.append(
            whole(
                "waterfall.engineered_usd_per_month",
                "After all changes",
                Decimal(engineered),
                last,
            )
        )
    return tuple(rows)


def _findings(numbers: Numbers) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = numbers.data["findings"]
    return findings


def _percent(value: Decimal, top: Decimal) -> float:
    return round(float(100 * value / top), 3)
