"""Megabytes of one character, or without any place to split: correct, and never quadratic.

A quadratic algorithm needs minutes for one of these; the time limit is generous for the rest.
"""

from __future__ import annotations

import base64
import functools
import random
import string
from collections.abc import Callable

import pytest

from jeton import PatternCostError, Tokenizer, _core
from jeton._core import from_tiktoken
from tests.core import makers

N_BYTES = 500_000
TIME_LIMIT_SECONDS = 10

BASIC: dict[str, Callable[[], str]] = {
    "one letter": lambda: "a" * N_BYTES,
    "spaces": lambda: " " * N_BYTES,
    "newlines": lambda: "\n" * N_BYTES,
    "Chinese": lambda: "".join(chr(c) for c in numbers(0x4E00, 0x9FFF, N_BYTES // 3)),
    "random letters": lambda: "".join(random.Random(1).choices(string.ascii_letters, k=N_BYTES)),
    "digits": lambda: "".join(random.Random(3).choices(string.digits, k=N_BYTES)),
    "carets": lambda: "^" * N_BYTES,
    "a letter and a space": lambda: "a " * (N_BYTES // 2),
    "spaces, then a letter": lambda: " " * N_BYTES + "a",
    "base64": lambda: base64.b64encode(random.Random(4).randbytes(N_BYTES * 3 // 4)).decode(),
}
# Where the vocabulary or what surrounds the split matters more than the pattern.
INPUTS: dict[str, Callable[[], str]] = {
    **BASIC,
    "newlines of two characters": lambda: "\r\n" * (N_BYTES // 2),
    "spaces and newlines": lambda: " \n" * (N_BYTES // 2),
    "small letters": lambda: "".join(random.Random(2).choices(string.ascii_lowercase, k=N_BYTES)),
    "capitals": lambda: "A" * N_BYTES,
    "apostrophes": lambda: "'" * N_BYTES,
    "slashes": lambda: "/" * N_BYTES,
    "combining marks": lambda: "e" + "\u0301\u0323" * (N_BYTES // 4),
    "zeros": lambda: "\0" * N_BYTES,
    "emoji": lambda: "\U0001f600\u200d" * (N_BYTES // 7),
    "special tokens": lambda: "<|end|>" * (N_BYTES // 7),
    "starts of special tokens": lambda: "<|en" * (N_BYTES // 4),
}


def numbers(low: int, high: int, count: int) -> list[int]:
    return random.Random(5).choices(range(low, high), k=count)


@functools.cache
def text_of(name: str) -> str:
    return INPUTS[name]()


# One name for each pattern: r50k_base and p50k_base split alike.
PATTERNS = sorted({pattern: name for name, pattern in _core.published_patterns().items()}.values())


@functools.cache
def with_pattern(pattern: str) -> Tokenizer:
    """The tiny vocabulary, split by any pattern."""
    data = makers.tiny("tiny-gpt2").to_tiktoken()
    return from_tiktoken(data, pattern=pattern, special_tokens={"<|end|>": 5000})


def check(tokenizer: Tokenizer, text: str) -> None:
    """Encode with special tokens too, which is the longer way."""
    ids = tokenizer.encode_array(text, allow_special="all")
    assert tokenizer.decode(ids) == text
    assert tokenizer.count(text) >= len(ids)


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("pattern", [*PATTERNS, "custom"])
@pytest.mark.parametrize("name", BASIC)
def test_patterns(name: str, pattern: str) -> None:
    check(with_pattern(makers.CUSTOM_PATTERN if pattern == "custom" else pattern), text_of(name))


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("name", INPUTS)
def test_published_vocabularies(name: str, published: Tokenizer) -> None:
    check(published, text_of(name))


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("name", INPUTS)
def test_normalization(name: str) -> None:
    tokenizer = makers.tiny("tiny-qwen-nfc")
    text = text_of(name)
    assert tokenizer.decode(tokenizer.encode_array(text)) == tokenizer.normalize(text)


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("name", BASIC)
def test_offsets(name: str, plain: Tokenizer) -> None:
    text = text_of(name)
    found = plain.encode_with_offsets(text)
    assert (found.starts_bytes[1:] == found.ends_bytes[:-1]).all()
    assert (found.starts[0], found.ends[-1]) == (0, len(text))


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("name", BASIC)
def test_look_ahead(name: str) -> None:
    tokenizer = makers.tiny("tiny-lookahead")
    text = text_of(name)
    assert tokenizer.decode(tokenizer.encode_array(text)) == text


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("name", ["one letter", "spaces", "random letters", "carets"])
def test_training(name: str) -> None:
    counts = _core.PretokenCounts(pattern="gpt2")
    counts.add(_core.TextBatch.from_texts([text_of(name)]))
    tokenizer = _core.train_bpe(counts, vocab_size=400, max_token_bytes=64)
    assert tokenizer.decode(tokenizer.encode_array(text_of(name))) == text_of(name)


# What an automaton cannot run: a reference back to what was matched before.
BACK_REFERENCE_PATTERN = r"(a|aa)+\1c|."


def test_a_pattern_that_backtracks_gives_up_in_time() -> None:
    tokenizer = with_pattern(BACK_REFERENCE_PATTERN)
    assert tokenizer.pretokenize("aaac aa") == ["aaac", " ", "a", "a"]
    text = "b" * 10 + "a" * N_BYTES
    with pytest.raises(PatternCostError, match="too much backtracking") as caught:
        tokenizer.encode(text)
    assert caught.value.byte_offset == 10
    with pytest.raises(PatternCostError):
        tokenizer.encode_batch(["fine", text], num_threads=2)
    assert tokenizer.decode(tokenizer.encode("still fine")) == "still fine"
