"""Why a figure moved: its difference to the baseline as a sum of causes, exactly.

The rule, in this order:

1. *Tokenizer*: what the text of today costs under the tokenizer of today, less what it costs under
   the baseline's. The rest is a change of the text, under the baseline's tokenizer.
2. *Mix of domains*, then *mix of languages* within them: by the symmetric rule of
   `jeton.metrics.decomposition`.
3. Within a language: *length* (characters of wording a document) against tokens a character.
4. Tokens a character are the sum of the wording's own and of what each feature adds: a feature's
   share is what the text costs more than the text without it (`rewriting`).

The parts add up to the difference as rational numbers. Where the baseline's tokenizer is not at
hand, documents that are the same on both sides say how its counts differ; the parts are then
estimated, and still add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from jeton.auditing.gate.collector import Collected
from jeton.auditing.gate.documents import DocumentTable
from jeton.auditing.gate.features import FEATURES
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.statistics import DomainSums, Statistics
from jeton.auditing.gate.values import QUANTILES, quantile
from jeton.findings import Basis
from jeton.metrics.decomposition import (
    DOMAIN_MIX,
    LANGUAGE_MIX,
    LENGTH,
    Contribution,
    DocumentGroup,
    decompose,
)

__all__ = ["CAUSES", "KINDS", "CauseEffect", "GateComparison", "KnownTokenizers", "explain"]

WORDING = "wording"
TOKENIZER = "tokenizer"
UNRESOLVED = "tokenizer_or_text"
CONTENT = "content"
DOCUMENTS = "number_of_documents"
PRICE = "price"
TRAFFIC = "traffic"
OTHER_COST = "output_and_price_steps"

CAUSES = {
    TOKENIZER: "tokenizer",
    DOMAIN_MIX: "mix of domains",
    LANGUAGE_MIX: "mix of languages",
    LENGTH: "length of the documents",
    WORDING: "wording",
    **{name: feature.label for name, feature in FEATURES.items()},
    CONTENT: "mix, length and wording",
    DOCUMENTS: "number of documents",
    PRICE: "price of a token",
    TRAFFIC: "requests a day",
    OTHER_COST: "output tokens and price steps",
    UNRESOLVED: "tokenizer or text",
}
"""Every cause by its stable name, with its name in sentences."""

KINDS = {
    **dict.fromkeys((*STEPS, LENGTH, WORDING, CONTENT), "text"),
    **dict.fromkeys((DOMAIN_MIX, LANGUAGE_MIX), "mix"),
    **dict.fromkeys((DOCUMENTS, TRAFFIC), "volume"),
    **dict.fromkeys((PRICE, OTHER_COST), "price"),
    TOKENIZER: "tokenizer",
    UNRESOLVED: "unresolved",
}
"""Causes of a change: the text, the mix, the volume, the price, the tokenizer."""

_MIN_FEATURE_SHARE = Fraction(1, 5)
"""Share of the difference from which a feature is named before mix, length and wording. Our choice:
a feature is a step that somebody took, and the others are what is left when all features are known;
below a fifth it may follow from the others."""

_ALIKE = Fraction(1, 10**9)
"""Two ratios closer than this are the same: figures of the report are floats of 16 digits."""

_MONTHS_PER_YEAR, _DAYS_PER_YEAR = 12, 365
_PER_DAY = {
    "usd_per_day": Fraction(1),
    "usd_per_month": Fraction(_DAYS_PER_YEAR, _MONTHS_PER_YEAR),
    "usd_per_year": Fraction(_DAYS_PER_YEAR),
}
"""Money of a period in days, as `jeton.economics.money` has it."""


@dataclass(frozen=True, slots=True)
class CauseEffect:
    """Effect of one cause on the figure.

    Attributes:
        cause: One of `CAUSES`.
        value: Its part of the difference, in the figure's unit; all parts add up to it.
        basis: Exact, or estimated where the baseline's tokenizer was not at hand.
        contributions: The groups of documents that it comes from, the largest first.
    """

    cause: str
    value: Fraction
    basis: Basis = Basis.EXACT
    contributions: tuple[Contribution, ...] = ()


@dataclass(frozen=True, slots=True)
class GateComparison:
    """The three sides of a comparison, of one domain or of all.

    Attributes:
        before: The baseline: its text, its tokenizer.
        bridge: The text of today under the baseline's tokenizer; equal to ``after`` where the
            tokenizer is the same.
        after: The text of today under the tokenizer of today.
        scale: Where the baseline's tokenizer is not at hand: its tokens a token of today's, from
            the documents on both sides; ``bridge`` is then ``after`` times this.
    """

    before: Statistics
    bridge: Statistics
    after: Statistics
    scale: Fraction = Fraction(1)

    @property
    def basis(self) -> Basis:
        """Basis of the parts."""
        return Basis.EXACT if self.scale == 1 else Basis.ESTIMATED


@dataclass(frozen=True, slots=True)
class KnownTokenizers:
    """Knowledge that a baseline and an audit of today have of each other's tokenizers."""

    before: Statistics
    before_documents: DocumentTable
    current: Collected
    other: Collected | None
    is_same_tokenizer: bool
    has_features: bool = True
    """True if the baseline has texts without their features; older ones have other steps."""

    def comparison(self) -> GateComparison | None:
        """The sides to compare; None if a changed tokenizer cannot be told from a changed text."""
        found = self._comparison()
        if found is None or self.has_features:
            return found
        return GateComparison(
            found.before.without_steps(),
            found.bridge.without_steps(),
            found.after.without_steps(),
            found.scale,
        )

    def _comparison(self) -> GateComparison | None:
        after = self.current.statistics
        if self.is_same_tokenizer:
            return GateComparison(self.before, after, after)
        if self.other is not None:
            return GateComparison(self.before, self.other.statistics, after)
        if self.before.text_digest == after.text_digest:
            return GateComparison(self.before, self.before, after)
        scale = self._scale()
        return None if scale is None else GateComparison(self.before, after, after, scale)

    def _scale(self) -> Fraction | None:
        before = {d.text: d.n_tokens[0] for d in self.before_documents.documents}
        after = {d.text: d.n_tokens[0] for d in self.current.documents.documents}
        common = before.keys() & after.keys()
        tokens = (sum(before[text] for text in common), sum(after[text] for text in common))
        return Fraction(*tokens) if all(tokens) else None


