"""From counts to the report: figures, findings, and what follows from both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from jeton._core import __version__
from jeton.auditing.analyses.layout import needless_whitespace
from jeton.auditing.caching.examine import examined_of
from jeton.auditing.checks import run_checks
from jeton.auditing.checks.bill import findings_of_bill, findings_of_stated_cost
from jeton.auditing.checks.caches import findings_of_caches
from jeton.auditing.evidence import CountedLengths, Evidence
from jeton.auditing.maturity import maturity_of
from jeton.auditing.measures.measuring import Facts, measured, term_reports, workload_of
from jeton.auditing.measures.preprocessing import StepEffect, effects_of_preprocessing
from jeton.auditing.measures.timeline import Timeline, timeline_of
from jeton.auditing.measures.traffic import LoadedTrace, traffic_of
from jeton.auditing.measures.training import TrainingOptions, training_of
from jeton.auditing.money.bills import quota_of, reconciled
from jeton.auditing.money.books import Books, factor_of, model_costs
from jeton.auditing.money.decomposition import decomposition_of_documents, decomposition_of_logs
from jeton.auditing.money.figures import (
    domain_bills_of,
    trade_off_of,
    waterfall_of,
    what_if_of,
)
from jeton.auditing.money.provider_counts import provider_count_of
from jeton.auditing.options.audit_options import AuditOptions
from jeton.auditing.options.logs import completed, mean_answer, timed
from jeton.auditing.replaying.chain import carried_out
from jeton.auditing.replaying.mended_caches import cache_remedies
from jeton.auditing.replaying.prompts import Prompts
from jeton.auditing.replaying.sample import documents_as_requests, logged_requests
from jeton.auditing.result import (
    SCHEMA_VERSION,
    AuditReport,
    SampledTokens,
    SamplingReport,
    TokenizerTraining,
)
from jeton.auditing.settling import settled
from jeton.corpus import RequestsSummary
from jeton.corpus.bills.rows import Bill
from jeton.economics.billed import BilledTable
from jeton.economics.ledger import Ledger
from jeton.economics.naive_engineered import naive_engineered
from jeton.economics.remedies import Remedy
from jeton.economics.waterfall import waterfall_of_ledger
from jeton.findings import Basis, Figure, Finding, Severity, rank
from jeton.workload.counting.counts import Counts
from jeton.workload.sampling.sampled import SampledWorkload


def evidence_of(counts: Counts, facts: Facts, options: AuditOptions) -> Evidence:
    """All that the checks may look at."""
    current = counts.setup.current
    tokenizer = counts.setup.chosen[current].tokenizer
    corpus = counts.corpus()
    sample = counts.deep.sample(
        tokenizer,
        n_tokens_of_all=counts.token_stats[current].n_tokens,
        num_threads=options.num_threads,
    )
    requests = None
    if counts.requests is not None:
        requests = counts.requests.evidence(
            counts.request_tokens,
            counts.request_digests,
            counts.request_beginnings,
            counts.request_blocks,
        )
    if requests is not None:
        facts = completed(facts, requests.summary, mean_answer(sample, tokenizer))
    books = Books.of(counts, facts)
    if requests is not None and books.ledger is not None:
        facts = timed(facts, books.ledger, requests.summary)
    whitespace = needless_whitespace(
        sample,
        tokenizer,
        repeated_share=corpus.n_repeated_whitespace_bytes / max(1, corpus.n_bytes),
        num_threads=options.num_threads,
    )
    preprocessing: tuple[StepEffect, ...] = ()
    if options.pipeline is not None:
        preprocessing = effects_of_preprocessing(
            options.pipeline,
            sample,
            tokenizer,
            run_commands=options.run_commands,
            num_threads=options.num_threads,
        )
    tokenizers = measured(
        counts,
        facts,
        sample,
        money=books.money,
        with_quality=options.quality,
        seed=options.seed,
        num_threads=options.num_threads,
    )
    decomposition = (
        decomposition_of_documents(books.ledger, n_requests=corpus.n_documents)
        if requests is None
        else decomposition_of_logs(
            requests, books.ledger, name=counts.setup.chosen[current].name, tokenizer=tokenizer
        )
    )
    traffic = facts.traffic(
        corpus.n_documents,
        ledger=books.ledger,
        n_tokens=counts.token_stats[current].n_tokens,
        billed=decomposition.table,
    )
    quota = None
    if options.quota is not None:
        quota = quota_of(
            options.quota,
            requests,
            tokenizers[current].lengths,
            requests_per_day=facts.requests_per_day,
            output_tokens_per_request=facts.output_tokens,
            growth_per_month=options.growth_per_month,
        )
    n_chosen = len(counts.setup.chosen)
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
        prompts=Prompts.of(sample.documents, tokenizer),
        decomposition=decomposition,
        stats=counts.text_stats,
        sample=sample,
        requests=requests,
        pipeline=options.pipeline,
        preprocessing=preprocessing,
        domains=counts.domains.reports(),
        prefixes=counts.prefixes.shared(),
        quota=quota,
        plan=facts.plan,
        counted=tuple(
            CountedLengths(item.name, counts.counted_lengths(n_chosen + place))
            for place, item in enumerate(counts.setup.for_money)
        ),
        is_own_model=books.is_own_model and options.closed_model is None,
        place=current,
        notices=books.notices,
        cache=examined_of(requests, sample.documents, books.ledger),
    )


def report_of(
    counts: Counts,
    facts: Facts,
    options: AuditOptions,
    *,
    bill: Bill | None = None,
    trace: LoadedTrace | None = None,
    training: TrainingOptions | None = None,
) -> AuditReport:
    """The whole report."""
    if not counts.text_stats.n_documents and counts.requests is not None:
        summary = counts.requests.summary
        if summary is not None:
            return _without_text(counts, facts, options, summary, bill)
    evidence = evidence_of(counts, facts, options)
    if trace is not None:
        measured_reports = tuple(m.report for m in evidence.tokenizers)
        replay = traffic_of(trace, measured_reports, evidence.domains, seed=options.seed)
        evidence = replace(evidence, replay=replay)
    summary = None if evidence.requests is None else evidence.requests.summary
    if bill is not None:
        evidence = replace(evidence, bill=reconciled(bill, evidence.ledger, summary))
    findings = run_checks(evidence)
    by_name = {m.name: m for m in evidence.tokenizers}
    tokenizers = [by_name[item.name] for item in counts.setup.chosen]
    selection = facts.selection
    provider = provider_count_of(
        evidence,
        closed_model=options.closed_model,
        money=selection.money[0] if selection and selection.money else None,
        seed=options.seed,
    )
    replayed = _replayed(evidence, counts, facts, findings)
    waterfall = waterfall_of(evidence, replayed, provider)
    findings = settled(findings, waterfall, evidence)
    reports = tuple(m.report for m in tokenizers)
    trained: tuple[TokenizerTraining, ...] = ()
    if training is not None and evidence.model is not None and evidence.gpu is not None:
        trained = training_of(
            training,
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
        requests=summary,
        waterfall=waterfall,
        tradeoff=trade_off_of(evidence, limits=options.limits),
        maturity=maturity_of(evidence),
        bill=evidence.bill,
        pipeline=options.pipeline,
        what_if=what_if_of(evidence, waterfall),
        sampling=_sampling(evidence, counts, options.seed),
        comparison=None if waterfall is None else naive_engineered(waterfall),
        domain_bills=domain_bills_of(evidence),
        provider_count=provider,
        quota=evidence.quota,
        traffic=evidence.replay,
        training=trained,
        notices=evidence.notices,
        ledger=evidence.ledger,
        timeline=_timeline(counts, evidence.ledger),
        models=model_costs(counts, facts, reports),
        billed=evidence.decomposition.table,
        cache=evidence.cache,
    )


def _replayed(
    evidence: Evidence, counts: Counts, facts: Facts, findings: Sequence[Finding]
) -> tuple[Remedy, ...]:
    """The remedies of the findings, carried out one after another; none where nothing is priced."""
    ledger = evidence.ledger
    if ledger is None or not ledger.usd:
        return ()
    if evidence.requests is not None:
        requests = logged_requests(evidence, evidence.decomposition)
    else:
        money = facts.selection.money[0] if facts.selection and facts.selection.money else None
        if money is None:
            return ()
        prompts = evidence.prompts
        item = (*counts.setup.chosen, *counts.setup.for_money)[money.place]
        if item.name != evidence.current.name:
            prompts = prompts.counted_with(item.tokenizer)
        requests = documents_as_requests(
            evidence, money.price, prompts=prompts, factor=factor_of(money)
        )
    return () if requests is None else carried_out(findings, evidence, requests, ledger)


def _timeline(counts: Counts, ledger: Ledger | None) -> Timeline | None:
    if counts.requests is None:
        return None
    return timeline_of(counts.requests.timeline_tally(counts.request_tokens), ledger)


def _without_text(
    counts: Counts, facts: Facts, options: AuditOptions, summary: RequestsSummary, bill: Bill | None
) -> AuditReport:
    """The report on logs that show no text: the bill, by day and by model, and no more."""
    facts = completed(facts, summary, None)
    books = Books.of(counts, facts)
    ledger = books.ledger
    if ledger is not None:
        facts = timed(facts, ledger, summary)
    requests = None
    if counts.requests is not None:
        requests = counts.requests.evidence(
            counts.request_tokens,
            counts.request_digests,
            counts.request_beginnings,
            counts.request_blocks,
        )
    chosen = counts.setup.chosen[counts.setup.current]
    billed = (
        BilledTable()
        if requests is None
        else decomposition_of_logs(
            requests, ledger, name=chosen.name, tokenizer=chosen.tokenizer
        ).table
    )
    reconciled_bill = None if bill is None else reconciled(bill, ledger, summary)
    cache = examined_of(requests, (), ledger)
    waterfall = None
    if ledger is not None:
        remedies = () if requests is None or cache is None else cache_remedies(cache, requests)
        waterfall = waterfall_of_ledger(ledger, remedies)
    # Nothing else can be said without text, so that a difference is the first finding.
    told = [
        replace(finding, severity=Severity.ERROR) for finding in findings_of_bill(reconciled_bill)
    ]
    said = (
        f"None of the {summary.n_requests:,} requests shows its prompt: the bill is here, and "
        "parts that need text are left out (--prompt-field names the field, if there is one)."
    )
    return AuditReport(
        schema_version=SCHEMA_VERSION,
        jeton_version=__version__,
        corpus=counts.corpus(),
        workload=workload_of(facts),
        tokenizers=(),
        terms=(),
        n_terms_given=len(counts.setup.terms),
        samples=(),
        findings=tuple(
            rank([*told, *findings_of_stated_cost(ledger), *findings_of_caches(cache, ledger)])
        ),
        requests=summary,
        waterfall=waterfall,
        bill=reconciled_bill,
        pipeline=options.pipeline,
        billed=billed,
        notices=(said, *books.notices),
        ledger=ledger,
        timeline=_timeline(counts, ledger),
        cache=cache,
    )


def _sampling(evidence: Evidence, counts: Counts, seed: int) -> SamplingReport:
    corpus, sample, drawn = evidence.corpus, evidence.sample, counts.sampled
    return SamplingReport(
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
