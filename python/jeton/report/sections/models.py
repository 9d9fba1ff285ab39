"""Models by price per document: each counted with its own tokenizer."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from jeton.report.numbers import Numbers, money_kind
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Column,
    Only,
    Paragraph,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    quoted,
    words_column,
)

_TITLE = "Models by price per document"
_COLUMNS = (
    Column("usd_per_document", "Per document", kind="usd"),
    Column("change", "Against the first", kind="change"),
    Column("usd_per_month", "Per month"),
    Column("tokens_per_document", "Tokens"),
    Column("seconds_per_document", "Time", kind="seconds"),
)


def models(numbers: Numbers) -> Section | None:
    """Models that were asked for, in their order; None for less than two."""
    found = numbers.data.get("models") or []
    if len(found) < 2:
        return None
    least = min(Decimal(model["usd_per_document"]["value"]) for model in found)
    kind = money_kind((m["usd_per_month"] or {}).get("value") for m in found)
    rows = []
    for index, model in enumerate(found):
        path, price = f"models[{index}]", model["usd_per_document"]
        name: Words = quoted(numbers, f"{path}.name")
        if is_cheapest := Decimal(price["value"]) == least:
            tag = Only("h", Styled("cheapest", "tag"))
            name = (Only(MARKDOWN, Styled(name, "strong")), Only("twh", name), tag)
        values = [
            numbers.at(
                f"{path}.{column.key}",
                kind if column.key == "usd_per_month" else column.kind,
                basis=price["basis"],
            )
            for column in _COLUMNS
        ]
        if index == 0:
            values[1] = None
        cells = (*values, quoted(numbers, f"{path}.tokenizer"))
        rows.append(TableRow(name, cells, "chosen" if is_cheapest else ""))
    columns = (*_COLUMNS, words_column("Tokenizer", forms=PAPER))
    known = [i for i in range(len(columns)) if any(row.cells[i] is not None for row in rows)]
    output = (
        (
            ", with ",
            numbers.show("workload.output_tokens_per_request", "count"),
            " output tokens",
        )
        if numbers.data["workload"]["output_tokens_per_request"]
        else ""
    )
    said = "Each model counts your text with its own tokenizer; a document is one request"
    table = Table(
        _TITLE,
        "Model",
        tuple(columns[i] for i in known),
        tuple(replace(row, cells=tuple(row.cells[i] for i in known)) for row in rows),
    )
    text = Paragraph((said, output, "."), forms=PAGE)
    return Section("models", _TITLE, "Price per document", (text, table), is_headed=True)
