"""What the checks look at: everything that was measured, and the way from tokens to money."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextStats, Tokenizer, TokenStats
from jeton.auditing.deep_sample import DeepSample, SampleDocument
from jeton.auditing.digests import DuplicateSummary
from jeton.auditing.pipeline import Pipeline
from jeton.auditing.prefix_sketch import SharedBlocks
from jeton.auditing.preprocessing import StepEffect
from jeton.auditing.result import (
    CorpusSummary,
    DomainReport,
    TermReport,
    TokenizerReport,
    Workload,
)
from jeton.catalog import ApiPrice, GpuFacts, ModelFacts
from jeton.corpus import RequestsSummary
from jeton.economics import MemoryPlan, QuotaReport
from jeton.economics.traffic import TrafficReport
from jeton.metrics import LengthCounts, VocabularyUse

__all__ = [
    "DAYS_PER_YEAR",
    "DeepSample",
    "Evidence",
    "Measured",
    "Pipeline",
    "RequestEvidence",
    "SampleDocument",
    "StepEffect",
    "Traffic",
    "percent",
]

DAYS_PER_YEAR = 365
"""Days of a year in every yearly figure (no leap years), the same as `jeton.economics` uses."""

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Traffic:
    """From tokens of the audited text to dollars of a year.

    One request is one document, so the audited documents stand for one request each, and a year has
    ``requests_per_day x 365`` requests like them.
    """

    n_documents: int
    requests_per_day: Decimal | None
    price: ApiPrice | None

    @property
    def is_priced(self) -> bool:
        """Whether both a price and a traffic were given."""
        return self.price is not None and self.requests_per_day is not None

    def usd_per_year(self, n_tokens: Decimal | int) -> Decimal | None:
        """USD a year of so many input tokens on the audited text, to the cent; None if unpriced."""
        if self.price is None or self.requests_per_day is None:
            return None
        usd = (
            Decimal(n_tokens)
            * self.requests_per_day
            * DAYS_PER_YEAR
            * self.price.usd_per_mtok_input
            / (self.n_documents * 1_000_000)
        )
        return usd.quantize(_CENT)

    def formula(self, n_tokens: Decimal | int) -> str:
        """How `usd_per_year` computed it, with the numbers put in; empty if unpriced."""
        if self.price is None or self.requests_per_day is None:
            return ""
        return (
            f"{n_tokens:,} tokens / {self.n_documents:,} documents x {self.requests_per_day:,} "
            f"requests a day x {DAYS_PER_YEAR} days x {self.price.usd_per_mtok_input} USD / "
            f"1,000,000 tokens = {self.usd_per_year(n_tokens):,} USD a year; "
            f"price: {self.price.name}, {self.price.price_date.isoformat()}, base tier"
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


@dataclass(frozen=True, slots=True, eq=False)
class RequestEvidence:
    """The request logs beside their text, one row a request.

    Attributes:
        summary: What the report shows.
        domain: int32 (n,), index into ``domains``; -1: none.
        model: int32 (n,), index into ``models``; -1: none.
        time_s: float64 (n,), seconds since 1970; NaN: not known.
        input_tokens: int64 (n,), as reported, cached ones included; -1: not known. So are the rest.
        cache_read_tokens: int64 (n,), of the input.
        cache_write_tokens: int64 (n,), of the input.
        output_tokens: int64 (n,), reasoning included.
        reasoning_tokens: int64 (n,), of the output.
        counted_tokens: int64 (n,), input tokens as the tokenizer in use counts what was sent; -1:
            the log does not show it. Empty: not counted.
        domains: Names of the domains.
        models: Names of the models.
        is_complete: Whether every request of the workload has its row.
    """

    summary: RequestsSummary
    domain: NDArray[np.int32]
    model: NDArray[np.int32]
    time_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    cache_read_tokens: NDArray[np.int64]
    cache_write_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reasoning_tokens: NDArray[np.int64]
    domains: tuple[str, ...]
    models: tuple[str, ...]
    is_complete: bool
    counted_tokens: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the checks may look at.

    Attributes:
        corpus: The text before any tokenizer.
        workload: What the user said, as the report shows it.
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
        stats: Integers of the text before any tokenizer.
        sample: The documents for the expensive analyses; in the order of their digests.
        requests: Request logs beside their text.
        pipeline: What the user says of the pipeline.
        preprocessing: What each of its preprocessing steps does to the sample's tokens.
        domains: Domains of the workload, the largest first.
        prefixes: Beginnings that documents of the whole workload share.
        quota: The traffic against the limits of an API; None: no limits were given.
        replay: A trace replayed on the model and GPU; None: none was given.
        plan: How the model is held on the GPU; None: as published, on the engine's defaults.
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
    traffic: Traffic
    output_tokens_per_request: float
    stats: TextStats = field(default_factory=TextStats)
    sample: DeepSample = field(default_factory=lambda: DeepSample((), 0, 0, is_whole=False))
    requests: RequestEvidence | None = None
    pipeline: Pipeline | None = None
    preprocessing: tuple[StepEffect, ...] = ()
    domains: tuple[DomainReport, ...] = ()
    prefixes: SharedBlocks | None = None
    quota: QuotaReport | None = None
    replay: TrafficReport | None = None
    plan: MemoryPlan | None = None

    @property
    def tokenizers(self) -> tuple[Measured, ...]:
        """The current tokenizer and the candidates."""
        return (self.current, *self.candidates)


def percent(share: float) -> str:
    """A share as a percentage with as many digits as it deserves: 12%, 3.4%, 0.05%."""
    value = share * 100
    if value == 0 or abs(value) >= 10:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if abs(value) >= 1 else f"{value:.2g}%"
