"""Causes by name, and the causes of a figure in the order in which a reader wants them.

`levels` takes a difference apart; figures that follow tokens (quantiles, cache memory) are taken
apart here. The main cause is the largest that moved the figure its way. A feature that became more
frequent comes before length, wording and mix from a fifth of all movement on: it is a step that
somebody took, and those are what is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from jeton.auditing.gate import features as of
from jeton.auditing.gate.collector import Collected
from jeton.auditing.gate.documents import DocumentTable
from jeton.auditing.gate.features import FEATURES
from jeton.auditing.gate.levels import FIGURES, Level, explain
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.side import BilledSide
from jeton.auditing.gate.statistics import BlockSums, Statistics
from jeton.auditing.gate.values import QUANTILES, quantile
from jeton.findings import Basis

CAUSES = {
    of.NUMBER: "their number",
    of.LENGTH: "length",
    of.WORDING: "wording",
    of.DOMAIN_MIX: "mix of domains",
    of.LANGUAGE_MIX: "mix of languages",
    **{name: feature.label for name, feature in FEATURES.items()},
    of.CONTENT: "mix, length and wording",
    of.TOKENIZER: "tokenizer",
    of.UNLOGGED: "not in the log",
    of.FRAME: "chat format",
    "answer": "answer",
    "reasoning": "reasoning",
    of.DOCUMENTS: "number of documents",
    of.CACHE: "cache share",
    of.MODEL: "model",
    of.PROVIDER: "provider",
    of.REGION: "region",
    of.TARIFF: "tariff",
    of.PRICE_STEP: "price step",
    of.CACHE_LIFETIME: "cache lifetime",
    of.LIST_PRICE: "list price",
    of.FEES: "searches, media and fees",
    of.TRAFFIC: "requests a day",
    of.UNRESOLVED: "tokenizer or text",
}
"""Every cause by its stable name, with its name in sentences."""

DOCUMENT_LABELS = {**CAUSES, of.WORDING: "other words, or more of them"}
"""Causes of a single document's change, in sentences."""

_CONTENT_CAUSES = (of.LENGTH, of.WORDING, of.LANGUAGE_MIX, of.DOMAIN_MIX, of.CONTENT)

KINDS = {
    **dict.fromkeys((*STEPS, of.LENGTH, of.WORDING, of.CONTENT, of.NUMBER), "text"),
    of.FRAME: "text",
    of.UNLOGGED: "unlogged",
    **dict.fromkeys(("answer", "reasoning"), "output"),
    **dict.fromkeys((of.DOMAIN_MIX, of.LANGUAGE_MIX), "mix"),
    **dict.fromkeys((of.DOCUMENTS, of.TRAFFIC), "volume"),
    **dict.fromkeys((of.CACHE, *of.OF_PRICE, of.LIST_PRICE, of.FEES), "price"),
    of.TOKENIZER: "tokenizer",
    of.UNRESOLVED: "unresolved",
}
"""Causes of a change: the text, what no log shows, the output, the mix, the volume, the price, the
tokenizer."""

PART_LABELS = {
    "tools": "tool definitions",
    "system": "system prompt",
    "earlier": "earlier turns",
    "passages": "retrieved passages",
    "question": "question",
    "prompt": "text",
    "unlogged": "not in the log",
    "answer": "answer",
    "reasoning": "reasoning",
    "frame": "chat format",
}
"""Parts of a request by name, with their names in sentences."""

_MIN_FEATURE_SHARE = Fraction(1, 5)
"""Share of all movement from which a feature is named before length, wording and mix."""

_MIN_FEATURE_RISE = Fraction(1, 20)
"""Rise of a feature's tokens a character of wording, from which it became more frequent. Our
choice: below a twentieth it follows the length of the text."""

_ALIKE = Fraction(1, 10**9)
"""Two ratios closer than this are the same: figures of the report are floats of 16 digits."""


@dataclass(frozen=True, slots=True)
class CauseEffect:
    """Effect of one cause on the figure.

    Attributes:
        cause: One of `CAUSES`.
        value: Its part of the difference, in the figure's unit; all parts add up to it.
        basis: Exact, or estimated where the baseline's tokenizer was not at hand.
        level: Its level (`levels`).
        where: The part of the request that it is in; empty: the whole.
    """

    cause: str
    value: Fraction
    basis: Basis = Basis.EXACT
    level: Level = "what"
    where: str = ""


