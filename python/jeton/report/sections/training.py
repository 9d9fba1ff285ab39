"""The cost of a training run under each tokenizer."""

from __future__ import annotations

from jeton.report.numbers import Numbers
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    Block,
    Column,
    Fold,
    Paragraph,
    Section,
    Table,
    TableRow,
    Words,
    figure_table,
    measured,
    quoted,
)

_TITLE = "Training with each tokenizer"
_COLUMNS = (
    Column("cost.figures.n_tokens", "Tokens"),
    Column("cost.figures.flops", "FLOP", kind="flops"),
    Column("cost.figures.memory_bytes", "Memory", kind="bytes"),
    Column("cost.figures.gpu_hours", "GPU-hours"),
    Column("cost.figures.usd", "Cost", kind="usd"),
    Column("break_even.tokens", "Pays off after"),
    Column("break_even.months", "Months"),
)


def training(numbers: Numbers) -> Section | None:
    """A row for each tokenizer; None where no training was asked for."""
    entries = numbers.data.get("training")
    if not entries:
        return None
    mode = entries[0]["cost"]["mode"]
    rows, folds = list[TableRow](), list[Block]()
    for index, entry in enumerate(entries):
        path, earned = f"training[{index}]", entry["break_even"]
        name = quoted(numbers, f"{path}.tokenizer")
        cells: list[Words] = [*measured(numbers, path, _COLUMNS, basis="estimated")]
        if earned is not None and earned["tokens"] is None:
            cells[-2] = "never"
        rows.append(TableRow(name, tuple(cells)))
        figures = f"{path}.cost.figures"
        named: list[tuple[Words, str]] = [
            (key.replace("_", " "), f"{figures}.{key}") for key in entry["cost"]["figures"]
        ]
        table = figure_table(numbers, f"Formulas of training, tokenizer {index + 1}", named)
        folds.append(Fold(("Formulas with ", name), (table,)))
    table = Table(
        f"Equal text, {mode}",
        "Tokenizer",
        _COLUMNS,
        tuple(rows),
        heading=f"Training  {mode}",
        label="Training",
    )
    said = "Pays off after: tokens you serve until cheaper serving has paid for this run."
    blocks: tuple[Block, ...] = (
        Fold(_TITLE, (table,), MARKDOWN),
        Paragraph(said, "hint", PAGE),
        *folds,
    )
    return Section("training", _TITLE, "Training", blocks)
