"""What makes the bill, factor by factor, and what each remedy changes: naive against engineered.

``requests x bytes per request x tokens per byte x price`` is the input's part, ``requests x output
tokens x price`` the output's. Remedies act one after another, each on what the former left, so
that the steps add up to the difference exactly; no dollar is promised twice. Money is rounded to
a millionth of a dollar at every step, which is what makes the sum exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Literal

from jeton.economics.money import TOKENS_PER_MTOK
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

__all__ = [
    "Factor",
    "Part",
    "Quantity",
    "Remedy",
    "Step",
    "Waterfall",
    "figure_of",
    "waterfall",
    "weakest",
]

Quantity = float | int | Decimal | Figure
"""A number, or a figure that brings its basis and source along."""

Part = Literal["input", "output", "cached", "all"]
"""What a remedy acts on: prompt tokens, generated tokens, the prompt tokens that stay outside of a
cache, or both prompt and generated tokens."""

MICRO_USD = Decimal("0.000001")
"""Steps are rounded to this many USD."""

_DIGITS = 60
"""Decimal digits of intermediate products: enough for any product of this module's factors."""

_ORDER = {Basis.EXACT: 0, Basis.CALIBRATED: 1, Basis.ESTIMATED: 2}


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change to the pipeline and the share of tokens or price that it leaves.

    Attributes:
        id: Stable identifier; of the finding that proposes it, where one does.
        name: A few words for a chart.
        token_factor: Tokens after / tokens before, at least 0. For ``applies_to="cached"``: prompt
            tokens that still cost the full rate / those before; the others are read from a cache.
        cost_factor: Price per token after / before, at least 0 (0.5 for a batch tariff).
        applies_to: See `Part`.
        basis: How well the factor is known.
        formula: Where the factor comes from, with the numbers put in.
        source: Source of the factor.
        usd_once: What carrying it out costs once, USD.
        usd_per_month: What it costs to run, USD per month; added to the bill.
    """

    id: str
    name: str
    token_factor: float | Decimal = Decimal(1)
    cost_factor: float | Decimal = Decimal(1)
    applies_to: Part = "input"
    basis: Basis = Basis.ESTIMATED
    formula: str = ""
    source: str = ""
    usd_once: Decimal = Decimal(0)
    usd_per_month: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the naive bill."""

    name: str
    value: Figure


@dataclass(frozen=True, slots=True)
class Step:
    """The bill after one remedy more.

    Attributes:
        id: The remedy's id.
        name: The remedy's name.
        usd_per_month: The bill after this step, USD per month.
        delta_usd_per_month: What the step changed; below 0 where it saves.
        formula: How, with the numbers put in.
        basis: The weakest of the remedy's basis and those of the steps and factors before it.
        applies_to: What the remedy acts on.
        token_factor: The remedy's factor on tokens.
        cost_factor: The remedy's factor on the price.
        running_usd_per_month: What the remedy itself costs per month, inside ``usd_per_month``.
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


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A bill as a product of factors, and the steps from naive to engineered.

    ``naive_usd_per_month + sum of delta_usd_per_month == engineered_usd_per_month``, exactly.

    Attributes:
        factors: The factors of the naive bill.
        steps: One for each remedy, in the order in which they act.
        naive_usd_per_month: The bill without any remedy, USD per month of 365/12 days.
        engineered_usd_per_month: The bill with all of them.
        input_usd_per_month: The part of the naive bill that prompts make.
        output_usd_per_month: The part that generated tokens make.
        usd_once: What carrying out all remedies costs once.
    """

    factors: tuple[Factor, ...]
    steps: tuple[Step, ...]
    naive_usd_per_month: Decimal
    engineered_usd_per_month: Decimal
    input_usd_per_month: Decimal = Decimal(0)
    output_usd_per_month: Decimal = Decimal(0)
    usd_once: Decimal = Decimal(0)

    @property
    def saving_usd_per_month(self) -> Decimal:
        """What all remedies together save, USD per month."""
        return self.naive_usd_per_month - self.engineered_usd_per_month

    @property
    def basis(self) -> Basis:
        """The weakest basis in it: a chain of figures is as good as its weakest."""
        return weakest(
            *(factor.value.basis for factor in self.factors), *(step.basis for step in self.steps)
        )


