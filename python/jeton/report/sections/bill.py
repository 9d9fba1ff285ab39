"""A real bill beside what was computed from the log."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from jeton.report.numbers import Numbers, Shown
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Column,
    FactList,
    Fold,
    Items,
    Line,
    Paragraph,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    measured,
    quoted,
    words_column,
)

_N_MODELS, _N_CAUSES = 8, 5
_MODEL_COLUMNS = (
    Column("n_requests", "Requests"),
    Column("usd_computed", "Your log", kind="cents"),
    Column("usd_billed", "Billed", kind="cents"),
    Column("difference", "Difference", kind="cents_change"),
)
_LINE_COLUMNS = (
    Column("n_tokens", "Tokens"),
    Column("usd_per_mtok", "Per million", kind="usd"),
    *_MODEL_COLUMNS[1:],
)


def bill(numbers: Numbers) -> Section | None:
    """The reconciled bill; None where the report has none."""
    data = numbers.data.get("bill")
    if data is None:
        return None
    title = "Your bill against your log"
    billed, explained = (numbers.show(f"bill.usd_{k}", "cents") for k in ("billed", "explained"))
    difference = numbers.show("bill.usd_difference", "cents_change")
    share = numbers.share("bill.usd_difference", "bill.usd_billed")
    causes = [_cause(numbers, i, cause) for i, cause in enumerate(data["causes"][:_N_CAUSES])]
    said: list[Words] = [billed, " billed, ", explained, " by your log at list prices; difference "]
    said += [difference, f", {share.text}" if share else ""]
    for place, (name, usd) in enumerate(causes):
        said += ["; " if place else ". Cause: ", name, (" (", usd, ")") if usd else ""]
    issues = data.get("issues") or ()
    more = len(data["models"]) - _N_MODELS
    return Section(
        "bill",
        title,
        "Bill",
        (
            Line("Bill", tuple(said)),
            FactList(
                (
                    ("Billed", billed),
                    ("Your log at list prices", explained),
                    ("Difference", (difference, Styled(share, "hint") if share else ""), "rest"),
                ),
                "facts small",
            ),
            Fold(
                title,
                (
                    Paragraph(
                        ("Billed ", billed, "; your log comes to ", explained,
                         " at list prices; difference ", Styled(difference, "strong"), "."),
                        forms=MARKDOWN,
                    ),
                    _models(numbers, data["models"]),
                    Paragraph(f"{more} more models in the JSON report.", "", MARKDOWN * (more > 0)),
                    Items(
                        tuple((name, (": ", usd) if usd else "") for name, usd in causes),
                        forms=MARKDOWN,
                    ),
                ),
                forms=MARKDOWN,
            ),
            Table(
                "Where the difference comes from",
                None,
                (Column("", "Amount"),),
                tuple(TableRow(name, (usd,)) for name, usd in causes),
                forms=PAGE,
                label="Causes of the difference",
                style="stack",
                head_look="text wrap phrase",
            ),
            Items(
                tuple(
                    quoted(numbers, f"bill.issues[{i}]")
                    for i, issue in enumerate(issues)
                    if issue not in issues[:i]
                ),
                forms=PAGE,
            ),
            Fold(
                "By kind of token, and the price lists",
                (
                    _lines(numbers, data),
                    Items(price_lists(data.get("price_source") or ""), "sentences where", PAGE),
                ),
            ),
        ),
    )  # fmt: skip


def price_lists(source: str) -> tuple[str, ...]:
    """Return the price lists and addresses of a source, each once, without the days.

    A bill of a month is priced day by day, and says so for each model and day.
    """
    parts = (re.sub(r" in force on .*", "", part).strip() for part in source.split(";"))
    return tuple(dict.fromkeys(part for part in parts if part))


def _amount(model: dict[str, Any]) -> Decimal:
    billed = model["usd_billed"]
    return Decimal(model["usd_computed"] if billed is None else billed)


def _models(numbers: Numbers, found: list[dict[str, Any]]) -> Table:
    """The dearest models."""
    ranked = sorted(range(len(found)), key=lambda i: (-_amount(found[i]), i))
    rows = []
    for index in ranked[:_N_MODELS]:
        path = f"bill.models[{index}]"
        rows.append(
            TableRow(quoted(numbers, f"{path}.model"), measured(numbers, path, _MODEL_COLUMNS))
        )
    return Table(
        "By model",
        "Model",
        _MODEL_COLUMNS,
        tuple(rows),
        forms=PAPER,
        label="The bill by model",
        n_all=len(found),
    )


def _cause(numbers: Numbers, index: int, cause: str | dict[str, Any]) -> tuple[Words, Shown | None]:
    path = f"bill.causes[{index}]"
    if isinstance(cause, str):
        return quoted(numbers, path), None
    usd = numbers.show(f"{path}.usd", "cents_change", basis=cause["basis"])
    return quoted(numbers, f"{path}.title"), usd


def _lines(numbers: Numbers, data: dict[str, Any]) -> Table:
    """Lines by model and kind of token."""
    columns: tuple[Column, ...] = _LINE_COLUMNS
    if all(line["usd_billed"] is None for line in data["lines"]):
        columns = columns[:3]
    rows = []
    for index, line in enumerate(data["lines"]):
        path = f"bill.lines[{index}]"
        kind = line["what"].replace("_", " ")
        name = quoted(numbers, f"{path}.model")
        rows.append(TableRow(name, (kind, *measured(numbers, path, columns))))
    source: Words = (": ", quoted(numbers, "bill.source")) if data["source"] else ""
    return Table(
        ("Lines of the bill", source),
        "Model",
        (words_column("Kind"), *columns),
        tuple(rows),
        forms=PAGE,
        label="Lines of the bill",
    )
