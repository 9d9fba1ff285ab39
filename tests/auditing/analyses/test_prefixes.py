"""Shared prefixes and cache plans against their definitions, written the slow way."""

from __future__ import annotations

import itertools
import math
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton._core import Tokenizer
from jeton.auditing.analyses import prefixes as module
from jeton.auditing.analyses.cache_plan import hit_rate, plan_cache
from jeton.auditing.analyses.prefixes import (
    SharedPrefix,
    common_prefix_chars,
    mask_values,
    shared_prefixes,
)
from jeton.catalog.caches import CacheRule, cache_rules_for


def naive_common(first: str, second: str) -> str:
    """The common beginning, character by character."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(character for character, _ in same)


short_texts = st.text(alphabet="aé𝕏", max_size=12)


@given(short_texts, short_texts)
def test_common_prefix_is_the_longest(first: str, second: str) -> None:
    assert common_prefix_chars(first, second) == len(naive_common(first, second))


@given(st.integers(0, 3000), st.integers(0, 300))
def test_common_prefix_of_long_texts(n_common: int, n_more: int) -> None:
    first = "x" * n_common + "a" * n_more
    second = "x" * n_common + "b" * n_more
    assert common_prefix_chars(first, second) == n_common
    assert common_prefix_chars(first, first) == len(first)


@given(st.lists(st.tuples(short_texts, st.integers(1, 3)), max_size=12), st.integers(1, 3))
def test_the_tree_holds_what_every_two_documents_share(
    documents: list[tuple[str, int]], min_chars: int
) -> None:
    texts = [text for text, _ in documents]
    copies = [n for _, n in documents]
    # All nodes are kept here; the limits have tests of their own.
    tokenizer = _tokenizer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_OWN_CHARS", 1)
        found = shared_prefixes(texts, tokenizer, min_chars=min_chars, copies=copies)
    expected = {}
    sent = [text for text, n in documents for _ in range(n)]
    for first, second in itertools.combinations(sent, 2):
        common = naive_common(first, second)
        if len(common) >= min_chars:
            expected[common] = sum(text.startswith(common) for text in sent)
    assert {texts[p.documents[0]][: p.n_chars]: p.n_documents for p in found} == expected
    for index, prefix in enumerate(found):
        assert prefix.parent < index
        if prefix.parent >= 0:
            parent = found[prefix.parent]
            assert set(prefix.documents) <= set(parent.documents)
            assert prefix.n_tokens == parent.n_tokens + prefix.n_own_tokens


@cache
def _tokenizer() -> Tokenizer:
    return jeton.load("jeton-general-32k")


def test_small_continuations_count_with_the_prefix_they_go_on_from() -> None:
    base = "an instruction of some length. " * 40
    texts = [base + f"question {i}" for i in range(30)]
    (only,) = shared_prefixes(texts, _tokenizer(), min_chars=100)
    assert only.n_documents == 30
    assert only.n_chars == len(base) + len("question ")


def test_of_many_prefixes_the_largest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PREFIXES", 3)
    texts = [f"{kind:03}" * 100 * (kind + 1) + tail for kind in range(8) for tail in "ab"]
    found = shared_prefixes(texts, _tokenizer(), min_chars=1)
    assert sorted(p.n_chars for p in found) == [300 * n for n in (6, 7, 8)]


def test_masked_texts_keep_their_places() -> None:
    text = "at 2026-11-21 id 123e4567-e89b-12d3-a456-426614174000 and deadbeef1 in room 7"
    masked = mask_values(text)
    assert len(masked) == len(text)
    assert masked.startswith("at 0000-00-00 id 000000000000000000000000000000000000 and ")


def prefix(n_tokens: int, n_documents: int, parent: int, above: int = 0) -> SharedPrefix:
    return SharedPrefix(n_tokens * 4, n_tokens, n_tokens - above, n_documents, parent, (0,))


CLAUDE = cache_rules_for("anthropic", "")[0]
EXPLICIT = CacheRule("test", 10, 1, 1.25, 300.0, 2, "a test")


def naive_plan(
    prefixes: list[SharedPrefix], n_documents: int, rule: CacheRule, read_factor: float
) -> float:
    """The best of all subsets of break points."""
    hits = hit_rate(rule.ttl_seconds)
    best = 0.0
    for size in range(len(prefixes) + 1):
        for subset in itertools.combinations(range(len(prefixes)), size):
            value, is_allowed = 0.0, True
            for index in subset:
                if prefixes[index].n_tokens < rule.min_tokens:
                    is_allowed = False
                on_path, above = 1, prefixes[index].parent
                start = None
                while above >= 0:
                    if above in subset:
                        on_path += 1
                        start = above if start is None else start
                    above = prefixes[above].parent
                is_allowed = is_allowed and on_path <= rule.max_break_points
                n = prefixes[index].n_tokens - (
                    prefixes[start].n_tokens if start is not None else 0
                )
                rate = hits(0.0, prefixes[index].n_documents)
                gain = rate * (1 - read_factor) - (1 - rate) * (rule.write_factor - 1)
                value += n * gain * prefixes[index].n_documents
            if is_allowed:
                best = max(best, value)
    return best


@pytest.mark.parametrize("seed", range(25))
def test_break_points_are_the_best_of_all_subsets(seed: int) -> None:
    choose = random.Random(seed)
    prefixes: list[SharedPrefix] = []
    for index in range(choose.randint(1, 8)):
        parent = choose.randint(-1, index - 1)
        above = prefixes[parent].n_tokens if parent >= 0 else 0
        n_documents = choose.randint(2, prefixes[parent].n_documents if parent >= 0 else 20)
        prefixes.append(prefix(above + choose.randint(1, 40), n_documents, parent, above))
    plan = plan_cache(
        prefixes, n_documents=30, rule=EXPLICIT, hits=hit_rate(300.0), read_factor=0.1
    )
    assert plan.n_saved_tokens == pytest.approx(naive_plan(prefixes, 30, EXPLICIT, 0.1))


def test_an_automatic_cache_serves_every_prefix_in_its_steps() -> None:
    rule = cache_rules_for("openai", "gpt-4o")[0]
    tree = [prefix(1000, 10, -1), prefix(1100, 8, 0, 1000), prefix(1300, 4, 1, 1100)]
    plan = plan_cache(tree, n_documents=10, rule=rule, hits=lambda *_: 1.0, read_factor=0.5)
    # 1,000 tokens are too few, 1,100 are eight steps of 128 and 1,300 ten.
    assert [point.n_tokens for point in plan.break_points] == [1024, 1280]
    assert plan.n_read_tokens == 1024 * 8 + 256 * 4
    assert plan.n_saved_tokens == plan.n_read_tokens / 2
    assert plan.n_write_tokens == 0


def test_a_break_point_that_costs_more_than_it_saves_is_not_set() -> None:
    tree = [prefix(5000, 2, -1)]
    seldom = plan_cache(tree, n_documents=2, rule=CLAUDE, hits=lambda *_: 0.1, read_factor=0.1)
    assert seldom.break_points == ()
    often = plan_cache(tree, n_documents=2, rule=CLAUDE, hits=lambda *_: 0.3, read_factor=0.1)
    assert often.n_saved_tokens == pytest.approx(5000 * 2 * (0.3 * 0.9 - 0.7 * 0.25))


def test_hit_rate_from_times() -> None:
    times = np.array([0.0, 100.0, 150.0, 1000.0, np.nan])
    rate = hit_rate(300.0, time_s=times)
    # Before the four known requests came 0, 1, 2 and 0 others in 300 seconds.
    assert rate(0.5, 0) == pytest.approx((0 + 0.5 + 0.75 + 0) / 4)
    assert rate(1.0, 0) == pytest.approx(2 / 4)
    shuffled = hit_rate(300.0, time_s=times[[3, 0, 4, 2, 1]])
    assert shuffled(0.3, 0) == pytest.approx(rate(0.3, 0))


def test_hit_rate_from_a_rate_and_from_nothing() -> None:
    rate = hit_rate(300.0, requests_per_day=86_400 / 300)
    assert rate(1.0, 0) == pytest.approx(1 - math.exp(-1))
    assert hit_rate(300.0)(1.0, 4) == pytest.approx(3 / 4)
    assert hit_rate(300.0, scale=10.0)(1.0, 4) == pytest.approx(39 / 40)


def test_simulated_arrivals_agree_with_the_formula() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    times = np.cumsum(generator.exponential(30.0, 20_000))
    from_times = hit_rate(300.0, time_s=times)
    from_rate = hit_rate(300.0, requests_per_day=86_400 / 30)
    for share in (0.02, 0.1, 0.5):
        assert from_times(share, 0) == pytest.approx(from_rate(share, 0), abs=0.01)
        # And with prefixes drawn for every request, counted one by one.
        own = times[generator.random(len(times)) < share]
        hits = float(np.mean(np.diff(own) <= 300.0))
        assert from_rate(share, 0) == pytest.approx(hits, abs=0.03)
