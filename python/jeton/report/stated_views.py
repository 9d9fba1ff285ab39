"""The cost that a log states beside the price of the list, as rows."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.report.numbers import Numbers, Shown, money_kind

_N_ROWS = 10


@dataclass(frozen=True, slots=True)
class StatedRow:
    """A model whose log states a cost; the path is that of its names."""

    path: str
    is_own_key: bool
    differs: bool
    requests: Shown | None
    stated: Shown | None
    usd: Shown | None
    difference: Shown | None


def stated_rows(numbers: Numbers) -> tuple[StatedRow, ...]:
    """Return the models with a stated cost, the largest first; none where no log states any."""
    entries = (numbers.data.get("ledger") or {}).get("stated") or []
    kind = money_kind(e["usd"] for e in entries if e["usd"] is not None)
    return tuple(
        StatedRow(
            path,
            entry["payer"] == "own key",
            entry["differs"],
            numbers.show(f"{path}.n_requests", "count"),
            numbers.show(f"{path}.stated_usd", kind),
            numbers.show(f"{path}.usd", kind),
            numbers.show(f"{path}.difference_usd", kind),
        )
        for index, entry in enumerate(entries[:_N_ROWS])
        for path in (f"ledger.stated[{index}]",)
    )
