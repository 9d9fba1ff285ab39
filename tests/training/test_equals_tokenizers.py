"""Our merges are those of the ``tokenizers`` library, on real text and on text made to differ.

The two libraries get the same texts and the same split pattern and each does all the rest by
itself: splitting, counting, merging, writing ``tokenizer.json``, which is what is compared.
"""

from __future__ import annotations

import json
import os
import pydoc_data.topics
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from jeton import _core
from jeton.training import DEFAULT_PATTERN

pytestmark = pytest.mark.rivals

SLICE_BYTES = 3_000_000
WORDS = r"\S+|\s+"
END = "<|endoftext|>"

Learned = tuple[list[tuple[str, str]], dict[str, int]]


def learned(tokenizer_json: str | bytes, special_tokens: Iterable[str] = (END,)) -> Learned:
    """Merges, and ids of everything but special tokens, of a ``tokenizer.json``."""
    model: dict[str, Any] = json.loads(tokenizer_json)["model"]
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"])
    merges = [(left, right) for left, right in pairs]
    vocab = {token: id for token, id in model["vocab"].items() if token not in special_tokens}
    return merges, vocab


def theirs(
    texts: list[str],
    *,
    pattern: str,
    vocab_size: int,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    special_tokens: tuple[str, ...] = (END,),
) -> Learned:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        max_token_length=max_token_length,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return learned(tokenizer.to_str(), special_tokens)


def ours(
    texts: list[str],
    *,
    pattern: str,
    vocab_size: int,
    min_frequency: int = 0,
    max_token_bytes: int | None = None,
    special_tokens: tuple[str, ...] = (END,),
) -> Learned:
    counts = _core.PretokenCounts(pattern=pattern)
    counts.add(_core.TextBatch.from_texts(texts))
    tokenizer = _core.train_bpe(
        counts,
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        special_tokens=special_tokens,
    )
    return learned(tokenizer.to_hf_json(), special_tokens)


def assert_equal_on(texts: list[str], *, vocab_size: int, least_merges: int) -> None:
    pattern = _core.published_patterns()[DEFAULT_PATTERN]
    expected_merges, expected_vocab = theirs(texts, pattern=pattern, vocab_size=vocab_size)
    merges, vocab = ours(texts, pattern=DEFAULT_PATTERN, vocab_size=vocab_size)
    assert len(expected_merges) >= least_merges, "the corpus is too small to show anything"
    first = next((i for i, (a, b) in enumerate(zip(merges, expected_merges)) if a != b), None)  # noqa: B905
    assert first is None, f"merge {first}: {merges[first]} here, {expected_merges[first]} there"
    assert len(merges) == len(expected_merges)
    assert vocab == expected_vocab


def standard_library() -> Iterator[str]:
    """Sources of the running interpreter in sorted order, about 3 MB."""
    root = Path(os.__file__).parent
    n_bytes = 0
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        yield text
        n_bytes += len(text.encode())
        if n_bytes >= SLICE_BYTES:
            return


def corpus_slice(path: Path, max_bytes: int = SLICE_BYTES) -> Iterator[str]:
    n_bytes = 0
    for batch in _core.DocumentReader(str(path), format="jsonl", batch_bytes=1 << 20):
        yield from batch
        n_bytes += batch.n_bytes
        if n_bytes >= max_bytes:
            return


def test_on_python_sources() -> None:
    assert_equal_on(list(standard_library()), vocab_size=8000, least_merges=7000)


def test_on_the_language_documentation() -> None:
    texts = list(pydoc_data.topics.topics.values())
    # More than the text is enough for: the end of the queue, full of ties, is compared too.
    assert_equal_on(texts, vocab_size=100_000, least_merges=5000)


@pytest.mark.parametrize("corpus", ["medical", "multilingual"])
def test_on_shared_corpora(shared: Path, corpus: str) -> None:
    texts = list(corpus_slice(shared / "data" / "corpora" / f"{corpus}.jsonl.zst"))
    assert_equal_on(texts, vocab_size=20_000, least_merges=19_000)


@pytest.mark.conformance
@pytest.mark.parametrize("corpus", ["english", "legal", "medical", "code", "multilingual"])
def test_32k_on_whole_corpora(shared: Path, corpus: str) -> None:
    texts = list(corpus_slice(shared / "data" / "corpora" / f"{corpus}.jsonl.zst", 10**9))
    assert_equal_on(texts, vocab_size=32_000, least_merges=31_000)


def hostile_words(rng: random.Random) -> list[str]:
    """Runs, repeated units and random strings of very few letters: ties and overlaps everywhere."""
    letters = "abcde"[: rng.choice([1, 2, 2, 3, 3, 4, 5])]

    def letters_of(n: int) -> str:
        return "".join(rng.choice(letters) for _ in range(n))

    words: list[str] = []
    for _ in range(rng.randint(1, 40)):
        kind = rng.random()
        if kind < 0.6:
            word = letters_of(rng.randint(1, 14))
        elif kind < 0.8:
            word = rng.choice(letters) * rng.randint(1, 25)
        else:
            word = letters_of(rng.randint(1, 4)) * rng.randint(2, 6)
        words += [word] * rng.choice([1, 1, 1, 2, 3, 5])
    return words


@pytest.mark.parametrize("seed", range(8))
def test_on_runs_and_ties(seed: int) -> None:
    rng = random.Random(seed)
    n_merges = 0
    for _ in range(50):
        words = hostile_words(rng)
        vocab_size = 257 + rng.choice([3, 10, 40, 200, 2000])
        min_frequency = rng.choice([0, 1, 2, 3])
        longest = rng.choice([None, None, 2, 3, 5, 8])
        expected = theirs(
            words,
            pattern=WORDS,
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            # Their limit is exclusive, but for pairs of bytes.
            max_token_length=None if longest is None else longest + 1,
        )
        found = ours(
            words,
            pattern=WORDS,
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            max_token_bytes=longest,
        )
        assert found == expected, (words, vocab_size, min_frequency, longest)
        n_merges += len(expected[0])
    assert n_merges > 500


def test_where_we_differ_special_tokens_are_never_spelled_by_merges() -> None:
    texts = ["stop stop stop stopped"] * 3
    arguments: dict[str, Any] = {"pattern": WORDS, "vocab_size": 400, "special_tokens": ("stop",)}
    their_merges, _ = theirs(texts, **arguments)
    our_merges, _ = ours(texts, **arguments)
    assert "stop" in {left + right for left, right in their_merges}
    assert "stop" not in {left + right for left, right in our_merges}


def test_where_we_differ_counts_do_not_overflow() -> None:
    counts = _core.PretokenCounts(pattern=WORDS)
    counts.add(_core.TextBatch.from_texts(["ab", "cd", "cd"]))
    for _ in range(33):  # 2^33 and 2^34: beyond 32 bits
        twice = _core.PretokenCounts(pattern=WORDS)
        twice.merge(counts)
        counts.merge(twice)
    assert dict(counts.items()) == {b"ab": 2**33, b"cd": 2**34}
    tokenizer = _core.train_bpe(counts, vocab_size=258)
    assert [tokenizer.id_to_bytes(id) for id in (256, 257)] == [b"cd", b"ab"]
