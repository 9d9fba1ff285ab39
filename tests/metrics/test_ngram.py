"""The Kneser-Ney model: equal to a slow one from the book, a distribution, and honest about its
text."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics import KneserNey, ngram_bits_per_byte
from tests.auditing.tiny import documentation, train_tiny

VOCAB = 5
corpora = st.lists(st.lists(st.integers(0, VOCAB - 1), max_size=8), min_size=1, max_size=6)


class Naive:
    """Chen and Goodman 1998, equations for interpolated Kneser-Ney, with dictionaries."""

    def __init__(self, documents: list[list[int]], order: int) -> None:
        self.order = order
        grams: Counter[tuple[object, ...]] = Counter(
            tuple(padded[i : i + order])
            for ids in documents
            for padded in [["<s>"] * (order - 1) + list(ids) + ["</s>"]]
            for i in range(len(padded) - order + 1)
        )
        self.counts: dict[int, dict[tuple[object, ...], int]] = {order: dict(grams)}
        for k in range(order - 1, 0, -1):
            self.counts[k] = dict(Counter(gram[1:] for gram in self.counts[k + 1]))

    def discount(self, k: int) -> float:
        values = Counter(self.counts[k].values())
        once, twice = values[1], values[2]
        return once / (once + 2 * twice) if once and twice else 0.5

    def probability(self, gram: tuple[object, ...]) -> float:
        k = len(gram)
        if k == 0:
            return 1 / (VOCAB + 1)
        lower = self.probability(gram[1:])
        followers = {g: n for g, n in self.counts[k].items() if g[:-1] == gram[:-1]}
        total = sum(followers.values())
        if not total:
            return lower
        discount = self.discount(k)
        own = max(self.counts[k].get(gram, 0) - discount, 0) / total
        return own + discount * len(followers) / total * lower

    def probabilities(self, ids: list[int]) -> list[float]:
        padded: list[object] = [*["<s>"] * (self.order - 1), *ids, "</s>"]
        return [
            self.probability(tuple(padded[i : i + self.order]))
            for i in range(len(padded) - self.order + 1)
        ]


@given(corpus=corpora, ids=st.lists(st.integers(0, VOCAB - 1), max_size=6), order=st.integers(1, 4))
def test_equals_the_slow_model(corpus: list[list[int]], ids: list[int], order: int) -> None:
    arrays = [np.array(document, dtype=np.uint32) for document in corpus]
    model = KneserNey(arrays, vocab_size=VOCAB, order=order)
    found = model.probabilities(np.array(ids, dtype=np.uint32))
    assert found == pytest.approx(Naive(corpus, order).probabilities(ids))
    assert model.bits([np.array(ids, dtype=np.uint32)])[0] == pytest.approx(
        -sum(math.log2(p) for p in found)
    )


@given(corpus=corpora, before=st.lists(st.integers(0, VOCAB - 1), max_size=3))
def test_probabilities_of_what_follows_sum_to_one(
    corpus: list[list[int]], before: list[int]
) -> None:
    arrays = [np.array(document, dtype=np.uint32) for document in corpus]
    model = KneserNey(arrays, vocab_size=VOCAB)
    end = model.probabilities(np.array(before, dtype=np.uint32))[-1]
    following = [
        model.probabilities(np.array([*before, id_], dtype=np.uint32))[len(before)]
        for id_ in range(VOCAB)
    ]
    assert end + sum(following) == pytest.approx(1)


def test_bits_per_byte_of_text() -> None:
    texts = documentation()
    small, large = train_tiny(vocab_size=400), train_tiny(vocab_size=1200)
    found = ngram_bits_per_byte(large, texts)
    assert 1 < found.bits_per_byte < 4
    assert found.interval is not None
    assert found.interval.low < found.bits_per_byte < found.interval.high
    assert found.n_train_documents + found.n_heldout_documents == len(texts)
    assert 0.1 * len(texts) < found.n_heldout_documents < 0.35 * len(texts)
    # The split is of the text alone: neither order nor tokenizer changes it.
    assert ngram_bits_per_byte(large, texts[::-1]).bits_per_byte == pytest.approx(
        found.bits_per_byte
    )
    assert ngram_bits_per_byte(small, texts).n_heldout_bytes == found.n_heldout_bytes
    # More context helps, and text without order is worth its bytes.
    assert found.bits_per_byte < ngram_bits_per_byte(large, texts, order=1).bits_per_byte
    generator = np.random.Generator(np.random.PCG64(0))
    noise = ["".join(map(chr, generator.integers(97, 113, 400))) for _ in range(100)]
    random = ngram_bits_per_byte(small, noise, order=2)
    assert 4 <= random.bits_per_byte < 4.6


def test_ngram_bad_input() -> None:
    tokenizer = train_tiny(vocab_size=400)
    with pytest.raises(EmptyCorpusError, match="expected some of each"):
        ngram_bits_per_byte(tokenizer, ["only one"])
    with pytest.raises(UsageError, match="order is 9; expected 1 to 5"):
        ngram_bits_per_byte(tokenizer, documentation()[:30], order=9)
    with pytest.raises(UsageError, match="heldout_share is 1"):
        ngram_bits_per_byte(tokenizer, [], heldout_share=1)
    with pytest.raises(UsageError, match="an id is 7; expected ids below 5"):
        KneserNey([np.array([7])], vocab_size=5)


def test_copies_fall_on_one_side() -> None:
    seen = defaultdict(set)
    tokenizer = train_tiny(vocab_size=400)
    texts = list(documentation()[:40])
    once = ngram_bits_per_byte(tokenizer, texts)
    twice = ngram_bits_per_byte(tokenizer, texts + texts)
    seen["documents"] = {once.n_heldout_documents * 2, twice.n_heldout_documents}
    assert len(seen["documents"]) == 1
