"""From counts to what the report says of each tokenizer and each term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from jeton.auditing.evidence import Measured, TrafficCost
from jeton.auditing.options.selection import Selection
from jeton.auditing.result import (
    EconomicsSummary,
    TermCut,
    TermReport,
    TokenizerReport,
    Workload,
)
from jeton.catalog import ApiPrice, GpuFacts, ModelFacts
from jeton.economics.billed import INPUT_PARTS, BilledTable
from jeton.economics.ledger import Ledger
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.serving.summary import summarize
from jeton.findings import Basis, Figure
from jeton.metrics import compression, cut_term, vocabulary_use
from jeton.metrics.lengths import common_edges
from jeton.metrics.quality import QualityMetrics, quality
from jeton.workload.counting.counts import Counts
from jeton.workload.counting.intervals import bytes_per_token_interval, tokens_per_document_interval
from jeton.workload.sampling.deep_sample import DeepSample


@dataclass(frozen=True, slots=True)
class Facts:
    """With what the counts are priced. None: not given.

    Attributes:
        model: The model that reads the tokens.
        gpu: The GPU that it runs on.
        prices: Prices at APIs; the first makes the bill.
        requests_per_day: Traffic.
        output_tokens_per_request: Mean tokens generated per request.
        plan: How the model is held on the GPU.
        peak_to_mean: The busiest hour's traffic over the mean.
        taken_from_logs: Names of those of these that the request logs gave, not the user.
        selection: The tokenizers and the texts that each counts.
    """

    model: ModelFacts | None = None
    gpu: GpuFacts | None = None
    prices: tuple[ApiPrice, ...] = ()
    requests_per_day: float | None = None
    output_tokens_per_request: float | None = None
    plan: MemoryPlan | None = None
    peak_to_mean: float | None = None
    taken_from_logs: tuple[str, ...] = ()
    selection: Selection | None = None

    @property
    def price(self) -> ApiPrice | None:
        """The price that makes the bill."""
        return self.prices[0] if self.prices else None

    @property
    def output_tokens(self) -> float:
        """Mean tokens generated per request; 0 where nothing is known."""
        return self.output_tokens_per_request or 0.0

    def traffic(
        self, n_documents: int, *, ledger: Ledger | None, n_tokens: int, billed: BilledTable
    ) -> TrafficCost:
        """Return the way from tokens of the documents' text to the ledger's money."""
        parts = (part for part in INPUT_PARTS if part != "unlogged")
        daily = None if self.requests_per_day is None else Decimal(str(self.requests_per_day))
        return TrafficCost(
            n_documents=n_documents,
            requests_per_day=daily,
            price=self.price,
            ledger=ledger,
            n_tokens=n_tokens,
            text_usd=sum((billed.usd(part) for part in parts), Decimal(0)),
        )


def measured(
    counts: Counts,
    facts: Facts,
    sample: DeepSample,
    *,
    money: Callable[[int], Money | None],
    with_quality: bool,
    seed: int,
    num_threads: int | None,
) -> tuple[Measured, ...]:
    """Finish the counts of each tokenizer, in the order given.

    Args:
        counts: Counts of the pass.
        facts: With what they are priced.
        sample: Documents for what needs the text again.
        money: The money of the tokenizer at a place; None where there is none.
        with_quality: True if the quality of the tokenizers is measured too.
        seed: Seed of the intervals.
        num_threads: Threads of the core; None: all.
    """
    found = []
    edges = common_edges(counts.lengths(index) for index in range(len(counts.setup.chosen)))
    for index, item in enumerate(counts.setup.chosen):
        quality_of = None
        if with_quality:
            stats = counts.token_stats[index]
            quality_of = quality(item.tokenizer, stats, sample, seed=seed, num_threads=num_threads)
        found.append(_measured(counts, index, facts, money(index), quality_of, edges, seed))
    return tuple(found)


def _measured(
    counts: Counts,
    index: int,
    facts: Facts,
    money: Money | None,
    quality_of: QualityMetrics | None,
    edges: Sequence[int],
    seed: int,
) -> Measured:
    item = counts.setup.chosen[index]
    tokenizer, stats, text = item.tokenizer, counts.token_stats[index], counts.text_stats
    lengths = counts.lengths(index)
    use = vocabulary_use(tokenizer, stats.id_counts)
    summary = lengths.summary(edges=edges)
    ratios = compression(
        n_bytes=text.n_bytes, n_chars=text.n_chars, n_words=text.n_words, n_tokens=stats.n_tokens
    )
    economics = summarize(
        tokens_mean=summary.mean,
        tokens_p95=summary.p95,
        tokens_histogram=(lengths.lengths, lengths.documents),
        vocab_size=_table_size(facts, index, tokenizer.vocab_size),
        model=facts.model,
        gpu=facts.gpu,
        requests_per_day=facts.requests_per_day,
        output_tokens_per_request=facts.output_tokens,
        peak_to_mean=facts.peak_to_mean or 1.0,
        plan=facts.plan,
    )
    economics |= {} if money is None else money_figures(money)
    report = TokenizerReport(
        name=item.name,
        fingerprint=tokenizer.fingerprint,
        algorithm=tokenizer.algorithm,
        vocab_size=tokenizer.vocab_size,
        is_current=index == counts.setup.current,
        n_tokens=stats.n_tokens + counts.n_overhead_tokens[index],
        tokens_per_document=summary,
        bytes_per_token=ratios.bytes_per_token,
        chars_per_token=ratios.chars_per_token,
        tokens_per_word=ratios.tokens_per_word,
        vocab_used=use.n_used,
        vocab_used_share=use.used_share,
        single_byte_token_share=use.single_byte_share,
        partial_character_token_share=use.partial_character_share,
        whitespace_token_share=use.whitespace_share,
        n_round_trip_failures=stats.n_unreturned_documents,
        unreturned_by_cause=stats.unreturned_by_cause,
        n_normalized_documents=stats.n_normalized_documents,
        economics=EconomicsSummary(**economics),
        quality=quality_of,
        tokens_per_document_interval=tokens_per_document_interval(counts.groups, index, seed=seed),
        bytes_per_token_interval=bytes_per_token_interval(counts.groups, index, seed=seed),
        n_overhead_tokens=counts.n_overhead_tokens[index],
    )
    return Measured(item.name, tokenizer, lengths, use, report, stats)


@dataclass(frozen=True, slots=True)
class Money:
    """Cost of the workload under one tokenizer.

    Attributes:
        usd: USD of the requests of the ledger.
        ledger: Where it comes from, with its period.
        basis: How well it is known.
        said: How it was made from the ledger, in words; empty for the ledger itself.
    """

    usd: Decimal
    ledger: Ledger
    basis: Basis
    said: str = ""


def money_figures(money: Money) -> dict[str, Figure]:
    """The ledger's money by request, day, month and year."""
    ledger = money.ledger
    # Without any price there is no sum, not a sum of zero.
    if not ledger.n_requests or not ledger.by_model:
        return {}
    each = money.usd / ledger.n_requests
    said = f"{money.usd:,.6g} USD of the ledger / {ledger.n_requests:,} requests"
    if money.said:
        said += f"; {money.said}"
    source = ledger.price_source
    figures = {"usd_per_request": Figure(each, "USD per request", money.basis, said, source)}
    whole = {
        "usd_per_day": (ledger.per_day(), "USD per day", ""),
        "usd_per_month": (ledger.per_month(), "USD per month", " x 365 / 12"),
        "usd_per_year": (ledger.per_year(), "USD per year", " x 365"),
    }
    for name, (value, unit, factor) in whole.items():
        if value is None:
            continue
        # The ledger's own sum is taken as it is; another tokenizer's in its proportion.
        if money.usd != ledger.usd:
            value = value * money.usd / ledger.usd if ledger.usd else value
        said = f"{each:,.6g} USD x {ledger.period.requests_per_day:,.6g} requests per day{factor}"
        figures[name] = Figure(value, unit, money.basis, said, source)
    return figures


