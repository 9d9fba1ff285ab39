"""The slow twins: their examples are right, and they and the core agree."""

from __future__ import annotations

import base64
import doctest
import functools
import importlib
import pkgutil
import random
import string
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
import jeton._reference
from jeton import TextBatch, Tokenizer, _core
from jeton._core import from_tiktoken
from jeton._reference.bpe import Pair, alphabet, encode_by_merges, encode_by_rank, train
from jeton._reference.split import BLANKS, split_gpt2

# Few letters, so that pairs repeat and tie.
WORDS = st.dictionaries(
    st.text("ab cd!", min_size=1, max_size=8), st.integers(1, 9), min_size=1, max_size=12
)


TWINS = [module.name for module in pkgutil.iter_modules(jeton._reference.__path__)]


@pytest.mark.parametrize("name", TWINS)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"jeton._reference.{name}")
    result = doctest.testmod(module)
    assert result.attempted >= 3
    assert result.failed == 0


@given(st.text(st.characters(codec="utf-8", max_codepoint=0x2FFF), max_size=40))
def test_split_equals_the_core(text: str) -> None:
    # What is newer than the running Python's tables may be a letter to the core.
    if all(known(c) for c in text):
        assert split_gpt2(text) == splitter().pretokenize(text)


@given(st.lists(st.sampled_from([*" \n\t\u3000'a\u00e91!\u0301", "'s", "'ll", "'LL", "don't"])))
def test_split_equals_the_core_on_what_the_pattern_is_about(parts: list[str]) -> None:
    text = "".join(parts)
    assert split_gpt2(text) == splitter().pretokenize(text)


def known(character: str) -> bool:
    return unicodedata.category(character) != "Cn"


def test_blanks_are_those_of_the_core() -> None:
    # A blank before a letter stays alone, any other character of one kind does not matter here.
    found = {
        c
        for c in map(chr, range(0x110000))
        if not 0xD800 <= ord(c) < 0xE000 and splitter().pretokenize(f"{c}{c}a")[1:] == [c, "a"]
    }
    # The space goes with the letter instead.
    assert found == BLANKS - {" "}


@functools.cache
def splitter() -> Tokenizer:
    """A tokenizer of single bytes: only its split matters."""
    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    return from_tiktoken("\n".join(lines).encode(), pattern="gpt2")


def counted(words: dict[str, int]) -> tuple[_core.PretokenCounts, dict[bytes, int]]:
    """Pretokens of the words, counted by the core and here."""
    texts = [word for word, count in words.items() for _ in range(count)]
    counts = _core.PretokenCounts(pattern="gpt2")
    counts.add(TextBatch.from_texts(texts))
    ours: Counter[bytes] = Counter()
    for text in texts:
        ours.update(pretoken.encode() for pretoken in split_gpt2(text))
    assert dict(counts.items()) == dict(ours)
    return counts, dict(ours)


def tokens_in_order(tokenizer: Tokenizer, merges: list[Pair]) -> None:
    """The trained vocabulary is the alphabet, then one token for each new merge."""
    expected = [bytes([byte]) for byte in alphabet()]
    for left, right in merges:
        if left + right not in expected:
            expected.append(left + right)
    assert [tokenizer.id_to_bytes(i) for i in range(tokenizer.vocab_size)] == expected


@given(words=WORDS, n_merges=st.integers(1, 12), min_frequency=st.integers(1, 3))
def test_training_equals_the_core(words: dict[str, int], n_merges: int, min_frequency: int) -> None:
    counts, pretokens = counted(words)
    merges = train(pretokens, n_merges=n_merges, min_frequency=min_frequency)
    new = {left + right for left, right in merges}
    if len(new) < len(merges):
        return  # one token made in two ways: the sizes of both vocabularies mean other things
    tokenizer = _core.train_bpe(counts, vocab_size=256 + n_merges, min_frequency=min_frequency)
    tokens_in_order(tokenizer, merges)


@given(words=WORDS, text=st.text("ab cd!", max_size=30))
def test_encoding_by_merges_equals_the_core(words: dict[str, int], text: str) -> None:
    counts, pretokens = counted(words)
    merges = train(pretokens, n_merges=20)
    if len({left + right for left, right in merges}) < len(merges):
        return
    tokenizer = _core.train_bpe(counts, vocab_size=256 + 20, min_frequency=1)
    expected = [t for p in split_gpt2(text) for t in encode_by_merges(p.encode(), merges=merges)]
    assert [tokenizer.id_to_bytes(i) for i in tokenizer.encode(text)] == expected


@given(
    tokens=st.lists(st.binary(min_size=2, max_size=5).filter(lambda b: b.isascii()), unique=True),
    text=st.text(string.ascii_letters[:4] + " ", max_size=30),
    data=st.data(),
)
def test_encoding_by_rank_equals_the_core(
    tokens: list[bytes], text: str, data: st.DataObject
) -> None:
    small = st.text("abcd ", min_size=2, max_size=4).map(str.encode)
    more = data.draw(st.lists(small, unique=True, max_size=12))
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in [*more, *tokens]:
        ranks.setdefault(token, len(ranks))
    lines = [f"{base64.b64encode(token).decode()} {rank}" for token, rank in ranks.items()]
    tokenizer = from_tiktoken("\n".join(lines).encode(), pattern="gpt2")
    expected = [ranks[t] for p in split_gpt2(text) for t in encode_by_rank(p.encode(), ranks=ranks)]
    assert tokenizer.encode(text) == expected


def test_a_byte_without_a_rank_is_refused() -> None:
    with pytest.raises(KeyError):
        encode_by_rank(b"xy", ranks={b"x": 0})


def test_a_published_vocabulary(shared: Path) -> None:
    tokenizer = jeton.load(shared / "data" / "vocab" / "r50k_base.tiktoken.zst")
    lines = tokenizer.to_tiktoken().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    text = doctest.__doc__ or ""
    random.seed(0)
    text += "".join(random.choices(string.printable + "\u00e9\u4e2d\u0416", k=500))
    expected = [ranks[t] for p in split_gpt2(text) for t in encode_by_rank(p.encode(), ranks=ranks)]
    assert tokenizer.encode(text) == expected
