"""Causes of a drift, by the exact decomposition of the gate: the one door to it.

A watch keeps no sums of features; it keeps some texts of its history as the gate's sums, and the
texts of late. When a signal moves, these are counted by the gate's collector, and its rule says how
much of the difference each cause has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.gate.baseline import BASELINE_SCHEMA, Baseline, TokenizerIdentity
from jeton.auditing.gate.cause_names import OF_PRICE
from jeton.auditing.gate.causes import CAUSES, Compared, causes_of
from jeton.auditing.gate.collector import Collector
from jeton.auditing.gate.documents import DocumentTable
from jeton.auditing.gate.features import FEATURES
from jeton.auditing.gate.side import PRICED_KINDS, BilledSide, GatePriceCell, GatePriceKey
from jeton.auditing.gate.statistics import Statistics
from jeton.auditing.gate.values import domain_values
from jeton.findings import Basis
from jeton.workload.choice import Chosen

__all__ = [
    "BASELINE_SCHEMA",
    "DRIFT_CAUSES",
    "Baseline",
    "CauseShare",
    "DriftCause",
    "TextSums",
    "TokenizerIdentity",
    "explain_drift",
]

_DAYS: Final = "usd_per_day"


@dataclass(frozen=True, slots=True)
class DriftCause:
    """A cause of drift: a family of the gate's causes.

    Attributes:
        name: Its stable name.
        label: Its name in sentences.
        of: Causes of the gate that are this one.
        remedy: The first thing to look at.
    """

    name: str
    label: str
    of: frozenset[str]
    remedy: str


def _causes(*causes: DriftCause) -> MappingProxyType[str, DriftCause]:
    return MappingProxyType({cause.name: cause for cause in causes})


_TEMPLATE: Final = frozenset({"shared_text", "chat_markers", "frame"})
_WHITE_SPACE: Final = frozenset({"white_space", "line_breaks", "json_layout"})
_FORM: Final = frozenset({"unicode_form", "compatibility_forms"})

DRIFT_CAUSES: Final = _causes(
    DriftCause(
        "tokenizer", "tokenizer", frozenset({"tokenizer", "tokenizer_or_text"}),
        "compare the tokenizer's fingerprint with that of the history: jeton lock --check",
    ),
    DriftCause(
        "language_mix", "mix of languages", frozenset({"language_mix"}),
        "see which languages grew; price them apart or route them to a model that knows them",
    ),
    DriftCause(
        "source_mix", "mix of sources", frozenset({"domain_mix"}),
        "see which source grew, and whether it was meant to",
    ),
    DriftCause(
        "length", "length of the requests", frozenset({"length", "number", "number_of_documents"}),
        "see which part of the request grew: passages, history, tools",
    ),
    DriftCause(
        "template", "template or text that requests share", _TEMPLATE,
        "compare the rendered prompt with yesterday's; put what is shared first and cache it",
    ),
    DriftCause(
        "white_space", "white space", _WHITE_SPACE,
        "keep one space and one line end at most before the prompt is built",
    ),
    DriftCause(
        "unicode_form", "Unicode form", _FORM,
        "normalize to NFC before encoding: unicodedata.normalize('NFC', text)",
    ),
    DriftCause(
        "preprocessing", "preprocessing", frozenset(FEATURES) - _TEMPLATE - _WHITE_SPACE - _FORM,
        "compare the text before and after the last deployed step",
    ),
    DriftCause(
        "wording", "wording", frozenset({"wording", "content", "unlogged"}),
        "see what the texts are about now; a vocabulary of the domain may pay",
    ),
    DriftCause(
        "price", "price or traffic",
        frozenset(
            {"cache", *OF_PRICE, "list_price", "fees", "traffic"}
        ) | {"answer", "reasoning"},
        "compare the price list and the number of requests",
    ),
)  # fmt: skip
"""Every cause by name. A new one is an entry here; a test holds that each of the gate's has one."""

_HOME: Final = {name: cause for cause in DRIFT_CAUSES.values() for name in cause.of}


@dataclass(frozen=True, slots=True)
class CauseShare:
    """Part of a difference that one cause has.

    Attributes:
        cause: Name in `DRIFT_CAUSES`.
        label: Its name in sentences.
        detail: The gate's cause within it with the largest part.
        share: Part of the difference; all shares add up to 1.
        groups: Sources or languages that it comes from, the largest first.
        usd_per_day: Dollars a day of it; None without price and traffic.
        basis: Exact, or estimated where the tokenizer of the history is not at hand.
        remedy: The first thing to look at.
    """

    cause: str
    label: str
    detail: str
    share: float
    groups: tuple[str, ...]
    usd_per_day: float | None
    basis: Basis
    remedy: str


