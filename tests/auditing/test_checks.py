"""Every check: it finds what it is for in a text made for it, and is silent on a twin."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from jeton._core import Tokenizer
from jeton.auditing.checks import CHECKS
from jeton.auditing.evidence import Evidence
from jeton.findings import Basis, Finding, Severity
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import documentation

PRICED = {"price_model": "usd:10", "requests_per_day": 1000}
ENGLISH = "The statement is executed when the condition is true. "


def found(evidence: Evidence, check: str) -> list[Finding]:
    findings = list(CHECKS[check](evidence))
    for finding in findings:
        assert finding.id == check
        assert finding.title
        assert finding.cause
        assert finding.remedy
        assert finding.figure.formula
        if finding.saving_usd_per_year is not None:
            assert finding.saving_formula
    return findings


def only(evidence: Evidence, check: str) -> Finding:
    findings = found(evidence, check)
    assert len(findings) == 1
    return findings[0]


def yearly_usd(n_tokens: int, n_documents: int) -> Decimal:
    """1000 requests a day at $10 per million tokens, counted the long way."""
    usd = Decimal(n_tokens) / n_documents * 1000 * 365 * Decimal(10) / 1_000_000
    return usd.quantize(Decimal("0.01"))


def test_tokenizer_foreign(evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer) -> None:
    texts = documentation()[:5]
    evidence = evidence_of(texts, tokenizers=[poor, good], **PRICED)
    finding = only(evidence, "tokenizer-foreign")
    difference = sum(poor.count(text) - good.count(text) for text in texts)
    assert finding.figure.value == difference
    assert finding.figure.basis is Basis.EXACT
    assert finding.saving_usd_per_year == yearly_usd(difference, len(texts))
    assert finding.saving_basis is Basis.ESTIMATED
    # The candidate is larger: at no larger vocabulary there is nothing better.
    assert finding.evidence["best_of_no_larger_vocabulary"] is None
    assert "more entries" in finding.cause
    assert not found(evidence_of(texts, tokenizers=[good, poor]), "tokenizer-foreign")
    assert not found(evidence_of(texts, tokenizers=[good]), "tokenizer-foreign")


def test_a_candidate_that_loses_text_is_not_recommended(
    evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer
) -> None:
    evidence = evidence_of(documentation()[:5], tokenizers=[poor, good])
    candidate = evidence.candidates[0]
    lossy = replace(
        candidate,
        report=replace(
            candidate.report, n_round_trip_failures=1, unreturned_by_cause={"unknown": 1}
        ),
    )
    evidence = replace(evidence, candidates=(lossy,))
    assert not found(evidence, "tokenizer-foreign")
    assert not found(evidence, "compression-good")


def test_compression_good(evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer) -> None:
    texts = documentation()[:5]
    finding = only(evidence_of(texts, tokenizers=[good, poor]), "compression-good")
    assert finding.severity is Severity.GOOD
    assert "more tokens" in finding.title
    assert finding.figure.value == pytest.approx(
        sum(len(text.encode()) for text in texts) / sum(map(good.count, texts))
    )
    assert not found(evidence_of(texts, tokenizers=[poor, good]), "compression-good")
    assert not found(evidence_of(texts, tokenizers=[good]), "compression-good")


def test_term_shatter(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [ENGLISH + "The zygomycosis of the glioblastoma."] * 3
    terms = ["zygomycosis", "glioblastoma", "statement"]
    evidence = evidence_of(texts, tokenizers=[good], terms=terms, **PRICED)
    finding = only(evidence, "term-shatter")
    extra = 3 * (good.count(" zygomycosis") + good.count(" glioblastoma") - 2)
    assert good.count(" statement") == 1
    assert finding.figure.value == extra
    assert finding.severity is Severity.WARNING
    assert finding.saving_usd_per_year == yearly_usd(extra, 3)
    assert sum(t.usd_per_year_above_one_token or 0 for t in evidence.terms) == pytest.approx(
        finding.saving_usd_per_year, abs=Decimal("0.02")
    )
    whole = evidence_of(texts, tokenizers=[good], terms=["statement", "absent"])
    assert not found(whole, "term-shatter")


def test_rare_shatter_is_silent_and_some_is_only_information(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    term = "zygomycosis"
    extra = good.count(f" {term}") - 1
    unit = good.count(" the")

    def finding_at(share: float) -> list[Finding]:
        text = f"a {term} a" + " the" * round(extra / share / unit)
        return found(evidence_of([text], tokenizers=[good], terms=[term]), "term-shatter")

    assert not finding_at(0.0008)
    assert finding_at(0.005)[0].severity is Severity.INFO
    assert finding_at(0.05)[0].severity is Severity.WARNING


def test_whitespace_runs(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    table = "\n".join(f"name{i}        value      unit   " for i in range(50)) + "\n\n\n\n\nend"
    plain = "\n".join(f"name{i} value unit" for i in range(50)) + "\n\nend"
    evidence = evidence_of([table], tokenizers=[good], **PRICED)
    finding = only(evidence, "whitespace-runs")
    saved = good.count(table) - good.count(plain)
    assert saved > 0
    assert finding.figure.value == saved
    assert finding.evidence["n_removable_bytes"] == len(table) - len(plain)
    assert finding.saving_usd_per_year == yearly_usd(saved, 1)
    assert not found(evidence_of([plain], tokenizers=[good]), "whitespace-runs")


def test_indentation_is_not_called_needless(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    code = "def f():\n" + "".join(f"{' ' * 12}if x == {i}:\n{' ' * 16}return\n" for i in range(40))
    evidence = evidence_of([code], tokenizers=[good])
    assert evidence.corpus.n_repeated_whitespace_bytes > 0.3 * len(code)
    assert not found(evidence, "whitespace-runs")


def test_bytes_fallback(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    thai = ["ภาษาไทยเป็นภาษาที่ไม่เว้นวรรคระหว่างคำ", ENGLISH]
    evidence = evidence_of(thai, tokenizers=[good], **PRICED)
    finding = only(evidence, "bytes-fallback")
    pieces = [good.id_to_bytes(id_) for text in thai for id_ in good.encode(text)]
    n_partial = sum(piece.decode(errors="ignore").encode() != piece for piece in pieces)
    assert finding.figure.value == n_partial
    assert finding.saving_usd_per_year == yearly_usd(n_partial // 2, 2)
    assert not found(evidence_of([ENGLISH], tokenizers=[good]), "bytes-fallback")


def test_vocabulary_unused(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    many = [ENGLISH * 300]
    evidence = evidence_of(many, tokenizers=[good], model="gpt2")
    finding = only(evidence, "vocabulary-unused")
    n_unused = good.n_tokens - len(set(good.encode(many[0])))
    assert finding.figure.value == n_unused
    assert finding.saving_usd_per_year is None
    # GPT-2 has one table of 768 columns; 2 bytes each.
    assert finding.evidence["unused_bytes"] == n_unused * 768 * 2
    # One sentence says nothing about the vocabulary: nearly all of its ids were seen once.
    assert not found(evidence_of([ENGLISH], tokenizers=[good]), "vocabulary-unused")


def test_a_vocabulary_in_use_is_not_called_unused(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(documentation(), tokenizers=[good])
    assert evidence.current.use.unseen_mass < 0.01
    assert not found(evidence, "vocabulary-unused")


def test_context_overflow(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [" the" * 1500, " the" * 1000, " the" * 900]
    evidence = evidence_of(texts, tokenizers=[good], model="gpt2")
    finding = only(evidence, "context-overflow")
    assert finding.severity is Severity.ERROR
    assert finding.figure.value == 1500 - 1024
    assert finding.evidence["n_documents"] == 1
    # The output needs room too.
    evidence = evidence_of(texts, tokenizers=[good], model="gpt2", output_tokens_per_request=100)
    finding = only(evidence, "context-overflow")
    assert finding.figure.value == (1500 - 924) + (1000 - 924)
    assert not found(evidence_of(texts[2:], tokenizers=[good], model="gpt2"), "context-overflow")
    assert not found(evidence_of(texts, tokenizers=[good]), "context-overflow")


def test_padding_waste(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [" the" * 10] * 9 + [" the" * 100]
    finding = only(evidence_of(texts, tokenizers=[good], model="gpt2"), "padding-waste")
    assert finding.figure.value == pytest.approx(1 - 190 / 1000)
    assert finding.evidence["longest"]["padded_to_tokens"] == 100
    assert finding.evidence["context"]["padding_share"] == pytest.approx(1 - 190 / (10 * 1024))
    assert not found(evidence_of([" the" * 10] * 10, tokenizers=[good]), "padding-waste")


def test_tail_length(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [" the" * 10] * 195 + [" the" * 200] * 5
    finding = only(evidence_of(texts, tokenizers=[good]), "tail-length")
    assert finding.figure.value == pytest.approx(200 / ((195 * 10 + 5 * 200) / 200))
    with_gpu = evidence_of(texts, tokenizers=[good], model="llama-3-8b", gpu="h100")
    finding = only(with_gpu, "tail-length")
    assert finding.evidence["concurrent_requests_p95"] > 0
    assert "fit at once" in finding.title
    assert not found(evidence_of([" the" * 10] * 200, tokenizers=[good]), "tail-length")
    # The same shape in 40 documents: p99 would be the longest document itself.
    assert not found(evidence_of(texts[::5], tokenizers=[good]), "tail-length")


def test_gpu_does_not_fit(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    large = evidence_of([ENGLISH], tokenizers=[good], model="llama-3.1-70b", gpu="h100")
    finding = only(large, "gpu-does-not-fit")
    assert finding.severity is Severity.ERROR
    assert finding.evidence["weights_bytes"] > finding.evidence["usable_bytes"]
    assert finding.evidence["n_gpus"] == 2
    assert "do not fit on one H100-SXM" in finding.title
    small = evidence_of([ENGLISH], tokenizers=[good], model="gpt2", gpu="h100")
    assert not found(small, "gpu-does-not-fit")
    assert not found(
        evidence_of([ENGLISH], tokenizers=[good], model="llama-3.1-70b"), "gpu-does-not-fit"
    )


def test_quadratic_attention(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    short = only(
        evidence_of([ENGLISH], tokenizers=[good], model="llama-3-8b"), "quadratic-attention"
    )
    assert short.severity is Severity.GOOD
    assert short.evidence["growth_at_4x"] < 4.1
    long = only(
        evidence_of([" the" * 8000], tokenizers=[good], model="llama-3-8b"), "quadratic-attention"
    )
    assert long.severity is Severity.INFO
    assert long.figure.value == pytest.approx(
        long.evidence["attention_flops"]
        / (long.evidence["attention_flops"] + long.evidence["linear_flops"])
    )
    # The worked figure: 8k -> 32k tokens cost 5.5 times the compute in an 8B model, not 16 times.
    assert long.evidence["growth_at_4x"] == pytest.approx(5.5, abs=0.1)
    assert not found(evidence_of([ENGLISH], tokenizers=[good]), "quadratic-attention")


def test_round_trip(evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer) -> None:
    evidence = evidence_of([ENGLISH], tokenizers=[good, poor])
    assert not found(evidence, "round-trip")

    def causes(n: int) -> dict[str, int]:
        return {"unknown": n}

    def failing(current: int, candidate: int) -> Evidence:
        now, other = evidence.current, evidence.candidates[0]
        return replace(
            evidence,
            current=replace(
                now,
                report=replace(
                    now.report,
                    n_round_trip_failures=current,
                    unreturned_by_cause=causes(current),
                ),
            ),
            candidates=(
                replace(
                    other,
                    report=replace(
                        other.report,
                        n_round_trip_failures=candidate,
                        unreturned_by_cause=causes(candidate),
                    ),
                ),
            ),
        )

    finding = only(failing(1, 0), "round-trip")
    assert (finding.severity, finding.figure.value) == (Severity.ERROR, 1)
    finding = only(failing(0, 1), "round-trip")
    assert (finding.severity, finding.where) == (Severity.WARNING, poor.name)


def test_not_utf8(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    latin1 = "café crème".encode("latin-1")
    finding = only(evidence_of([latin1, b"ok"], tokenizers=[good]), "not-utf8")
    assert finding.figure.value == 2
    assert finding.evidence["n_replaced_documents"] == 1
    # U+FFFD that was in the text already replaces nothing.
    assert not found(evidence_of(["café \ufffd", "ok"], tokenizers=[good]), "not-utf8")


def test_special_lookalikes(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = ["The <|im_end|> and <|endoftext|> and [INST] of it", "two <|endoftext|>", ENGLISH]
    evidence = evidence_of(texts, tokenizers=[good])
    finding = only(evidence, "special-lookalikes")
    assert finding.figure.value == 4
    assert evidence.n_lookalike_documents == 2
    assert finding.evidence["occurrences"] == {"<|endoftext|>": 2, "<|im_end|>": 1, "[INST]": 1}
    # One of them is a special token of this tokenizer: as such it would be one token.
    assert finding.evidence["n_of_current_tokenizer"] == 2
    assert f"{2 * (good.count('<|endoftext|>') - 1)} tokens fewer" in finding.remedy
    twin = ["The <|im end|> and < |endoftext|> and [inst", "|>of it"]
    assert not found(evidence_of(twin, tokenizers=[good]), "special-lookalikes")


def test_duplicate_documents(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = ["the same request", "the same request", "another one", "the same request", "", ""]
    evidence = evidence_of(texts, tokenizers=[good], **PRICED)
    finding = only(evidence, "duplicate-documents")
    assert finding.figure.value == 2
    assert finding.evidence["n_duplicate_bytes"] == 2 * len(texts[0])
    assert finding.evidence["max_copies"] == 3
    share = Decimal(2 * len(texts[0])) / sum(map(len, texts))
    assert finding.saving_usd_per_year == yearly_usd(
        int(share * evidence.current.n_tokens), len(texts)
    )
    distinct = [f"request {i}" for i in range(4)]
    assert not found(evidence_of(distinct, tokenizers=[good]), "duplicate-documents")


def test_without_a_price_no_finding_speaks_of_money(
    evidence_of: EvidenceOf, good: Tokenizer, poor: Tokenizer
) -> None:
    texts = [ENGLISH + "zygomycosis   ภาษาไทย   <|im_end|>\n\n\n\n"] * 4
    for options in ({}, {"price_model": "usd:10"}, {"requests_per_day": 1000}):
        evidence = evidence_of(texts, tokenizers=[poor, good], terms=["zygomycosis"], **options)
        findings = [finding for check in CHECKS for finding in found(evidence, check)]
        assert {"tokenizer-foreign", "term-shatter", "duplicate-documents"} <= {
            finding.id for finding in findings
        }
        for finding in findings:
            assert finding.saving_usd_per_year is None
            assert "USD" not in finding.title
            assert "$" not in finding.title


def test_every_check_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"
    text = page.read_text(encoding="utf-8")
    for check in CHECKS:
        assert f"| `{check}` |" in text
