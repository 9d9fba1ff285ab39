"""From counts to the report: figures, findings, and what follows from both."""

from __future__ import annotations

from jeton._core import __version__
from jeton.auditing.checks import run_checks
from jeton.auditing.counts import Counts
from jeton.auditing.evidence import Evidence
from jeton.auditing.measuring import Facts, measured, term_reports, workload_of
from jeton.auditing.pipeline import Pipeline
from jeton.auditing.result import SCHEMA_VERSION, AuditReport, Sampling
from jeton.auditing.whitespace import needless_whitespace

__all__ = ["evidence_of", "report_of"]


def evidence_of(
    counts: Counts,
    facts: Facts,
    *,
    pipeline: Pipeline | None,
    seed: int,
    num_threads: int | None,
) -> Evidence:
    """All that the checks may look at."""
    current = counts.setup.current
    tokenizers = measured(counts, facts, seed=seed)
    corpus = counts.corpus()
    sample = counts.deep.sample(
        counts.setup.chosen[current].tokenizer,
        n_tokens_of_all=counts.token_stats[current].n_tokens,
        num_threads=num_threads,
    )
    whitespace = needless_whitespace(
        sample,
        counts.setup.chosen[current].tokenizer,
        repeated_share=corpus.n_repeated_whitespace_bytes / max(1, corpus.n_bytes),
        num_threads=num_threads,
    )
    traffic = facts.traffic(corpus.n_documents)
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
        output_tokens_per_request=facts.output_tokens_per_request,
        stats=counts.text_stats,
        sample=sample,
        pipeline=pipeline,
        domains=counts.domains.reports(),
    )


def report_of(
    counts: Counts,
    facts: Facts,
    *,
    pipeline: Pipeline | None,
    seed: int,
    num_threads: int | None,
) -> AuditReport:
    """The whole report."""
    evidence = evidence_of(counts, facts, pipeline=pipeline, seed=seed, num_threads=num_threads)
    findings = run_checks(evidence)
    by_name = {m.name: m.report for m in evidence.tokenizers}
    return AuditReport(
        schema_version=SCHEMA_VERSION,
        jeton_version=__version__,
        corpus=evidence.corpus,
        workload=evidence.workload,
        tokenizers=tuple(by_name[item.name] for item in counts.setup.chosen),
        terms=evidence.terms,
        n_terms_given=len(counts.setup.terms),
        samples=counts.passages.select(
            [(item.name, item.tokenizer) for item in counts.setup.chosen]
        ),
        findings=findings,
        domains=evidence.domains,
        pipeline=pipeline,
        sampling=_sampling(evidence, seed),
    )


def _sampling(evidence: Evidence, seed: int) -> Sampling:
    corpus, sample = evidence.corpus, evidence.sample
    return Sampling(
        is_whole=True,
        n_documents_counted=corpus.n_documents,
        n_bytes_counted=corpus.n_bytes,
        n_documents_of_all=corpus.n_documents,
        n_bytes_of_all=corpus.n_bytes,
        deep_n_documents=len(sample.documents),
        deep_n_bytes=sample.n_bytes,
        deep_n_tokens=sample.n_tokens,
        deep_is_whole=sample.is_whole,
        seed=seed,
    )