@dataclass(frozen=True, slots=True)
class SourceSize:
    """Sums of the texts of one source."""

    source: str
    n_texts: int
    n_bytes: int
    n_chars: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class TextSums:
    """Texts in the gate's sums, under one tokenizer."""

    statistics: Statistics

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        texts: Sequence[str],
        domains: Sequence[str],
    ) -> TextSums:
        """Count texts, each with the name of its source."""
        return cls(_collected(tokenizer, texts, domains, None).current.statistics)

    @property
    def n_texts(self) -> int:
        """Texts that were counted."""
        return self.statistics.total().n

    def lengths(self) -> Counter[int]:
        """Return how many texts have how many tokens."""
        return self.statistics.histogram()

    def sizes(self) -> Iterator[SourceSize]:
        """Yield the sums of each source."""
        for source in self.statistics.domains:
            whole = self.statistics.total(source)
            yield SourceSize(source, whole.n, whole.n_bytes[0], whole.n_chars[0], whole.n_tokens[0])

    @classmethod
    def of_baseline(cls, baseline: Baseline) -> TextSums:
        """Take the texts of an audit's baseline."""
        return cls(baseline.side.text)

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return self.statistics.to_plain()

    @classmethod
    def from_plain(cls, plain: Any) -> TextSums:
        """From JSON values.

        Raises:
            FormatError: They are no sums.
        """
        return cls(Statistics.from_plain(plain))


def explain_drift(
    metric: str,
    before: TextSums,
    texts: Sequence[str],
    domains: Sequence[str],
    *,
    tokenizer: Tokenizer,
    before_tokenizer: Tokenizer | None = None,
    is_same_tokenizer: bool = True,
    domain: str | None = None,
    usd_per_mtok_input: Decimal | None = None,
    requests_per_day: float | None = None,
) -> tuple[CauseShare, ...]:
    """Return the causes of a difference between history and texts of late, the largest first.

    Args:
        metric: ``tokens_per_document`` or ``bytes_per_token``.
        before: The history.
        texts: Texts of late.
        domains: Source of each.
        tokenizer: The tokenizer in use.
        before_tokenizer: Tokenizer of the history, where it is another one and at hand.
        is_same_tokenizer: True if it is the same.
        domain: Source that is compared; None: all.
        usd_per_mtok_input: Price of a million input tokens; None: not known.
        requests_per_day: Traffic; None: not known.
    """
    if not texts:
        return ()
    collector = _collected(tokenizer, texts, domains, before_tokenizer)
    after = collector.current
    old, new = (_side(text, usd_per_mtok_input) for text in (before.statistics, after.statistics))
    sides = Compared(old, DocumentTable(), new, after, collector.other, is_same_tokenizer)
    values = [domain_values(side.text, domain) for side in (old, new)]
    found = causes_of(metric, sides, domain=domain, before=values[0], after=values[1])
    difference = sum((effect.value for effect in found), Fraction(0))
    if not difference:
        return ()
    dollars: dict[str, Fraction] = {}
    if usd_per_mtok_input is not None and requests_per_day:
        for side, own in zip((old, new), values, strict=True):
            own["requests_per_day"] = Fraction(requests_per_day)
            own[_DAYS] = side.usd / side.n_priced * own["requests_per_day"]
        for effect in causes_of(_DAYS, sides, domain=None, before=values[0], after=values[1]):
            name = _HOME[effect.cause].name
            dollars[name] = dollars.get(name, Fraction(0)) + effect.value
    shares: list[CauseShare] = []
    for cause in DRIFT_CAUSES.values():
        effects = [effect for effect in found if effect.cause in cause.of]
        value = sum((effect.value for effect in effects), Fraction(0))
        if not value:
            continue
        main = max(effects, key=lambda effect: abs(effect.value))
        usd = dollars.get(cause.name, Fraction(0)) if dollars else None
        shares.append(
            CauseShare(
                cause=cause.name,
                label=cause.label,
                detail=CAUSES[main.cause],
                share=float(value / difference),
                groups=_grown(cause.name, old.text, new.text),
                usd_per_day=None if usd is None else float(usd),
                basis=main.basis,
                remedy=FEATURES[main.cause].remedy if main.cause in FEATURES else cause.remedy,
            )
        )
    shares.sort(key=lambda share: -share.share)
    return tuple(shares)


def _side(text: Statistics, usd_per_mtok_input: Decimal | None) -> BilledSide:
    """A side of texts alone; with a price, the dollars of their tokens."""
    if usd_per_mtok_input is None:
        return BilledSide(text)
    whole = text.total()
    none = [0] * (len(PRICED_KINDS) - 1)
    usd = Fraction(usd_per_mtok_input) * whole.n_tokens[0] / 1_000_000
    cell = GatePriceCell(whole.n, (whole.n_tokens[0], *none), (usd, *(Fraction(0) for _ in none)))
    return BilledSide(text, prices={GatePriceKey("", "", "", ""): cell})


def _grown(cause: str, before: Statistics, after: Statistics) -> tuple[str, ...]:
    """Sources or languages whose share of the texts moved most; none for other causes."""
    if cause not in ("source_mix", "language_mix"):
        return ()
    place = 0 if cause == "source_mix" else 2
    shares: dict[str, float] = {}
    for sign, side in ((-1, before), (1, after)):
        n = sum(cell.n for cell in side.cells.values()) or 1
        for key, cell in side.cells.items():
            shares[key[place]] = shares.get(key[place], 0.0) + sign * cell.n / n
    ordered = sorted(shares, key=lambda name: (-abs(shares[name]), name))
    return tuple(name for name in ordered if name)[:3]


def _collected(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    domains: Sequence[str],
    other: Tokenizer | None,
) -> Collector:
    collector = Collector(other=other)
    collector.begin([Chosen(tokenizer.name or "", tokenizer, tokenizer)], current=0)
    collector.add("watch", TextBatch.from_texts(list(texts)), domains=list(domains))
    return collector