@dataclass(slots=True)
class _Bill:
    """Tokens and rates of one month, changed remedy by remedy."""

    full_tokens: Decimal
    full_rate: Decimal
    cached_tokens: Decimal
    cached_rate: Decimal | None
    output_tokens: Decimal
    output_rate: Decimal
    running: Decimal = field(default=Decimal(0))

    @property
    def input_usd(self) -> Decimal:
        cached = self.cached_tokens * (self.cached_rate or Decimal(0))
        return (self.full_tokens * self.full_rate + cached) / TOKENS_PER_MTOK

    @property
    def output_usd(self) -> Decimal:
        return self.output_tokens * self.output_rate / TOKENS_PER_MTOK

    @property
    def usd(self) -> Decimal:
        return (self.input_usd + self.output_usd + self.running).quantize(MICRO_USD)


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
    """Return what makes the monthly bill and what each remedy changes.

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
        remedies: What is changed, in the order in which it acts.
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
    numbers = {factor.name: Decimal(factor.value.value) for factor in factors}
    _require_distinct(remedies)
    with localcontext(prec=_DIGITS):
        bill = _naive(numbers)
        naive = before = bill.usd
        output_usd = bill.output_usd.quantize(MICRO_USD)
        basis = weakest(*(factor.value.basis for factor in factors))
        steps = []
        for remedy in remedies:
            _apply(bill, remedy)
            after = bill.usd
            basis = weakest(basis, remedy.basis)
            steps.append(_step(remedy, before, after, basis))
            before = after
    return Waterfall(
        factors=factors,
        steps=tuple(steps),
        naive_usd_per_month=naive,
        engineered_usd_per_month=before,
        input_usd_per_month=naive - output_usd,
        output_usd_per_month=output_usd,
        usd_once=sum((remedy.usd_once for remedy in remedies), Decimal(0)),
    )


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


def _naive(numbers: dict[str, Decimal]) -> _Bill:
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
    return _Bill(
        full_tokens=prompt * (1 - share),
        full_rate=numbers["usd_per_mtok_input"],
        cached_tokens=prompt * share,
        cached_rate=cached_rate,
        output_tokens=requests * numbers["output_tokens_per_request"],
        output_rate=numbers["usd_per_mtok_output"],
    )


def _apply(bill: _Bill, remedy: Remedy) -> None:
    tokens = _factor(remedy.token_factor, remedy, "token_factor")
    cost = _factor(remedy.cost_factor, remedy, "cost_factor")
    if remedy.applies_to == "cached":
        if bill.cached_rate is None:
            raise UsageError(
                f"the remedy {remedy.id!r} reads tokens from a cache, but its rate is not known\n"
                "hint: give usd_per_mtok_cached_input"
            )
        if tokens > 1:
            raise UsageError(
                f"the remedy {remedy.id!r} leaves {tokens} of the prompt at the full rate; "
                "expected at most 1"
            )
        bill.cached_tokens += bill.full_tokens * (1 - tokens)
        bill.full_tokens *= tokens
        bill.cached_rate *= cost
    if remedy.applies_to in ("input", "all"):
        bill.full_tokens *= tokens
        bill.cached_tokens *= tokens
        bill.full_rate *= cost
        bill.cached_rate = None if bill.cached_rate is None else bill.cached_rate * cost
    if remedy.applies_to in ("output", "all"):
        bill.output_tokens *= tokens
        bill.output_rate *= cost
    bill.running += remedy.usd_per_month


def _step(remedy: Remedy, before: Decimal, after: Decimal, basis: Basis) -> Step:
    part = {"input": "prompt", "output": "output", "cached": "uncached prompt", "all": "all"}
    tokens, cost = Decimal(str(remedy.token_factor)), Decimal(str(remedy.cost_factor))
    said = [f"{part[remedy.applies_to]} tokens x {_plain(tokens)}"] if tokens != 1 else []
    said += [f"{part[remedy.applies_to]} price x {_plain(cost)}"] if cost != 1 else []
    said += [f"+ ${remedy.usd_per_month:f} per month to run"] if remedy.usd_per_month else []
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
    )


def _plain(number: Decimal) -> str:
    """Four digits behind the point at most, in a formula for people."""
    return f"{number:.4f}".rstrip("0").rstrip(".")


def _factor(value: float | Decimal, remedy: Remedy, name: str) -> Decimal:
    number = Decimal(str(value))
    if not number.is_finite() or number < 0:
        raise UsageError(
            f"the remedy {remedy.id!r} has a {name} of {value}; "
            "expected a finite number of at least 0"
        )
    return number


def _require_distinct(remedies: Sequence[Remedy]) -> None:
    ids: set[str] = set()
    for remedy in remedies:
        if remedy.applies_to not in ("input", "output", "cached", "all"):
            raise UsageError(
                f"the remedy {remedy.id!r} applies to {remedy.applies_to!r}; "
                "expected input, output, cached or all"
            )
        for name, usd in (("usd_once", remedy.usd_once), ("usd_per_month", remedy.usd_per_month)):
            if not usd.is_finite() or usd < 0:
                raise UsageError(
                    f"the remedy {remedy.id!r} has a {name} of {usd}; expected at least 0"
                )
        if remedy.id in ids:
            raise UsageError(
                f"the remedy {remedy.id!r} is given twice; it would be counted twice\n"
                "hint: keep the one with the larger effect"
            )
        ids.add(remedy.id)
