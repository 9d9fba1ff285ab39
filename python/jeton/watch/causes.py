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
from jeton.auditing.gate.causes import CAUSES, KnownTokenizers
from jeton.auditing.gate.causes import explain as explain_figure
from jeton.auditing.gate.collector import Collector
from jeton.auditing.gate.documents import DocumentTable
from jeton.auditing.gate.features import FEATURES
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


_TEMPLATE: Final = frozenset({"shared_text", "chat_markers"})
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
        "length", "length of the requests", frozenset({"length", "number_of_documents"}),
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
        "wording", "wording", frozenset({"wording", "mix_length_and_wording", "content"}),
        "see what the texts are about now; a vocabulary of the domain may pay",
    ),
    DriftCause(
        "price", "price or traffic",
        frozenset({"price", "requests_per_day", "traffic", "output_and_price_steps"}),
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
        return self.statistics.total().n_documents

    def lengths(self) -> Counter[int]:
        """Return how many texts have how many tokens."""
        return self.statistics.histogram()

    def sizes(self) -> Iterator[SourceSize]:
        """Yield the sums of each source."""
        for source in self.statistics.domains:
            whole = self.statistics.total(source)
            yield SourceSize(
                source, whole.n_documents, whole.n_bytes[0], whole.n_chars[0], whole.n_tokens[0]
            )

    @classmethod
    def of_baseline(cls, baseline: Baseline) -> TextSums:
        """Take the texts of an audit's baseline."""
        return cls(baseline.statistics)

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
    sides = KnownTokenizers(
        before.statistics, DocumentTable(), collector.current, collector.other, is_same_tokenizer
    )
    old, new = (domain_values(s, domain) for s in (before.statistics, collector.current.statistics))
    found = explain_figure(metric, sides, domain=domain, before=old, after=new)
    difference = sum((effect.value for effect in found), Fraction(0))
    if not difference:
        return ()
    dollars: dict[str, Fraction] = {}
    if usd_per_mtok_input is not None and requests_per_day:
        for side in (old, new):
            side["usd_per_mtok_input"] = Fraction(usd_per_mtok_input)
            side["usd_per_request"] = (
                side["tokens_per_document"] * Fraction(usd_per_mtok_input) / 1_000_000
            )
            side["requests_per_day"] = Fraction(requests_per_day)
            side[_DAYS] = side["usd_per_request"] * side["requests_per_day"]
        for effect in explain_figure(_DAYS, sides, domain=domain, before=old, after=new):
            name = _HOME[effect.cause].name
            dollars[name] = dollars.get(name, Fraction(0)) + effect.value
    shares: list[CauseShare] = []
    for cause in DRIFT_CAUSES.values():
        effects = [effect for effect in found if effect.cause in cause.of]
        value = sum((effect.value for effect in effects), Fraction(0))
        if not value:
            continue
        main = max(effects, key=lambda effect: abs(effect.value))
        groups = dict.fromkeys(c.language or c.domain for c in main.contributions[:3])
        usd = dollars.get(cause.name, Fraction(0)) if dollars else None
        shares.append(
            CauseShare(
                cause=cause.name,
                label=cause.label,
                detail=CAUSES[main.cause],
                share=float(value / difference),
                groups=tuple(name for name in groups if name),
                usd_per_day=None if usd is None else float(usd),
                basis=main.basis,
                remedy=FEATURES[main.cause].remedy if main.cause in FEATURES else cause.remedy,
            )
        )
    shares.sort(key=lambda share: -share.share)
    return tuple(shares)


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