def label_of(part: CauseEffect) -> str:
    """The name of a cause in sentences, with the part of the request that it is in."""
    label = CAUSES[part.cause]
    where = PART_LABELS.get(part.where, "")
    if part.where in ("", "prompt") or where == label:
        return f"{label} of the text" if part.cause == of.LENGTH else label
    return f"{where}: {label}"


def shares_of(values: Sequence[Fraction], difference: Fraction) -> list[float]:
    """The share of each effect in all movement: below 0 where it moved the other way.

    No share is beyond 1, and the sizes add up to 1.
    """
    gross = sum((abs(value) for value in values), Fraction(0))
    sign = 1 if difference > 0 else -1
    return [float(sign * value / gross) if gross else 0.0 for value in values]


@dataclass(frozen=True, slots=True)
class Compared:
    """Both sides of a comparison, and what is known of their tokenizers."""

    before: BilledSide
    before_documents: DocumentTable
    after: BilledSide
    current: Collected
    other: Collected | None
    is_same_tokenizer: bool

    def bridge(self) -> tuple[Statistics, Fraction] | None:
        """Today's text under the baseline's tokenizer, and a factor to its counts.

        The factor is 1 unless the baseline's tokenizer is not at hand: then documents on both sides
        tell it. None: a changed tokenizer cannot be told from a changed text.
        """
        after = self.current.statistics
        if self.is_same_tokenizer:
            return after, Fraction(1)
        if self.other is not None:
            return self.other.statistics, Fraction(1)
        if self.before.text.text_digest == after.text_digest:
            return self.before.text, Fraction(1)
        old = {d.text: d.n_tokens[0] for d in self.before_documents.documents}
        new = {d.text: d.n_tokens[0] for d in self.current.documents.documents}
        common = old.keys() & new.keys()
        tokens = (sum(old[text] for text in common), sum(new[text] for text in common))
        return (after, Fraction(*tokens)) if all(tokens) else None

    @property
    def has_common_domains(self) -> bool:
        """False where domains were told apart by something else then: no change of the mix."""
        return not set(self.before.text.domains).isdisjoint(self.after.text.domains)


def causes_of(
    metric: str,
    sides: Compared,
    *,
    domain: str | None,
    before: Mapping[str, Fraction],
    after: Mapping[str, Fraction],
) -> tuple[CauseEffect, ...]:
    """The causes of a figure's difference, the main one first; none where a figure has no causes.

    Args:
        metric: Name of the figure.
        sides: Both sides.
        domain: The domain that it is of; None: all.
        before: All figures of the baseline (of that domain).
        after: All figures of today.
    """
    if metric not in before or metric not in after or before[metric] == after[metric]:
        return ()
    difference = after[metric] - before[metric]
    known = sides.bridge()
    if known is None:
        return (CauseEffect(of.UNRESOLVED, difference, Basis.ESTIMATED),)
    bridge, scale = known
    basis = Basis.EXACT if scale == 1 else Basis.ESTIMATED
    parts = _parts(metric, sides, bridge, scale, domain, before, after)
    if parts is None:
        return ()
    rest = difference - sum((part.value for part in parts), Fraction(0))
    if rest and parts:
        if abs(rest) > _ALIKE * abs(difference):
            parts = [*parts, CauseEffect(of.UNLOGGED, rest, level="where", where="unlogged")]
        else:  # lost by figures of the report, which are floats
            first = max(range(len(parts)), key=lambda i: abs(parts[i].value))
            parts[first] = replace(parts[first], value=parts[first].value + rest)
    found = [replace(part, basis=basis) for part in parts if part.value]
    return tuple(_ordered(found, difference, _Risen(sides.before.text, bridge, domain)))