def _table_size(facts: Facts, index: int, vocab_size: int) -> int:
    """Rows of the model's tables under a tokenizer; the model's own keeps the published ones."""
    selection = facts.selection
    if facts.model is None or selection is None or not selection.of_model[index]:
        return vocab_size
    return facts.model.vocab_size


def term_reports(counts: Counts, traffic: TrafficCost) -> tuple[TermReport, ...]:
    """The terms that occur, the dearest under the current tokenizer first."""
    reports = []
    for term, n_occurrences in zip(counts.setup.terms, counts.term_counts.tolist(), strict=True):
        if not n_occurrences:
            continue
        cuts = []
        for item in counts.setup.chosen:
            pieces = cut_term(item.tokenizer, term)
            cuts.append(TermCut(item.name, pieces.n_tokens, pieces.pieces))
        n_extra = n_occurrences * (cuts[counts.setup.current].n_tokens - 1)
        report = TermReport(term, n_occurrences, tuple(cuts), traffic.usd_per_year(n_extra))
        reports.append((-n_extra, -n_occurrences, term, report))
    return tuple(entry[3] for entry in sorted(reports, key=lambda entry: entry[:3]))


def workload_of(facts: Facts) -> Workload:
    """Statements about the traffic, with the facts it was priced with."""
    model, gpu, price = facts.model, facts.gpu, facts.price
    plan = facts.plan or MemoryPlan()
    return Workload(
        requests_per_day=facts.requests_per_day,
        output_tokens_per_request=facts.output_tokens,
        model=model.name if model else None,
        model_source=model.cited_source if model else "",
        gpu=gpu.name if gpu else None,
        gpu_source=gpu.cited_source if gpu else "",
        price_model=price.model if price else None,
        price_provider=price.provider if price else "",
        price_date=price.price_date.isoformat() if price else "",
        usd_per_mtok_input=price.usd_per_mtok_input if price else None,
        usd_per_mtok_output=price.usd_per_mtok_output if price else None,
        taken_from_logs=facts.taken_from_logs,
        tokenizer_of=facts.selection.tokenizer_of if facts.selection else "",
        weights=_weights_in_words(plan, model) if model else None,
        kv_dtype=plan.kv_name(model) if model else None,
        gpu_memory_utilization=plan.share_on(gpu) if model and gpu else None,
        peak_to_mean=facts.peak_to_mean if model and gpu else None,
    )


def _weights_in_words(plan: MemoryPlan, model: ModelFacts) -> str:
    return plan.weight_bytes(model).in_words()