def explain(
    metric: str,
    sides: KnownTokenizers,
    *,
    domain: str | None,
    before: Mapping[str, Fraction],
    after: Mapping[str, Fraction],
) -> tuple[CauseEffect, ...]:
    """The causes of a figure's difference; none where a figure has no causes.

    Features that grew come first, then everything else, each by its size.

    Args:
        metric: Name of the figure.
        sides: The counts.
        domain: The domain that it is of; None: all.
        before: All figures of the baseline (of that domain).
        after: All figures of today.
    """
    if metric not in before or metric not in after or before[metric] == after[metric]:
        return ()
    difference = after[metric] - before[metric]
    comparison = sides.comparison()
    if comparison is None:
        return (CauseEffect(UNRESOLVED, difference),)
    work = _Work(comparison, domain, before, after)
    found = work.parts(metric)
    if found is None:
        return ()
    parts, contributions = found
    rest = difference - sum(parts.values(), Fraction(0))
    if rest:
        cause = max(parts, key=lambda c: abs(parts[c]))
        if metric.startswith("usd_") and abs(rest) > _ALIKE * abs(difference):
            # The part of the money that is not input tokens. Less than that is what figures of the
            # report lose as decimal numbers or floats.
            cause = OTHER_COST
        parts = {**parts, cause: parts.get(cause, Fraction(0)) + rest}
    return tuple(
        CauseEffect(
            cause,
            value,
            comparison.basis,
            tuple(c for c in contributions if c.part == cause),
        )
        for cause, value in sorted(
            parts.items(), key=lambda item: _rank(item[0], item[1], difference)
        )
        if value
    )


def _rank(cause: str, value: Fraction, difference: Fraction) -> tuple[bool, Fraction, str]:
    is_first = cause in FEATURES and value / difference >= _MIN_FEATURE_SHARE
    return not is_first, -abs(value), cause


_Found = tuple[dict[str, Fraction], tuple[Contribution, ...]]