def _parts(
    metric: str,
    sides: Compared,
    bridge: Statistics,
    scale: Fraction,
    domain: str | None,
    before: Mapping[str, Fraction],
    after: Mapping[str, Fraction],
) -> list[CauseEffect] | None:
    if metric in QUANTILES:
        return _of_quantile(sides, bridge, scale, QUANTILES[metric], domain)
    name, factor = metric, Fraction(1)
    if metric not in FIGURES:
        # The figure is a constant times the mean tokens of a document (KV cache, linear FLOPs).
        name = "tokens_per_document"
        pairs = [(side.get(metric, 0), side.get(name, 0)) for side in (before, after)]
        if not all(value and n for value, n in pairs):
            return None
        ratios = [Fraction(value) / n for value, n in pairs]
        if abs(ratios[1] - ratios[0]) > _ALIKE * abs(ratios[0]):
            return None
        factor = ratios[0]
    old, new, bridged = sides.before, sides.after, bridge
    if domain is None and not sides.has_common_domains:
        old = replace(old, text=old.text.without_domains())
        new = replace(new, text=new.text.without_domains())
        bridged = bridge.without_domains()
    found = explain(
        name,
        old,
        new,
        bridge=None if sides.is_same_tokenizer else bridged,
        scale=scale,
        domain=domain,
        requests_per_day=(
            before.get("requests_per_day", Fraction(0)),
            after.get("requests_per_day", Fraction(0)),
        ),
    )
    if found is None:
        return None
    return [
        CauseEffect(e.cause, e.value * factor, level=e.level, where=e.part) for e in found.effects
    ]


def _of_quantile(
    sides: Compared, bridge: Statistics, scale: Fraction, share: Fraction, domain: str | None
) -> list[CauseEffect]:
    """A quantile adds up over the texts that a text is taken to, not over parts of requests."""

    def along(statistics: Statistics, factor: Fraction) -> list[Fraction]:
        return [
            factor * quantile(statistics.histogram(step, domain=domain), share)
            for step in range(len(STEPS) + 1)
        ]

    old, new = along(sides.before.text, Fraction(1)), along(bridge, scale)
    parts = {step: (new[i] - new[i + 1]) - (old[i] - old[i + 1]) for i, step in enumerate(STEPS)}
    parts[of.CONTENT] = new[-1] - old[-1]
    after = quantile(sides.after.text.histogram(domain=domain), share)
    parts[of.TOKENIZER] = after - new[0]
    return [CauseEffect(cause, value) for cause, value in parts.items()]


class _Risen:
    """Tells whether a feature became more frequent in a part of the requests."""

    def __init__(self, before: Statistics, after: Statistics, domain: str | None) -> None:
        self._sides = (before, after)
        self._domain = domain
        self._sums: dict[str, tuple[BlockSums, BlockSums]] = {}

    def is_more(self, part: CauseEffect) -> bool:
        """True if a feature's tokens a character of wording moved as its effect did."""
        if part.cause not in FEATURES:
            return False
        if part.where not in self._sums:
            old, new = (
                side.of_part(part.where, self._domain) if part.where else side.total(self._domain)
                for side in self._sides
            )
            self._sums[part.where] = (old, new)
        step = STEPS.index(part.cause)
        before, after = (
            Fraction(s.n_tokens[step] - s.n_tokens[step + 1], max(1, s.n_chars[-1]))
            for s in self._sums[part.where]
        )
        return abs(after - before) > _MIN_FEATURE_RISE * abs(before)


def _ordered(
    parts: Sequence[CauseEffect], difference: Fraction, risen: _Risen
) -> list[CauseEffect]:
    """Groups of causes by size, the main one first; within a group the largest first."""
    sign = 1 if difference > 0 else -1
    groups: dict[tuple[str, str], list[CauseEffect]] = {}
    for part in parts:
        if risen.is_more(part):
            key = ("feature", part.cause)
        elif part.cause in _CONTENT_CAUSES or part.cause in FEATURES:
            key = ("content", part.where)
        else:
            key = (part.cause, part.where)
        groups.setdefault(key, []).append(part)
    sums = {key: sum((p.value for p in own), Fraction(0)) * sign for key, own in groups.items()}
    order = sorted(groups, key=lambda key: (-sums[key], key))
    gross = sum((abs(part.value) for part in parts), Fraction(0))
    if order[0][0] == "content":
        named = [
            key for key in order if key[0] == "feature" and sums[key] >= _MIN_FEATURE_SHARE * gross
        ]
        order = [*named, *(key for key in order if key not in named)]
    return [
        part
        for key in order
        for part in sorted(groups[key], key=lambda p: (-p.value * sign, p.cause))
    ]
