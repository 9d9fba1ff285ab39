"""Why a figure moved, in three levels: where, what, price. Each adds up exactly.

`explain` takes two mergeable `BilledSide` values and the name of a figure, and returns its
difference as a sum of `ChangeEffect` values (rational numbers):

1. *Where*: by part of the request. Tools, earlier turns and passages are a number times a length.
2. The content (*what*) of a part of text that moved: domains, languages within them, tokens that
   each feature (`rewriting`) adds to a block, then length and tokens a character of the wording.
   Features are differences of counts, never rates.
3. *Price* of the same tokens: cached share, model, provider, region, tariff, list
   price; and traffic.

A product of two changes is shared between both: d(a b) = da (b0 + b1) / 2 + db (a0 + a1) / 2. A
rest is tokens that are not in the log, never a price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from jeton.auditing.gate.features import (
    CACHE,
    DOCUMENTS,
    DOMAIN_MIX,
    FEES,
    FRAME,
    LENGTH,
    LIST_PRICE,
    NUMBER,
    OF_PRICE,
    TOKENIZER,
    TRAFFIC,
    UNLOGGED,
)
from jeton.auditing.gate.side import PRICED_KINDS, BilledSide
from jeton.auditing.gate.statistics import BlockSums, Statistics
from jeton.auditing.gate.text_effects import (
    ZERO,
    Documents,
    Effects,
    add,
    either,
    mean_rate,
    rate_effects,
    tokens_of,
    within,
)
from jeton.auditing.options.model_tokenizers import tokenizer_family_of_model
from jeton.economics.billed import INPUT_PARTS, KINDS, OUTPUT_PARTS, BilledTable

Level = Literal["where", "what", "price"]

_TEXT_PARTS: Final = INPUT_PARTS[:-1]

_MIN_SHARE: Final = Fraction(1, 20)
"""Share of a side's requests from which a tokenizer that only it has explains another count."""

_DAYS_PER_YEAR, _MONTHS_PER_YEAR = 365, 12
PERIODS: Final = {
    "usd_per_day": Fraction(1),
    "usd_per_month": Fraction(_DAYS_PER_YEAR, _MONTHS_PER_YEAR),
    "usd_per_year": Fraction(_DAYS_PER_YEAR),
}
"""Days of each period, as `jeton.economics.money` has it."""

FIGURES: Final = (
    "tokens_per_document", "n_tokens", "bytes_per_token", "chars_per_token",
    "input_tokens_per_request", "output_tokens_per_request", "reasoning_tokens_per_request",
    "cached_share", "usd_per_request", *PERIODS,
    *(f"{part}_tokens_per_request" for part in INPUT_PARTS),
)  # fmt: skip
"""Figures that `explain` takes apart."""


@dataclass(frozen=True, slots=True)
class ChangeEffect:
    """One part of a difference.

    Attributes:
        level: Its level.
        part: The part of the request: of `INPUT_PARTS` or `OUTPUT_PARTS`; empty: the whole.
        cause: Stable name of the cause (`causes.CAUSES`).
        value: Its part of the difference, in the figure's unit.
    """

    level: Level
    part: str
    cause: str
    value: Fraction


@dataclass(frozen=True, slots=True)
class Levels:
    """A difference, taken apart.

    Attributes:
        figure: Name of the figure.
        before: Its value before.
        after: Its value after.
        effects: Parts of the difference, which add up to it. None of them is 0.
    """

    figure: str
    before: Fraction
    after: Fraction
    effects: tuple[ChangeEffect, ...]

    @property
    def by_part(self) -> dict[str, Fraction]:
        """The first level: the effects by part of the request, and by cause where they have none.

        The values add up to the difference.
        """
        found: dict[str, Fraction] = {}
        for effect in self.effects:
            name = effect.part or effect.cause
            found[name] = found.get(name, ZERO) + effect.value
        return {name: value for name, value in found.items() if value}


