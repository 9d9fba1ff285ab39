"""Result of an audit: frozen values with units in their names, no looks.

``AuditReport.to_dict()`` is the JSON report; ``SCHEMA_VERSION`` names its schema. The report
layer (`jeton.report`) turns the same object into a table, a page or Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from jeton._plain import plain_values
from jeton._shown import NotebookResult
from jeton.auditing.caching.result import CacheReport
from jeton.auditing.measures.timeline import Timeline
from jeton.auditing.options.pipeline import Pipeline
from jeton.corpus import RequestsSummary
from jeton.economics.billed import BilledTable
from jeton.economics.billing.bill import BillReport
from jeton.economics.billing.groups import GroupBill
from jeton.economics.billing.provider_count import ProviderCount
from jeton.economics.billing.quotas import QuotaReport
from jeton.economics.ledger import Ledger
from jeton.economics.naive_engineered import NaiveEngineered
from jeton.economics.tradeoff import TradeOff
from jeton.economics.traffic import TrafficReport
from jeton.economics.vocabulary.training_costs import BreakEven, TrainingCost
from jeton.economics.waterfall import Waterfall
from jeton.findings import Figure, Finding
from jeton.metrics.bootstrap import Interval
from jeton.metrics.lengths import Histogram, LengthSummary
from jeton.metrics.quality import QualityMetrics
from jeton.workload.counting.domains import DomainReport, DomainTokens
from jeton.workload.counting.sources import CorpusSummary, Source
from jeton.workload.sampling.passages import SampleCut, SampleText

__all__ = [
    "SCHEMA_VERSION",
    "AuditReport",
    "CorpusSummary",
    "DomainReport",
    "DomainTokens",
    "EconomicsSummary",
    "Histogram",
    "LengthSummary",
    "Maturity",
    "MaturityLevel",
    "ModelCost",
    "SampleCut",
    "SampleText",
    "SampledTokens",
    "SamplingReport",
    "Source",
    "TermCut",
    "TermReport",
    "TokenizerReport",
    "TokenizerTraining",
    "WhatIf",
    "WhatIfGpu",
    "Workload",
]

SCHEMA_VERSION = "jeton.audit/2"

MaturityLevel: TypeAlias = Literal["static", "dynamic", "predictive"]


@dataclass(frozen=True, slots=True)
class Workload:
    """Statements of the user about traffic, and the facts it was priced with.

    ``taken_from_logs`` names the fields that request logs gave instead. ``tokenizer_of`` is the
    model whose tokenizer was taken where the user named none; empty where he did. ``weights`` and
    ``kv_dtype`` say how the model's weights and cache are written, ``gpu_memory_utilization`` which
    share of the GPU's memory the engine takes; ``peak_to_mean`` is the busiest hour's traffic over
    the mean.
    """

    requests_per_day: float | None
    output_tokens_per_request: float
    model: str | None
    model_source: str
    gpu: str | None
    gpu_source: str
    price_model: str | None
    price_provider: str
    price_date: str
    usd_per_mtok_input: Decimal | None
    usd_per_mtok_output: Decimal | None
    taken_from_logs: tuple[str, ...] = ()
    tokenizer_of: str = ""
    weights: str | None = None
    kv_dtype: str | None = None
    gpu_memory_utilization: float | None = None
    peak_to_mean: float | None = None


@dataclass(frozen=True, slots=True)
class EconomicsSummary:
    """Memory, compute and money under one tokenizer. None: not asked for or not known."""

    kv_bytes_per_token: Figure | None = None
    kv_bytes_per_request_mean: Figure | None = None
    kv_bytes_per_request_p95: Figure | None = None
    kv_bytes_per_request_full_pages: Figure | None = None
    weights_bytes: Figure | None = None
    embedding_bytes: Figure | None = None
    n_gpus: Figure | None = None
    gpus_needed: Figure | None = None
    kv_cache_tokens: Figure | None = None
    longest_context_tokens: Figure | None = None
    concurrent_requests_mean: Figure | None = None
    concurrent_requests_p95: Figure | None = None
    prefill_linear_flops_per_request: Figure | None = None
    prefill_attention_flops_per_request: Figure | None = None
    prefill_seconds_per_request: Figure | None = None
    usd_per_request: Figure | None = None
    usd_per_day: Figure | None = None
    usd_per_month: Figure | None = None
    usd_per_year: Figure | None = None
    concurrent_requests_safe: Figure | None = None
    own_gpu_seconds_per_request: Figure | None = None
    own_gpu_usd_per_request: Figure | None = None
    own_gpu_usd_per_mtok: Figure | None = None
    own_gpu_usd_per_month: Figure | None = None
    own_gpu_watt_hours_per_request: Figure | None = None
    own_gpu_grams_co2_per_request: Figure | None = None


@dataclass(frozen=True, slots=True)
class TokenizerReport:
    """Workload under one tokenizer.

    Attributes:
        name: The tokenizer's name, or the path it was loaded from.
        fingerprint: SHA-256 of its canonical form.
        algorithm: ``"bpe"`` and so on.
        vocab_size: One past its highest id.
        is_current: True if it is the one in use; exactly one is.
        n_tokens: Tokens of the whole workload; look-alikes of special tokens are text.
        tokens_per_document: Mean, exact quantiles and histogram.
        bytes_per_token: Bytes per token of the whole workload (not a mean of ratios).
        chars_per_token: Code points per token.
        tokens_per_word: Fertility; says little for scripts without spaces.
        vocab_used: Ids that occurred.
        vocab_used_share: Share of the ids that have a token, special tokens included; 0 to 1.
        single_byte_token_share: Share of the produced tokens that have one byte (ASCII signs too).
        partial_character_token_share: Share of tokens that hold a part of a character.
        whitespace_token_share: Share of tokens of white space alone.
        n_round_trip_failures: Documents whose ids decode to another text than the document.
        unreturned_by_cause: Unreturned ones by cause: ``white_space``, ``u2581``, ``normal_form``,
            ``unknown``, ``other``.
        n_normalized_documents: Documents that its normalization changed.
        economics: Memory, compute and money.
        quality: Evidence for or against its cuts, beside their number.
        tokens_per_document_interval: Interval of the mean, as an estimate for further documents
            like these.
        bytes_per_token_interval: Interval of ``bytes_per_token``.
        n_overhead_tokens: Tokens as sent less tokens of the text alone: what a chat format adds;
            below 0 where control tokens of a template would be several tokens as text. They count
            for lengths and money, not for bytes per token.
    """

    name: str
    fingerprint: str
    algorithm: str
    vocab_size: int
    is_current: bool
    n_tokens: int
    tokens_per_document: LengthSummary
    bytes_per_token: float
    chars_per_token: float
    tokens_per_word: float
    vocab_used: int
    vocab_used_share: float
    single_byte_token_share: float
    partial_character_token_share: float
    whitespace_token_share: float
    n_round_trip_failures: int
    unreturned_by_cause: Mapping[str, int]
    n_normalized_documents: int
    economics: EconomicsSummary
    quality: QualityMetrics | None = None
    tokens_per_document_interval: Interval | None = None
    bytes_per_token_interval: Interval | None = None
    n_overhead_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TermCut:
    """How one tokenizer cuts one term (written after a space, as inside a sentence)."""

    tokenizer: str
    n_tokens: int
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TermReport:
    """One term of the domain: how often it occurs and what its pieces cost."""

    term: str
    n_occurrences: int
    cuts: tuple[TermCut, ...]
    usd_per_year_above_one_token: Decimal | None


@dataclass(frozen=True, slots=True)
class Maturity:
    """How far the pipeline has come: fixed sizes, sizes that follow the text, sizes foreseen.

    Attributes:
        level: The verdict.
        evidence: Its basis, one sentence each.
        next_step: The step that would raise it, or keep it.
    """

    level: MaturityLevel
    evidence: tuple[str, ...]
    next_step: str


@dataclass(frozen=True, slots=True)
class WhatIfGpu:
    """One GPU that the page's sliders offer. None: not known.

    Attributes:
        name: Name.
        memory_bytes: Its memory.
        n_gpus: GPUs that hold the model together; None: no model, or no number of them does.
        kv_bytes: Memory that they have left for requests.
        kv_copies: How often they hold each key-value head.
        bf16_dense_flops_per_s: Rate.
        memory_bandwidth_bytes_per_s: Bandwidth.
        usd_per_hour: Price of one GPU and hour.
    """

    name: str
    memory_bytes: int
    n_gpus: int | None
    kv_bytes: int | None
    kv_copies: float | None
    bf16_dense_flops_per_s: float
    memory_bandwidth_bytes_per_s: float
    usd_per_hour: float | None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The inputs of the page's sliders: plain numbers of the tokenizer in use. None: not known.

    Attributes:
        requests_per_month: Requests a day x 365 / 12.
        input_tokens_per_request: Mean.
        output_tokens_per_request: Mean.
        cached_input_share: Share of the input tokens that are read from a cache, 0 to 1.
        usd_per_mtok_input: Mean of the ledger, writes to a cache included.
        usd_per_mtok_cache_read: Mean of the ledger.
        usd_per_mtok_output: Mean of the ledger.
        usd_per_request_other: Searches, sound, pictures and fees of a request, mean.
        tokens_saved_share: The largest saving of input tokens that a finding names, 0 to 1.
        weights_bytes: Bytes of the model's weights under this vocabulary.
        kv_bytes_per_token: Bytes of the KV cache for each token.
        prefill_flops_per_token: FLOPs of reading one token, without attention.
        prefill_flops_share: Share of the datasheet's FLOPs that prefill reaches.
        decode_bandwidth_share: Share of the datasheet's bandwidth that decoding reaches.
        gpu: The GPU that was asked for.
        gpus: The GPUs to choose from.
    """

    requests_per_month: float | None
    input_tokens_per_request: float
    output_tokens_per_request: float
    cached_input_share: float
    usd_per_mtok_input: Decimal | None
    usd_per_mtok_cache_read: Decimal | None
    usd_per_mtok_output: Decimal | None
    tokens_saved_share: float
    weights_bytes: int | None
    kv_bytes_per_token: int | None
    prefill_flops_per_token: int | None
    prefill_flops_share: float
    decode_bandwidth_share: float
    gpu: str | None
    gpus: tuple[WhatIfGpu, ...]
    usd_per_request_other: Decimal | None = None


