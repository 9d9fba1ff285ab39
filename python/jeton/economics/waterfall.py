"""Parts of the bill, and the change that each remedy makes: today against after all changes.

The parts are those of a ledger (tokens and dollars by model and dimension), scaled to a month, or a
product of means. Remedies act one after another, each on what the former left, so that the steps
add up to the difference exactly; no dollar is promised twice. Money is rounded to a millionth of a
dollar at every step, which is what makes the sum exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from types import MappingProxyType
from typing import Literal

from jeton.dimensions import holds
from jeton.economics.ledger.result import Ledger
from jeton.economics.money import DAYS_PER_YEAR, MONTHS_PER_YEAR, TOKENS_PER_MTOK
from jeton.economics.remedies import (
    Effect,
    LedgerChange,
    Part,
    Remedy,
    effects_of,
    require_usable,
)
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

__all__ = [
    "BillPart",
    "Factor",
    "Part",
    "Quantity",
    "Remedy",
    "Step",
    "Waterfall",
    "figure_of",
    "kind_of",
    "usd_of_kinds",
    "waterfall",
    "waterfall_of_ledger",
    "weakest",
]

Quantity = float | int | Decimal | Figure
"""A number, or a figure that brings its basis and source along."""

Kind = Literal["full", "read", "write", "output", "other"]

MICRO_USD = Decimal("0.000001")
"""Steps are rounded to this many USD."""

_DIGITS = 60
"""Decimal digits of intermediate products: enough for any product of this module's factors."""

_ORDER = {Basis.EXACT: 0, Basis.CALIBRATED: 1, Basis.ESTIMATED: 2}


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the bill as it is."""

    name: str
    value: Figure


@dataclass(frozen=True, slots=True)
class BillPart:
    """One part of a month's bill.

    Attributes:
        kind: ``full`` (prompt at the full rate), ``read``, ``write`` (of a cache), ``output`` or
            ``other`` (searches, sound, pictures, fees).
        amount: Units a month.
        usd: Their cost, USD a month, not rounded.
    """

    kind: Kind
    amount: Decimal
    usd: Decimal


@dataclass(frozen=True, slots=True)
class Step:
    """The bill after one remedy more.

    Attributes:
        id: The remedy's id.
        name: The remedy's name.
        usd_per_month: The bill after this step, USD per month.
        delta_usd_per_month: Change by the step; below 0 where it saves.
        formula: How, with the numbers put in.
        basis: The weakest of the remedy's basis and those of the steps and factors before it.
        applies_to: The part that the remedy acts on.
        token_factor: The remedy's factor on tokens.
        cost_factor: The remedy's factor on the price.
        running_usd_per_month: Cost of the remedy itself per month, inside ``usd_per_month``.
        input_factor: Dollars of prompts after the step over those before it.
        output_factor: Factor of generated tokens.
        request_factor: Requests after the step over those before it.
        effort: Effort of carrying it out.
        risk: Risk, in words.
    """

    id: str
    name: str
    usd_per_month: Decimal
    delta_usd_per_month: Decimal
    formula: str
    basis: Basis
    applies_to: Part = "input"
    token_factor: Decimal = Decimal(1)
    cost_factor: Decimal = Decimal(1)
    running_usd_per_month: Decimal = Decimal(0)
    input_factor: Decimal = Decimal(1)
    output_factor: Decimal = Decimal(1)
    request_factor: Decimal = Decimal(1)
    effort: str = ""
    risk: str = ""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A month's bill, and the steps from today to after all changes.

    ``naive_usd_per_month + sum of delta_usd_per_month == engineered_usd_per_month``, exactly.

    Attributes:
        factors: Factors whose product is the bill, in means.
        steps: One for each remedy, in the order in which they act.
        naive_usd_per_month: The bill without any remedy, USD per month of 365/12 days.
        engineered_usd_per_month: The bill with all of them.
        input_usd_per_month: The part of today's bill that prompts make.
        output_usd_per_month: The part that generated tokens make, with searches and fees.
        usd_once: One-time cost of carrying out all remedies.
        before: Today's bill by part.
        after: The bill by part with all remedies, without what running them costs.
        request_factor: Requests with all remedies over those of today.
    """

    factors: tuple[Factor, ...]
    steps: tuple[Step, ...]
    naive_usd_per_month: Decimal
    engineered_usd_per_month: Decimal
    input_usd_per_month: Decimal = Decimal(0)
    output_usd_per_month: Decimal = Decimal(0)
    usd_once: Decimal = Decimal(0)
    before: tuple[BillPart, ...] = ()
    after: tuple[BillPart, ...] = ()
    request_factor: Decimal = Decimal(1)

    @property
    def saving_usd_per_month(self) -> Decimal:
        """Saving of all remedies together, USD per month."""
        return self.naive_usd_per_month - self.engineered_usd_per_month

    @property
    def basis(self) -> Basis:
        """The weakest basis in it: a chain of figures is as good as its weakest."""
        return weakest(
            *(factor.value.basis for factor in self.factors), *(step.basis for step in self.steps)
        )