def figure_of(
    figure: str, side: BilledSide, *, requests_per_day: Fraction = ZERO
) -> Fraction | None:
    """Return the value of a figure; None where a side does not have it."""
    whole = side.text.total()
    billed = side.billed
    n = billed.n_requests
    if figure in ("tokens_per_document", "n_tokens", "bytes_per_token", "chars_per_token"):
        values = {
            "tokens_per_document": (whole.n_tokens[0], whole.n),
            "n_tokens": (whole.n_tokens[0], 1),
            "bytes_per_token": (whole.n_bytes[0], whole.n_tokens[0]),
            "chars_per_token": (whole.n_chars[0], whole.n_tokens[0]),
        }
        over, under = values[figure]
        return Fraction(over, under) if under else None
    if figure == "usd_per_request" or figure in PERIODS:
        if not side.n_priced:
            return None
        return (
            side.usd
            / side.n_priced
            * PERIODS.get(figure, 1)
            * (requests_per_day if figure in PERIODS else 1)
        )
    if not n:
        return None
    if figure == "cached_share":
        return Fraction(billed.kind("cached"), billed.input_tokens) if billed.input_tokens else None
    tokens = {
        "input_tokens_per_request": billed.input_tokens,
        "output_tokens_per_request": billed.output_tokens,
        "reasoning_tokens_per_request": billed.part("reasoning"),
    }
    part = figure.removesuffix("_tokens_per_request")
    return Fraction(tokens.get(figure, billed.part(part) if part in INPUT_PARTS else 0), n)


def explain(
    figure: str,
    before: BilledSide,
    after: BilledSide,
    *,
    bridge: Statistics | None = None,
    scale: Fraction = Fraction(1),
    domain: str | None = None,
    requests_per_day: tuple[Fraction, Fraction] = (ZERO, ZERO),
) -> Levels | None:
    """Take the difference of a figure apart.

    Args:
        figure: One of `FIGURES`.
        before: The state before.
        after: The state after.
        bridge: The text after under the tokenizer before; None: the tokenizers are the same.
        scale: Tokens of the tokenizer before for each token of ``bridge``, where that is a guess.
        domain: Documents of this domain alone (figures of the text only); None: all.
        requests_per_day: Traffic before and after, for dollars of a period.

    Returns:
        The effects; None where a side does not have the figure.

    Example:
        >>> from jeton.economics.billed import BilledTable, ModelBilled
        >>> import numpy as np
        >>> def side(n_tokens):
        ...     tokens = np.zeros((7, 3), np.int64)
        ...     tokens[1, 0] = n_tokens
        ...     return BilledSide(billed=BilledTable({"m": ModelBilled(1, tokens=tokens)}))
        >>> found = explain("input_tokens_per_request", side(100), side(150))
        >>> found.by_part
        {'system': Fraction(50, 1)}
    """
    work = _Work(before, after, after.text if bridge is None else bridge, scale, domain)
    if domain is None:
        values = [
            figure_of(figure, side, requests_per_day=rate)
            for side, rate in zip((before, after), requests_per_day, strict=True)
        ]
    else:
        values = [
            figure_of(figure, BilledSide(text=_only(side.text, domain))) for side in (before, after)
        ]
    old, new = values
    if old is None or new is None:
        return None
    effects = work.effects(figure, requests_per_day)
    rest = new - old - sum(effects.values(), ZERO)
    if rest:
        # A rest is not in the log; it is never a price.
        key = ("unlogged", UNLOGGED)
        effects[key] = effects.get(key, ZERO) + rest
    return Levels(
        figure,
        old,
        new,
        tuple(
            ChangeEffect(_level(*key), *key, value)
            for key, value in sorted(effects.items(), key=lambda one: (-abs(one[1]), one[0]))
            if value
        ),
    )


def _level(part: str, cause: str) -> Level:
    if cause in (CACHE, *OF_PRICE, LIST_PRICE, TRAFFIC, FEES):
        return "price"
    if not part or cause in (NUMBER, UNLOGGED, FRAME, *OUTPUT_PARTS):
        return "where"
    return "what"


def _only(text: Statistics, domain: str) -> Statistics:
    found = Statistics()
    for key, cell in text.cells.items():
        if key[0] == domain:
            found.cells[key] = cell
    if domain in text.wholes:
        found.wholes[domain] = text.wholes[domain]
    return found