@dataclass(frozen=True, slots=True)
class _Work:
    comparison: GateComparison
    domain: str | None
    before: Mapping[str, Fraction]
    after: Mapping[str, Fraction]

    def parts(self, metric: str) -> _Found | None:
        if metric == "tokens_per_document":
            return self._mean()
        if metric == "n_tokens":
            return self._total()
        if metric in ("bytes_per_token", "chars_per_token"):
            return self._text_per_token("n_bytes" if metric.startswith("bytes") else "n_chars")
        if metric in QUANTILES:
            return self._quantile(QUANTILES[metric]), ()
        if metric == "usd_per_request" or metric in _PER_DAY:
            return self._money(metric)
        return self._proportional(metric)

    def _mean(self) -> _Found:
        """Tokens a document."""
        c = self.comparison
        sides = _by_document(self._cells(c.before), self._cells(c.bridge), c.scale)
        result = decompose(*sides)
        tokenizer = _tokens_per_document(self._total_of(c.after)) - result.after
        return {**result.parts, TOKENIZER: tokenizer}, result.contributions

    def _total(self) -> _Found:
        """All tokens: documents times tokens a document."""
        parts, contributions = self._mean()
        old, new = self._total_of(self.comparison.before), self._total_of(self.comparison.after)
        n_documents = Fraction(old.n_documents + new.n_documents, 2)
        mean = (_tokens_per_document(old) + _tokens_per_document(new)) / 2
        scaled = {cause: value * n_documents for cause, value in parts.items()}
        scaled[DOCUMENTS] = (new.n_documents - old.n_documents) * mean
        return scaled, _scaled(contributions, n_documents)

    def _text_per_token(self, unit: str) -> _Found:
        """Text a token: text a character of wording over tokens a character of wording.

        Numerator and denominator are decomposed with the same weights, the wording, which no
        feature changes; so a change of one feature shows as that feature alone.
        """
        c = self.comparison
        tokens = decompose(*self._rates(lambda cell: cell.n_tokens, c.scale))
        text = decompose(*self._rates(lambda cell: getattr(cell, unit), Fraction(1)))
        # m1/n1 - m0/n0 = (m1 - m0) (1/n0 + 1/n1) / 2 + (1/n1 - 1/n0) (m0 + m1) / 2
        of_text = (1 / tokens.before + 1 / tokens.after) / 2
        of_tokens = -(text.before + text.after) / 2 / (tokens.before * tokens.after)
        parts = {
            cause: text.parts[cause] * of_text + tokens.parts[cause] * of_tokens
            for cause in tokens.parts
        }
        after = self._total_of(c.after)
        bridge = text.after / tokens.after
        parts[TOKENIZER] = Fraction(getattr(after, unit)[0], after.n_tokens[0]) - bridge
        return parts, _joined(
            _scaled(text.contributions, of_text), _scaled(tokens.contributions, of_tokens)
        )

    def _rates(
        self, counted: Callable[[DomainSums], list[int]], scale: Fraction
    ) -> tuple[dict[tuple[str, str], DocumentGroup], dict[tuple[str, str], DocumentGroup]]:
        """Groups of both sides by wording: so much a character of it."""
        sides: tuple[dict[tuple[str, str], DocumentGroup], ...] = ({}, {})
        c = self.comparison
        for side, statistics, factor in zip(
            sides, (c.before, c.bridge), (Fraction(1), scale), strict=True
        ):
            for key, cell in self._cells(statistics).items():
                # One more for each document: the wording of some is empty.
                weight = cell.n_chars[-1] + cell.n_documents
                rates = [factor * Fraction(n, weight) for n in counted(cell)]
                side[key] = DocumentGroup(weight, Fraction(1), _features(rates))
        return sides[0], sides[1]

    def _quantile(self, share: Fraction) -> dict[str, Fraction]:
        """A quantile adds up over the texts that a text is taken to, not over documents."""
        c = self.comparison

        def along(statistics: Statistics, scale: Fraction) -> list[Fraction]:
            return [
                scale * quantile(statistics.histogram(step, domain=self.domain), share)
                for step in range(len(STEPS) + 1)
            ]

        old, new = along(c.before, Fraction(1)), along(c.bridge, c.scale)
        parts = {
            step: (new[i] - new[i + 1]) - (old[i] - old[i + 1]) for i, step in enumerate(STEPS)
        }
        parts[CONTENT] = new[-1] - old[-1]
        parts[TOKENIZER] = quantile(c.after.histogram(domain=self.domain), share) - new[0]
        return parts

    def _money(self, metric: str) -> _Found | None:
        """USD: input tokens times their price; what is left is output and steps of the price."""
        sides = (self.before, self.after)
        names = ("usd_per_mtok_input", "usd_per_request", "tokens_per_document")
        if not all(name in side for side in sides for name in names):
            return None
        rates = [side["usd_per_mtok_input"] / 1_000_000 for side in sides]
        tokens = [side["tokens_per_document"] for side in sides]
        parts, contributions = self._mean()
        factor = sum(rates, Fraction(0)) / 2
        money = {cause: value * factor for cause, value in parts.items()}
        money[PRICE] = (rates[1] - rates[0]) * sum(tokens, Fraction(0)) / 2
        contributions = _scaled(contributions, factor)
        if metric == "usd_per_request":
            return money, contributions
        if not all("requests_per_day" in side for side in sides):
            return None
        days = _PER_DAY[metric]
        requests = [side["requests_per_day"] * days for side in sides]
        usd = [side["usd_per_request"] for side in sides]
        # The remainder of usd_per_request is a remainder here too, and lands in OTHER_COST.
        factor = sum(requests, Fraction(0)) / 2
        money = {cause: value * factor for cause, value in money.items()}
        money[TRAFFIC] = (requests[1] - requests[0]) * sum(usd, Fraction(0)) / 2
        return money, _scaled(contributions, factor)

    def _proportional(self, metric: str) -> _Found | None:
        """A figure that is so much per token of the mean document (KV cache, linear FLOPs)."""
        sides = (self.before, self.after)
        tokens = [side.get("tokens_per_document", Fraction(0)) for side in sides]
        if not all(tokens) or any(side[metric] == 0 for side in sides):
            return None
        ratios = [side[metric] / n for side, n in zip(sides, tokens, strict=True)]
        if abs(ratios[1] - ratios[0]) > _ALIKE * abs(ratios[0]):
            return None
        parts, contributions = self._mean()
        scaled = {cause: value * ratios[0] for cause, value in parts.items()}
        return scaled, _scaled(contributions, ratios[0])

    def _cells(self, statistics: Statistics) -> dict[tuple[str, str], DomainSums]:
        c = self.comparison
        if set(c.before.domains).isdisjoint(c.after.domains):
            # Not one domain in common: they were told apart by something else then (files, a
            # field, nothing), which is no change of the mix.
            statistics = statistics.without_domains()
        return {
            key: cell
            for key, cell in statistics.cells.items()
            if self.domain is None or key[0] == self.domain
        }

    def _total_of(self, statistics: Statistics) -> DomainSums:
        return statistics.total(self.domain)


