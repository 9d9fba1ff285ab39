"""Choice of a tokenizer: candidates by money, time, memory and quality."""

from __future__ import annotations

from typing import Any

from jeton.report.numbers import Numbers
from jeton.report.tradeoff_charts import OBJECTIVES, objectives, tradeoff_charts
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Charts,
    Fold,
    Line,
    Only,
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

_TITLE = "Which tokenizer to choose"
_KEY = (
    "Filled: a sensible choice. Hollow: another tokenizer is better in every respect. Ring: our "
    "pick. Cross: over your limit (dashed line). Two strokes on an axis: it does not begin at zero."
)


def tradeoff(numbers: Numbers) -> Section | None:
    """The candidates: the best, then the front, then the others; None where there is one."""
    data = numbers.data.get("tradeoff")
    if data is None or len(data["points"]) < 2:
        return None
    columns = objectives(numbers)
    ranked = sorted(
        enumerate(data["points"]),
        key=lambda one: (
            one[1]["name"] != data["best"],
            bool(one[1]["violates"]),
            not one[1]["is_on_front"],
        ),
    )
    rows = []
    for index, point in ranked:
        path, is_best = f"tradeoff.points[{index}]", point["name"] == data["best"]
        limits = ", ".join(_limit_words(limit) for limit in point["violates"])
        verdict: Words = (
            Styled("best", "strong")
            if is_best
            else f"over your limit: {limits}"
            if limits
            else "a sensible choice"
            if point["is_on_front"]
            else Styled("another is better", "none")
        )
        name, look = quoted(numbers, f"{path}.name"), "chosen" if is_best else ""
        rows.append(TableRow(name, (*measured(numbers, path, columns), verdict), look))
    table = Table(
        "Tokenizers to choose from",
        "Tokenizer",
        (*columns, words_column("Verdict")),
        tuple(rows),
        forms=PAPER,
        most=(20, 20, 1000),
    )
    reason = quoted(numbers, "tradeoff.reason")
    best: Words = ""
    line: Words = reason
    if data["best"] is None:
        best = Only(PAGE, "No tokenizer keeps all your limits. ")
    elif not str(data["reason"]).startswith(str(data["best"])):
        name = quoted(numbers, "tradeoff.best")
        best, line = ("Best: ", Styled(name, "strong"), ". "), (name, ": ", reason)
    blocks = (
        Line("Best", line),
        Paragraph((best, reason), forms=PAGE),
        Charts(lambda: tradeoff_charts(numbers)),
        Paragraph(_KEY, "key hint", PAGE if len(columns) > 1 else ""),
        Fold(_TITLE, (Paragraph((best, reason), forms=MARKDOWN), table), MARKDOWN),
    )
    return Section("tradeoff", _TITLE, "Choice", blocks)


def _limit_words(limit: str) -> str:
    """``"usd_per_month (unknown)"`` as people say it."""
    name, _, rest = limit.partition(" ")
    name = name.removeprefix("max_")
    labels: dict[str, Any] = {column.key: column.label for column in OBJECTIVES}
    return f"{labels.get(name, name.replace('_', ' '))} {rest}".strip()