@dataclass(slots=True)
class _Row:
    """Use of one model in one dimension, changed remedy by remedy."""

    model: str
    dimension: str
    kind: Kind
    amount: Decimal
    rate: Decimal | None

    @property
    def usd(self) -> Decimal:
        return self.amount * (self.rate or Decimal(0))


def waterfall(
    *,
    requests_per_month: Quantity,
    bytes_per_request: Quantity,
    tokens_per_byte: Quantity,
    usd_per_mtok_input: Quantity,
    output_tokens_per_request: Quantity = 0,
    usd_per_mtok_output: Quantity = 0,
    remedies: Sequence[Remedy] = (),
    cached_input_share: Quantity = 0,
    usd_per_mtok_cached_input: Quantity | None = None,
) -> Waterfall:
    """Return what makes the monthly bill, from means, and what each remedy changes.

    Formula: ``requests x (bytes x tokens/byte x ((1 - c) p_in + c p_cached) + out x p_out) / 1e6``;
    a remedy multiplies the tokens, or the price, of the part that it applies to.

    Source: definition; prices bring their own source where they are given as figures.

    Args:
        requests_per_month: Requests per month.
        bytes_per_request: UTF-8 bytes of a prompt, mean.
        tokens_per_byte: Tokens per byte of prompt.
        usd_per_mtok_input: USD per million prompt tokens at the full rate.
        output_tokens_per_request: Generated tokens, reasoning included, mean.
        usd_per_mtok_output: USD per million generated tokens.
        remedies: The changes, in the order in which they act.
        cached_input_share: Share of the prompt tokens that a cache serves already, 0 to 1.
        usd_per_mtok_cached_input: USD per million prompt tokens read from a cache.

    Raises:
        UsageError: If a number is negative or not finite, an id occurs twice, or a cache is used
            whose rate is not given.
    """
    named: dict[str, Quantity] = {
        "requests_per_month": requests_per_month,
        "bytes_per_request": bytes_per_request,
        "tokens_per_byte": tokens_per_byte,
        "usd_per_mtok_input": usd_per_mtok_input,
        "output_tokens_per_request": output_tokens_per_request,
        "usd_per_mtok_output": usd_per_mtok_output,
    }
    if cached_input_share != 0 or usd_per_mtok_cached_input is not None:
        named["cached_input_share"] = cached_input_share
    if usd_per_mtok_cached_input is not None:
        named["usd_per_mtok_cached_input"] = usd_per_mtok_cached_input
    factors = tuple(Factor(name, figure_of(value, name)) for name, value in named.items())
    with localcontext(prec=_DIGITS):
        rows = _rows_of_means({factor.name: Decimal(factor.value.value) for factor in factors})
        return _falling(rows, factors, remedies)


