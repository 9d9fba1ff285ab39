"""Billed tokens by part of the request, as rows: the tokens of each part and their cost."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from jeton.report.numbers import Numbers, Shown

PARTS = MappingProxyType(
    {
        "tools": "Tool definitions",
        "system": "System prompt",
        "earlier": "Earlier turns",
        "passages": "Retrieved passages",
        "question": "Question",
        "prompt": "Prompts, parts not known",
        "unlogged": "Not in the log, or chat format",
        "answer": "Answers",
        "reasoning": "Reasoning",
    }
)
"""Names of the parts, in the order in which they are sent."""


@dataclass(frozen=True, slots=True)
class BilledRow:
    """A part of the requests: its tokens, those read from a cache, and their cost."""

    name: str
    tokens: Shown | None
    cached: Shown | None
    usd: Shown | None


@dataclass(frozen=True, slots=True)
class BilledView:
    """The parts of all requests."""

    labels: tuple[str, ...]
    rows: tuple[BilledRow, ...]


def billed_view(numbers: Numbers) -> BilledView | None:
    """Return the parts of logged requests; None for documents, or where one part is all."""
    parts = (numbers.data.get("billed") or {}).get("parts") or []
    if numbers.data.get("requests") is None or len(parts) < 3:
        return None
    labels = ("Billed tokens", "From a cache", "Cost")
    basis = "exact" if numbers.data["billed"]["is_complete"] else "estimated"
    rows = []
    for index, part in enumerate(parts):
        path = f"billed.parts[{index}]"
        cached = numbers.show(f"{path}.cached", "count", basis=basis) if part["cached"] else None
        rows.append(
            BilledRow(
                PARTS[part["part"]],
                numbers.show(f"{path}.n_tokens", "count", basis=basis),
                cached,
                numbers.show(f"{path}.usd", "usd", basis=basis),
            )
        )
    return BilledView(labels, tuple(rows))
