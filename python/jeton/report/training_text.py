"""The cost of a training run under each tokenizer: rows for every kind of report."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.report import markdown_text as markdown
from jeton.report.numbers import Numbers, Shown
from jeton.report.terminal_parts import Grid, signed
from jeton.report.visible import visible

TRAINING_LABELS = ("Tokens", "FLOP", "Memory", "GPU-hours", "Cost", "Pays off after", "Months")

_NEVER = "never"


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One tokenizer; ``is_never_earned`` where serving with it costs no less."""

    index: int
    tokenizer: str
    values: tuple[Shown | None, ...]
    is_never_earned: bool


def training_rows(numbers: Numbers) -> tuple[TrainingRow, ...]:
    """A row for each tokenizer; none where no training was asked for."""
    rows = []
    for index, entry in enumerate(numbers.data.get("training") or ()):
        path, earned = f"training[{index}]", entry["break_even"]
        figures = f"{path}.cost.figures"
        rows.append(
            TrainingRow(
                index,
                entry["tokenizer"],
                (
                    numbers.figure(f"{figures}.n_tokens", "count"),
                    numbers.figure(f"{figures}.flops", "flops"),
                    numbers.figure(f"{figures}.memory_bytes", "bytes"),
                    numbers.figure(f"{figures}.gpu_hours", "count"),
                    numbers.figure(f"{figures}.usd", "usd"),
                    None
                    if earned is None
                    else numbers.show(f"{path}.break_even.tokens", "count", basis="estimated"),
                    None
                    if earned is None
                    else numbers.show(f"{path}.break_even.months", "count", basis="estimated"),
                ),
                earned is not None and earned["tokens"] is None,
            )
        )
    return tuple(rows)


def _words(row: TrainingRow) -> list[str]:
    words = [signed(value) for value in row.values]
    if row.is_never_earned:
        words[-2] = _NEVER
    return words


def training_blocks(numbers: Numbers) -> list[str]:
    """The rows as a Markdown table; nothing where no training was asked for."""
    body = [
        [markdown.text(row.tokenizer), *(markdown.escaped(word) for word in _words(row))]
        for row in training_rows(numbers)
    ]
    return [markdown.rows(["Tokenizer", *TRAINING_LABELS], body)] if body else []


def training_grid(numbers: Numbers) -> Grid | None:
    """The rows for a terminal; None where no training was asked for."""
    found = training_rows(numbers)
    if not found:
        return None
    mode = numbers.data["training"][0]["cost"]["mode"]
    return Grid(
        f"Training  {mode}",
        ("Tokenizer", *TRAINING_LABELS),
        tuple((visible(row.tokenizer), *_words(row)) for row in found),
    )
