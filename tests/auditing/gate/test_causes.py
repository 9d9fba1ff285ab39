"""The gate names the cause: each way in which a workload changes, alone and together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from jeton._core import Tokenizer
from jeton.auditing.gate import Baseline, GateResult, Status
from jeton.auditing.gate.causes import CAUSES, KINDS
from jeton.auditing.gate.features import DOCUMENTS, LIST_PRICE, TRAFFIC
from jeton.auditing.gate.rewriting import STEPS
from jeton.findings import Basis
from tests.auditing.gate.changed_texts import (
    FRENCH,
    Change,
    corpus,
    decomposed,
    doubled_white_space,
    gate,
    run,
)

pytestmark = pytest.mark.usefixtures("no_checks")
BUDGETS = (
    "tokens_per_document>+2%",
    "bytes_per_token<-2%",
    "n_tokens>+2%",
    "tokens_per_document_p95>+2%",
    "usd_per_month>+2%",
)
PRICED: dict[str, Any] = {
    "price_model": "usd:2/8",
    "requests_per_day": 1000.0,
    "output_tokens_per_request": 50.0,
}


@pytest.fixture(scope="module")
def before(good: Tokenizer) -> Baseline:
    return run(corpus(), good, **PRICED)[0]


def judged(texts: list[str], tokenizer: Tokenizer, before: Baseline, *budgets: str) -> GateResult:
    return gate(texts, tokenizer, before, *(budgets or BUDGETS), **PRICED)


def assert_sums(result: GateResult) -> None:
    for item in result.results:
        assert item.difference is not None
        if item.causes:
            assert sum(cause.part.value for cause in item.causes) == item.difference


CHANGES: list[tuple[Change, str]] = [
    (doubled_white_space, "white_space"),
    (lambda text: text.replace("\n", "\r\n  "), "white_space"),
    (decomposed, "unicode_form"),
    (str.upper, "letter_case"),
    (lambda text: "\u200b".join(text.split(" ")) + "\ufeff", "invisible_characters"),
    (
        lambda text: text.translate({i: i + 0xFEE0 for i in range(0x41, 0x7B)}),
        "compatibility_forms",
    ),
    (lambda text: f"{text} {text}", "repeated_passages"),
]


@pytest.mark.parametrize(
    ("change", "cause"), CHANGES, ids=[f"{c}-{i}" for i, (_, c) in enumerate(CHANGES)]
)
def test_a_changed_text_is_named(
    change: Change, cause: str, good: Tokenizer, before: Baseline
) -> None:
    result = judged([change(text) for text in corpus()], good, before)
    assert_sums(result)
    first = result.results[0]
    assert first.is_exceeded
    assert first.main_cause is not None
    assert first.main_cause.part.cause == cause
    assert first.main_cause.part.basis is Basis.EXACT
    assert first.documents
    named = {document.cause for document in first.documents}
    assert named <= ({cause} if cause in STEPS else {"wording"})
    assert all(document.status is Status.CHANGED for document in first.documents)


@pytest.mark.parametrize(
    ("change", "cause"), [(doubled_white_space, "white_space"), (decomposed, "unicode_form")]
)
def test_a_feature_alone_is_the_whole_difference_of_every_figure(
    change: Change, cause: str, good: Tokenizer, before: Baseline
) -> None:
    result = judged([change(text) for text in corpus()], good, before)
    moved = [item for item in result.results if item.difference]
    assert len(moved) >= 4
    for item in moved:
        assert [c.part.cause for c in item.causes] == [cause], item.metric
        assert item.causes[0].share == 1.0


def test_the_same_corpus_passes_in_any_order(good: Tokenizer, before: Baseline) -> None:
    result = judged(list(reversed(corpus())), good, before)
    assert result.is_passed
    assert [item.difference for item in result.results] == [0] * len(BUDGETS)
    assert not any(item.causes or item.documents for item in result.results)


def test_an_exchanged_tokenizer_is_named(
    poor: Tokenizer, good: Tokenizer, before: Baseline
) -> None:
    result = judged(list(corpus()), poor, before, *BUDGETS, "tokenizer_changed>0")
    assert_sums(result)
    assert result.is_tokenizer_changed
    assert result.is_bridged
    assert [item.is_exceeded for item in result.results] == [True] * 6
    for item in result.results[:4]:
        assert [c.part.cause for c in item.causes] == ["tokenizer"]
    assert {d.status for d in result.results[0].documents} == {Status.SAME}
    assert {d.cause for d in result.results[0].documents} == {"tokenizer"}
    back = judged(list(corpus()), good, before, "tokenizer_changed>0")
    assert back.is_passed


def test_text_and_tokenizer_changed_at_once_are_told_apart(
    poor: Tokenizer, good: Tokenizer, before: Baseline
) -> None:
    texts = [doubled_white_space(text) for text in corpus()]
    both = judged(texts, poor, before).results[0]
    of_text = judged(texts, good, before).results[0]
    n_tokens = sum(poor.count(text) for text in texts) - sum(good.count(text) for text in texts)
    parts = {c.part.cause: c.part.value for c in both.causes}
    assert parts == {
        "white_space": of_text.difference,
        "tokenizer": Fraction(n_tokens, len(texts)),
    }


def test_without_the_old_tokenizer_unchanged_documents_tell(
    poor: Tokenizer, before: Baseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jeton.auditing.gate.TokenizerIdentity.tokenizer", lambda _: None)
    same = judged(list(corpus()), poor, before)
    assert [c.part.cause for c in same.results[0].causes] == ["tokenizer"]
    assert same.results[0].causes[0].part.basis is Basis.EXACT
    some = [doubled_white_space(text) if i < 15 else text for i, text in enumerate(corpus())]
    estimated = judged(some, poor, before)
    assert_sums(estimated)
    assert not estimated.is_bridged
    causes = {c.part.cause: c.part for c in estimated.results[0].causes}
    assert {"tokenizer", "white_space"} <= causes.keys()
    assert {part.basis for part in causes.values()} == {Basis.ESTIMATED}
    assert {d.cause for d in estimated.results[0].documents} <= {"tokenizer", "tokenizer_or_text"}
    nothing = judged([text + "!" for text in corpus()], poor, before)
    assert [c.part.cause for c in nothing.results[0].causes] == ["tokenizer_or_text"]


def test_a_changed_mix_of_languages_is_named(good: Tokenizer, before: Baseline) -> None:
    texts = [*corpus(), *(text * 3 for text in FRENCH * 20)]
    result = judged(texts, good, before, "bytes_per_token<-2%", "n_tokens>+2%")
    assert_sums(result)
    assert result.results[0].main_cause is not None
    assert result.results[0].main_cause.part.cause == "language_mix"
    assert "french" in result.results[0].main_cause.detail
    assert DOCUMENTS in {c.part.cause for c in result.results[1].causes}
    assert {d.status for d in result.results[1].documents} == {Status.NEW}


def test_every_cause_has_a_name_and_a_kind() -> None:
    assert CAUSES.keys() == KINDS.keys()


def test_money_moves_by_price_traffic_and_output_too(good: Tokenizer, before: Baseline) -> None:
    result = gate(
        corpus(),
        good,
        before,
        "usd_per_month>+-1%",
        "usd_per_request>+-1%",
        price_model="usd:3/9",
        requests_per_day=1500.0,
        output_tokens_per_request=60.0,
    )
    assert_sums(result)
    month = {c.part.cause for c in result.results[0].causes}
    assert month == {LIST_PRICE, TRAFFIC, "answer"}
    request = {c.part.cause: c.part.value for c in result.results[1].causes}
    mean = before.values["tokens_per_document"]
    # Answers of 60 tokens instead of 50, at the mean of 8 and 9 USD; the rest is the price.
    assert request["answer"] == Fraction(10) * Fraction(17, 2) / 1_000_000
    assert request[LIST_PRICE] == (mean + 55) / 1_000_000
    assert "2 -> 3 USD a million fresh tokens" in result.results[1].causes[0].detail


def test_figures_that_follow_tokens_have_their_causes(good: Tokenizer) -> None:
    options: dict[str, Any] = {"model": "llama-3-8b"}
    before = run(corpus(), good, **options)[0]
    texts = [doubled_white_space(text) for text in corpus()]
    result = gate(texts, good, before, "kv_bytes_per_request_mean>+2%", "vocab_used<+0", **options)
    assert_sums(result)
    assert [c.part.cause for c in result.results[0].causes] == ["white_space"]
    assert result.results[1].causes == (), "no cause is made up for what has none"


def test_what_is_new_and_gone_is_said(good: Tokenizer, before: Baseline) -> None:
    texts = [*corpus()[:-1], "x" * 90_000]
    grown = judged(texts, good, before).results[0]
    assert grown.documents[0].status is Status.CHANGED, "it stands where another one stood"
    more = judged([*corpus(), "word " * 90_000], good, before).results[0]
    assert (more.documents[0].status, more.documents[0].index) == (Status.NEW, len(corpus()))
    longest = max(range(len(corpus())), key=lambda i: good.count(corpus()[i]))
    less = gate(
        [text for i, text in enumerate(corpus()) if i != longest],
        good,
        before,
        "tokens_per_document<-2%",
    ).results[0]
    # Everything behind it moved up one place, and is known again by its text.
    assert [(d.status, d.n_tokens_before) for d in less.documents[:1]] == [
        (Status.GONE, good.count(corpus()[longest]))
    ]
    assert less.is_exceeded
