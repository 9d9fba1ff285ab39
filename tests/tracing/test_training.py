"""Traces of training: equal to the core for every algorithm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.errors import EmptyCorpusError, UsageError
from jeton.tracing import TRACED_ALGORITHMS, trace_train

# Few letters, so that pairs repeat and tie.
TEXTS = st.lists(st.text("ab cd!e ", min_size=1, max_size=30), min_size=1, max_size=6)
BYTE_LEVEL = {"bpe", "superbpe"}

pytestmark = pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")


@pytest.mark.parametrize("algorithm", sorted(set(TRACED_ALGORITHMS) - {"unigram"}))
@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, n_merges=st.integers(1, 12), min_frequency=st.integers(1, 3))
def test_merges_equal_the_core(
    algorithm: str, texts: list[str], n_merges: int, min_frequency: int
) -> None:
    if not "".join(texts).strip():
        return
    found = trace_train(
        iter(texts),
        algorithm=algorithm,
        vocab_size=(258 if algorithm in BYTE_LEVEL else 30) + n_merges,
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
        trace_train(iter(["a"]), algorithm="parity-bpe")
    with pytest.raises(UsageError, match="steps is -1"):
        trace_train(iter(["a"]), steps=-1)
    with pytest.raises(UsageError, match="leave them out"):
        trace_train(iter(["a"]), options={"max_alphabet": 3})
    with pytest.raises(EmptyCorpusError):
        trace_train(iter([""]))
