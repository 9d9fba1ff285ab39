"""Evidence for the checks: everything that was measured, and the way from tokens to money."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypedDict

from jeton._core import TextStats, Tokenizer, TokenStats
from jeton.auditing.caching.result import CacheReport
from jeton.auditing.measures.preprocessing import StepEffect
from jeton.auditing.money.decomposition import BilledBreakdown
from jeton.auditing.options.pipeline import Pipeline
from jeton.auditing.replaying.prompts import Prompts
from jeton.auditing.result import TermReport, TokenizerReport, Workload
from jeton.catalog import ApiPrice, GpuFacts, ModelFacts
from jeton.economics.billing.bill import BillReport
from jeton.economics.billing.quotas import QuotaReport
from jeton.economics.ledger import Ledger
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.traffic import TrafficReport
from jeton.findings import Basis
from jeton.metrics import LengthCounts, VocabularyUse
from jeton.workload.counting.domains import DomainReport
from jeton.workload.counting.prefix_sketch import SharedBlocks
from jeton.workload.counting.sources import CorpusSummary
from jeton.workload.digests import DuplicateSummary
from jeton.workload.inputs.requests import RequestEvidence
from jeton.workload.sampling.deep_sample import DeepSample, SampleDocument

__all__ = [
    "DAYS_PER_YEAR",
    "CountedLengths",
    "DeepSample",
    "Evidence",
    "Measured",
    "Pipeline",
    "RequestEvidence",
    "SampleDocument",
    "Saving",
    "StepEffect",
    "TrafficCost",
    "percent",
]

DAYS_PER_YEAR = 365
"""Days of a year in every yearly figure (no leap years), the same as `jeton.economics` uses."""

_CENT = Decimal("0.01")


class Saving(TypedDict):
    """Fields of a finding that tell what its remedy saves."""

    saving_usd_per_year: Decimal | None
    saving_formula: str
    saving_basis: Basis


@dataclass(frozen=True, slots=True)
class TrafficCost:
    """From counted tokens to a year's dollars of the ledger.

    A counted token has its share of what the text of prompts costs in the ledger; tools, pictures
    and frames that a log does not show have theirs apart. It says what is at stake; a saving is
    promised by a replay alone (`jeton.auditing.replaying`).

    Attributes:
        n_documents: Documents that were counted.
        requests_per_day: Requests a day.
        price: The price that makes the bill; None where logged requests have their own.
        ledger: The usage, priced; None: nothing is.
        n_tokens: Tokens of all documents under the tokenizer in use.
        text_usd: Dollars of the text of prompts, in the time of the ledger.
    """

    n_documents: int
    requests_per_day: Decimal | None
    price: ApiPrice | None
    ledger: Ledger | None = None
    n_tokens: int = 0
    text_usd: Decimal = Decimal(0)

    @property
    def is_priced(self) -> bool:
        """True if a year's dollars are known."""
        return self.ledger is not None and bool(self.ledger.usd) and bool(self.ledger.per_year())

    @property
    def text_usd_per_year(self) -> Decimal | None:
        """Cost of the text of prompts in a year; None where that is not known."""
        return self.share_of_year(self.text_usd)

    def share_of_year(self, usd: Decimal) -> Decimal | None:
        """Return dollars of the ledger's time as dollars of a year; None without a price."""
        year = None if self.ledger is None else self.ledger.per_year()
        if self.ledger is None or year is None or not self.ledger.usd:
            return None
        return year * usd / self.ledger.usd

    def usd_per_year(self, n_tokens: Decimal | int) -> Decimal | None:
        """USD a year of so many prompt tokens of the audited text, to the cent."""
        prompts = self.text_usd_per_year
        if prompts is None or not self.n_tokens:
            return None
        return (Decimal(n_tokens) * prompts / self.n_tokens).quantize(_CENT)

    def formula(self, n_tokens: Decimal | int) -> str:
        """How `usd_per_year` computed it, with the numbers put in; empty if unpriced."""
        prompts = self.text_usd_per_year
        if prompts is None or self.ledger is None or not self.n_tokens:
            return ""
        return (
            f"{n_tokens:,} of {self.n_tokens:,} counted tokens x {prompts:,.2f} USD a year for "
            f"their text = {self.usd_per_year(n_tokens):,} USD a year; {self.ledger.price_source}"
        )

    def saving(self, n_tokens: Decimal | int) -> Saving:
        """Return the fields of a finding whose remedy saves these tokens: an estimate."""
        return Saving(
            saving_usd_per_year=self.usd_per_year(n_tokens),
            saving_formula=self.formula(n_tokens),
            saving_basis=Basis.ESTIMATED,
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """One tokenizer, with what was counted (not only what the report shows)."""

    name: str
    tokenizer: Tokenizer
    lengths: LengthCounts
    use: VocabularyUse
    report: TokenizerReport
    stats: TokenStats | None = None

    @property
    def n_tokens(self) -> int:
        """Tokens of the audited text."""
        return self.report.n_tokens


@dataclass(frozen=True, slots=True)
class CountedLengths:
    """A tokenizer that only counted, with the lengths that it gave."""

    name: str
    lengths: LengthCounts


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the checks may look at.

    Attributes:
        corpus: The text before any tokenizer.
        workload: The user's settings, as the report shows them.
        current: The tokenizer in use.
        candidates: The other tokenizers, in the order given.
        terms: The given terms that occur, with their cuts.
        duplicates: Exact copies among the documents.
        lookalikes: Occurrences of special-token texts, by marker.
        n_lookalike_documents: Documents that contain one.
        n_removable_whitespace_tokens: Tokens of the current tokenizer that go when needless white
            space goes.
        n_removable_whitespace_bytes: Its bytes.
        model: Facts of the model; None if not given.
        gpu: Facts of the GPU; None if not given.
        traffic: From tokens to money.
        output_tokens_per_request: Mean tokens generated per request.
        prompts: The sample's prompts as blocks, under the tokenizer in use.
        stats: Integers of the text before any tokenizer.
        sample: The documents for the expensive analyses; in the order of their digests.
        requests: Request logs beside their text.
        pipeline: The user's settings of the pipeline.
        preprocessing: Effect of each of its preprocessing steps on the sample's tokens.
        domains: Domains of the workload, the largest first.
        prefixes: Beginnings that documents of the whole workload share.
        quota: The traffic against the limits of an API; None: no limits were given.
        counted: Tokenizers that only dollars rest on, with their counts.
        is_own_model: True if the model is the user's own, so that its vocabulary can be changed.
        place: The place of the tokenizer in use among those given.
        notices: Sentences that must be said first.
        replay: A trace replayed on the GPU; None: none was given.
        plan: How the model is held on the GPU; None: as published, on the engine's defaults.
        decomposition: Billed tokens and dollars by part of the request.
        bill: A provider's bill, reconciled with the ledger; None: none was given.
        cache: Verdicts on the prompt caches of logged requests; None: none can be examined.
    """

    corpus: CorpusSummary
    workload: Workload
    current: Measured
    candidates: tuple[Measured, ...]
    terms: tuple[TermReport, ...]
    duplicates: DuplicateSummary
    lookalikes: dict[str, int]
    n_lookalike_documents: int
    n_removable_whitespace_tokens: int
    n_removable_whitespace_bytes: int
    model: ModelFacts | None
    gpu: GpuFacts | None
    traffic: TrafficCost
    output_tokens_per_request: float
    prompts: Prompts
    stats: TextStats = field(default_factory=TextStats)
    sample: DeepSample = field(default_factory=lambda: DeepSample((), 0, 0, is_whole=False))
    requests: RequestEvidence | None = None
    pipeline: Pipeline | None = None
    preprocessing: tuple[StepEffect, ...] = ()
    domains: tuple[DomainReport, ...] = ()
    prefixes: SharedBlocks | None = None
    quota: QuotaReport | None = None
    counted: tuple[CountedLengths, ...] = ()
    is_own_model: bool = True
    place: int = 0
    notices: tuple[str, ...] = ()
    replay: TrafficReport | None = None
    plan: MemoryPlan | None = None
    decomposition: BilledBreakdown = field(default_factory=BilledBreakdown)
    bill: BillReport | None = None
    cache: CacheReport | None = None

    @property
    def ledger(self) -> Ledger | None:
        """Ledger of the use; None: nothing is priced."""
        return self.traffic.ledger

    @property
    def tokenizers(self) -> tuple[Measured, ...]:
        """The current tokenizer and the candidates."""
        return (self.current, *self.candidates)

    @property
    def by_place(self) -> tuple[CountedLengths, ...]:
        """All tokenizers that counted, in the order given, those for money behind the others."""
        ordered = list(self.candidates)
        ordered.insert(self.place, self.current)
        return (*(CountedLengths(m.name, m.lengths) for m in ordered), *self.counted)


def percent(share: float) -> str:
    """A share as a percentage with as many digits as it deserves: 12%, 3.4%, 0.05%.

    A share below the whole never reads 100%: 99.97%.
    """
    value = share * 100
    if 99.5 <= value < 100:
        return f"{math.floor(value * 100) / 100:g}%" if value < 99.99 else "over 99.99%"
    if value == 0 or abs(value) >= 10:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if abs(value) >= 1 else f"{value:.2g}%"
