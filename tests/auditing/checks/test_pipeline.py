"""Checks of settings, usage, domains, vocabulary size and mismatch."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from jeton._core import Tokenizer
from jeton.auditing.evidence import Evidence, Measured
from jeton.auditing.measures.preprocessing import effects_of_preprocessing
from jeton.auditing.money.decomposition import BilledBreakdown
from jeton.auditing.options.pipeline import Pipeline
from jeton.economics.billed import BilledTable, TextCount, decompose
from jeton.findings import Basis, Severity
from jeton.metrics import LengthCounts
from jeton.workload.counting.domains import DomainReport, DomainTokens
from jeton.workload.inputs.requests import RequestEvidence
from jeton.workload.sampling.deep_sample import SampleDocument
from tests.auditing.checks.findings_of import PRICED, found, only, requests_of, yearly_usd
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import documentation

SHORT_AND_LONG = [" the" * 10] * 90 + [" the" * 100] * 10
EVEN = [" the" * 50] * 100


def with_pipeline(evidence: Evidence, **settings: object) -> Evidence:
    return replace(evidence, pipeline=replace(Pipeline(), **settings))  # type: ignore[arg-type]


def test_padding_static(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(SHORT_AND_LONG, tokenizers=[good], **PRICED)
    finding = only(with_pipeline(evidence, padding="static", max_length=128), "padding-static")
    assert finding.figure.value == 100 * 128 - (90 * 10 + 10 * 100)
    # An API bills no padding; on a GPU of one's own it takes time.
    assert finding.saving_usd_per_year is None
    own = evidence_of(
        SHORT_AND_LONG, tokenizers=[good], model="llama-3-8b", gpu="h100", requests_per_day=1000
    )
    finding = only(with_pipeline(own, padding="static", max_length=128), "padding-static")
    # Ten rows of 100 + 2 x 10 tokens and six of up to 12 x 10 hold all: 16 of 100 rows remain.
    assert finding.evidence["padding_share_packed"] == pytest.approx(1 - 1900 / (16 * 128))
    assert finding.evidence["bucket_edges"] == [10, 100]
    assert finding.evidence["padding_share_buckets"] == 0
    assert "jeton pack INPUT" in finding.remedy
    assert "--capacity 128 --overflow truncate` leaves 7.2% padding" in finding.remedy
    # 84 x 128 positions of 13.96 GFLOP (layers) at half of 989.4 TFLOP/s, 2.69 USD an hour.
    seconds = 84 * 128 * 13.96e9 / (0.5 * 989.4e12)
    usd = seconds * 2.69 / 3600 * 1000 * 365 / 100
    assert float(finding.saving_usd_per_year or 0) == pytest.approx(usd, rel=0.01)
    both = evidence_of(SHORT_AND_LONG, tokenizers=[good], model="llama-3-8b", gpu="h100", **PRICED)
    finding = only(with_pipeline(both, padding="static", max_length=128), "padding-static")
    assert finding.saving_usd_per_year is None
    even = with_pipeline(evidence_of(EVEN, tokenizers=[good]), padding="static", max_length=60)
    assert not found(even, "padding-static")
    assert not found(evidence, "padding-static")
    assert not found(with_pipeline(evidence, padding="none", max_length=128), "padding-static")
    # Where the padding is known, the general remark about padding is silent.
    assert found(evidence, "padding-waste")
    assert not found(with_pipeline(evidence, padding="none"), "padding-waste")


def test_padding_longest(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = with_pipeline(
        evidence_of(SHORT_AND_LONG, tokenizers=[good], **PRICED), padding="longest", batch_size=10
    )
    finding = only(evidence, "padding-longest")
    # P(no long document among 10 of 100) by the hypergeometric distribution.
    none_long = np.prod([(90 - i) / (100 - i) for i in range(10)])
    expected = 100 * (10 * none_long + 100 * (1 - none_long))
    n_sorted = 90 * 10 + 10 * 100
    assert finding.figure.value == round(expected) - n_sorted
    assert finding.evidence["padding_share_sorted"] == pytest.approx(0)
    assert not found(replace(evidence, pipeline=Pipeline(padding="longest")), "padding-longest")
    even = with_pipeline(evidence_of(EVEN, tokenizers=[good]), padding="longest", batch_size=10)
    assert not found(even, "padding-longest")


def test_truncation_loss(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(SHORT_AND_LONG, tokenizers=[good])
    finding = only(with_pipeline(evidence, max_length=64, truncation="left"), "truncation-loss")
    assert finding.severity is Severity.ERROR
    assert finding.figure.value == 10 * (100 - 64)
    assert "beginnings" in finding.title
    assert "ends" in only(with_pipeline(evidence, max_length=99), "truncation-loss").title
    assert not found(with_pipeline(evidence, max_length=100), "truncation-loss")
    assert not found(with_pipeline(evidence, max_length=64, truncation="none"), "truncation-loss")


def test_chunk_overlap(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of([" the" * 100], tokenizers=[good], **PRICED)
    finding = only(with_pipeline(evidence, chunk_tokens=40, overlap_tokens=10), "chunk-overlap")
    # Pieces at 0, 30 and 60: the last ends at 100.
    assert finding.evidence["n_chunks"] == 3
    assert finding.figure.value == 20
    assert not found(with_pipeline(evidence, chunk_tokens=40, overlap_tokens=2), "chunk-overlap")
    assert not found(with_pipeline(evidence, chunk_tokens=100, overlap_tokens=50), "chunk-overlap")


def test_context_unused(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(
        EVEN, tokenizers=[good], model="llama-3-8b", gpu="h100", output_tokens_per_request=14
    )
    finding = only(with_pipeline(evidence, reserved_tokens=640), "context-unused")
    assert finding.figure.value == pytest.approx(1 - 64 / 640)
    # 131,072 bytes a token in Llama 3 8B.
    assert finding.evidence["idle_kv_bytes_per_request"] == pytest.approx(576 * 131_072)
    assert not found(with_pipeline(evidence, reserved_tokens=100), "context-unused")
    assert not found(evidence, "context-unused")


def test_output_reserved(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(EVEN, tokenizers=[good])
    evidence = replace(evidence, requests=requests_of(200, output_tokens=[100] * 199 + [900]))
    finding = only(with_pipeline(evidence, max_output_tokens=4096), "output-reserved")
    assert finding.evidence["p99"] == 100
    assert not found(with_pipeline(evidence, max_output_tokens=200), "output-reserved")
    few = replace(evidence, requests=requests_of(20, output_tokens=[100] * 20))
    assert not found(with_pipeline(few, max_output_tokens=4096), "output-reserved")


def test_answers_cut(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(EVEN, tokenizers=[good])
    evidence = replace(evidence, requests=requests_of(100, output_tokens=[500] * 3 + [90] * 97))
    finding = only(with_pipeline(evidence, max_output_tokens=500), "answers-cut")
    assert (finding.severity, finding.figure.value) == (Severity.ERROR, 3)
    assert not found(with_pipeline(evidence, max_output_tokens=501), "answers-cut")


def _billed(log: RequestEvidence, n_text: int) -> BilledBreakdown:
    """The log's requests, each with ``n_text`` tokens of text."""
    n = len(log.input_tokens)
    counted = np.zeros((n, 6), dtype=np.int64)
    counted[:, 5] = n_text
    nothing = np.zeros(n, dtype=np.int64)
    own = decompose(
        counted,
        input_tokens=log.input_tokens,
        read=nothing,
        written=nothing,
        output_tokens=nothing,
        reasoning=nothing,
        count=TextCount(),
    )
    return BilledBreakdown(BilledTable.of([("", own, 0, 0)]), {"": TextCount()})


