"""The stream of edge texts: valid, repeatable, bounded, and holding what it promises."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

import pytest

from jeton import Tokenizer
from jeton.edge_texts import CHARACTER_CLASSES, FRAGMENTS, RUN_LENGTHS, edge_texts
from tests.core import makers

N_TEXTS = 20_000


def take(
    n: int, *, seed: int = 0, tokenizers: Sequence[Tokenizer] = (), max_chars: int = 64
) -> list[str]:
    stream = edge_texts(seed=seed, tokenizers=tokenizers, max_chars=max_chars)
    return list(itertools.islice(stream, n))


@pytest.mark.parametrize("name", list(CHARACTER_CLASSES))
def test_classes_hold_code_points_in_order_and_no_surrogate(name: str) -> None:
    for low, high in CHARACTER_CLASSES[name]:
        assert 0 <= low <= high <= 0x10FFFF
        assert high < 0xD800 or low > 0xDFFF


@pytest.mark.parametrize("name", list(FRAGMENTS))
def test_fragments_are_valid_text_and_none_is_there_twice(name: str) -> None:
    group = FRAGMENTS[name]
    assert len(set(group)) == len(group)
    for fragment in group:
        assert fragment.encode()


def test_the_stream_is_the_same_everywhere() -> None:
    digest = hashlib.sha256("\0".join(take(5_000, seed=7)).encode()).hexdigest()
    assert digest == "eee97427c4c768369a0d82054f681a389cb8e416a3f7be1faf757607c44f9cc7"


def test_equal_seeds_give_equal_streams_and_others_do_not() -> None:
    tokenizer = makers.tiny("tiny-gpt2")
    first = take(500, seed=3, tokenizers=[tokenizer])
    assert first == take(500, seed=3, tokenizers=[tokenizer])
    assert first != take(500, seed=4, tokenizers=[tokenizer])


def test_streams_hold_every_class_every_fragment_and_runs_past_every_length() -> None:
    texts = take(N_TEXTS, seed=1)
    characters = set("".join(texts))
    missing = [
        name
        for name, ranges in CHARACTER_CLASSES.items()
        if not any(low <= ord(char) <= high for low, high in ranges for char in characters)
    ]
    assert not missing
    joined = "\n\n\n".join(texts)
    assert not [part for group in FRAGMENTS.values() for part in group if part not in joined]
    longest_run = max(sum(1 for _ in run) for text in texts for _, run in itertools.groupby(text))
    assert longest_run > max(RUN_LENGTHS)


@pytest.mark.parametrize("max_chars", [1, 7, 64])
def test_texts_are_no_longer_than_asked_but_for_runs(max_chars: int) -> None:
    texts = take(3_000, max_chars=max_chars)
    n_longer = sum(len(text) > max_chars for text in texts)
    assert n_longer < len(texts) / 20
    assert max(map(len, texts)) > max(RUN_LENGTHS) - 2


def test_tokens_of_the_vocabulary_appear() -> None:
    tokenizer = makers.tiny("tiny-gpt2")
    words = [tokenizer.id_to_bytes(i).decode(errors="ignore") for i in range(300, 800)]
    joined = "".join(take(5_000, tokenizers=[tokenizer]))
    assert sum(word in joined for word in words) > 0.9 * len(words)
    assert makers.SPECIAL in joined


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_chars is 0, expected at least 1"):
        edge_texts(seed=0, max_chars=0)