def waterfall_of_ledger(
    ledger: Ledger, remedies: Sequence[Remedy] = (), *, factors: Sequence[Factor] = ()
) -> Waterfall | None:
    """Return a ledger's month and what each remedy changes; None where its time is not known.

    Formula: each dimension's dollars x requests a day x 365 / 12 / requests of the ledger.

    Source: the ledger's prices.

    Args:
        ledger: The usage, priced.
        remedies: The changes, in the order in which they act.
        factors: Factors whose product is the bill, in means, to be shown beside it.

    Raises:
        UsageError: If an id occurs twice, or a cache is used whose rate is not known.
    """
    rate = ledger.period.requests_per_day
    if rate is None or not ledger.n_requests:
        return None
    with localcontext(prec=_DIGITS):
        months = rate * DAYS_PER_YEAR / MONTHS_PER_YEAR / ledger.n_requests
        rows = []
        for use in ledger.by_model:
            for entry in use.dimensions:
                rows.append(
                    _Row(
                        use.logged_as,
                        entry.name,
                        kind_of(entry.name),
                        entry.amount * months,
                        entry.usd / entry.amount if entry.amount else None,
                    )
                )
        shares: dict[str, Decimal] = {}
        for use in ledger.by_model:
            share = Decimal(use.n_requests) / ledger.n_requests
            shares[use.logged_as] = shares.get(use.logged_as, Decimal(0)) + share
        return _falling(rows, tuple(factors), remedies, shares, months=months)


def usd_of_kinds(ledger: Ledger, *kinds: Kind) -> Decimal:
    """Return what some parts of a ledger cost, USD."""
    entries = (entry for use in ledger.by_model for entry in use.dimensions)
    with localcontext(prec=_DIGITS):
        return +sum((entry.usd for entry in entries if kind_of(entry.name) in kinds), Decimal(0))


def kind_of(dimension: str) -> Kind:
    """Return the part of a bill that a dimension belongs to."""
    if holds("cache_read_tokens", dimension):
        return "read"
    if holds("cache_write_tokens", dimension):
        return "write"
    if dimension == "input_tokens" or dimension == "input_text_tokens":
        return "full"
    if holds("output_tokens", dimension) and not any(
        modality in dimension for modality in ("audio", "image", "video")
    ):
        return "output"
    return "other"


def _falling(
    rows: list[_Row],
    factors: tuple[Factor, ...],
    remedies: Sequence[Remedy],
    shares: Mapping[str, Decimal] = MappingProxyType({}),
    *,
    months: Decimal = Decimal(1),
) -> Waterfall:
    """Let remedies act on rows.

    Args:
        rows: The use, changed in place.
        factors: Factors of the bill.
        remedies: In the order in which they act.
        shares: Share of the requests that each model has.
        months: A month's use over that of the ledger.
    """
    require_usable(remedies)
    running = Decimal(0)
    before_parts = _parts(rows)
    naive = before = _total(rows, running)
    rest = _total((row for row in rows if row.kind in ("output", "other")), Decimal(0))
    basis = weakest(*(factor.value.basis for factor in factors))
    steps = []
    left = Decimal(1)
    for remedy in remedies:
        was = (_prompts(rows), _outputs(rows))
        requests = remedy.requests_left
        for change in remedy.changes or ():
            _replay(rows, change, months)
        for effect in effects_of(remedy) if remedy.changes is None else ():
            _apply(rows, effect, remedy)
            share = shares.get(effect.model, Decimal(0)) if effect.model else Decimal(1)
            requests -= share * (1 - effect.request_factor)
        running += remedy.usd_per_month
        after = _total(rows, running)
        basis = weakest(basis, remedy.basis)
        left *= requests
        now = (_prompts(rows), _outputs(rows))
        steps.append(_step(remedy, before, after, basis, was, now, requests))
        before = after
    return Waterfall(
        factors=factors,
        steps=tuple(steps),
        naive_usd_per_month=naive,
        engineered_usd_per_month=before,
        input_usd_per_month=naive - rest,
        output_usd_per_month=rest,
        usd_once=sum((remedy.usd_once for remedy in remedies), Decimal(0)),
        before=before_parts,
        after=_parts(rows),
        request_factor=left,
    )


