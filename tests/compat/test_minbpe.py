"""jeton.compat.minbpe learns and gives what minbpe does, by its definition."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

import jeton
from jeton.compat.minbpe import BasicTokenizer, GPT4Tokenizer, RegexTokenizer
from jeton.compat.minbpe._pairs import encode_pairs, train_pairs
from jeton.compat.minbpe.base import get_stats, merge, render_token
from jeton.compat.minbpe.gpt4 import recover_merges

TEXT = "the thin thing thinks that the thought is thick; été 中文 123!\n\n  the end " * 3
SPECIAL = {"<|end|>": 5000, "<|a b|>": 5001, "<|end|>x": 5002}


def naive_train(pretokens: list[bytes], n_merges: int) -> dict[tuple[int, int], int]:
    """The definition: count all pairs, take the most frequent, of several the first; merge."""
    rows = [list(pretoken) for pretoken in pretokens]
    merges: dict[tuple[int, int], int] = {}
    for new in range(256, 256 + n_merges):
        counts: dict[tuple[int, int], int] = {}
        for row in rows:
            get_stats(row, counts)
        if not counts:
            break
        pair = max(counts, key=lambda one: counts[one])
        rows = [merge(row, pair, new) for row in rows]
        merges[pair] = new
    return merges


def naive_encode(data: bytes, merges: dict[tuple[int, int], int]) -> list[int]:
    """The definition: merge the pair of the lowest id everywhere, until there is none."""
    ids = list(data)
    while True:
        known = [pair for pair in get_stats(ids) if pair in merges]
        if not known:
            return ids
        pair = min(known, key=lambda one: merges[one])
        ids = merge(ids, pair, merges[pair])


PRETOKENS = st.lists(st.text("aab ", max_size=10).map(str.encode), max_size=6)


@given(PRETOKENS, st.integers(0, 14))
def test_training_is_the_definition(pretokens: list[bytes], n_merges: int) -> None:
    expected = naive_train(pretokens, n_merges)
    assert list(train_pairs(pretokens, n_merges).items()) == list(expected.items())


def test_training_on_many_ties() -> None:
    draw = random.Random(4)
    for _ in range(150):
        pretokens = [bytes(draw.choices(b"abcd", k=draw.randint(0, 30))) for _ in range(5)]
        expected = naive_train(pretokens, 25)
        assert list(train_pairs(pretokens, 25).items()) == list(expected.items())


@given(PRETOKENS, st.text("aab c", max_size=20).map(str.encode))
def test_encoding_by_pairs_is_the_definition(pretokens: list[bytes], data: bytes) -> None:
    merges = naive_train(pretokens, 12)
    assert encode_pairs(data, merges) == naive_encode(data, merges)
    # Merges in any order of their ids, and two ids for the same bytes.
    strange = {(97, 98): 258, (98, 97): 256, (97, 256): 257, (258, 97): 259, (97, 97): 260}
    assert encode_pairs(data, strange) == naive_encode(data, strange)


@functools.cache
def trained() -> tuple[BasicTokenizer, RegexTokenizer]:
    basic, cut = BasicTokenizer(), RegexTokenizer()
    basic.train(TEXT, 300)
    cut.train(TEXT, 290)
    return basic, cut


@given(st.text(max_size=30))
def test_tokenizers_encode_by_the_definition(text: str) -> None:
    basic, cut = trained()
    for sample in (text, TEXT[3:40] + text):
        assert basic.encode(sample) == naive_encode(sample.encode(), basic.merges)
        assert basic.decode(basic.encode(sample)) == sample
        chunks = cut._chunks(sample)
        assert b"".join(chunks) == sample.encode()
        assert cut.encode(sample) == [i for c in chunks for i in naive_encode(c, cut.merges)]
        assert cut.decode(cut.encode(sample)) == sample


def test_two_ids_of_the_same_bytes() -> None:
    # Learned from pairs, "abc" comes up as (ab, c) and as (a, bc).
    tokenizer = BasicTokenizer()
    tokenizer.merges = {(97, 98): 256, (98, 99): 257, (256, 99): 258, (97, 257): 259}
    tokenizer.vocab = tokenizer._build_vocab()
    assert tokenizer._core() is None
    assert tokenizer.encode("abc bc") == naive_encode(b"abc bc", tokenizer.merges)
    tokenizer.merges = {(98, 99): 256, (97, 98): 257, (257, 99): 258, (97, 256): 259}
    assert tokenizer.encode("abc") == [259]


def test_the_example_of_wikipedia(capsys: pytest.CaptureFixture[str]) -> None:
    for tokenizer in (BasicTokenizer(), RegexTokenizer()):
        tokenizer.train("aaabdaaabac", 259, verbose=True)
        assert tokenizer.encode("aaabdaaabac") == [258, 100, 258, 97, 99]
    assert "merge 1/3: (97, 97) -> 256 (b'aa') had 4 occurrences" in capsys.readouterr().out


def test_special_tokens() -> None:
    tokenizer = RegexTokenizer()
    tokenizer.train(TEXT, 280)
    tokenizer.register_special_tokens(SPECIAL)
    text = "the<|end|>thin<|a b|><|end|>x"
    ids = tokenizer.encode(text, allowed_special="all")
    assert [i for i in ids if i >= 5000] == [5000, 5001, 5002], "the longest at each place"
    assert tokenizer.decode(ids) == text
    assert [i for i in tokenizer.encode(text, {"<|a b|>"}) if i >= 5000] == [5001]
    plain = tokenizer.encode(text, "none")
    assert max(plain) < 5000
    assert plain == tokenizer.encode_ordinary(text)
    with pytest.raises(AssertionError) as caught:
        tokenizer.encode(text)
    assert isinstance(caught.value, jeton.JetonError)
    with pytest.raises(ValueError, match="expected a set"):
        tokenizer.encode(text, ["<|end|>"])  # type: ignore[arg-type]


def test_files(tmp_path: Path) -> None:
    tokenizer = RegexTokenizer(r"\w+|\W+")
    tokenizer.train(TEXT, 290)
    tokenizer.register_special_tokens(SPECIAL)
    tokenizer.save(str(tmp_path / "m"))
    lines = (tmp_path / "m.model").read_text(encoding="utf-8").split("\n")
    first = next(iter(tokenizer.merges))
    assert lines[:4] == ["minbpe v1", r"\w+|\W+", "3", "<|end|> 5000"]
    assert lines[6] == f"{first[0]} {first[1]}"
    vocab = (tmp_path / "m.vocab").read_text(encoding="utf-8").split("\n")
    assert vocab[10] == "[\\u000a] 10"
    assert vocab[256] == "[t][h] -> [th] 256"
    again = RegexTokenizer()
    again.load(str(tmp_path / "m.model"))
    assert (again.merges, again.vocab, again.pattern) == (
        tokenizer.merges,
        tokenizer._build_vocab(),
        tokenizer.pattern,
    )
    text = TEXT + "<|a b|>"
    assert again.encode(text, "all") == tokenizer.encode(text, "all")
    with pytest.raises(ValueError, match="line end"):
        RegexTokenizer("a\n").save(str(tmp_path / "n"))
    assert not (tmp_path / "n.model").exists()


@pytest.mark.parametrize("content", [
    "", "minbpe v2\n\n0\n", "minbpe v1\n", "minbpe v1\n\nx\n", "minbpe v1\n\n2\n<a> 1\n",
    "minbpe v1\n\n0\n1\n", "minbpe v1\n\n0\n1 999\n", "minbpe v1\n\n0\na b\n", "minbpe v1\n(\n0\n",
])  # fmt: skip
def test_files_that_are_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_text(content, encoding="utf-8")
    tokenizer = RegexTokenizer()
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - every class of error is one
        tokenizer.load(str(path))
    assert isinstance(caught.value, jeton.JetonError)
    assert tokenizer.merges == {}, "as it was"
    with pytest.raises(AssertionError, match="ends with"):
        tokenizer.load(str(tmp_path / "x.vocab"))


def test_bad_arguments() -> None:
    for tokenizer in (BasicTokenizer(), RegexTokenizer()):
        with pytest.raises(AssertionError):
            tokenizer.train("abc", 255)
        with pytest.raises(ValueError, match="no pair left"):
            tokenizer.train("abc", 300)
        with pytest.raises(ValueError):  # noqa: PT011 - UnicodeEncodeError is one there
            tokenizer.train("a\ud800", 257)
        with pytest.raises(ValueError):  # noqa: PT011
            tokenizer.encode("a\ud800")
        for bad in (None, 5, b"a", ["a"]):
            with pytest.raises(TypeError):
                tokenizer.encode(bad)  # type: ignore[arg-type]
        for ids in ([999], [-1], ["a"], [None], [2**70]):
            with pytest.raises((KeyError, ValueError)):
                tokenizer.decode(ids)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pattern"):
        RegexTokenizer("(")


def test_tokens_to_look_at() -> None:
    assert render_token(b"a\n\xff") == "a\\u000a\ufffd"


def test_merges_are_recovered_from_ranks() -> None:
    tokenizer = BasicTokenizer()
    tokenizer.train(TEXT, 300)
    ranks = {token: token_id for token_id, token in tokenizer.vocab.items()}
    assert recover_merges(ranks) == tokenizer.merges


@pytest.mark.slow
def test_gpt4(shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JETON_VOCAB_DIR", str(shared / "data" / "vocab"))
    tokenizer, expected = GPT4Tokenizer(), jeton.load("cl100k_base")
    text = "hello world!!!? (안녕하세요!) lol123 \U0001f609"
    assert tokenizer.encode(text) == expected.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("a<|endoftext|>", "all") == [64, 100257]
    assert tokenizer.decode([64, 100257]) == "a<|endoftext|>"
    shuffled = tokenizer.byte_shuffle
    assert tokenizer.vocab[expected.encode("hello")[0]] == bytes(shuffled[b] for b in b"hello")
    for call in (tokenizer.save, tokenizer.load):
        with pytest.raises(NotImplementedError):
            call(str(tmp_path / "x"))
    with pytest.raises(NotImplementedError):
        tokenizer.train("a", 300)
    with pytest.raises(ValueError, match="invalid token id"):
        tokenizer.decode([100_999])
