"""Today against after all changes: one table, from a waterfall, with the return.

Every row names its figure before and after all remedies; what the remedies cost to carry out and
to run is in it, so that the return is honest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from jeton.economics.money import MONTHS_PER_YEAR
from jeton.economics.waterfall import MICRO_USD, BillPart, Waterfall, weakest
from jeton.findings import Basis, Figure


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One line of the table.

    Attributes:
        name: Name, in words.
        naive: Today.
        engineered: After all changes.
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
        rows: From the requests to the monthly bill.
        usd_saved_per_month: Naive less engineered, running costs of the remedies paid.
        usd_saved_per_year: Twelve times that.
        usd_once: One-time cost of carrying out the remedies.
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


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the table: requests a month, tokens a request, dollars a month."""

    requests: Decimal
    prompt: Decimal
    read: Decimal
    output: Decimal
    prompt_usd: Decimal
    output_usd: Decimal
    other_usd: Decimal


def naive_engineered(waterfall: Waterfall) -> NaiveEngineered:
    """Return the table of a waterfall.

    Formula: sums of the waterfall's parts; the last row is its first and last bill.

    Source: `jeton.economics.waterfall`; factors bring their sources.
    """
    given = {factor.name: factor.value for factor in waterfall.factors}
    basis = waterfall.basis
    start = weakest(*(figure.basis for figure in given.values()))
    requests = given["requests_per_month"]
    n_before = Decimal(requests.value)
    with localcontext(prec=60):
        before = _side(waterfall.before, n_before)
        after = _side(waterfall.after, n_before * waterfall.request_factor)
    running = sum((step.running_usd_per_month for step in waterfall.steps), Decimal(0))

    def row(
        name: str, unit: str, values: tuple[Decimal, Decimal], formulas: tuple[str, str]
    ) -> ComparisonRow:
        naive = Figure(+values[0], unit, start, formulas[0])
        engineered = Figure(+values[1], unit, basis, formulas[1])
        change = values[1] / values[0] - 1 if values[0] else None
        return ComparisonRow(name, naive, engineered, change)

    factors = "the remedies' factors"
    rows = []
    if after.requests == before.requests:
        rows.append(
            ComparisonRow(
                "requests per month", requests, requests, Decimal(0) if n_before else None
            )
        )
    else:
        rows.append(
            row(
                "requests per month",
                "requests per month",
                (before.requests, after.requests),
                (requests.formula, f"{before.requests:,.0f} less those answered from a cache"),
            )
        )
    size = given.get("bytes_per_request")
    if size is not None:
        rows.append(
            ComparisonRow("bytes per prompt", size, size, Decimal(0) if size.value else None)
        )
    rows += [
        row(
            "prompt tokens per request",
            "tokens",
            (before.prompt, after.prompt),
            ("prompt tokens a month / requests", f"{before.prompt:,.1f} x {factors}"),
        ),
        row(
            "of those read from a cache",
            "tokens",
            (before.read, after.read),
            ("as it is", "moved there by the remedies"),
        ),
        row(
            "output tokens per request",
            "tokens",
            (before.output, after.output),
            ("output tokens a month / requests", f"{before.output:,.1f} x {factors}"),
        ),
        row(
            "prompts per month",
            "USD per month",
            (_micro(before.prompt_usd), _micro(after.prompt_usd)),
            (_prompt_formula(before), _prompt_formula(after)),
        ),
        row(
            "output per month",
            "USD per month",
            (_micro(before.output_usd), _micro(after.output_usd)),
            tuple(f"{s.requests:,.0f} requests x {s.output:,.1f} tokens" for s in (before, after)),  # type: ignore[arg-type]
        ),
    ]
    if before.other_usd or after.other_usd:
        said = "searches, sound, pictures and fees"
        rows.append(
            row(
                "other use per month",
                "USD per month",
                (_micro(before.other_usd), _micro(after.other_usd)),
                (said, said),
            )
        )
    rows += [
        row(
            "running the remedies",
            "USD per month",
            (Decimal(0), running),
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


def _side(parts: Sequence[BillPart], requests: Decimal) -> _Side:
    amounts = {part.kind: part.amount for part in parts}
    usd = {part.kind: part.usd for part in parts}
    zero = Decimal(0)

    def each(*kinds: str) -> Decimal:
        total = sum((amounts.get(kind, zero) for kind in kinds), zero)  # type: ignore[call-overload]
        return Decimal(total) / requests if requests else zero

    return _Side(
        requests=requests,
        prompt=each("full", "read", "write"),
        read=each("read"),
        output=each("output"),
        prompt_usd=usd.get("full", zero) + usd.get("read", zero) + usd.get("write", zero),
        output_usd=usd.get("output", zero),
        other_usd=usd.get("other", zero),
    )


def _prompt_formula(side: _Side) -> str:
    formula = f"{side.requests:,.0f} requests x {side.prompt:,.1f} tokens"
    if side.read:
        formula += f", {side.read:,.1f} of them from a cache"
    return formula


def _micro(usd: Decimal) -> Decimal:
    return usd.quantize(MICRO_USD)
