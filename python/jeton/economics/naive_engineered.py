"""Naive pipeline against engineered pipeline: one table, from a waterfall, with the return.

Every row names its figure before and after all remedies; what the remedies cost to carry out and
to run is in it, so that the return is honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from jeton.economics.money import MONTHS_PER_YEAR, TOKENS_PER_MTOK
from jeton.economics.waterfall import MICRO_USD, Waterfall, weakest
from jeton.findings import Basis, Figure

__all__ = ["ComparisonRow", "NaiveEngineered", "naive_engineered"]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One line of the table.

    Attributes:
        name: What it is, in words.
        naive: Before.
        engineered: After.
        change: Engineered over naive, less one; None where naive is 0.
    """

    name: str
    naive: Figure
    engineered: Figure
    change: Decimal | None


@dataclass(frozen=True, slots=True)
class NaiveEngineered:
    """The table and what it comes to.

    Attributes:
        rows: From the requests to the monthly bill; each follows from those above it.
        usd_saved_per_month: Naive less engineered, running costs of the remedies paid.
        usd_saved_per_year: Twelve times that.
        usd_once: What carrying out the remedies costs once.
        payback_months: Months until the saving has paid for that; 0 if it costs nothing, None if
            nothing is saved.
        return_first_year: (saved in a year - cost) / cost; None if it costs nothing.
        basis: The weakest of all figures.
    """

    rows: tuple[ComparisonRow, ...]
    usd_saved_per_month: Decimal
    usd_saved_per_year: Decimal
    usd_once: Decimal
    payback_months: Decimal | None
    return_first_year: Decimal | None
    basis: Basis


@dataclass(slots=True)
class _State:
    """Tokens per request and rates, as the remedies leave them."""

    full: Decimal
    cached: Decimal
    output: Decimal
    full_rate: Decimal
    cached_rate: Decimal
    output_rate: Decimal
    running: Decimal = Decimal(0)


def naive_engineered(waterfall: Waterfall) -> NaiveEngineered:
    """Return the table of a waterfall.

    Formula: each row's own, in its figures; the last row is the waterfall's first and last bill.

    Source: `jeton.economics.waterfall`; factors bring their sources.
    """
    given = {factor.name: factor.value for factor in waterfall.factors}
    numbers = {name: Decimal(figure.value) for name, figure in given.items()}
    before, after = _state(numbers), _state(numbers)
    for step in waterfall.steps:
        _apply(after, step.applies_to, step.token_factor, step.cost_factor)
        after.running += step.running_usd_per_month
    requests = numbers["requests_per_month"]
    basis = waterfall.basis
    start = weakest(*(figure.basis for figure in given.values()))

    def row(
        name: str, unit: str, values: tuple[Decimal, Decimal], formulas: tuple[str, str]
    ) -> ComparisonRow:
        naive = Figure(values[0], unit, start, formulas[0])
        engineered = Figure(values[1], unit, basis, formulas[1])
        change = values[1] / values[0] - 1 if values[0] else None
        return ComparisonRow(name, naive, engineered, change)

    states = (before, after)
    prompt = tuple(state.full + state.cached for state in states)
    input_usd = tuple(
        requests * (s.full * s.full_rate + s.cached * s.cached_rate) / TOKENS_PER_MTOK
        for s in states
    )
    output_usd = tuple(requests * s.output * s.output_rate / TOKENS_PER_MTOK for s in states)
    n = f"{requests:,.0f} requests"
    same = given["requests_per_month"]
    size = given["bytes_per_request"]
    rows = [
        ComparisonRow("requests per month", same, same, Decimal(0) if requests else None),
        ComparisonRow("bytes per prompt", size, size, Decimal(0) if size.value else None),
        row(
            "prompt tokens per request",
            "tokens",
            (prompt[0], prompt[1]),
            (
                f"{numbers['bytes_per_request']:,.1f} bytes x "
                f"{numbers['tokens_per_byte']:.4f} tokens per byte",
                f"{prompt[0]:,.1f} x the remedies' factors",
            ),
        ),
        row(
            "of those read from a cache",
            "tokens",
            (before.cached, after.cached),
            ("given", "moved there by the remedies"),
        ),
        row(
            "output tokens per request",
            "tokens",
            (before.output, after.output),
            ("given", f"{before.output:,.1f} x the remedies' factors"),
        ),
        row(
            "prompts per month",
            "USD per month",
            (_micro(input_usd[0]), _micro(input_usd[1])),
            (_prompt_formula(n, before), _prompt_formula(n, after)),
        ),
        row(
            "output per month",
            "USD per month",
            (_micro(output_usd[0]), _micro(output_usd[1])),
            (
                f"{n} x {before.output:,.1f} tokens x ${before.output_rate:.4g} per 1M",
                f"{n} x {after.output:,.1f} tokens x ${after.output_rate:.4g} per 1M",
            ),
        ),
        row(
            "running the remedies",
            "USD per month",
            (Decimal(0), after.running),
            ("none", "given with the remedies"),
        ),
        row(
            "bill per month",
            "USD per month",
            (waterfall.naive_usd_per_month, waterfall.engineered_usd_per_month),
            ("prompts + output", "prompts + output + running the remedies"),
        ),
    ]
    saved = waterfall.saving_usd_per_month
    once = waterfall.usd_once
    payback: Decimal | None = None
    if saved > 0:
        payback = once / saved
    elif once == 0 and saved == 0:
        payback = Decimal(0)
    return NaiveEngineered(
        rows=tuple(rows),
        usd_saved_per_month=saved,
        usd_saved_per_year=saved * MONTHS_PER_YEAR,
        usd_once=once,
        payback_months=payback,
        return_first_year=(saved * MONTHS_PER_YEAR - once) / once if once else None,
        basis=basis,
    )


def _state(numbers: dict[str, Decimal]) -> _State:
    prompt = numbers["bytes_per_request"] * numbers["tokens_per_byte"]
    share = numbers.get("cached_input_share", Decimal(0))
    return _State(
        full=prompt * (1 - share),
        cached=prompt * share,
        output=numbers["output_tokens_per_request"],
        full_rate=numbers["usd_per_mtok_input"],
        cached_rate=numbers.get("usd_per_mtok_cached_input", Decimal(0)),
        output_rate=numbers["usd_per_mtok_output"],
    )


def _apply(state: _State, applies_to: str, tokens: Decimal, cost: Decimal) -> None:
    if applies_to == "cached":
        state.cached += state.full * (1 - tokens)
        state.full *= tokens
        state.cached_rate *= cost
    if applies_to in ("input", "all"):
        state.full *= tokens
        state.cached *= tokens
        state.full_rate *= cost
        state.cached_rate *= cost
    if applies_to in ("output", "all"):
        state.output *= tokens
        state.output_rate *= cost


def _prompt_formula(requests: str, state: _State) -> str:
    formula = f"{requests} x ({state.full:,.1f} tokens x ${state.full_rate:.4g}"
    if state.cached:
        formula += f" + {state.cached:,.1f} cached x ${state.cached_rate:.4g}"
    return f"{formula}) per 1M"


def _micro(usd: Decimal) -> Decimal:
    return usd.quantize(MICRO_USD)
