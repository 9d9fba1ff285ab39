"""Token counts of a closed model's provider: calibrated from logs, estimated by a stand-in."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from jeton._core import Tokenizer
from jeton.auditing import Audit, audit
from jeton.economics import ProviderCount
from jeton.errors import UnknownModelError
from jeton.findings import Basis
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import documentation, train_tiny

MODEL = "anthropic:claude-sonnet-4-5"
SLOPE, FRAME = 1.4, 11


def _texts(n: int) -> list[str]:
    choose = random.Random(3)
    words = " ".join(documentation()[:3]).split()
    return [f"{i} {' '.join(words[i : i + choose.randint(5, 200)])}" for i in range(n)]


def _log(
    tokenizer: Tokenizer, n: int = 300, *, model: str = "claude-sonnet-4-5", noise: float = 0.03
) -> list[dict[str, Any]]:
    """Requests whose provider counts 1.4 times our tokens and a frame of 11, give or take."""
    choose = random.Random(7)
    return [
        {
            "model": model,
            "prompt": text,
            "timestamp": 1_760_000_000 + 600 * i,
            "usage": {
                "input_tokens": round(
                    (SLOPE * tokenizer.count(text) + FRAME) * choose.uniform(1 - noise, 1 + noise)
                ),
                "output_tokens": 20,
            },
        }
        for i, text in enumerate(_texts(n))
    ]


def _count(records: list[dict[str, Any]], tokenizer: Tokenizer, **options: Any) -> ProviderCount:
    count = audit(records, tokenizers=[tokenizer], logs=True, **options).provider_count
    assert count is not None
    return count


def test_usage_in_logs_calibrates_tokens_and_money(good: Tokenizer) -> None:
    records = _log(good)
    report = audit(records, tokenizers=[good], logs=True)
    count = report.provider_count
    assert count is not None
    assert count.n_tokens is not None
    assert count.n_tokens.basis is Basis.CALIBRATED
    assert count.n_calibration_requests == count.n_requests == 300
    assert count.n_counted_tokens == report.tokenizers[0].n_tokens
    reported = sum(record["usage"]["input_tokens"] for record in records)
    assert count.n_tokens_low is not None
    assert count.n_tokens_high is not None
    assert count.n_tokens_low <= reported <= count.n_tokens_high
    assert count.n_tokens.value == pytest.approx(reported, rel=0.01)
    assert count.n_tokens_high / count.n_tokens_low < 1.02
    assert count.request_error_share is not None
    assert 0.015 < count.request_error_share < 0.04, "the noise is 3% at most"
    assert f"{count.n_counted_tokens:,} x " in count.n_tokens.formula
    # Money is the ledger's, of what was reported: $3 and $15 a million.
    assert count.usd_per_request is not None
    each = (3 * reported / 300 + 15 * 20) / 1e6
    assert float(count.usd_per_request.value) == pytest.approx(each)
    assert count.usd_per_month is not None
    assert count.usd_per_month.basis is Basis.EXACT
    daily = report.workload.requests_per_day
    assert daily is not None
    expected = float(count.usd_per_request.value) * daily * 365 / 12
    assert float(count.usd_per_month.value) == pytest.approx(expected)
    assert count.usd_per_month_low is None


def test_the_waterfall_begins_with_the_providers_count(good: Tokenizer) -> None:
    report = audit(_log(good), tokenizers=[good], logs=True)
    assert report.waterfall is not None
    assert report.provider_count is not None
    assert report.provider_count.usd_per_month is not None
    factor = next(f for f in report.waterfall.factors if f.name == "tokens_per_byte")
    assert factor.value.basis is Basis.EXACT
    month = Decimal(report.provider_count.usd_per_month.value)
    assert abs(report.waterfall.naive_usd_per_month - month) < Decimal("0.0001")
    own = report.tokenizers[0].economics.usd_per_month
    assert own is not None
    assert abs(report.waterfall.naive_usd_per_month - Decimal(own.value)) < Decimal("0.0001")


def test_shards_and_orders_calibrate_alike(good: Tokenizer) -> None:
    records = _log(good, 120)
    shuffled = random.Random(1).sample(records, len(records))
    steps = Audit(tokenizers=[good], price_model=MODEL, logs=True)
    whole = steps.report(steps.count(records)).provider_count
    one, other = steps.count(shuffled[:50]), steps.count(shuffled[50:])
    assert steps.report(other.merge(one)).provider_count == whole
    assert whole is not None
    assert whole.n_calibration_requests == 120


def test_our_counts_stand_beside_the_requests_that_show_their_text(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    records = _log(good, 6)
    del records[2]["prompt"]
    requests = evidence_of(records, tokenizers=[good], logs=True).requests
    assert requests is not None
    expected = [good.count(r["prompt"]) if "prompt" in r else -1 for r in records]
    assert requests.counted_tokens.tolist() == expected


def test_usage_of_another_model_teaches_nothing(good: Tokenizer) -> None:
    records = _log(good, 100, model="gpt-4o")
    of_others = audit(records, tokenizers=[good], logs=True, price_model=MODEL).provider_count
    assert of_others is not None
    assert of_others.n_calibration_requests == 0
    dated = _log(good, 100, model="claude-sonnet-4-5-20250929")
    assert _count(dated, good, price_model=MODEL).n_calibration_requests == 100
    mixed = [*_log(good, 60), *_log(good, 100, model="gpt-4o")]
    assert _count(mixed, good, price_model=MODEL).n_calibration_requests == 60
    # A price of one's own: the model that most requests name.
    assert _count(records, good, price_model="usd:3/15").model == "gpt-4o"


def test_too_little_usage_is_no_calibration(good: Tokenizer) -> None:
    assert _count(_log(good, 18), good).n_calibration_requests == 18
    few = audit(_log(good, 17), tokenizers=[good], logs=True).provider_count
    assert few is not None
    assert few.n_calibration_requests == 0


def test_without_usage_the_stand_in_estimates_with_a_range() -> None:
    stand_in = train_tiny(vocab_size=2000, name="o200k_base")
    texts = list(documentation()[:10])
    report = audit(
        iter(texts), tokenizers=[stand_in], price_model=MODEL, requests_per_day=1000, quality=False
    )
    count = report.provider_count
    assert count is not None
    assert count.n_tokens is not None
    assert count.n_tokens.basis is Basis.ESTIMATED
    # Claude 3 and 4 in mixed text: x 1.2, from 1.0 to 1.5 (economics/closed.py).
    n_tokens = report.tokenizers[0].n_tokens
    assert count.n_tokens.value == pytest.approx(1.2 * n_tokens)
    assert count.n_tokens_low == n_tokens
    assert count.n_tokens_high == pytest.approx(1.5 * n_tokens)
    assert count.confidence is None
    assert count.request_error_share is None
    assert "x 1.2" in count.n_tokens.formula
    assert count.n_tokens.source
    assert report.waterfall is not None
    assert report.waterfall.basis is Basis.ESTIMATED


def test_a_stand_in_at_hand_is_tried_on_the_documents(
    monkeypatch: pytest.MonkeyPatch, good: Tokenizer, poor: Tokenizer
) -> None:
    from jeton.auditing.options import selection

    asked: list[Any] = []

    def load(name: Any) -> Tokenizer:
        asked.append(name)
        return poor

    monkeypatch.setattr(selection, "load_or_none", load)
    texts = list(documentation()[:10])
    options: dict[str, Any] = {"price_model": MODEL, "quality": False}
    count = audit(iter(texts), tokenizers=[good], **options).provider_count
    assert asked == ["o200k_base"]
    assert count is not None
    assert count.n_counted_tokens == sum(poor.count(text) for text in texts)
    assert count.n_tokens is not None
    assert count.n_tokens.value == pytest.approx(1.2 * count.n_counted_tokens)
    assert "x 1.2" in count.n_tokens.formula


def test_without_the_stand_in_nothing_is_guessed(good: Tokenizer) -> None:
    options: dict[str, Any] = {"requests_per_day": 5, "quality": False}
    report = audit(iter(["text"]), tokenizers=[good], price_model="gemini-2.5-pro", **options)
    count = report.provider_count
    assert count is not None
    assert count.n_tokens is None
    assert count.usd_per_month is None
    assert "gemma3" in count.missing
    assert "not at hand" in count.missing
    assert report.waterfall is not None
    assert report.waterfall.factors[2].value.basis is Basis.EXACT
    open_model = audit(iter(["text"]), tokenizers=[good], price_model="usd:1", **options)
    assert open_model.provider_count is None


def test_an_unknown_model_is_an_error_with_the_nearest_names(good: Tokenizer) -> None:
    with pytest.raises(UnknownModelError, match="nearest are claude-sonnet-4-5") as caught:
        audit("no-such-file", tokenizers=[good], closed_model="claud-sonet-4-5")
    assert "claude-sonnet-4-5" in caught.value.nearest
    named = audit(
        iter(["text"]), tokenizers=[good], closed_model="gemini-2.5-pro", price_model="usd:1"
    )
    assert named.provider_count is not None
    assert named.provider_count.model == "gemini-2.5-pro"


def test_prices_with_steps_are_read_at_the_providers_lengths() -> None:
    """140,000 of our tokens are 210,000 of the provider's, which pay the higher rate."""
    tokenizer = train_tiny(vocab_size=2000, name="gemma3")
    log = [
        {
            "model": "gemini-2.5-pro",
            "prompt": " the" * 140_000,
            "usage": {"prompt_tokens": 210_000 + i, "completion_tokens": 0},
        }
        for i in range(18)
    ]
    count = _count(log, tokenizer)
    below = audit(log, tokenizers=[tokenizer], logs=True).tokenizers[0].economics.usd_per_request
    assert count.usd_per_request is not None
    assert below is not None
    # $1.25 a million up to 200,000 tokens, $2.50 beyond (Google's list).
    assert below.value == count.usd_per_request.value
    assert float(count.usd_per_request.value) == pytest.approx(210_000 * 2.5e-6, rel=1e-3)
