"""All checks together: tiny and odd workloads, and that order and threads change nothing."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

import pytest

from jeton._core import Tokenizer
from jeton.auditing.checks import CHECKS, run_checks
from jeton.auditing.options.pipeline import Pipeline
from jeton.findings import Finding
from jeton.workload.sampling.deep_sample import DeepSample
from tests.auditing.checks.findings_of import requests_of
from tests.auditing.checks.test_rewrites import PAIRS, PROSE
from tests.auditing.conftest import EvidenceOf

EVERYTHING = Pipeline(
    max_length=4,
    padding="static",
    batch_size=2,
    truncation="right",
    chunk_tokens=3,
    overlap_tokens=1,
    preprocessing=("nfd",),
    max_output_tokens=5,
    reserved_tokens=1000,
    train_tokenizer="jeton-code-32k",
)
PRICED = {
    "price_model": "anthropic:claude-sonnet-4-5",
    "requests_per_day": 10_000,
    "model": "llama-3-8b",
    "gpu": "h100",
}


def plain(findings: tuple[Finding, ...]) -> str:
    return json.dumps([asdict(finding) for finding in findings], default=str)


@pytest.mark.parametrize(
    "texts",
    [["a"], ["", "a"], [" ", "\n"], ["\x00"], ["\ufeff"], ["a"] * 3, ["é" * 5000], ["[" * 99]],
)
def test_tiny_workloads(texts: list[str], evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(texts, tokenizers=[good, "jeton-general-32k"], **PRICED)
    n = len(texts)
    logged = requests_of(
        n,
        time_s=[0.0] * n,
        input_tokens=[0] * n,
        output_tokens=[0] * n,
        cache_read_tokens=[0] * n,
        cache_write_tokens=[0] * n,
        reasoning_tokens=[0] * n,
    )
    for pipeline in (None, Pipeline(), EVERYTHING):
        for requests in (None, requests_of(n), logged):
            json.loads(plain(run_checks(replace(evidence, pipeline=pipeline, requests=requests))))


def test_without_a_sample_the_checks_of_texts_are_silent(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    evidence = evidence_of([dirty for dirty, _ in PAIRS.values()], tokenizers=[good])
    assert {finding.id for finding in run_checks(evidence)} & set(PAIRS)
    empty = replace(evidence, sample=DeepSample((), 0, evidence.current.n_tokens, is_whole=False))
    assert not {finding.id for finding in run_checks(empty)} & set(PAIRS)


def test_the_order_of_the_documents_changes_no_figure(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    texts = [*(dirty for dirty, _ in PAIRS.values()), *([PROSE] * 20)]
    shuffled = random.Random(5).sample(texts, len(texts))
    first = run_checks(evidence_of(texts, tokenizers=[good], **PRICED))
    second = run_checks(evidence_of(shuffled, tokenizers=[good], num_threads=1, **PRICED))

    def figures(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
        return [(f.id, str(f.figure.value), str(f.saving_usd_per_year)) for f in findings]

    assert figures(first) == figures(second)
    assert len(first) > 8


def test_a_drawn_sample_brackets_what_the_whole_says(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    dirty, _ = PAIRS["json-layout"]
    choose = random.Random(9)
    texts = [
        f"{dirty if choose.random() < 0.3 else PROSE * choose.randint(1, 9)} {i}"
        for i in range(4000)
    ]
    whole = evidence_of(texts, tokenizers=[good])
    drawn = evidence_of(texts, tokenizers=[good], sample_bytes=200_000)
    assert whole.sample.is_whole
    assert not drawn.sample.is_whole
    (exact,) = CHECKS["json-layout"](whole)
    (estimate,) = CHECKS["json-layout"](drawn)
    low, high = estimate.evidence["share_low"], estimate.evidence["share_high"]
    assert low < exact.evidence["share"] < high
    assert high - low < 0.2 * exact.evidence["share"]
    assert "about" in estimate.title
    assert "interval" in estimate.figure.formula
