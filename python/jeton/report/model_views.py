"""Models by price per document: each counted with its own tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from jeton.report.numbers import Numbers, Shown, money_kind

_LABELS = ("Per document", "Against the first", "Per month", "Tokens", "Time")


@dataclass(frozen=True, slots=True)
class ModelCostRow:
    """A model with its price; ``values`` belong to the labels of `ModelCostView`.

    Attributes:
        path: Where it stands in the report.
        is_cheapest: True if no other costs less per document.
    """

    path: str
    name: str
    tokenizer: str
    values: tuple[Shown | None, ...]
    is_cheapest: bool


@dataclass(frozen=True, slots=True)
class ModelCostView:
    """Models side by side; columns of which nothing is known are left out."""

    labels: tuple[str, ...]
    rows: tuple[ModelCostRow, ...]


def model_cost_view(numbers: Numbers) -> ModelCostView | None:
    """Return the models that were asked for, in their order; None for less than two."""
    models = numbers.data.get("models") or []
    if len(models) < 2:
        return None
    least = min(Decimal(model["usd_per_document"]["value"]) for model in models)
    kind = money_kind((m["usd_per_month"] or {}).get("value") for m in models)
    rows = []
    for index, model in enumerate(models):
        path = f"models[{index}]"
        rows.append(
            ModelCostRow(
                path,
                model["name"],
                model["tokenizer"],
                (
                    numbers.figure(f"{path}.usd_per_document", "usd"),
                    None
                    if index == 0
                    else numbers.show(
                        f"{path}.change", "change", basis=model["usd_per_document"]["basis"]
                    ),
                    numbers.figure(f"{path}.usd_per_month", kind),
                    numbers.figure(f"{path}.tokens_per_document", "count"),
                    numbers.figure(f"{path}.seconds_per_document", "seconds"),
                ),
                Decimal(model["usd_per_document"]["value"]) == least,
            )
        )
    known = [i for i in range(len(_LABELS)) if any(row.values[i] is not None for row in rows)]
    return ModelCostView(
        tuple(_LABELS[i] for i in known),
        tuple(replace(row, values=tuple(row.values[i] for i in known)) for row in rows),
    )
