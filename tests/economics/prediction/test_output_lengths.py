"""Output lengths foreseen from history: coverage, fall-backs, drift, bounds of memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton.planning
from jeton.economics.prediction import OutputLengths
from jeton.economics.prediction.output_lengths import MAX_GROUPS
from jeton.errors import UsageError
from tests.economics.serving_reference.length_bins import bin_of, longest_of, shortest_of

ROUTE = ("chat",)


def coverage(
    outputs: list[int], prompts: list[int], *, target: float = 0.9, skip: int = 1000
) -> tuple[float, float]:
    """Shares within the interval and within the one-sided bound, after ``skip`` requests."""
    lengths = OutputLengths(coverage=target)
    within: list[bool] = []
    below: list[bool] = []
    for prompt, output in zip(prompts, outputs, strict=True):
        found = lengths.interval(prompt, ROUTE)
        upper = lengths.upper(prompt, ROUTE)
        if found is not None and upper is not None:
            within.append(found.lower_tokens <= output <= found.upper_tokens)
            below.append(output <= upper)
        lengths.learn(prompt, output, ROUTE)
    return float(np.mean(within[skip:])), float(np.mean(below[skip:]))


class TestBins:
    @given(st.integers(0, 100_000_000))
    def test_a_length_lies_in_its_bin(self, tokens: int) -> None:
        place = bin_of(tokens)
        assert shortest_of(place) <= tokens <= longest_of(place)
        assert longest_of(place) - shortest_of(place) <= 0.045 * longest_of(place)

    def test_bins_join_without_gaps(self) -> None:
        for place in range(1, bin_of(100_000_000)):
            assert shortest_of(place) == longest_of(place - 1) + 1 or place <= 32


class TestCoverage:
    @pytest.mark.parametrize("target", [0.8, 0.9, 0.95])
    def test_exchangeable_traffic(self, target: float) -> None:
        rng = np.random.default_rng(1)
        outputs = np.ceil(rng.lognormal(5, 1, 8000)).astype(int).tolist()
        prompts = rng.integers(1, 4000, 8000).tolist()
        both, one = coverage(outputs, prompts, target=target)
        assert both == pytest.approx(target, abs=0.02)
        assert one == pytest.approx(target, abs=0.02)

    def test_drifting_traffic(self) -> None:
        rng = np.random.default_rng(2)
        scale = np.linspace(4, 7, 8000)
        outputs = np.ceil(np.exp(scale + rng.normal(0, 0.6, 8000))).astype(int).tolist()
        both, one = coverage(outputs, [500] * 8000)
        assert both == pytest.approx(0.9, abs=0.02)
        assert one == pytest.approx(0.9, abs=0.02)

    def test_two_kinds_of_answers_with_many_equal_lengths(self) -> None:
        rng = np.random.default_rng(3)
        long = np.ceil(rng.lognormal(6, 0.8, 6000)).astype(int)
        outputs = np.where(rng.random(6000) < 0.3, 1, long).tolist()
        both, _ = coverage(outputs, [500] * 6000)
        assert both == pytest.approx(0.9, abs=0.02)

    def test_one_length_is_foreseen_exactly(self) -> None:
        lengths = OutputLengths()
        for _ in range(3000):
            lengths.learn(10, 7)
        found = lengths.interval(10)
        assert found is not None
        assert (found.lower_tokens, found.upper_tokens, lengths.upper(10)) == (7, 7, 7)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.integers(0, 10_000), min_size=32, max_size=80))
    def test_the_ranks_are_the_conformal_ones(self, outputs: list[int]) -> None:
        lengths = OutputLengths(coverage=0.9, min_history=len(outputs))
        for output in outputs:
            lengths.learn(100, output)
        n = len(outputs)
        rank = min(n, int(np.ceil((n + 1) * 0.9 - 1e-9)))
        assert lengths.upper(100) == longest_of(bin_of(sorted(outputs)[rank - 1]))
        found = lengths.interval(100)
        assert found is not None
        within = sum(found.lower_tokens <= output <= found.upper_tokens for output in outputs)
        assert within >= 0.9 * n - 2


class TestGroups:
    def test_the_finest_group_with_enough_history_speaks(self) -> None:
        lengths = OutputLengths(min_history=50)
        for _ in range(60):
            lengths.learn(100, 10, ("a", "x"))
            lengths.learn(100, 1000, ("b", "x"))
        for _ in range(5):
            lengths.learn(100, 20, ("a", "y"))
        known = lengths.interval(100, ("a", "x"))
        coarser = lengths.interval(100, ("a", "y"))
        unknown = lengths.interval(100, ("c",))
        assert known is not None
        assert known.group == ("a", "x")
        assert known.upper_tokens == 10
        assert coarser is not None
        assert coarser.group == ("a",)
        assert unknown is not None
        assert unknown.group == ()
        assert unknown.upper_tokens == 1024

    def test_prompts_of_another_length_fall_back_to_all(self) -> None:
        lengths = OutputLengths(min_history=40)
        for _ in range(50):
            lengths.learn(1000, 300)
            lengths.learn(10, 3)
        assert lengths.upper(12) == 3
        found = lengths.interval(100_000)
        assert found is not None
        assert found.n_history > 90

    def test_nothing_without_history(self) -> None:
        lengths = OutputLengths()
        for _ in range(lengths.min_history - 1):
            lengths.learn(1, 1)
        assert lengths.interval(1) is None
        assert lengths.upper(1) is None

    def test_high_coverage_needs_more_history(self) -> None:
        assert OutputLengths(coverage=0.99).min_history == 200

    def test_memory_is_bounded(self) -> None:
        lengths = OutputLengths()
        for user in range(3 * MAX_GROUPS):
            lengths.learn(1, 1, (str(user),))
        assert lengths.n_groups == MAX_GROUPS
        assert lengths.interval(1, ("new",)) is not None


class TestDrift:
    def test_a_change_is_noticed_and_named(self) -> None:
        rng = np.random.default_rng(4)
        lengths = OutputLengths()
        for scale, n in ((100, 3000), (200, 400)):
            for output in rng.exponential(scale, n):
                lengths.learn(300, int(output), ("summary",))
                lengths.learn(300, int(rng.exponential(100)), ("chat",))
        found = lengths.drifts()
        assert ("summary",) in [drift.group for drift in found]
        assert ("chat",) not in [drift.group for drift in found]
        drift = next(one for one in found if one.group == ("summary",))
        assert drift.longer_share > 2 * drift.expected_longer_share

    def test_steady_traffic_has_none(self) -> None:
        rng = np.random.default_rng(5)
        lengths = OutputLengths()
        for output in rng.exponential(100, 6000):
            lengths.learn(300, int(output))
        assert lengths.drifts() == ()


class TestBadInput:
    def test_negative_lengths(self) -> None:
        lengths = OutputLengths()
        with pytest.raises(UsageError, match="output_tokens is -1"):
            lengths.learn(1, -1)
        with pytest.raises(UsageError, match="prompt_tokens is -2"):
            lengths.learn(-2, 1)
        with pytest.raises(UsageError, match="prompt_tokens is -3"):
            lengths.interval(-3)

    def test_group_that_is_no_tuple(self) -> None:
        with pytest.raises(UsageError, match="expected a tuple"):
            OutputLengths().upper(1, "chat")  # type: ignore[arg-type]

    @pytest.mark.parametrize("coverage", [0, 1, -0.5, float("nan")])
    def test_coverage_out_of_range(self, coverage: float) -> None:
        with pytest.raises(UsageError, match="coverage is"):
            OutputLengths(coverage=coverage)


def test_public_name() -> None:
    assert jeton.planning.OutputLengths is OutputLengths
