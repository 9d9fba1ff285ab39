"""Closed models: stand-ins by name, and calibration that covers what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from jeton.economics.billing.closed import STAND_INS, Calibration, estimate_tokens, stand_in
from jeton.errors import UnknownModelError, UsageError
from jeton.findings import Basis


@pytest.mark.parametrize(
    ("model", "family", "tokenizer"),
    [
        ("gpt-4o-mini", "openai-o200k", "o200k_base"),
        ("openai:gpt-5.2", "openai-o200k", "o200k_base"),
        ("o3-mini", "openai-o200k", "o200k_base"),
        ("gpt-4-turbo", "openai-cl100k", "cl100k_base"),
        ("GPT-3.5-turbo-0125", "openai-cl100k", "cl100k_base"),
        ("ft:gpt-4o-2024-08-06:acme::abc", "openai-o200k", "o200k_base"),
        ("google/gemini-2.5-pro", "gemini", "gemma3"),
        ("claude-2.1", "claude-2", "claude"),
        ("claude-3-5-sonnet-20241022", "claude-3-and-4", "o200k_base"),
        ("anthropic/claude-sonnet-4-5", "claude-3-and-4", "o200k_base"),
        ("claude-opus-4-6", "claude-3-and-4", "o200k_base"),
        ("claude-opus-4-7", "claude-newer-tokenizer", "o200k_base"),
        ("claude-sonnet-5", "claude-newer-tokenizer", "o200k_base"),
        ("claude-fable-5", "claude-newer-tokenizer", "o200k_base"),
    ],
)
def test_models_find_their_stand_in(model: str, family: str, tokenizer: str) -> None:
    found = stand_in(model)
    assert (found.family, found.tokenizer) == (family, tokenizer)


@pytest.mark.parametrize("model", ["grok-4", "mystery", "", "gpt-2", "claude"])
def test_an_unknown_family_is_an_error(model: str) -> None:
    with pytest.raises(UnknownModelError, match="calibrate from the usage"):
        stand_in(model)


@pytest.mark.parametrize("entry", STAND_INS, ids=lambda entry: entry.family)
def test_every_stand_in_says_where_it_is_from(entry: object) -> None:
    found = next(e for e in STAND_INS if e is entry)
    assert found.source
    assert found.date >= "2026-01-01"
    for factor in found.factors.values():
        assert 0 < factor.low <= factor.value <= factor.high
        assert (factor.low == factor.high) == (found.basis is Basis.EXACT)


def test_public_tokenizers_are_exact_and_secret_ones_have_a_range() -> None:
    exact = estimate_tokens(1000, model="gpt-4o")
    assert (exact.n_tokens, exact.low, exact.high) == (1000, 1000, 1000)
    assert exact.basis is Basis.EXACT
    code = estimate_tokens(1000, model="claude-sonnet-4-5", content="code")
    prose = estimate_tokens(1000, model="claude-sonnet-4-5", content="prose")
    assert (code.n_tokens, prose.n_tokens) == pytest.approx((1300, 1160))
    assert prose.low < prose.n_tokens < prose.high
    assert prose.figure.basis is Basis.ESTIMATED
    assert "1,000 tokens of o200k_base x 1.16 (prose)" in prose.figure.formula
    newer = estimate_tokens(1000, model="claude-opus-5", content="prose")
    assert newer.n_tokens == pytest.approx(1160 * 1.3)


def test_bad_input() -> None:
    with pytest.raises(UsageError):
        estimate_tokens(-1, model="gpt-4o")
    with pytest.raises(UsageError, match="'poems'"):
        estimate_tokens(1, model="gpt-4o", content="poems")  # type: ignore[arg-type]


class TestCalibration:
    def test_a_line_without_noise_is_found_exactly(self) -> None:
        counts = np.arange(100, 2100, 10)
        calibration = Calibration.fit(counts, counts * 5 // 4 + 8)
        assert calibration.slope == pytest.approx(1.25, rel=1e-3)
        assert calibration.intercept_tokens == pytest.approx(8, abs=0.6)
        assert calibration.relative_error < 0.005
        found = calibration.apply(1000)
        assert found.n_tokens == pytest.approx(1258, abs=1)
        assert found.basis is Basis.CALIBRATED
        total = calibration.apply_total(100_000, n_requests=100)
        assert total.n_tokens == pytest.approx(125_000 + 800, rel=1e-3)
        assert total.low <= total.n_tokens <= total.high

    def test_intervals_cover_new_requests_as_often_as_they_say(self) -> None:
        rng = np.random.default_rng(3)
        covered = []
        for trial in range(40):
            counts = rng.lognormal(6, 1, 2200).astype(int) + 1
            reported = np.round(counts * rng.lognormal(0.15, 0.1, 2200) + 12).astype(int)
            calibration = Calibration.fit(counts[:200], reported[:200], seed=trial)
            estimates = [calibration.apply(int(c)) for c in counts[200:400]]
            covered += [
                e.low <= r <= e.high for e, r in zip(estimates, reported[200:400], strict=True)
            ]
        # 90% is promised on average over fits; 8,000 cases in 40 groups vary by about 1%.
        assert 0.88 <= np.mean(covered) <= 0.95

    def test_a_sum_is_known_better_than_a_request(self) -> None:
        rng = np.random.default_rng(5)
        counts = rng.integers(50, 5000, 400)
        reported = np.round(counts * rng.normal(1.2, 0.1, 400)).astype(int)
        calibration = Calibration.fit(counts, reported)
        assert calibration.total_high - calibration.total_low < calibration.relative_error / 2
        total = calibration.apply_total(int(counts.sum()), n_requests=400)
        assert total.low <= reported.sum() <= total.high

    def test_reports_that_are_missing_are_counted_and_left_out(self) -> None:
        counts = np.concatenate([np.arange(10, 110), [5, 5, 0]])
        reported = np.concatenate([np.arange(10, 110), [-1, 0, 7]])
        calibration = Calibration.fit(counts, reported)
        assert (calibration.n_requests, calibration.n_dropped) == (100, 3)
        assert calibration.slope == pytest.approx(1)

    def test_the_same_seed_gives_the_same_result(self) -> None:
        rng = np.random.default_rng(0)
        counts = rng.integers(1, 1000, 50)
        reported = counts + rng.integers(0, 9, 50)
        assert Calibration.fit(counts, reported, seed=4) == Calibration.fit(
            counts, reported, seed=4
        )

    def test_one_length_gives_a_ratio(self) -> None:
        calibration = Calibration.fit([100] * 40, [130] * 40)
        assert (calibration.slope, calibration.intercept_tokens) == (1.3, 0)

    def test_too_few_requests_are_refused(self) -> None:
        with pytest.raises(UsageError, match="expected at least 18"):
            Calibration.fit([1] * 17, [1] * 17)
        Calibration.fit([1] * 18, [1] * 18)
        with pytest.raises(UsageError, match="expected as many"):
            Calibration.fit([1], [1, 2])
        with pytest.raises(UsageError, match="confidence"):
            Calibration.fit([1] * 50, [1] * 50, confidence=1.0)
        with pytest.raises(UsageError, match="at least 0"):
            Calibration.fit([1] * 50, [1] * 50).apply(-1)