def _by_document(
    before: Mapping[tuple[str, str], DomainSums],
    after: Mapping[tuple[str, str], DomainSums],
    scale: Fraction,
) -> tuple[dict[tuple[str, str], DocumentGroup], dict[tuple[str, str], DocumentGroup]]:
    """Groups weighted in documents: a length of wording times tokens a character of it.

    Where a group has no wording on one side, it has no length on either.
    """
    sides: tuple[dict[tuple[str, str], DocumentGroup], ...] = ({}, {})
    for side, cells, factor in zip(sides, (before, after), (Fraction(1), scale), strict=True):
        for key, cell in cells.items():
            pair = [other[key] for other in (before, after) if key in other]
            has_length = all(one.n_chars[-1] > 0 for one in pair)
            units = cell.n_chars[-1] if has_length else cell.n_documents
            tokens = [factor * Fraction(n, units) for n in cell.n_tokens]
            side[key] = DocumentGroup(
                cell.n_documents, Fraction(units, cell.n_documents), _features(tokens)
            )
    return sides[0], sides[1]


def _features(rates: list[Fraction]) -> dict[str, Fraction]:
    """Share of each feature in the change that is left without it, and the wording's own."""
    features = {step: rates[i] - rates[i + 1] for i, step in enumerate(STEPS)}
    features[WORDING] = rates[-1]
    return features


def _tokens_per_document(cell: DomainSums) -> Fraction:
    return Fraction(cell.n_tokens[0], cell.n_documents)


def _joined(*many: tuple[Contribution, ...]) -> tuple[Contribution, ...]:
    """Contributions of the same group to the same part, added up."""
    sums: dict[tuple[str, str, str], Fraction] = {}
    for c in (c for contributions in many for c in contributions):
        key = (c.part, c.domain, c.language)
        sums[key] = sums.get(key, Fraction(0)) + c.value
    found = [Contribution(*key, value) for key, value in sums.items()]
    return tuple(sorted(found, key=lambda c: (-abs(c.value), c.part, c.domain, c.language)))


def _scaled(contributions: tuple[Contribution, ...], factor: Fraction) -> tuple[Contribution, ...]:
    return tuple(
        Contribution(c.part, c.domain, c.language, c.value * factor) for c in contributions
    )
