"""The numbers of a report against a naive recount, and what must not change them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from jeton._core import TextBatch, Tokenizer
from jeton.auditing import AuditReport, audit
from jeton.findings import Figure
from tests.auditing.tiny import documentation

TERMS = ["list comprehension", "metaclass", "coroutine", "zygomycosis"]


def _audit(texts: list[str], *tokenizers: Tokenizer, **options: object) -> AuditReport:
    return audit(iter(texts), tokenizers=tokenizers, **options)  # type: ignore[arg-type]


def _usd(figure: Figure | None) -> Decimal:
    assert figure is not None
    assert isinstance(figure.value, Decimal)
    return figure.value


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*documentation()[:30], "Ωmega 漢字 🙂\n", "  x = 1   \n\n\n\n", "twice", "twice"]


def test_totals_equal_a_naive_recount(texts: list[str], good: Tokenizer, poor: Tokenizer) -> None:
    report = _audit(texts, good, poor)
    assert report.corpus.n_documents == len(texts)
    assert report.corpus.n_bytes == sum(len(text.encode()) for text in texts)
    assert report.corpus.n_chars == sum(map(len, texts))
    assert report.corpus.n_words == sum(len(text.split()) for text in texts)
    for shown, tokenizer in zip(report.tokenizers, (good, poor), strict=True):
        lengths = sorted(len(tokenizer.encode(text)) for text in texts)
        assert shown.n_tokens == sum(lengths)
        assert shown.tokens_per_document.mean == sum(lengths) / len(lengths)
        assert shown.tokens_per_document.max == lengths[-1]
        assert shown.tokens_per_document.p50 == lengths[(len(lengths) + 1) // 2 - 1]
        assert shown.bytes_per_token == report.corpus.n_bytes / sum(lengths)
        assert shown.vocab_used == len({id_ for text in texts for id_ in tokenizer.encode(text)})
        assert shown.n_round_trip_failures == 0
    assert [shown.is_current for shown in report.tokenizers] == [True, False]


def test_threads_do_not_change_the_report(
    texts: list[str], good: Tokenizer, poor: Tokenizer
) -> None:
    one = _audit(texts, good, poor, terms=TERMS, num_threads=1)
    two = _audit(texts, good, poor, terms=TERMS, num_threads=2)
    assert one == two
    assert one.to_dict() == two.to_dict()


def test_the_order_of_documents_does_not_change_the_figures(
    texts: list[str], good: Tokenizer, poor: Tokenizer
) -> None:
    forward = _audit(texts, good, poor, terms=TERMS)
    backward = _audit(texts[::-1], good, poor, terms=TERMS)
    assert forward == backward


def test_files_texts_and_a_batch_give_the_same_figures(
    texts: list[str], good: Tokenizer, tmp_path: Path
) -> None:
    for index, text in enumerate(texts):
        (tmp_path / f"{index:03d}.txt").write_bytes(text.encode())
    by_files = audit(tmp_path, tokenizers=good)
    by_texts = _audit(texts, good)
    by_batch = audit(TextBatch.from_texts(texts), tokenizers=[good])
    assert by_files.tokenizers == by_texts.tokenizers == by_batch.tokenizers
    assert by_files.findings == by_texts.findings == by_batch.findings
    assert len(by_files.corpus.sources) == len(texts)
    assert sum(source.n_bytes for source in by_files.corpus.sources) == by_texts.corpus.n_bytes
    assert by_files.corpus.sources[0].n_documents == 1


def test_terms_are_counted_and_cut_by_every_tokenizer(good: Tokenizer, poor: Tokenizer) -> None:
    text = "A zygomycosis, a Zygomycosis and the statement."
    report = _audit([text], good, poor, terms=["zygomycosis", "statement", "Statement", "absent"])
    assert report.n_terms_given == 3
    assert [(term.term, term.n_occurrences) for term in report.terms] == [
        ("zygomycosis", 2),
        ("statement", 1),
    ]
    for term in report.terms:
        assert [cut.tokenizer for cut in term.cuts] == [good.name, poor.name]
        for cut, tokenizer in zip(term.cuts, (good, poor), strict=True):
            assert cut.n_tokens == len(cut.pieces) == tokenizer.count(f" {term.term}")
            assert term.usd_per_year_above_one_token is None


def test_the_popular_sum_is_four_dollars_a_day(good: Tokenizer) -> None:
    """+10% of 100M tokens a day at $0.0004 per 1K tokens ($0.40 per million)."""
    before, after = " the" * 10, " the" * 11
    assert (good.count(before), good.count(after)) == (10, 11)
    options = {"price_model": "usd:0.4", "requests_per_day": 10_000_000}
    before_usd, after_usd = (
        _audit([text], good, **options).tokenizers[0].economics for text in (before, after)
    )
    assert _usd(before_usd.usd_per_day) == Decimal(40)
    assert _usd(after_usd.usd_per_day) - _usd(before_usd.usd_per_day) == Decimal("4.00")
    assert _usd(after_usd.usd_per_year) - _usd(before_usd.usd_per_year) == Decimal(1460)


def test_half_the_tokens_are_half_the_money(good: Tokenizer) -> None:
    options = {"price_model": "usd:2.5", "requests_per_day": 1234}
    whole = _audit([" the" * 20], good, **options).tokenizers[0]
    half = _audit([" the" * 10], good, **options).tokenizers[0]
    assert whole.n_tokens == 2 * half.n_tokens
    for name in ("usd_per_request", "usd_per_day", "usd_per_month", "usd_per_year"):
        larger, smaller = getattr(whole.economics, name), getattr(half.economics, name)
        assert _usd(larger) == 2 * _usd(smaller)


def test_the_json_report_holds_plain_values(texts: list[str], good: Tokenizer) -> None:
    import json

    report = _audit(
        texts, good, terms=TERMS, price_model="usd:0.4", requests_per_day=1000, model="gpt2"
    )
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["schema_version"] == "jeton.audit/2"
    assert plain["tokenizers"][0]["n_tokens"] == report.tokenizers[0].n_tokens
    assert plain["workload"]["usd_per_mtok_input"] == "0.4"
    assert [finding["id"] for finding in plain["findings"]] == [f.id for f in report.findings]
