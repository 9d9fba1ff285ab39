"""Tables of tokenizers: which numbers stand side by side, and which value is the best."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable
from decimal import Decimal
from importlib.resources import files
from typing import Any, Literal

from jeton.metrics.quality import loses_text
from jeton.report.numbers import Numbers, Shown
from jeton.report.tree import ALL, PAPER, Column, Marked, Table, TableRow, tokenizer_name


@functools.cache
def columns_of(table: str) -> tuple[Column, ...]:
    """Columns of a table, which ``assets/columns.toml`` lists."""
    path = files("jeton.report").joinpath("assets/columns.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(Column(*row) for row in found[table])


_INTERVALS = {
    "change": "tokens_change_interval",
    "bytes_per_token": "bytes_per_token_interval",
    "tokens_per_document.mean": "tokens_per_document_interval",
    "bits_per_byte": "quality.bits_per_byte_interval",
}
"""The interval of a number, beside it in the report."""

EconomicsPart = Literal["money", "memory", "compute", "own"]

PARTS: dict[EconomicsPart, tuple[str, tuple[str, ...]]] = {
    "money": ("Cost with each tokenizer", ("usd_",)),
    "memory": (
        "Memory with each tokenizer",
        ("kv_", "weights_", "embedding_", "n_gpus", "gpus_", "longest_", "concurrent_"),
    ),
    "compute": ("Reading the prompt (prefill)", ("prefill_",)),
    "own": ("On your own GPUs", ("own_gpu_",)),
}
"""Title of a part, and beginnings of the keys of its columns."""


def tokens_table(numbers: Numbers, *, current: int) -> Table:
    """Tokens, compression and document lengths of every tokenizer."""
    is_choice = len(numbers.data["tokenizers"]) > 1
    columns = tuple(c for c in columns_of("tokens") if is_choice or c.key != "change")

    def cell(index: int, column: Column) -> Shown | None:
        path = f"tokenizers[{index}]"
        if column.key == "change":
            if index == current:
                return None
            return numbers.change(f"{path}.n_tokens", f"tokenizers[{current}].n_tokens")
        return numbers.show(f"{path}.{column.key}", column.kind)

    return table_of(numbers, "Tokens of the workload", columns, cell, heading="Tokens")


def quality_table(numbers: Numbers) -> Table | None:
    """Quality beside the number of cuts; None where it was not measured."""
    tokenizers = numbers.data["tokenizers"]
    columns = tuple(
        column
        for column in columns_of("quality")
        if any((t.get("quality") or {}).get(column.key) is not None for t in tokenizers)
    )
    if not columns:
        return None

    def cell(index: int, column: Column) -> Shown | None:
        found = (tokenizers[index].get("quality") or {}).get(column.key)
        path = f"tokenizers[{index}].quality.{column.key}"
        return None if found is None else numbers.at(path, column.kind)

    return table_of(numbers, "Other quality measures", columns, cell, forms=PAPER)


def fidelity_table(numbers: Numbers) -> Table:
    """Vocabulary use, and whether the text survives."""
    return table_of(
        numbers,
        "Vocabulary, and whether the text survives",
        columns_of("fidelity"),
        lambda index, column: numbers.show(f"tokenizers[{index}].{column.key}", column.kind),
        forms=PAPER,
    )


def economics_table(numbers: Numbers, *, part: EconomicsPart) -> Table | None:
    """Money, memory or compute; None where nothing of it was asked for or is known."""
    tokenizers = numbers.data["tokenizers"]
    title, prefixes = PARTS[part]
    columns = tuple(
        column
        for column in columns_of("economics")
        if column.key.startswith(prefixes)
        and any(t["economics"][column.key] is not None for t in tokenizers)
    )
    if not columns:
        return None

    def cell(index: int, column: Column) -> Shown | None:
        return numbers.figure(f"tokenizers[{index}].economics.{column.key}", column.kind)

    forms = PAPER if part == "compute" else ALL
    return table_of(numbers, title, columns, cell, forms=forms)


def table_of(
    numbers: Numbers,
    title: str,
    columns: tuple[Column, ...],
    cell: Callable[[int, Column], Shown | None],
    *,
    forms: str = ALL,
    heading: str = "",
) -> Table:
    """A table of any columns: one row for each tokenizer, the best of each column marked."""
    tokenizers = numbers.data["tokenizers"]
    current = next((i for i, item in enumerate(tokenizers) if item["is_current"]), 0)
    indices = range(len(tokenizers))
    values = {column: [cell(index, column) for index in indices] for column in columns}
    best = {column: _best(numbers, column, values[column]) for column in columns}
    rows = (
        TableRow(
            tokenizer_name(numbers, index, current),
            tuple(
                Marked(
                    values[column][index], index in best[column], _interval(numbers, index, column)
                )
                for column in columns
            ),
        )
        for index in indices
    )
    return Table(
        title,
        "Tokenizer",
        columns,
        tuple(rows),
        forms=forms,
        heading=heading,
        has_meanings=True,
    )


def _interval(numbers: Numbers, index: int, column: Column) -> tuple[Shown, Shown] | None:
    key = _INTERVALS.get(column.key)
    place: Any = numbers.data["tokenizers"][index]
    for step in key.split(".") if key else ():
        place = (place or {}).get(step)
    if key is None or not place:
        return None
    path = f"tokenizers[{index}].{key}"
    low = numbers.show(f"{path}.low", column.kind)
    high = numbers.show(f"{path}.high", column.kind)
    return None if low is None or high is None else (low, high)


def _best(numbers: Numbers, column: Column, values: list[Shown | None]) -> frozenset[int]:
    """Rows that hold the best value; none where all are equal.

    A tokenizer that loses text cannot be best: it needs few tokens because it encodes less.
    """
    tokenizers = numbers.data["tokenizers"]
    known = {
        index: Decimal(shown.raw)
        for index, shown in enumerate(values)
        if shown is not None
        and (
            column.key == "n_round_trip_failures"
            or not loses_text(tokenizers[index]["unreturned_by_cause"])
        )
    }
    if not column.better or len({Decimal(s.raw) for s in values if s is not None}) < 2 or not known:
        return frozenset()
    pick = min if column.better == "less" else max
    best = pick(known.values())
    return frozenset(index for index, value in known.items() if value == best)
