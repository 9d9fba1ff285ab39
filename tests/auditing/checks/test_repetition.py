"""Checks of what is sent again, and of prompt caches."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jeton._core import Tokenizer
from jeton.auditing.options.pipeline import Pipeline
from tests.auditing.checks.findings_of import PRICED, found, only, requests_of, yearly_usd
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import documentation

CLAUDE = {"price_model": "anthropic:claude-sonnet-4-5", "requests_per_day": 100_000}


def words(n: int, seed: int) -> str:
    """Different text for each seed, of words that the tokenizer knows."""
    vocabulary = sorted(set(documentation()[0].split()) | set(documentation()[1].split()))
    choose = random.Random(seed)
    return " ".join(choose.choices(vocabulary, k=n))


INSTRUCTIONS = words(1200, seed=-1)


def test_prompt_prefix_cacheable(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [f"{INSTRUCTIONS}\n\n{words(60, seed)}" for seed in range(40)]
    evidence = evidence_of(texts, tokenizers=[good], **CLAUDE)
    finding = only(evidence, "prompt-prefix-cacheable")
    (point,) = finding.evidence["break_points"]
    n_prefix = good.count(INSTRUCTIONS)
    assert point["n_tokens"] == pytest.approx(n_prefix, abs=3)
    assert point["n_documents_in_sample"] == 40
    # 100,000 requests a day are 347 in five minutes: all but a handful find it.
    assert point["hit_rate"] > 0.9999
    assert finding.figure.value == pytest.approx(40 * n_prefix, rel=0.01)
    # Reading at a tenth of the price saves nine tenths of these tokens.
    assert evidence.traffic.price is not None
    saving = evidence.traffic.usd_per_year(round(0.9 * 40 * point["n_tokens"]))
    assert saving is not None
    assert finding.saving_usd_per_year is not None
    assert float(finding.saving_usd_per_year) == pytest.approx(float(saving), rel=0.001)
    # The twin: the same tokens, shared by none.
    twin = [f"{words(1200, 1000 + seed)}\n\n{words(60, seed)}" for seed in range(40)]
    assert not found(evidence_of(twin, tokenizers=[good], **CLAUDE), "prompt-prefix-cacheable")
    # Below the provider's minimum nothing is cached.
    short = [f"{INSTRUCTIONS[:1500]}\n\n{words(60, seed)}" for seed in range(40)]
    assert good.count(INSTRUCTIONS[:1500]) < 1024
    assert not found(evidence_of(short, tokenizers=[good], **CLAUDE), "prompt-prefix-cacheable")


def test_a_cache_that_is_used_already_is_no_finding(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    texts = [f"{INSTRUCTIONS}\n\n{words(60, seed)}" for seed in range(40)]
    pipeline = Pipeline(cache=True)
    evidence = evidence_of(texts, tokenizers=[good], pipeline=pipeline, **CLAUDE)
    assert not found(evidence, "prompt-prefix-cacheable")
    evidence = replace(evidence, pipeline=None)
    n_prefix, n_all = good.count(INSTRUCTIONS), evidence.current.n_tokens // 40
    reading = requests_of(40, input_tokens=[n_all] * 40, cache_read_tokens=[n_prefix] * 40)
    assert not found(replace(evidence, requests=reading), "prompt-prefix-cacheable")
    half = requests_of(40, input_tokens=[n_all] * 40, cache_read_tokens=[n_prefix, 0] * 20)
    whole = only(evidence, "prompt-prefix-cacheable")
    rest = only(replace(evidence, requests=half), "prompt-prefix-cacheable")
    assert rest.saving_usd_per_year is not None
    assert whole.saving_usd_per_year is not None
    assert float(rest.saving_usd_per_year) == pytest.approx(
        float(whole.saving_usd_per_year) / 2, rel=0.02
    )


def test_seldom_requests_miss_the_cache(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [f"{INSTRUCTIONS}\n\n{words(60, seed)}" for seed in range(40)]
    seldom = {**CLAUDE, "requests_per_day": 6}
    assert not found(evidence_of(texts, tokenizers=[good], **seldom), "prompt-prefix-cacheable")
    # The same day's requests within ten minutes find it: times beat the mean rate.
    evidence = evidence_of(texts, tokenizers=[good], **seldom)
    together = requests_of(40, time_s=[1e9 + 15 * i for i in range(40)])
    assert only(replace(evidence, requests=together), "prompt-prefix-cacheable")
    apart = requests_of(40, time_s=[1e9 + 4 * 3600 * i for i in range(40)])
    assert not found(replace(evidence, requests=apart), "prompt-prefix-cacheable")


def test_prompt_prefix_volatile(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [
        f"Time: 2026-11-21T10:{seed:02}:07Z\n{INSTRUCTIONS}\n\n{words(60, seed)}"
        for seed in range(40)
    ]
    evidence = evidence_of(texts, tokenizers=[good], **CLAUDE)
    assert not found(evidence, "prompt-prefix-cacheable")
    finding = only(evidence, "prompt-prefix-volatile")
    assert "2026-11-21T10:" in finding.evidence["example"]
    assert finding.evidence["char"] == texts[0].index("00:07Z")
    assert finding.figure.value == pytest.approx(40 * good.count(INSTRUCTIONS), rel=0.03)
    moved = [text.partition("\n")[2] + "\n" + text.partition("\n")[0] for text in texts]
    evidence = evidence_of(moved, tokenizers=[good], **CLAUDE)
    assert not found(evidence, "prompt-prefix-volatile")
    assert only(evidence, "prompt-prefix-cacheable")


FOOTER = "This message is confidential and meant for the addressee; delete it if that is not you."


def test_boilerplate(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [f"{words(40, seed)}\n{FOOTER}\n" for seed in range(20)]
    evidence = evidence_of(texts, tokenizers=[good], **PRICED)
    finding = only(evidence, "boilerplate")
    n_saved = sum(good.count(text) - good.count(text.replace(FOOTER + "\n", "")) for text in texts)
    assert finding.figure.value == n_saved
    assert finding.saving_usd_per_year == yearly_usd(n_saved, 20)
    assert finding.evidence["lines"] == [{"line": FOOTER[:80], "n_documents": 20}]
    twin = [f"{words(40, seed)}\n{words(18, 500 + seed)}\n" for seed in range(20)]
    assert not found(evidence_of(twin, tokenizers=[good]), "boilerplate")
    # Four documents may be a series, and copies of one document are one.
    few = [*texts[:4], *twin[4:]]
    assert not found(evidence_of(few, tokenizers=[good]), "boilerplate")
    copies = [texts[0]] * 9 + twin
    assert not found(evidence_of(copies, tokenizers=[good]), "boilerplate")


def test_boilerplate_leaves_to_the_cache_what_it_serves(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    texts = [f"{INSTRUCTIONS}\n{words(60, seed)}" for seed in range(20)]
    assert not found(evidence_of(texts, tokenizers=[good], **CLAUDE), "boilerplate")
    behind = [f"{words(60, seed)}\n{INSTRUCTIONS}" for seed in range(20)]
    finding = only(evidence_of(behind, tokenizers=[good], **CLAUDE), "boilerplate")
    assert "beginning" in finding.remedy


def test_near_duplicate_documents(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    base = words(200, 1).split()
    changed = [*base[:100], "otherwise", *base[101:]]
    texts = [" ".join(base), " ".join(changed), words(200, 2), words(200, 3)]
    evidence = evidence_of(texts, tokenizers=[good], **PRICED)
    finding = only(evidence, "near-duplicate-documents")
    assert finding.figure.value in (good.count(texts[0]), good.count(texts[1]))
    assert finding.evidence["n_documents"] == 1
    # 5 of 196 shingles differ on each side.
    assert finding.evidence["examples"][0]["resemblance"] == pytest.approx(191 / 201, abs=0.01)
    half = [" ".join(base), " ".join(base[:100]) + " " + words(100, 4), *texts[2:]]
    assert not found(evidence_of(half, tokenizers=[good]), "near-duplicate-documents")
    # Exact copies are another check's.
    assert not found(evidence_of([texts[0]] * 3, tokenizers=[good]), "near-duplicate-documents")


def test_overlapping_documents(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    whole = words(900, 7).split()
    pieces = [" ".join(whole[start : start + 200]) for start in range(0, 900, 150)]
    finding = only(evidence_of(pieces, tokenizers=[good], **PRICED), "overlapping-documents")
    assert finding.evidence["n_documents"] == len(pieces) - 1
    n_repeated = sum(good.count(" ".join(piece.split()[:50])) for piece in pieces[1:])
    assert finding.figure.value == pytest.approx(n_repeated, rel=0.05)
    apart = [" ".join(whole[start : start + 150]) for start in range(0, 900, 150)]
    assert not found(evidence_of(apart, tokenizers=[good]), "overlapping-documents")


def test_terms_worth_adding(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    sentence = "The zygomycosis of the glioblastoma is treated with itraconazole {}. "
    texts = [sentence.format(n) * 2 for n in range(60)]
    finding = only(evidence_of(texts, tokenizers=[good], model="gpt2"), "terms-worth-adding")
    terms = {term["term"]: term for term in finding.evidence["terms"]}
    assert {"zygomycosis", "glioblastoma", "itraconazole"} <= set(terms)
    assert terms["zygomycosis"]["n_tokens"] == good.count(" zygomycosis")
    # Counted on the half that did not choose: no more than all occurrences.
    assert 0 < terms["zygomycosis"]["n_occurrences"] < 120
    assert finding.evidence["embedding_bytes"] == finding.evidence["n_terms"] * 768 * 2
    known = ["The statement is executed when the condition is true. " * 2] * 60
    assert not found(evidence_of(known, tokenizers=[good]), "terms-worth-adding")
    # Words that do not come again are no terms.
    once = [sentence.replace("zygo", f"{chr(97 + n % 26)}{n}go").format(n) for n in range(3)]
    assert not found(evidence_of(once, tokenizers=[good]), "terms-worth-adding")
