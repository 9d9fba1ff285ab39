"""Smaller vocabularies out of one training: equal to training and encoding with each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton._core import from_tiktoken, from_vocab_txt
from jeton.planning import NestedVocabularies

TEXTS = [
    "low lower lowest, newer newest and wider: the widest of all",
    "aaaa aaaaaaa banana bananas ananas",
    "def f(x):\n    return x + 10000 * x\n",
    "Это было давно, было и прошло. 東京 東京都",
]


def trained(vocab_size: int, special_tokens: tuple[str, ...] = ("<|end|>",)) -> jeton.Tokenizer:
    return jeton.train(
        iter(TEXTS * 3), vocab_size=vocab_size, special_tokens=special_tokens, name="t"
    )


LARGEST = NestedVocabularies.of(trained(340))


def test_a_smaller_vocabulary_is_what_training_to_its_size_gives() -> None:
    assert LARGEST.n_base == 257
    for size in (257, 258, 300, 339, 340):
        assert LARGEST.smaller(size, name="t").fingerprint == trained(size).fingerprint


@given(st.lists(st.text("abelnorsw tх東\n0", max_size=40), max_size=4), st.integers(257, 340))
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_encoding_with_the_smaller_one(texts: list[str], size: int) -> None:
    batch = LARGEST.tokenizer.encode_batch(texts)
    smaller = LARGEST.smaller(size)
    expected = smaller.count_batch(texts)
    assert LARGEST.tokens_of_documents(batch, [size])[:, 0].tolist() == expected.tolist()
    every = LARGEST.tokens_at_every_size(np.bincount(batch.ids, minlength=340))
    assert len(every) == 340 - 257 + 1
    assert every[size - 257] == expected.sum()
    assert (np.diff(every) <= 0).all()


def test_what_is_not_nested_is_refused() -> None:
    with pytest.raises(jeton.UsageError, match="expected 257"):
        LARGEST.smaller(256)
    with pytest.raises(jeton.UsageError, match="to 340"):
        LARGEST.tokens_of_ids(341)
    with pytest.raises(jeton.UsageError, match="got 3 counts for 340 ids"):
        LARGEST.tokens_at_every_size([1, 2, 3])
    words = from_vocab_txt(b"[UNK]\na\n##b\n")
    with pytest.raises(jeton.UsageError, match="not a plain byte-level BPE"):
        NestedVocabularies.of(words)


def test_ids_in_another_order_are_refused() -> None:
    ranks = [bytes([byte]) for byte in range(256)] + [b"xyz", b"xy", b"z "]
    import base64

    data = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(ranks))
    odd = from_tiktoken(data, pattern="gpt2", name="odd")
    with pytest.raises(jeton.UsageError, match="odd"):
        NestedVocabularies.of(odd)