def test_input_overhead(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(EVEN, tokenizers=[good], **PRICED)
    shown = np.ones(100, dtype=np.bool_)

    def with_usage(tokens: list[int]) -> Evidence:
        log = requests_of(100, input_tokens=tokens, has_text=shown)
        return replace(evidence, requests=log, decomposition=_billed(log, 50))

    finding = only(with_usage([350] * 100), "input-overhead")
    assert finding.figure.value == 100 * (350 - 50)
    assert finding.figure.basis is Basis.EXACT
    assert finding.saving_usd_per_year is None
    assert not found(with_usage([54] * 100), "input-overhead")
    # Requests without text say nothing about tools.
    log = requests_of(100, input_tokens=[350] * 100, has_text=~shown)
    hidden = replace(evidence, requests=log, decomposition=_billed(log, 0))
    assert not found(hidden, "input-overhead")


def test_output_long(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(EVEN, tokenizers=[good], **PRICED)
    long = requests_of(100, output_tokens=[100] * 95 + [2400] * 5)
    finding = only(replace(evidence, requests=long), "output-long")
    assert finding.figure.value == 5 * (2400 - 400)
    assert finding.saving_usd_per_year == yearly_usd(10_000, 100, rate=40)
    even = requests_of(100, output_tokens=[100] * 50 + [300] * 50)
    assert not found(replace(evidence, requests=even), "output-long")
    unknown = requests_of(100)
    assert not found(replace(evidence, requests=unknown), "output-long")


QUESTION = "Mend this sentence:\n" + "The statement are executed when the condition is true. " * 3
ANSWER = "The statement is executed when the condition is true."


def answered(evidence: Evidence, response: str) -> Evidence:
    documents = (
        SampleDocument(QUESTION, "log.jsonl", None, n_tokens=60, response=response),
        SampleDocument(QUESTION, "log.jsonl", None, n_tokens=60),
    )
    return replace(evidence, sample=replace(evidence.sample, documents=documents))


def test_output_echo(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of([QUESTION] * 2, tokenizers=[good], **PRICED)
    polite = f"Sure! Here is the sentence: {ANSWER} I hope this helps! Let me know if not."
    finding = only(answered(evidence, polite), "output-echo")
    assert finding.figure.value == good.count(polite) - good.count(ANSWER)
    assert finding.saving_usd_per_year == yearly_usd(2 * int(finding.figure.value), 2, rate=40)
    echo = QUESTION.split("\n")[1] + "\n" + ANSWER
    finding = only(answered(evidence, echo), "output-echo")
    assert finding.figure.value == good.count(echo) - good.count(ANSWER)
    assert not found(answered(evidence, ANSWER), "output-echo")
    for plain in (
        "Great Britain is an island. It has three parts. " * 3,
        "Here they come. " * 9 + "She hopes that this helps him.",
        "I understand French.\nLet me go.",
    ):
        assert not found(answered(evidence, plain + ANSWER), "output-echo"), plain
    assert not found(evidence, "output-echo")


def test_reasoning_share(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(EVEN, tokenizers=[good], **PRICED)
    thinking = requests_of(
        4, output_tokens=[900, 900, 1000, 1200], reasoning_tokens=[890, 880, 700, 700]
    )
    finding = only(replace(evidence, requests=thinking), "reasoning-share")
    assert finding.figure.value == 890 + 880 + 700 + 700
    # Two answers are as short as the median of 10, 20, 300, 500.
    assert finding.evidence["n_tokens_of_shorter_half"] == 890 + 880
    little = requests_of(4, output_tokens=[900] * 4, reasoning_tokens=[100] * 4)
    assert not found(replace(evidence, requests=little), "reasoning-share")


def test_price_step(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(
        EVEN, tokenizers=[good], price_model="google:gemini-2.5-pro", requests_per_day=1000
    )
    price = evidence.traffic.price
    assert price is not None
    assert len(price.tiers) == 2
    base, high = price.tiers
    step = high.above_input_tokens
    lengths = LengthCounts.from_lengths([step - 1, step + 1])
    long = replace(evidence, current=replace(evidence.current, lengths=lengths))
    finding = only(long, "price-step")
    assert finding.figure.value == 1
    extra = (high.usd_per_mtok_input - base.usd_per_mtok_input) * (step + 1) / 1_000_000
    assert finding.saving_usd_per_year == (extra / 2 * 1000 * 365).quantize(Decimal("0.01"))
    assert not found(evidence, "price-step")
    below = LengthCounts.from_lengths([step - 1, step])
    assert not found(
        replace(evidence, current=replace(evidence.current, lengths=below)), "price-step"
    )


def domain(name: str, tokens: dict[str, int], like: Evidence) -> DomainReport:
    lengths = like.current.report.tokens_per_document
    return DomainReport(
        name=name,
        n_documents=1,
        n_bytes=100,
        n_chars=100,
        tokenizers=tuple(DomainTokens(n, count, lengths, 1.0) for n, count in tokens.items()),
    )


def test_domain_foreign(evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer) -> None:
    evidence = evidence_of(documentation()[:5], tokenizers=[poor, good], **PRICED)
    n_poor, n_good = evidence.current.n_tokens, evidence.candidates[0].n_tokens
    assert n_good < n_poor
    saved = n_poor - n_good
    # All of the difference lies in one half of the text.
    letters = domain(
        "letters", {poor.name or "": n_poor // 2, good.name or "": n_poor // 2}, evidence
    )
    notes = domain(
        "notes", {poor.name or "": n_poor // 2, good.name or "": n_poor // 2 - saved}, evidence
    )
    finding = only(replace(evidence, domains=(letters, notes)), "domain-foreign")
    assert finding.where == "notes"
    assert finding.figure.value == saved
    assert finding.saving_usd_per_year == yearly_usd(saved, 5)
    # Evenly spread it is the whole's finding.
    even = [
        domain(name, {poor.name or "": n_poor // 2, good.name or "": n_good // 2}, evidence)
        for name in ("letters", "notes")
    ]
    assert not found(replace(evidence, domains=tuple(even)), "domain-foreign")
    assert not found(evidence, "domain-foreign")


def sized(evidence: Evidence, *, now: tuple[int, int], other: tuple[int, int]) -> Evidence:
    """Return the evidence with other vocabulary sizes and token counts."""

    def change(measured: Measured, size: int, n_tokens: int) -> Measured:
        report = replace(measured.report, vocab_size=size, n_tokens=n_tokens)
        return replace(measured, report=report)

    return replace(
        evidence,
        current=change(evidence.current, *now),
        candidates=(change(evidence.candidates[0], *other),),
    )


def test_vocabulary_size(evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer) -> None:
    evidence = evidence_of(EVEN, tokenizers=[poor, good], model="qwen2.5-0.5b")
    model = evidence.model
    assert model is not None
    # A quarter of a 0.5B model's work per token is a head of 152,064 rows.
    large = sized(evidence, now=(151_936, 1000), other=(32_000, 1020))
    finding = only(large, "vocabulary-too-large")
    head, small = 151_936 * model.hidden_size, 32_000 * model.hidden_size
    layers = head / finding.evidence["head_share"] - head
    assert finding.figure.value == pytest.approx(
        1 - 1020 * (layers + small) / (1000 * (layers + head)), abs=1e-6
    )
    assert not found(large, "vocabulary-too-small")
    # In an 8B model the same rows weigh little, and fewer tokens win.
    evidence = evidence_of(EVEN, tokenizers=[poor, good], model="llama-3-8b")
    small_now = sized(evidence, now=(32_000, 1000), other=(128_256, 850))
    finding = only(small_now, "vocabulary-too-small")
    assert 0.05 < float(finding.figure.value) < 0.15
    assert not found(
        sized(evidence, now=(32_000, 1000), other=(128_256, 990)), "vocabulary-too-small"
    )
    # A smaller vocabulary with fewer tokens is a better tokenizer, not a matter of size.
    better = sized(evidence, now=(128_256, 1000), other=(32_000, 700))
    assert not found(better, "vocabulary-too-large")


def test_train_serve_mismatch(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = ["The statement is executed.", "A name is bound."]
    evidence = evidence_of(texts, tokenizers=["jeton-general-32k"])
    finding = only(
        with_pipeline(evidence, train_tokenizer="jeton-code-32k"), "train-serve-mismatch"
    )
    assert finding.severity is Severity.ERROR
    assert finding.figure.value == 2
    same = with_pipeline(evidence, train_tokenizer="jeton-general-32k-v1")
    assert not found(same, "train-serve-mismatch")
    other = with_pipeline(
        evidence_of(texts, tokenizers=[good]),
        train_tokenizer="jeton-general-32k",
        serve_tokenizer="jeton-general-32k-v1",
    )
    assert not found(other, "train-serve-mismatch")


def test_preprocessing_growth(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = ["Größe und Maß, über alles; größer."] * 2
    evidence = evidence_of(texts, tokenizers=[good], **PRICED)

    def after(*steps: str) -> Evidence:
        pipeline = Pipeline(preprocessing=steps)
        effects = effects_of_preprocessing(pipeline, evidence.sample, good, run_commands=False)
        return replace(evidence, pipeline=pipeline, preprocessing=effects)

    finding = only(after("nfd"), "preprocessing-growth")
    n_more = sum(good.count(unicodedata.normalize("NFD", t)) - good.count(t) for t in texts)
    assert finding.figure.value == n_more
    assert finding.saving_usd_per_year == yearly_usd(n_more, 2)
    assert not found(after("nfc"), "preprocessing-growth")
    # Of several steps the one that makes them is named, and what undoes it is not.
    assert only(after("nfc", "nfd", "nfc"), "preprocessing-growth").where == "nfd"
