"""Waterfall, trade-off, sliders and the maturity verdict, from what an audit measured."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jeton._core import Tokenizer
from jeton.auditing import AuditReport, Pipeline, audit
from jeton.auditing.maturity import maturity_of
from jeton.auditing.registry import ANALYSES, remedy_facts
from jeton.economics.tradeoff import Limits
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import documentation

PRICED: dict[str, Any] = {"price_model": "usd:2.5/10", "requests_per_day": 1_000}
SPACED = [f"the   value   of   statement   {i}   is   {i * i}   " * 4 for i in range(60)]


def _audit(texts: list[str], *tokenizers: Tokenizer, **options: Any) -> AuditReport:
    return audit(iter(texts), tokenizers=tokenizers, **options)


def test_the_waterfall_begins_with_the_bill_and_its_steps_add_up(good: Tokenizer) -> None:
    report = _audit(SPACED, good, output_tokens_per_request=12, **PRICED)
    assert report.waterfall is not None
    factors = {factor.name: Decimal(factor.value.value) for factor in report.waterfall.factors}
    tokens = factors["bytes_per_request"] * factors["tokens_per_byte"]
    assert float(tokens) == pytest.approx(report.tokenizers[0].tokens_per_document.mean)
    usd = report.tokenizers[0].economics.usd_per_month
    assert usd is not None
    assert abs(report.waterfall.naive_usd_per_month - Decimal(usd.value)) < Decimal("0.00001")
    assert report.waterfall.steps
    changes = sum((step.delta_usd_per_month for step in report.waterfall.steps), Decimal(0))
    assert report.waterfall.naive_usd_per_month + changes == (
        report.waterfall.engineered_usd_per_month
    )
    found = {finding.id for finding in report.findings}
    assert {step.id for step in report.waterfall.steps} <= found
    assert report.what_if is not None
    assert 0 < report.what_if.tokens_saved_share < 1
    assert report.what_if.requests_per_month == pytest.approx(1_000 * 365 / 12)


def test_the_table_ends_with_the_bills_of_the_waterfall(good: Tokenizer) -> None:
    report = _audit(SPACED, good, **PRICED)
    assert report.waterfall is not None
    assert report.comparison is not None
    bill = report.comparison.rows[-1]
    assert bill.naive.value == report.waterfall.naive_usd_per_month
    assert bill.engineered.value == report.waterfall.engineered_usd_per_month
    assert report.comparison.usd_saved_per_month > 0
    assert _audit(SPACED, good).comparison is None


def test_bills_of_domains_add_up_to_the_bill_of_all(tmp_path: Path, good: Tokenizer) -> None:
    for name, text in (("de", "Der Wert der Anweisung"), ("en", "the value of the statement")):
        (tmp_path / f"{name}.txt").write_text(f"{text}\n" * 30, encoding="utf-8")
    report = audit(tmp_path, tokenizers=[good], documents="line", price_model="usd:2")
    assert [bill.name for bill in report.domain_bills] == ["de", "en"]
    total = sum((bill.usd for bill in report.domain_bills), Decimal(0))
    usd = report.tokenizers[0].economics.usd_per_request
    assert usd is not None
    assert total == Decimal(usd.value) * 60
    dear, cheap = report.domain_bills
    assert dear.premium is not None
    assert cheap.premium == 1.0 or dear.premium == 1.0
    assert audit(tmp_path, tokenizers=[good]).domain_bills == ()


def test_without_price_or_traffic_there_is_no_waterfall(good: Tokenizer) -> None:
    assert _audit(SPACED, good).waterfall is None
    assert _audit(SPACED, good, price_model="usd:1").waterfall is None
    assert _audit(SPACED, good, requests_per_day=5).waterfall is None
    what_if = _audit(SPACED, good).what_if
    assert what_if is not None
    assert what_if.usd_per_mtok_input is None
    assert what_if.requests_per_month is None
    assert what_if.gpus


def test_steps_of_the_waterfall_have_names_in_words(good: Tokenizer) -> None:
    report = _audit(SPACED, good, **PRICED)
    assert report.waterfall is not None
    names = {step.id: step.name for step in report.waterfall.steps}
    assert names["whitespace-runs"] == "Remove unneeded spaces and blank lines"
    assert not any("-" in name for name in names.values())
    remedies = [one.remedy for one in ANALYSES.values() if one.remedy is not None]
    assert len(remedies) == len(set(remedies)) >= 50
    assert remedy_facts("no-such-check").name == "No such check"


def test_tiered_prices_pay_what_the_lengths_pay(good: Tokenizer) -> None:
    long = " the" * 250_000
    report = _audit([long, "short"], good, price_model="google:gemini-2.5-pro", requests_per_day=10)
    assert report.waterfall is not None
    usd = report.tokenizers[0].economics.usd_per_month
    assert usd is not None
    assert abs(report.waterfall.naive_usd_per_month - Decimal(usd.value)) < Decimal("0.0001")


def test_the_trade_off_has_every_tokenizer_and_keeps_limits(
    good: Tokenizer, poor: Tokenizer
) -> None:
    texts = list(documentation()[:8])
    free = _audit(texts, good, poor, model="gpt2", gpu="l4", **PRICED).tradeoff
    assert free is not None
    assert [point.name for point in free.points] == [good.name, poor.name]
    assert free.best == good.name
    assert all(point.seconds_per_request for point in free.points)
    limit = Limits(usd_per_month=Decimal("0.01"))
    tight = _audit(texts, good, poor, limits=limit, **PRICED).tradeoff
    assert tight is not None
    assert tight.best is None
    assert all(point.violates == ("usd_per_month",) for point in tight.points)
    assert _audit(texts, good, quality=False).tradeoff is None


@pytest.mark.parametrize(
    ("pipeline", "level"),
    [
        ({"padding": "static", "max_length": 4096}, "static"),
        ({"padding": "longest", "batch_size": 8}, "dynamic"),
        ({"padding": "none", "cache": True}, "dynamic"),
        ({"padding": "none", "cache": True, "length_prediction": True}, "predictive"),
        ({"padding": "none", "cache": False, "length_prediction": True}, "dynamic"),
        ({"padding": "none", "length_prediction": False}, "dynamic"),
        ({"reserved_tokens": 100_000, "length_prediction": True}, "static"),
        ({"reserved_tokens": 14, "length_prediction": True}, "predictive"),
        ({"max_length": 3, "truncation": "right", "length_prediction": True}, "static"),
        ({"chunk_tokens": 128}, "dynamic"),
    ],
)
def test_the_verdict_is_the_lowest_that_the_evidence_allows(
    evidence_of: EvidenceOf, good: Tokenizer, pipeline: dict[str, Any], level: str
) -> None:
    texts = ["the value of the statement " * 2] * 40
    maturity = maturity_of(evidence_of(texts, tokenizers=[good], pipeline=Pipeline(**pipeline)))
    assert maturity is not None
    assert maturity.level == level
    assert maturity.evidence
    assert maturity.next_step


def test_nothing_known_is_no_verdict(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    assert maturity_of(evidence_of(["text"], tokenizers=[good])) is None
    said = evidence_of(["text"], tokenizers=[good], pipeline=Pipeline(batch_size=4))
    assert maturity_of(said) is None


def test_caches_and_answers_in_logs_are_evidence(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    def records(cached: int) -> list[dict[str, Any]]:
        return [
            {
                "prompt": f"the value {i}",
                "usage": {
                    "prompt_tokens": 100,
                    "completion_tokens": 10,
                    "prompt_tokens_details": {"cached_tokens": cached},
                },
            }
            for i in range(40)
        ]

    def verdict(cached: int, **pipeline: Any) -> Any:
        def seen(some: list[dict[str, Any]]) -> Any:
            return evidence_of(some, tokenizers=[good], logs=True, pipeline=Pipeline(**pipeline))

        return maturity_of(seen(records(cached)))

    assert "80% of the input is read from a cache" in verdict(80).evidence
    assert verdict(0).next_step == "cache the prefixes that requests share"
    assert verdict(80, max_output_tokens=4096).level == "static"
    assert verdict(80, max_output_tokens=12, length_prediction=True).level == "predictive"


def test_the_verdict_follows_from_evidence_alone(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    evidence = evidence_of(
        ["text " * 30], tokenizers=[good], pipeline=Pipeline(padding="static", max_length=512)
    )
    assert maturity_of(evidence) == maturity_of(replace(evidence, terms=()))