def _total(rows: Iterable[_Row], running: Decimal) -> Decimal:
    return (sum((row.usd for row in rows), Decimal(0)) + running).quantize(MICRO_USD)


def _prompts(rows: Iterable[_Row]) -> Decimal:
    kinds = ("full", "read", "write")
    return sum((row.usd for row in rows if row.kind in kinds), Decimal(0))


def _outputs(rows: Iterable[_Row]) -> Decimal:
    return sum((row.usd for row in rows if row.kind == "output"), Decimal(0))


def _parts(rows: Sequence[_Row]) -> tuple[BillPart, ...]:
    found = []
    kinds: tuple[Kind, ...] = ("full", "read", "write", "output", "other")
    for kind in kinds:
        own = [row for row in rows if row.kind == kind]
        if own:
            amount = sum((row.amount for row in own), Decimal(0))
            found.append(BillPart(kind, amount, sum((row.usd for row in own), Decimal(0))))
    return tuple(found)


def weakest(*bases: Basis) -> Basis:
    """Return the weakest of some bases: estimated before calibrated before exact."""
    return max(bases, key=lambda basis: _ORDER[basis], default=Basis.EXACT)


_UNITS = {
    "requests_per_month": "requests per month",
    "bytes_per_request": "bytes per request",
    "tokens_per_byte": "tokens per byte",
    "usd_per_mtok_input": "USD per million prompt tokens",
    "output_tokens_per_request": "tokens per request",
    "usd_per_mtok_output": "USD per million generated tokens",
    "cached_input_share": "share of the prompt tokens",
    "usd_per_mtok_cached_input": "USD per million prompt tokens read from a cache",
}


def figure_of(value: Quantity, name: str, *, unit: str | None = None) -> Figure:
    """Return a number as a figure; a bare number counts as given, that is, as exact.

    Raises:
        UsageError: If it is negative or not finite.
    """
    figure = value if isinstance(value, Figure) else None
    number = Decimal(str(value if figure is None else figure.value))
    if not number.is_finite() or number < 0:
        raise UsageError(f"{name} is {number}; expected a finite number of at least 0")
    if figure is not None:
        return Figure(number, figure.unit, figure.basis, figure.formula, figure.source)
    return Figure(number, unit or _UNITS[name], Basis.EXACT, f"given: {number:f}", "given")


def _rows_of_means(numbers: dict[str, Decimal]) -> list[_Row]:
    requests = numbers["requests_per_month"]
    prompt = requests * numbers["bytes_per_request"] * numbers["tokens_per_byte"]
    share = numbers.get("cached_input_share", Decimal(0))
    cached_rate = numbers.get("usd_per_mtok_cached_input")
    if share > 1:
        raise UsageError(f"cached_input_share is {share}; expected at most 1")
    if share and cached_rate is None:
        raise UsageError(
            f"{share} of the prompt is read from a cache, but its rate is not known\n"
            "hint: give usd_per_mtok_cached_input"
        )

    def row(dimension: str, kind: Kind, amount: Decimal, rate: Decimal) -> _Row:
        return _Row("", dimension, kind, amount, rate / TOKENS_PER_MTOK)

    rows = [row("input_tokens", "full", prompt * (1 - share), numbers["usd_per_mtok_input"])]
    if cached_rate is not None:
        rows.append(row("cache_read_tokens", "read", prompt * share, cached_rate))
    output = requests * numbers["output_tokens_per_request"]
    return [*rows, row("output_tokens", "output", output, numbers["usd_per_mtok_output"])]


def _apply(rows: list[_Row], effect: Effect, remedy: Remedy) -> None:
    own = [row for row in rows if not effect.model or row.model == effect.model]
    if effect.read_share or effect.write_share or remedy.applies_to == "cached":
        for model in dict.fromkeys(row.model for row in own):
            _cache(rows, model, effect, remedy)
    part = remedy.applies_to
    for row in own:
        is_prompt = row.kind in ("full", "read", "write")
        row.amount *= effect.request_factor
        if is_prompt:
            row.amount *= effect.input_factor
        if row.kind == "output":
            row.amount *= effect.output_factor
        acts = (
            part in ("all", "requests")
            or (part == "input" and is_prompt)
            or (part == "cached" and row.kind == "read")
            or (part == "output" and row.kind == "output")
        )
        if acts and row.rate is not None:
            row.rate *= effect.cost_factor