@dataclass(frozen=True, slots=True)
class _Work:
    before: BilledSide
    after: BilledSide
    bridge: Statistics
    scale: Fraction
    domain: str | None

    def effects(self, figure: str, rates: tuple[Fraction, Fraction]) -> Effects:
        if figure in ("tokens_per_document", "n_tokens"):
            return self._tokens(is_total=figure == "n_tokens")
        if figure in ("bytes_per_token", "chars_per_token"):
            return self._text_per_token("n_bytes" if figure.startswith("bytes") else "n_chars")
        if figure == "usd_per_request":
            return self._usd()
        if figure in PERIODS:
            return self._period(PERIODS[figure], rates)
        if figure == "cached_share":
            return self._cached_share()
        if figure == "output_tokens_per_request":
            return {(p, p): v for p in OUTPUT_PARTS for v in [self._change_of(p)]}
        if figure == "reasoning_tokens_per_request":
            return {("reasoning", "reasoning"): self._change_of("reasoning")}
        parts = [_billed_parts(side) for side in (self.before, self.after)]
        part = figure.removesuffix("_tokens_per_request")
        if part != "input":
            parts = [{part: own[part]} for own in parts]
        return self._billed(*parts)

    # -- text, as we count it -------------------------------------------------------------------

    def _text(
        self, counted: Callable[[BlockSums], list[int]], scale: Fraction
    ) -> tuple[Effects, Fraction, Fraction]:
        """Return the effects on the mean of a document, and the values before and after."""
        sides = []
        for text, factor in ((self.before.text, Fraction(1)), (self.bridge, scale)):
            # Logs without text have a domain without documents.
            names = [d for d, own in text.wholes.items() if own.n and self.domain in (None, d)]
            sides.append({d: Documents(text, d, counted, factor) for d in names})
        old, new = sides
        n_old, n_new = (sum(d.n for d in side.values()) for side in sides)
        effects: Effects = {}
        for name in dict.fromkeys((*old, *new)):
            a, b = old.get(name), new.get(name)
            shares = [Fraction(d.n, n) if d else ZERO for d, n in ((a, n_old), (b, n_new))]
            values = [d.per_document for d in (a or b, b or a) if d]
            add(effects, ("", DOMAIN_MIX), (shares[1] - shares[0]) * sum(values) / 2)
            if a and b:
                for key, value in within(a, b).items():
                    add(effects, key, value * (shares[0] + shares[1]) / 2)
        means = [
            sum((d.per_document * d.n for d in side.values()), ZERO) / n if n else ZERO
            for side, n in ((old, n_old), (new, n_new))
        ]
        return effects, means[0], means[1]

    def _tokens(self, *, is_total: bool) -> Effects:
        effects, old, bridged = self._text(lambda cell: cell.n_tokens, self.scale)
        whole = self.after.text.total(self.domain)
        new = Fraction(whole.n_tokens[0], whole.n) if whole.n else ZERO
        add(effects, ("", TOKENIZER), new - bridged)
        if not is_total:
            return effects
        n = [side.text.total(self.domain).n for side in (self.before, self.after)]
        effects = {key: value * Fraction(sum(n), 2) for key, value in effects.items()}
        add(effects, ("", DOCUMENTS), (n[1] - n[0]) * (old + new) / 2)
        return effects

    def _text_per_token(self, unit: str) -> Effects:
        """Text a document over tokens a document: both fall apart by the same causes."""
        tokens, n0, n1 = self._text(lambda cell: cell.n_tokens, self.scale)
        text, m0, m1 = self._text(lambda cell: list(getattr(cell, unit)), Fraction(1))
        # m1/n1 - m0/n0 = (m1 - m0) (1/n0 + 1/n1) / 2 + (1/n1 - 1/n0) (m0 + m1) / 2
        of_text, of_tokens = (1 / n0 + 1 / n1) / 2, -(m0 + m1) / 2 / (n0 * n1)
        effects = {key: value * of_text for key, value in text.items()}
        for key, value in tokens.items():
            add(effects, key, value * of_tokens)
        whole = self.after.text.total(self.domain)
        after = Fraction(getattr(whole, unit)[0], whole.n_tokens[0])
        add(effects, ("", TOKENIZER), after - m1 / n1)
        return effects

    # -- billed tokens --------------------------------------------------------------------------

    def _change_of(self, part: str) -> Fraction:
        old, new = (
            Fraction(side.billed.part(part), side.billed.n_requests)
            for side in (self.before, self.after)
        )
        return new - old

    def _billed(self, old: Mapping[str, Fraction], new: Mapping[str, Fraction]) -> Effects:
        """Effects on billed prompt tokens a request, by part.

        Billed tokens of a part are those that we count times a factor; a change of the factor alone
        is another way to count, or else text that the log no longer shows. So is a change of the
        rest of the bill where one tokenizer counts the text of models with different ones.
        """
        text, _, _ = self._text(lambda cell: cell.n_tokens, self.scale)
        of_part: dict[str, Effects] = {}
        for (part, cause), value in text.items():
            of_part.setdefault(part, {})[part, cause] = value
        # The mix of domains moves all parts at once.
        mix = text.get(("", DOMAIN_MIX), ZERO)
        counted = [
            {p: Fraction(t.of_part(p).n_tokens[0]) * f / max(1, t.total().n) for p in _TEXT_PARTS}
            for t, f in ((self.before.text, Fraction(1)), (self.bridge, self.scale))
        ]
        is_bridged = self.bridge is not self.after.text or self.scale != 1
        is_recounted = is_bridged or _has_other_tokenizer(self.before.billed, self.after.billed)
        is_all_logged = not (
            self.before.billed.part("unlogged") or self.after.billed.part("unlogged")
        )
        effects: Effects = {}
        shared = ZERO
        for part in _TEXT_PARTS:
            a, b = old.get(part, ZERO), new.get(part, ZERO)
            if a == b:
                continue
            own = of_part.get(part, {})
            t0, t1 = counted[0][part], counted[1][part]
            if not t0 and not t1:
                effects[part, LENGTH] = b - a
                continue
            factors = [b / t1 if t1 else a / t0, a / t0 if t0 else b / t1]
            for key, value in own.items():
                add(effects, key, value * sum(factors) / 2)
            left = t1 - t0 - sum(own.values(), ZERO)
            add(effects, ("", DOMAIN_MIX) if mix else (part, LENGTH), left * sum(factors) / 2)
            recounted = (factors[0] - factors[1]) * (t0 + t1) / 2
            if abs(recounted) * 200 < abs(b - a):
                # Texts counted apart do not add up to a request to the last token.
                largest = max(own, key=lambda key: abs(own[key]), default=(part, LENGTH))
                add(effects, largest, recounted)
            elif is_recounted:
                add(effects, ("", TOKENIZER), recounted)
            elif is_all_logged:
                shared += recounted
            else:
                add(effects, ("unlogged", UNLOGGED), recounted)
        unlogged = new.get("unlogged", ZERO) - old.get("unlogged", ZERO)
        is_of_tokenizer = is_recounted and not is_bridged
        add(effects, ("", TOKENIZER) if is_of_tokenizer else ("unlogged", UNLOGGED), unlogged)
        # Parts share a bill below their count; the part that moved most moved their shares.
        largest = max(effects, key=lambda key: abs(effects[key]), default=("unlogged", UNLOGGED))
        add(effects, largest, shared)
        return effects

    def _cached_share(self) -> Effects:
        sides = [(s.billed.kind("cached"), s.billed.n_requests) for s in (self.before, self.after)]
        c0, c1 = (Fraction(c, n) for c, n in sides)
        parts = [_billed_parts(side) for side in (self.before, self.after)]
        n0, n1 = (sum(p.values(), ZERO) for p in parts)
        # c1/n1 - c0/n0 = (c1 - c0) (1/n0 + 1/n1) / 2 + (1/n1 - 1/n0) (c0 + c1) / 2
        effects = {("", CACHE): (c1 - c0) * (1 / n0 + 1 / n1) / 2}
        for key, value in self._billed(*parts).items():
            add(effects, key, -value * (c0 + c1) / 2 / (n0 * n1))
        return effects

    # -- dollars --------------------------------------------------------------------------------

    def _usd(self) -> Effects:
        """Dollars a request: tokens by part at mean rates, then the causes that moved the rates.

        No log says where unlogged tokens stand. The place that needs the smaller change of the
        cache is taken: in front of the text, as billed, or behind it.
        """
        sides = (self.before, self.after)
        parts = [_priced_parts(side) for side in sides]
        return min(
            (self._usd_of(parts), self._usd_of([_unlogged_last(own) for own in parts])),
            key=lambda effects: abs(effects.get(("", CACHE), ZERO)),
        )

    def _usd_of(self, parts: list[dict[str, dict[str, Fraction]]]) -> Effects:
        sides = (self.before, self.after)
        rates = {kind: mean_rate(kind, *sides) for kind in PRICED_KINDS[:-1]}
        totals = [{p: sum(own.values(), ZERO) for p, own in side.items()} for side in parts]
        price: dict[str, Fraction] = {}
        effects: Effects = {}
        for part in INPUT_PARTS:
            shares = [
                {k: own[part][k] / total[part] if total[part] else None for k in KINDS}
                for own, total in zip(parts, totals, strict=True)
            ]
            # A part that was not there had the shares that it has now.
            q0, q1 = (
                {k: either(one[k], other[k]) for k in KINDS}
                for one, other in (shares, shares[::-1])
            )
            price[part] = sum(((q0[k] + q1[k]) / 2 * rates[k] for k in KINDS), ZERO)
            mean = (totals[0][part] + totals[1][part]) / 2
            moved = sum(((q1[k] - q0[k]) * rates[k] for k in KINDS), ZERO)
            add(effects, ("", CACHE), mean * moved)
        whole = [{p: sum(own[p].values(), ZERO) for p in INPUT_PARTS} for own in parts]
        change = {p: whole[1][p] - whole[0][p] for p in INPUT_PARTS}
        tokens = self._billed(*whole)
        for (part, cause), value in tokens.items():
            # Causes of the whole prompt cost what the parts that moved cost on average.
            rate = price[part] if part in price else _average(price, change)
            add(effects, (part, cause), value * rate)
        spent = sum((change[p] * price[p] for p in INPUT_PARTS), ZERO)
        told = sum((v for (p, c), v in effects.items() if c != CACHE), ZERO)
        if spent != told:
            largest = max(
                (key for key in effects if key[1] != CACHE),
                key=lambda key: abs(effects[key]),
                default=("unlogged", UNLOGGED),
            )
            add(effects, largest, spent - told)
        outputs = [_priced_output(side) for side in sides]
        for part in OUTPUT_PARTS:
            add(effects, (part, part), (outputs[1][part] - outputs[0][part]) * rates["output"])
        for kind in PRICED_KINDS[:-1]:
            for cause, value in rate_effects(kind, *sides).items():
                add(effects, ("", cause), value)
        fees = [_per_request(side, "other") for side in sides]
        add(effects, ("", FEES), fees[1] - fees[0])
        return effects

    def _period(self, days: Fraction, rates: tuple[Fraction, Fraction]) -> Effects:
        usd = [side.usd / side.n_priced for side in (self.before, self.after)]
        factor = sum(rates, ZERO) / 2 * days
        effects = {key: value * factor for key, value in self._usd().items()}
        add(effects, ("", TRAFFIC), (rates[1] - rates[0]) * days * (usd[0] + usd[1]) / 2)
        return effects


