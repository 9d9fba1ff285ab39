"""Traces of training: equal to the core for every algorithm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.errors import EmptyCorpusError, UsageError
from jeton.tracing import TRACED_ALGORITHMS, trace_train
from jeton.training import ALGORITHMS

# Few letters, so that pairs repeat and tie.
TEXTS = st.lists(st.text("ab cd!e ", min_size=1, max_size=30), min_size=1, max_size=6)
BYTE_LEVEL = {"bpe", "superbpe", "trimmed-bpe", "min-token-unigram", "parity-bpe"}

pytestmark = pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")


@pytest.mark.parametrize("algorithm", sorted(set(TRACED_ALGORITHMS) - {"unigram"}))
@settings(max_examples=20, deadline=None)
@given(texts=TEXTS, n_merges=st.integers(1, 24), min_frequency=st.integers(1, 3))
def test_merges_equal_the_core(
    algorithm: str, texts: list[str], n_merges: int, min_frequency: int
) -> None:
    if not "".join(texts).strip():
        return
    languages = {"one": iter(texts), "two": iter([text[::-1] + "q" for text in texts[:2]])}
    found = trace_train(
        languages if algorithm == "parity-bpe" else iter(texts),
        algorithm=algorithm,
        vocab_size=(257 if algorithm in BYTE_LEVEL else 20) + n_merges,
        min_frequency=min_frequency,
    )
    assert found.matches_engine
    assert all(merge.n_saved <= merge.count for merge in found.merges)


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, vocab_size=st.integers(14, 24))
def test_unigram_equals_the_core(texts: list[str], vocab_size: int) -> None:
    if not "".join(texts).strip():
        return
    found = trace_train(iter(texts * 3), algorithm="unigram", vocab_size=vocab_size)
    assert found.matches_engine
    assert found.rounds[0].kind == "candidates"
    sizes = [turn.n_pieces for turn in found.rounds if turn.kind in ("em", "prune")]
    assert sizes == sorted(sizes, reverse=True)


def test_likelihood_differs_from_frequency() -> None:
    texts = ["low"] * 5 + ["lot"] * 3 + ["lz"] * 2 + ["zq"] * 2
    made = {
        algorithm: trace_train(
            iter(texts), algorithm=algorithm, vocab_size=17, steps=1, min_frequency=1
        )
        .merges[0]
        .made
        for algorithm in ("wordpiece", "wordpiece-likelihood")
    }
    assert made == {"wordpiece": "lo", "wordpiece-likelihood": "zq"}


def test_superwords_come_second() -> None:
    texts = ["the end of the road is the end of the day"] * 9
    found = trace_train(iter(texts), algorithm="superbpe", vocab_size=300)
    stages = [merge.stage for merge in found.merges]
    assert stages == sorted(stages)
    assert any(len(merge.made.split()) > 1 for merge in found.merges if merge.stage == 2)


def test_every_algorithm_of_train_is_traced() -> None:
    assert set(TRACED_ALGORITHMS) == set(ALGORITHMS)


def test_scaffolding_goes_and_leaves_its_place() -> None:
    pairs = ["ij", "kl", "mn", "op", "qr", "st", "uv", "wx"]
    texts = ["abcd"] * 1000 + [pair for n, pair in enumerate(pairs) for _ in range(90 - n)]
    found = trace_train(iter(texts), algorithm="trimmed-bpe", vocab_size=257 + 9)
    assert [text for text, _ in found.rounds[0].removed] == ["ab", "cd"]
    assert [text for text, _ in found.rounds[-1].best] == ["abcd", *pairs[:4]]
    assert found.matches_engine


def test_a_merge_says_for_which_language_it_was_made() -> None:
    texts = {"large": iter(["abab"] * 100), "small": iter(["xyxyxyxy"])}
    first = trace_train(texts, algorithm="parity-bpe", vocab_size=259, min_frequency=1).merges[0]
    assert dict(first.costs) == {"large": 1, "small": 1}
    assert (first.language, first.made) == ("large", "ab")


def test_words_say_what_there_was_no_room_for() -> None:
    found = trace_train(iter(["a a b b c"]), algorithm="word", vocab_size=3, min_frequency=1)
    (turn,) = found.rounds
    assert turn.kind == "count"
    assert turn.best == ((" b", 2.0), (" a", 1.0))
    assert turn.n_removed == 2


def test_long_texts_are_cut() -> None:
    found = trace_train(iter(["low " * 100]), vocab_size=258, max_bytes=10)
    assert (found.n_bytes, found.n_bytes_cut, found.is_cut) == (10, 390, True)


def test_a_step_tells_what_it_saved() -> None:
    found = trace_train(iter(["aaa aaa"]), vocab_size=258, min_frequency=1)
    (merge,) = found.merges
    assert (merge.made, merge.count, merge.n_saved) == ("aa", 4, 2)
    assert merge.n_tokens == found.n_tokens_before - 2
    assert json.loads(json.dumps(found.to_dict()))["schema_version"] == "jeton.trace-train/1"


def test_bad_input() -> None:
    with pytest.raises(UsageError, match="cannot be traced"):
        trace_train(iter(["a"]), algorithm="gpt")
    with pytest.raises(UsageError, match="steps is -1"):
        trace_train(iter(["a"]), steps=-1)
    with pytest.raises(UsageError, match="leave them out"):
        trace_train(iter(["a"]), options={"max_alphabet": 3})
    with pytest.raises(EmptyCorpusError):
        trace_train(iter([""]))