@dataclass(frozen=True, slots=True)
class SampledTokens:
    """The tokens of the whole workload, carried over from the counted part.

    Attributes:
        tokenizer: Name of the tokenizer.
        n_tokens: The estimate, with its method.
        low: Lower end of its interval.
        high: Upper end.
        confidence: Confidence of the interval.
    """

    tokenizer: str
    n_tokens: Figure
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class SamplingReport:
    """On how much of the workload the figures rest.

    Attributes:
        is_whole: True if every document was counted.
        n_documents_counted: Documents counted.
        n_bytes_counted: Their bytes.
        n_documents_of_all: Documents of the workload; all are read, also where a part is counted.
        n_bytes_of_all: Their bytes.
        deep_n_documents: Documents on which the expensive analyses ran.
        deep_n_bytes: Their bytes.
        deep_n_tokens: Their tokens under the tokenizer in use.
        deep_is_whole: True if these are all that were counted.
        seed: The seed of the intervals.
        tokens_of_all: The tokens of the whole, where a part was counted.
    """

    is_whole: bool
    n_documents_counted: int
    n_bytes_counted: int
    n_documents_of_all: int
    n_bytes_of_all: int
    deep_n_documents: int
    deep_n_bytes: int
    deep_n_tokens: int
    deep_is_whole: bool
    seed: int
    tokens_of_all: tuple[SampledTokens, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenizerTraining:
    """Training of the model under one tokenizer.

    Attributes:
        tokenizer: Name of the tokenizer.
        cost: FLOPs, memory, hours and money.
        break_even: When changing to it is earned by serving; None for the tokenizer in use, or
            where the cost of serving is not known.
    """

    tokenizer: str
    cost: TrainingCost
    break_even: BreakEven | None


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Cost of the documents at one price.

    Attributes:
        name: The price, as it can be asked for again.
        provider: The provider of the model.
        model: Its model.
        tokenizer: The tokenizer that counts.
        tokens_per_document: Input tokens, mean, as the model counts.
        output_tokens_per_document: Generated tokens, mean, taken to be the same for every model.
        usd_per_document: Cost of a document, answer included.
        usd_per_month: For the traffic; None: it is not known.
        seconds_per_document: On the GPU asked for; None: the time is not known.
        change: Price per document over that of the first, less one.
        price_date: How new the price list is.
    """

    name: str
    provider: str
    model: str
    tokenizer: str
    tokens_per_document: Figure
    output_tokens_per_document: float
    usd_per_document: Figure
    usd_per_month: Figure | None
    seconds_per_document: Figure | None
    change: float
    price_date: str


@dataclass(frozen=True, slots=True)
class AuditReport(NotebookResult):
    """The whole audit. ``findings`` are ranked; the first matter most.

    A part that was not asked for or cannot be known is None, or empty.

    Attributes:
        schema_version: Name of the JSON schema.
        jeton_version: Version that made the report.
        corpus: The text before any tokenizer.
        workload: The user's settings of traffic and prices.
        tokenizers: In the order given.
        terms: The given terms that occur.
        n_terms_given: How many were given.
        samples: Passages for the coloured view.
        findings: Remedies, ranked.
        domains: Domains by their number of bytes, the largest first.
        requests: Facts of request logs beside their text.
        waterfall: How the bill comes about and what remedies do to it.
        tradeoff: The candidates by memory, money, time and quality.
        maturity: How far the pipeline has come.
        bill: A real bill, reconciled.
        pipeline: The user's settings of the pipeline.
        what_if: The inputs of the page's sliders.
        sampling: On how much of the workload the figures rest.
        comparison: The naive pipeline against the one with all remedies, as a table.
        domain_bills: Cost of the prompts of each domain under the tokenizer in use, the dearest
            first; where domains are languages, the bill by language.
        provider_count: The count of the provider of a closed model: calibrated from the usage in
            the logs, or estimated by its public stand-in. The waterfall begins with this count.
        quota: The traffic against the limits of an API.
        traffic: A trace replayed on the GPU, under each policy and tokenizer.
        training: Cost of a training run under each tokenizer, in their order.
        notices: Sentences that must be said first: a tokenizer that is not the model's.
        ledger: The usage, each request priced once; every dollar of the report comes from here.
            None: nothing is priced.
        billed: Billed tokens by model, part of the request and kind (fresh, written, cached), with
            their dollars: tokens add up to what providers billed, dollars to the ledger.
        cache: Verdicts on the prompt caches of logged requests, with sessions and agents; None:
            nothing can be examined.
        title: Name of the workload as the user gave it; empty: it is named after its inputs.
    """

    _page = "jeton.report.page:to_html"
    _table = "findings"
    _line = ("tokenizers", "findings")

    schema_version: str
    jeton_version: str
    corpus: CorpusSummary
    workload: Workload
    tokenizers: tuple[TokenizerReport, ...]
    terms: tuple[TermReport, ...]
    n_terms_given: int
    samples: tuple[SampleText, ...]
    findings: tuple[Finding, ...]
    domains: tuple[DomainReport, ...] = ()
    requests: RequestsSummary | None = None
    waterfall: Waterfall | None = None
    tradeoff: TradeOff | None = None
    maturity: Maturity | None = None
    bill: BillReport | None = None
    pipeline: Pipeline | None = None
    what_if: WhatIf | None = None
    sampling: SamplingReport | None = None
    comparison: NaiveEngineered | None = None
    domain_bills: tuple[GroupBill, ...] = ()
    provider_count: ProviderCount | None = None
    quota: QuotaReport | None = None
    traffic: TrafficReport | None = None
    training: tuple[TokenizerTraining, ...] = ()
    notices: tuple[str, ...] = ()
    ledger: Ledger | None = None
    timeline: Timeline | None = None
    models: tuple[ModelCost, ...] = ()
    billed: BilledTable = field(default_factory=BilledTable)
    cache: CacheReport | None = None
    title: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON report as plain values; money is a decimal string (exact)."""
        bare = replace(self, ledger=None, billed=None, cache=None)  # type: ignore[arg-type]
        plain: dict[str, Any] = plain_values(asdict(bare))
        plain["billed"] = self.billed.to_dict()
        plain["cache"] = None if self.cache is None else self.cache.to_dict()
        plain["ledger"] = None if self.ledger is None else self.ledger.to_json()
        return plain
