"""From counts to the report: figures, findings, and what follows from both."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jeton._core import __version__
from jeton.auditing.checks import run_checks
from jeton.auditing.counts import Counts
from jeton.auditing.evidence import Evidence
from jeton.auditing.intervals import SEED
from jeton.auditing.logs import completed
from jeton.auditing.maturity import maturity_of
from jeton.auditing.measuring import Facts, measured, term_reports, workload_of
from jeton.auditing.money import domain_bills_of, trade_off_of, waterfall_of, what_if_of
from jeton.auditing.pipeline import Pipeline
from jeton.auditing.preprocessing import StepEffect, effects_of_preprocessing
from jeton.auditing.provider_counts import provider_count_of
from jeton.auditing.quotas import quota_of
from jeton.auditing.result import (
    SCHEMA_VERSION,
    AuditReport,
    SampledTokens,
    Sampling,
    TokenizerTraining,
)
from jeton.auditing.sampled import SampledWorkload
from jeton.auditing.traffic import LoadedTrace, traffic_of
from jeton.auditing.training import TrainingOptions, training_of
from jeton.auditing.whitespace import needless_whitespace
from jeton.economics import BillReport, Limits, Quota, naive_engineered
from jeton.findings import Basis, Figure

__all__ = ["Asked", "evidence_of", "report_of"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for beside figures.

    Attributes:
        pipeline: What he says of his pipeline.
        run_commands: Whether its command may be run.
        limits: What a candidate may take at most.
        quality: Whether the quality of the tokenizers is measured.
        closed_model: The model whose provider counts the tokens; None: that of the price.
        quota: Limits of the API.
        growth_per_month: Growth of the traffic, as a share.
        seed: Of the intervals.
        num_threads: Of the core.
        trace: The trace that is replayed.
        training: The training run that is priced.
    """

    pipeline: Pipeline | None = None
    run_commands: bool = False
    limits: Limits | None = None
    quality: bool = True
    closed_model: str | None = None
    quota: Quota | None = None
    growth_per_month: float | None = None
    seed: int = SEED
    num_threads: int | None = None
    trace: LoadedTrace | None = None
    training: TrainingOptions | None = None


def evidence_of(counts: Counts, facts: Facts, asked: Asked) -> Evidence:
    """All that the checks may look at."""
    current = counts.setup.current
    tokenizer = counts.setup.chosen[current].tokenizer
    corpus = counts.corpus()
    sample = counts.deep.sample(
        tokenizer,
        n_tokens_of_all=counts.token_stats[current].n_tokens,
        num_threads=asked.num_threads,
    )
    requests = None
    if counts.requests is not None:
        requests = counts.requests.evidence(counts.request_tokens)
    if requests is not None:
        facts = completed(facts, requests.summary, sample, tokenizer)
    whitespace = needless_whitespace(
        sample,
        tokenizer,
        repeated_share=corpus.n_repeated_whitespace_bytes / max(1, corpus.n_bytes),
        num_threads=asked.num_threads,
    )
    preprocessing: tuple[StepEffect, ...] = ()
    if asked.pipeline is not None:
        preprocessing = effects_of_preprocessing(
            asked.pipeline,
            sample,
            tokenizer,
            run_commands=asked.run_commands,
            num_threads=asked.num_threads,
        )
    tokenizers = measured(
        counts,
        facts,
        sample,
        with_quality=asked.quality,
        seed=asked.seed,
        num_threads=asked.num_threads,
    )
    traffic = facts.traffic(corpus.n_documents)
    quota = None
    if asked.quota is not None:
        quota = quota_of(
            asked.quota,
            requests,
            tokenizers[current].lengths,
            requests_per_day=facts.requests_per_day,
            output_tokens_per_request=facts.output_tokens,
            growth_per_month=asked.growth_per_month,
        )
    return Evidence(
        corpus=corpus,
        workload=workload_of(facts),
        current=tokenizers[current],
        candidates=tuple(m for i, m in enumerate(tokenizers) if i != current),
        terms=term_reports(counts, traffic),
        duplicates=counts.duplicates.summary(),
        lookalikes=counts.lookalikes.counts,
        n_lookalike_documents=counts.lookalikes.n_documents,
        n_removable_whitespace_tokens=whitespace.n_tokens,
        n_removable_whitespace_bytes=whitespace.n_bytes,
        model=facts.model,
        gpu=facts.gpu,
        traffic=traffic,
        output_tokens_per_request=facts.output_tokens,
        stats=counts.text_stats,
        sample=sample,
        requests=requests,
        pipeline=asked.pipeline,
        preprocessing=preprocessing,
        domains=counts.domains.reports(),
        prefixes=counts.prefixes.shared(),
        quota=quota,
        plan=facts.plan,
    )