# -- bills --------------------------------------------------------------------------------------


def _has_other_tokenizer(before: BilledTable, after: BilledTable) -> bool:
    """True if models of a tokenizer that only one side has send enough of its requests."""
    sides: list[dict[str, int]] = []
    for table in (before, after):
        n_of: dict[str, int] = {}
        for model, own in table.by_model.items():
            name = tokenizer_family_of_model(model)
            n_of[name] = n_of.get(name, 0) + own.n_requests
        sides.append(n_of)
    return any(
        sum(n for name, n in one.items() if name not in other) >= _MIN_SHARE * sum(one.values()) > 0
        for one, other in (sides, sides[::-1])
    )


def _billed_parts(side: BilledSide) -> dict[str, Fraction]:
    n = max(1, side.billed.n_requests)
    return {part: Fraction(side.billed.part(part), n) for part in INPUT_PARTS}


def _per_request(side: BilledSide, kind: str) -> Fraction:
    place = PRICED_KINDS.index(kind)
    return sum((cell.usd[place] for cell in side.prices.values()), ZERO) / max(1, side.n_priced)


def _priced_parts(side: BilledSide) -> dict[str, dict[str, Fraction]]:
    """Priced prompt tokens a request by part and kind: the ledger's, in the proportion billed.

    Without billed tokens (documents) all of them are text of unknown parts.
    """
    found = {part: dict.fromkeys(KINDS, ZERO) for part in INPUT_PARTS}
    n = max(1, side.n_priced)
    for kind in KINDS:
        total = tokens_of(side, kind)
        billed = {part: side.billed.cell(part, kind) for part in INPUT_PARTS}
        whole = sum(billed.values())
        if not whole:
            found["prompt" if not side.billed.n_requests else "unlogged"][kind] += Fraction(
                total, n
            )
            continue
        for part, tokens in billed.items():
            found[part][kind] = Fraction(total * tokens, whole * n)
    return found


def _unlogged_last(parts: Mapping[str, Mapping[str, Fraction]]) -> dict[str, dict[str, Fraction]]:
    """Move the unlogged tokens behind the text; the cache then holds logged tokens first."""
    found = {part: dict(own) for part, own in parts.items()}
    last = found["unlogged"]
    for part in INPUT_PARTS[:-1]:
        for kind in KINDS[1:]:
            moved = min(last[kind], found[part]["fresh"])
            found[part][kind] += moved
            found[part]["fresh"] -= moved
            last[kind] -= moved
            last["fresh"] += moved
    return found


def _priced_output(side: BilledSide) -> dict[str, Fraction]:
    total, n = tokens_of(side, "output"), max(1, side.n_priced)
    billed = side.billed.output_tokens
    if not billed:
        return {"answer": Fraction(total, n), "reasoning": ZERO}
    return {part: Fraction(total * side.billed.part(part), billed * n) for part in OUTPUT_PARTS}


def _average(price: Mapping[str, Fraction], change: Mapping[str, Fraction]) -> Fraction:
    weight = sum((abs(value) for value in change.values()), ZERO)
    if not weight:
        return ZERO
    return sum((price[part] * abs(value) for part, value in change.items()), ZERO) / weight