def _replay(rows: list[_Row], change: LedgerChange, months: Decimal) -> None:
    """Put the difference of two ledgers to the row of its model and dimension."""
    names = change.model, change.dimension
    row = next((row for row in rows if (row.model, row.dimension) == names), None)
    if row is None:
        row = _Row(*names, kind_of(change.dimension), Decimal(0), None)
        rows.append(row)
    usd = row.usd + change.usd * months
    row.amount += change.amount * months
    row.rate = usd / row.amount if row.amount else None


def _cache(rows: list[_Row], model: str, effect: Effect, remedy: Remedy) -> None:
    """Move prompt tokens of a model from the full rate to those of a cache."""
    full = [row for row in rows if row.model == model and row.kind == "full"]
    for source in full:
        if source.rate is None:
            continue
        for kind, share, rate in (
            ("read", effect.read_share, effect.read_rate),
            ("write", effect.write_share, effect.write_rate),
        ):
            if not share and kind == "write":
                continue
            target = next((r for r in rows if r.model == model and r.kind == kind), None)
            price = None if rate is None else source.rate * rate
            if price is None and (target is None or target.rate is None):
                raise UsageError(
                    f"the remedy {remedy.id!r} reads tokens from a cache, but its rate is not "
                    "known\nhint: give usd_per_mtok_cached_input"
                )
            moved = source.amount * share
            if target is None or (price is not None and target.rate != price):
                name: Kind = "read" if kind == "read" else "write"
                target = _Row(model, f"cache_{kind}_tokens", name, Decimal(0), price)
                rows.append(target)
            target.amount += moved
        source.amount *= 1 - effect.read_share - effect.write_share


def _step(
    remedy: Remedy,
    before: Decimal,
    after: Decimal,
    basis: Basis,
    was: tuple[Decimal, Decimal],
    now: tuple[Decimal, Decimal],
    requests: Decimal,
) -> Step:
    part = {
        "input": "prompt",
        "output": "output",
        "cached": "uncached prompt",
        "all": "all",
        "requests": "all",
    }
    tokens, cost = Decimal(str(remedy.token_factor)), Decimal(str(remedy.cost_factor))
    said = [f"{part[remedy.applies_to]} tokens x {_plain(tokens)}"] if tokens != 1 else []
    said += [f"{part[remedy.applies_to]} price x {_plain(cost)}"] if cost != 1 else []
    said += [f"+ ${remedy.usd_per_month:f} per month to run"] if remedy.usd_per_month else []
    if remedy.changes is not None:
        said = ["the requests are sent again"]
    formula = ", ".join(said) or "changes nothing"
    formula += f": ${before:,.2f} -> ${after:,.2f} per month"
    if remedy.formula:
        formula += f"; {remedy.formula}"
    return Step(
        id=remedy.id,
        name=remedy.name,
        usd_per_month=after,
        delta_usd_per_month=after - before,
        formula=formula,
        basis=basis,
        applies_to=remedy.applies_to,
        token_factor=tokens,
        cost_factor=cost,
        running_usd_per_month=remedy.usd_per_month,
        input_factor=_ratio(now[0], was[0]) / (requests or Decimal(1)),
        output_factor=_ratio(now[1], was[1]) / (requests or Decimal(1)),
        request_factor=requests,
        effort=remedy.effort,
        risk=remedy.risk,
    )


def _ratio(now: Decimal, was: Decimal) -> Decimal:
    return +(now / was) if was else Decimal(1)


def _plain(number: Decimal) -> str:
    """Four digits behind the point at most, in a formula for people."""
    return f"{number:.4f}".rstrip("0").rstrip(".")