def report_of(
    counts: Counts, facts: Facts, asked: Asked, *, bill: BillReport | None = None
) -> AuditReport:
    """The whole report."""
    evidence = evidence_of(counts, facts, asked)
    by_name = {m.name: m for m in evidence.tokenizers}
    tokenizers = [by_name[item.name] for item in counts.setup.chosen]
    reports = tuple(m.report for m in tokenizers)
    if asked.trace is not None:
        replay = traffic_of(asked.trace, reports, evidence.domains, seed=asked.seed)
        evidence = replace(evidence, replay=replay)
    findings = run_checks(evidence)
    provider = provider_count_of(evidence, closed_model=asked.closed_model, seed=asked.seed)
    waterfall = waterfall_of(evidence, findings, provider)
    training: tuple[TokenizerTraining, ...] = ()
    if asked.training is not None and evidence.model is not None and evidence.gpu is not None:
        training = training_of(
            asked.training,
            reports,
            model=evidence.model,
            gpu=evidence.gpu,
            requests_per_day=evidence.workload.requests_per_day,
        )
    return AuditReport(
        schema_version=SCHEMA_VERSION,
        jeton_version=__version__,
        corpus=evidence.corpus,
        workload=evidence.workload,
        tokenizers=reports,
        terms=evidence.terms,
        n_terms_given=len(counts.setup.terms),
        samples=counts.passages.select(
            [(item.name, item.tokenizer) for item in counts.setup.chosen]
        ),
        findings=findings,
        domains=evidence.domains,
        requests=evidence.requests.summary if evidence.requests is not None else None,
        waterfall=waterfall,
        tradeoff=trade_off_of(tokenizers, limits=asked.limits),
        maturity=maturity_of(evidence),
        bill=bill,
        pipeline=asked.pipeline,
        what_if=what_if_of(evidence, waterfall),
        sampling=_sampling(evidence, counts, asked.seed),
        comparison=None if waterfall is None else naive_engineered(waterfall),
        domain_bills=domain_bills_of(evidence),
        provider_count=provider,
        quota=evidence.quota,
        traffic=evidence.replay,
        training=training,
    )


def _sampling(evidence: Evidence, counts: Counts, seed: int) -> Sampling:
    corpus, sample, drawn = evidence.corpus, evidence.sample, counts.sampled
    return Sampling(
        is_whole=drawn is None or all(estimate.is_exact for estimate in drawn.tokens),
        n_documents_counted=corpus.n_documents,
        n_bytes_counted=corpus.n_bytes,
        n_documents_of_all=corpus.n_documents if drawn is None else drawn.n_documents,
        n_bytes_of_all=corpus.n_bytes if drawn is None else drawn.n_bytes,
        deep_n_documents=len(sample.documents),
        deep_n_bytes=sample.n_bytes,
        deep_n_tokens=sample.n_tokens,
        deep_is_whole=sample.is_whole,
        seed=seed,
        tokens_of_all=() if drawn is None else _tokens_of_all(counts, drawn),
    )


def _tokens_of_all(counts: Counts, drawn: SampledWorkload) -> tuple[SampledTokens, ...]:
    return tuple(
        SampledTokens(
            tokenizer=item.name,
            n_tokens=Figure(
                estimate.value,
                "tokens",
                Basis.EXACT if estimate.is_exact else Basis.ESTIMATED,
                estimate.method,
            ),
            low=estimate.low,
            high=estimate.high,
            confidence=estimate.confidence,
        )
        for item, estimate in zip(counts.setup.chosen, drawn.tokens, strict=True)
        # Too few texts for an error: nothing is claimed of the whole.
        if math.isfinite(estimate.high)
    )
