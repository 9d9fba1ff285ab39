"""From counts to what the report says of each tokenizer and each term."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from jeton.auditing.counts import Counts
from jeton.auditing.deep_sample import DeepSample
from jeton.auditing.evidence import Measured, Traffic
from jeton.auditing.intervals import bytes_per_token_interval, tokens_per_document_interval
from jeton.auditing.result import (
    EconomicsSummary,
    TermCut,
    TermReport,
    TokenizerReport,
    Workload,
)
from jeton.catalog import ApiPrice, GpuFacts, ModelFacts
from jeton.economics import summarize
from jeton.metrics import compression, cut_term, vocabulary_use
from jeton.metrics.quality import QualityMetrics, quality

__all__ = ["Facts", "measured", "term_reports", "workload_of"]


@dataclass(frozen=True, slots=True)
class Facts:
    """With what the counts are priced. None: not given.

    Attributes:
        model: The model that reads the tokens.
        gpu: The GPU that it runs on.
        price: The price at an API.
        requests_per_day: Traffic.
        output_tokens_per_request: Mean tokens generated per request.
        taken_from_logs: Names of those of these that the request logs gave, not the user.
    """

    model: ModelFacts | None = None
    gpu: GpuFacts | None = None
    price: ApiPrice | None = None
    requests_per_day: float | None = None
    output_tokens_per_request: float | None = None
    taken_from_logs: tuple[str, ...] = ()

    @property
    def output_tokens(self) -> float:
        """Mean tokens generated per request; 0 where nothing is known."""
        return self.output_tokens_per_request or 0.0

    def traffic(self, n_documents: int) -> Traffic:
        """From tokens of so many documents to money."""
        daily = None if self.requests_per_day is None else Decimal(str(self.requests_per_day))
        return Traffic(n_documents=n_documents, requests_per_day=daily, price=self.price)


def measured(
    counts: Counts,
    facts: Facts,
    sample: DeepSample,
    *,
    with_quality: bool,
    seed: int,
    num_threads: int | None,
) -> tuple[Measured, ...]:
    """What was counted of each tokenizer, finished; in the order given.

    Args:
        counts: Of the pass.
        facts: With what they are priced.
        sample: Documents for what needs the text again.
        with_quality: Whether the quality of the tokenizers is measured too.
        seed: Of the intervals.
        num_threads: Threads of the core; None: all.
    """
    found = []
    for index, item in enumerate(counts.setup.chosen):
        quality_of = None
        if with_quality:
            stats = counts.token_stats[index]
            quality_of = quality(item.tokenizer, stats, sample, seed=seed, num_threads=num_threads)
        found.append(_measured(counts, index, facts, quality_of, seed))
    return tuple(found)


def _measured(
    counts: Counts, index: int, facts: Facts, quality_of: QualityMetrics | None, seed: int
) -> Measured:
    item = counts.setup.chosen[index]
    tokenizer, stats, text = item.tokenizer, counts.token_stats[index], counts.text_stats
    lengths = counts.lengths(index)
    use = vocabulary_use(tokenizer, stats.id_counts)
    summary = lengths.summary()
    ratios = compression(
        n_bytes=text.n_bytes, n_chars=text.n_chars, n_words=text.n_words, n_tokens=stats.n_tokens
    )
    economics = summarize(
        tokens_mean=summary.mean,
        tokens_p95=summary.p95,
        tokens_histogram=(lengths.lengths, lengths.documents),
        vocab_size=tokenizer.vocab_size,
        model=facts.model,
        gpu=facts.gpu,
        price=facts.price,
        requests_per_day=facts.requests_per_day,
        output_tokens_per_request=facts.output_tokens,
    )
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


def term_reports(counts: Counts, traffic: Traffic) -> tuple[TermReport, ...]:
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
    """What was said of the traffic, with the facts it was priced with."""
    model, gpu, price = facts.model, facts.gpu, facts.price
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
    )
