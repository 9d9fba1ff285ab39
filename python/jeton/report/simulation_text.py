"""A replayed trace as Markdown, and as a grid for a terminal."""

from __future__ import annotations

from jeton.report import markdown_text as markdown
from jeton.report.numbers import Numbers
from jeton.report.simulation_views import simulation_view
from jeton.report.terminal_parts import Grid, signed
from jeton.report.visible import visible


def simulation_blocks(numbers: Numbers) -> list[str]:
    """The runs as a table, with what was replayed; nothing without a trace."""
    view = simulation_view(numbers)
    if view is None:
        return []
    data = numbers.data["traffic"]
    body = [
        [
            markdown.text(row.tokenizer),
            row.policy,
            *(markdown.escaped(markdown.signed(value)) for value in row.values),
        ]
        for row in view.rows
    ]
    said = (
        f"{markdown.written(view.requests)} requests of {markdown.text(data['trace']['path'])} on "
        f"{markdown.written(view.gpus)} x {markdown.text(data['gpu'])} with "
        f"{markdown.text(data['model'])}; {markdown.text(data['scaling'])}."
    )
    return [said, markdown.rows(["Tokenizer", "Policy", *view.labels], body, n_text=2)]


def simulation_grid(numbers: Numbers, *, wide: bool) -> Grid | None:
    """The runs as a grid; None without a trace."""
    view = simulation_view(numbers)
    if view is None:
        return None
    if not wide:
        view = view.only_narrow()
    return Grid(
        f"Real traffic  {signed(view.requests)} requests on {signed(view.gpus)} x "
        f"{visible(numbers.data['traffic']['gpu'])}",
        ("Tokenizer, policy", *view.labels),
        tuple(
            (f"{visible(row.tokenizer)}, {row.policy}", *(signed(value) for value in row.values))
            for row in view.rows
        ),
    )
