"""The bill taken apart: its factors, and what each remedy leaves of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jeton.report.numbers import Kind, Numbers, Shown, kind_of_unit
from jeton.report.summary import once_shown, payback_shown, weakest_basis
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    Block,
    Column,
    Fold,
    Line,
    Only,
    Paragraph,
    Section,
    Special,
    Styled,
    Table,
    TableRow,
    Words,
    figure_table,
    quoted,
)

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
_COMPARED = "Today and after all changes"


@dataclass(frozen=True, slots=True)
class FactorView:
    """One factor: its number, the words after it, and its formula."""

    name: str
    number: Shown
    words: str
    formula: str


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
    after: Shown | None
    delta: Shown | None
    left: float
    width: float
    is_saving: bool = False
    finding: int | None = None


def waterfall(numbers: Numbers) -> Section | None:
    """The bill; None where the report has none."""
    data = numbers.data.get("waterfall")
    if data is None:
        return None
    made, others = products(numbers, data)
    rows = falls(numbers, data)
    once, payback = once_shown(numbers), payback_shown(numbers)
    paid: Words = (", paid back in ", payback, " months") if payback else ""
    costs = ("The changes cost ", once, " once", paid)
    title = "Where the money goes"
    step = "Each change is measured on what the one before it leaves, so these savings add up."
    blocks = (
        Line("Once", costs) if once else None,
        Paragraph(tuple(_product_line(product) for product in made), "", MARKDOWN),
        Special("_products.html.j2", {"products": made}),
        Paragraph(_others(others), "intro others", PAGE) if others else None,
        Paragraph(step, forms=PAGE) if len(rows) > 2 else None,
        Special("_falls.html.j2", {"rows": rows}),
        _steps(numbers, rows),
        Paragraph((*costs, "."), "", MARKDOWN if once else ""),
        _together(numbers, data),
        Fold(
            "Today and after all changes, and how each figure is computed",
            (Fold(_COMPARED, (comparison(numbers),), MARKDOWN), _formulas(numbers, data)),
        ),
    )
    return Section("waterfall", title, title, blocks, is_headed=True)


def products(
    numbers: Numbers, data: dict[str, Any]
) -> tuple[tuple[Product, ...], tuple[FactorView, ...]]:
    """Parts of the bill as products, and the factors beside them."""
    values = {f["name"]: Decimal(str(f["value"]["value"])) for f in data["factors"]}
    factors = {f["name"]: _factor(numbers, i, f) for i, f in enumerate(data["factors"])}
    basis = weakest_basis([factor["value"]["basis"] for factor in data["factors"]])
    cached = values.get("cached_input_share", Decimal(0))
    made = tuple(
        Product(
            part,
            tuple(factors[name] for name in names),
            numbers.show(f"waterfall.{part}_usd_per_month", "usd", basis=basis)
            if f"{part}_usd_per_month" in data
            else None,
            part != "input" or not cached,
        )
        for part, names in _PRODUCTS
        if all(values.get(name) for name in names)
    )
    used = {factor.name for product in made for factor in product.factors}
    # Nothing is said of a cache, or of output, where there is none.
    silent = [*(["cached"] if not cached else [])]
    silent += [] if values.get("output_tokens_per_request") else ["output"]
    others = tuple(
        factor
        for name, factor in factors.items()
        if name not in used and not any(word in name for word in silent)
    )
    return made, others


def _factor(numbers: Numbers, index: int, factor: dict[str, Any]) -> FactorView:
    path, name = f"waterfall.factors[{index}].value", factor["name"]
    words, kind = _FACTORS.get(name, (str(factor["value"]["unit"]), None))
    number = numbers.figure(path, kind)
    if number is None:  # the schema does not allow it
        raise ValueError(f"factor {name!r} has no value")
    return FactorView(name, number, words, factor["value"]["formula"])


def _product_line(product: Product) -> Words:
    said: list[Words] = [f"{product.part.capitalize()}: "]
    for place, factor in enumerate(product.factors):
        said += [" \u00d7 " if place else "", factor.number, f" {factor.words}"]
    if product.total:
        sign = "=" if product.is_equal else "\u2192 with the cache"
        said += [f" {sign} ", Styled(product.total, "strong"), " a month"]
    return Styled(tuple(said), "line")


def _others(others: tuple[FactorView, ...]) -> Words:
    said: list[Words] = []
    for factor in others:
        said += ["; " if said else "", factor.number, f" {factor.words}"]
    return tuple(said)


def falls(numbers: Numbers, data: dict[str, Any]) -> tuple[WaterfallRow, ...]:
    """The bill today, each remedy, and the bill after all of them."""
    basis = weakest_basis([factor["value"]["basis"] for factor in data["factors"]])
    last = weakest_basis([basis, *(step["basis"] for step in data["steps"])])
    naive, engineered = "naive_usd_per_month", "engineered_usd_per_month"
    bills = [Decimal(data[naive]), *(Decimal(step["usd_per_month"]) for step in data["steps"])]
    top = max(bills) or Decimal(1)
    findings = {f["id"]: i + 1 for i, f in reversed([*enumerate(numbers.data["findings"])])}

    def whole(key: str, name: str, basis: str) -> WaterfallRow:
        after = numbers.show(f"waterfall.{key}", "usd", basis=basis)
        return WaterfallRow(None, name, after, None, 0.0, _percent(Decimal(data[key]), top))

    rows = [whole(naive, "Today", basis)]
    for index, step in enumerate(data["steps"]):
        path = f"waterfall.steps[{index}]"
        after = numbers.show(f"{path}.usd_per_month", "usd", basis=step["basis"])
        delta = numbers.show(f"{path}.delta_usd_per_month", "usd_change", basis=step["basis"])
        low, high = sorted((bills[index], bills[index + 1]))
        left, width = _percent(low, top), _percent(high - low, top)
        is_saving, finding = bills[index + 1] <= bills[index], findings.get(step["id"])
        rows.append(
            WaterfallRow(index, f"{path}.name", after, delta, left, width, is_saving, finding)
        )
    if data["steps"]:
        rows.append(whole(engineered, "After all changes", last))
    return tuple(rows)


def _percent(value: Decimal, top: Decimal) -> float:
    return round(float(100 * value / top), 3)


def _steps(numbers: Numbers, rows: tuple[WaterfallRow, ...]) -> Table:
    a_month = Only(MARKDOWN, " a month")
    return Table(
        "The bill, change by change",
        "Step",
        (Column("", ("Change", a_month)), Column("", "Bill a month")),
        tuple(
            TableRow(
                row.name if row.index is None else quoted(numbers, row.name), (row.delta, row.after)
            )
            for row in rows
        ),
        forms="twm" if len(rows) > 1 else MARKDOWN,
    )


def _together(numbers: Numbers, data: dict[str, Any]) -> Block | None:
    """The sum of the savings, and what the remedies cost once."""
    if not any(Decimal(step["delta_usd_per_month"]) < 0 for step in data["steps"]):
        return None
    bases = [factor["value"]["basis"] for factor in data["factors"]]
    last = weakest_basis([*bases, *(step["basis"] for step in data["steps"])])
    naive, engineered = "waterfall.naive_usd_per_month", "waterfall.engineered_usd_per_month"
    share = numbers.share(naive, naive, minus=engineered, basis=last)
    if share is None:
        return None
    once, payback = once_shown(numbers), payback_shown(numbers)
    saving = numbers.scaled(naive, "usd", minus=engineered, basis=last)
    said: list[Words] = ["Together: ", saving, " a month less, ", share, " of the bill."]
    if once:
        back = ("; the saving pays that back in ", payback, " months") if payback else ""
        said += [" The changes cost ", once, " once", back, "."]
    return Paragraph(tuple(said), "sentence", PAGE)


def comparison(numbers: Numbers) -> Table:
    """Each figure that the remedies change, and the bill; no rows where there is no remedy."""
    data = numbers.data.get("comparison")
    found = data["rows"] if data and numbers.data["waterfall"]["steps"] else ()
    rows = []
    for index, row in enumerate(found):
        path = f"comparison.rows[{index}]"
        before, after = (Decimal(str(row[key]["value"])) for key in ("naive", "engineered"))
        if before == after and index != len(found) - 1:
            continue
        kind = kind_of_unit(row["naive"]["unit"])
        # Bytes per prompt are a mean: "1.7 kB" against "1.7 kB" would say nothing.
        kind = "count" if kind == "bytes" else kind
        basis = weakest_basis([row["naive"]["basis"], row["engineered"]["basis"]])
        cells = (
            numbers.figure(f"{path}.naive", kind),
            numbers.figure(f"{path}.engineered", kind),
            numbers.show(f"{path}.change", "change", basis=basis),
        )
        rows.append(TableRow(quoted(numbers, f"{path}.name"), cells))
    return Table(
        _COMPARED,
        "Figure",
        (
            Column("", "Today"),
            Column("", ("After", Only("mh", " all changes"))),
            Column("", "Change"),
        ),
        tuple(rows),
        style="stack",
        head_look="text phrase",
    )


def _formulas(numbers: Numbers, data: dict[str, Any]) -> Table:
    """Formula of each factor and each step."""
    named: list[tuple[Words, str]] = [
        (factor["name"].replace("_", " "), f"waterfall.factors[{index}].value")
        for index, factor in enumerate(data["factors"])
    ]
    steps = []
    for index, step in enumerate(data["steps"]):
        path = f"waterfall.steps[{index}]"
        delta = numbers.show(f"{path}.delta_usd_per_month", "usd_change", basis=step["basis"])
        basis, formula = (quoted(numbers, f"{path}.{key}") for key in ("basis", "formula"))
        cells = (delta, "USD a month", basis, formula)
        steps.append(TableRow(quoted(numbers, f"{path}.name"), cells))
    title = "How each figure is computed"
    return figure_table(
        numbers, title, named, title=title, more=tuple(steps), head_look="text phrase"
    )
