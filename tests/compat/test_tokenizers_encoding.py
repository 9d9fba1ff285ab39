"""Encodings of ``jeton.compat.tokenizers`` are those of ``tokenizers``, field by field."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from jeton import _core
from jeton._core import from_hf_json
from jeton.compat import tokenizers as adapter
from jeton.edge_texts import edge_texts
from tests.compat.hf_dumps import dump, outcome, same_outcome
from tests.compat.hf_families import FAMILIES, TEXTS, family_json

pytestmark = pytest.mark.rivals

# Calls for each kind of tokenizer; `make conformance` makes many more.
N_CALLS = 30
N_CALLS_CONFORMANCE = 1500
PLANTED = [
    "",
    " ",
    "  leading and trailing  ",
    "<mask> in front",
    "a word <mask>  and spaces",
    "[CLS] look-alikes [SEP]",
    "<s> and </s>",
    "Yesterday was going ing",
    "one  <<  two",
    "<|endoftext|><|endoftext|>",
    "<extra_id_0> of T5",
]
PUBLISHED = [
    "bert_base_uncased.json.zst",
    "roberta-base.json.zst",
    "gpt2.json.zst",
    "t5-small.json.zst",
    "llama2.json.zst",
    "xlnet_base_cased.json.zst",
]


class Draw:
    """Calls drawn at random: the same for both libraries."""

    def __init__(self, written: str, seed: int) -> None:
        self.random = random.Random(seed)
        core = from_hf_json(written.encode())
        self.edges: Iterator[str] = edge_texts(seed=seed, tokenizers=[core])

    def text(self) -> str:
        chance = self.random.random()
        if chance < 0.3:
            text = self.random.choice(TEXTS)
        elif chance < 0.85:
            text = next(self.edges)
        else:
            text = self.random.choice(PLANTED)
        if self.random.random() < 0.2:
            text += self.random.choice(PLANTED)
        return text[:300]

    def words(self) -> list[str]:
        return [word[:25] for word in self.text().split(" ")][:8]

    def settings(self, n_around: int) -> list[Callable[[Any], None]]:
        """Truncation, padding and the rest, as changes of a tokenizer."""
        choose = self.random.choice
        changes: list[Callable[[Any], None]] = []
        if self.random.random() < 0.4:
            truncation = {
                # Less than what is put around: the other library counts below zero then.
                "max_length": n_around + self.random.randrange(14),
                "stride": choose([0, 0, 1, 2, 3]),
                "strategy": choose(["longest_first", "only_first", "only_second"]),
                "direction": choose(["left", "right"]),
            }
            changes.append(lambda tokenizer: tokenizer.enable_truncation(**truncation))
        if self.random.random() < 0.4:
            padding = {
                "length": choose([None, 5, 20]),
                "direction": choose(["left", "right"]),
                "pad_id": 3,
                "pad_token": "[P]",
                "pad_type_id": choose([0, 7]),
                "pad_to_multiple_of": choose([None, 1, 8]),
            }
            changes.append(lambda tokenizer: tokenizer.enable_padding(**padding))
        return changes

    def call(self) -> Callable[[Any], list[dict[str, Any]]]:
        special = self.random.random() < 0.7
        kind = self.random.choice(
            ["one", "two", "batch", "pairs", "words", "word pair", "word lists"]
        )
        one: tuple[Any, ...]
        if kind in {"one", "two"}:
            one = (self.text(),) if kind == "one" else (self.text(), self.text())
            return lambda t: [dump(t.encode(*one, add_special_tokens=special))]
        if kind in {"words", "word pair"}:
            one = (self.words(),) if kind == "words" else (self.words(), self.words())
            return lambda t: [
                dump(
                    t.encode(*one, True, special)
                    if len(one) == 2
                    else t.encode(one[0], is_pretokenized=True, add_special_tokens=special)
                )
            ]
        many: list[Any]
        if kind == "word lists":
            many = [self.words(), self.words(), (self.words(), self.words())]
            return lambda t: [dump(e) for e in t.encode_batch(many, True, special)]
        many = [self.text() for _ in range(3)]
        if kind == "pairs":
            many += [(self.text(), self.text()), [self.text(), self.text()]]
        return lambda t: [dump(e) for e in t.encode_batch(many, add_special_tokens=special)]


def compare(written: str, *, seed: int, n_calls: int) -> None:
    draw = Draw(written, seed)
    for number in range(n_calls):
        theirs = tokenizers.Tokenizer.from_str(written)
        ours = adapter.Tokenizer.from_str(written)
        for change in draw.settings(theirs.num_special_tokens_to_add(True)):
            same_outcome(outcome(change, theirs), outcome(change, ours), number)
        call = draw.call()
        expected, found = outcome(call, theirs), outcome(call, ours)
        same_outcome(expected, found, (seed, number))
        for one in expected[0] or []:
            for skip in (True, False):
                assert theirs.decode(one["ids"], skip) == ours.decode(one["ids"], skip)


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_of_every_kind(family: str) -> None:
    compare(family_json(family), seed=1, n_calls=N_CALLS)


@pytest.mark.conformance
@pytest.mark.timeout(0)
@pytest.mark.parametrize("family", FAMILIES)
def test_very_many_calls(family: str) -> None:
    compare(family_json(family), seed=2, n_calls=N_CALLS_CONFORMANCE)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tokenizers(shared: Path, name: str) -> None:
    written = _core.decompress((shared / "data" / "vocab" / name).read_bytes()).decode()
    theirs, ours = tokenizers.Tokenizer.from_str(written), adapter.Tokenizer.from_str(written)
    draw = Draw(written, seed=3)
    for _ in range(40):
        call = draw.call()
        same_outcome(outcome(call, theirs), outcome(call, ours), name)


@given(st.text(max_size=40), st.text(max_size=40), st.integers(2, 9), st.integers(0, 2))
def test_windows_of_any_text(first: str, second: str, room: int, stride: int) -> None:
    written = family_json("bert")
    encodings = []
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer.from_str(written)
        tokenizer.enable_truncation(room + 5, stride=stride)
        encodings.append(outcome(lambda t=tokenizer: dump(t.encode(first, second))))
    same_outcome(*encodings)


@given(st.text(max_size=60), st.integers(0, 70), st.integers(0, 1))
def test_ways_between_texts_and_tokens(text: str, position: int, sequence: int) -> None:
    theirs = tokenizers.Tokenizer.from_str(family_json("llama3")).encode(text, "and more")
    ours = adapter.Tokenizer.from_str(family_json("llama3")).encode(text, "and more")
    for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
        assert getattr(theirs, name)(position, sequence) == getattr(ours, name)(position, sequence)
    for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
        assert getattr(theirs, name)(position) == getattr(ours, name)(position)


@given(
    st.integers(0, 12),
    st.integers(0, 4),
    st.sampled_from(["left", "right", "up"]),
    st.integers(0, 20),
    st.sampled_from(["left", "right", "down"]),
)
def test_truncating_and_padding_by_hand(
    room: int, stride: int, side: str, length: int, filled: str
) -> None:
    results = []
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer.from_str(family_json("bert_template"))
        encoding = tokenizer.encode("The quick brown fox", "jumps over it")

        def change(encoding: Any = encoding) -> dict[str, Any]:
            encoding.truncate(room, stride, side)
            encoding.pad(length, direction=filled, pad_id=9, pad_type_id=1, pad_token="<f>")
            return dump(encoding)

        results.append(outcome(change))
    same_outcome(*results)


@pytest.mark.parametrize("growing", [True, False])
def test_merging(growing: bool) -> None:
    merged = []
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer.from_str(family_json("roberta"))
        tokenizer.enable_truncation(5, stride=1)
        parts = [tokenizer.encode(text) for text in (TEXTS[0][:40], "b", TEXTS[1][:25])]
        merged.append(dump(library.Encoding.merge(parts, growing_offsets=growing), depth=2))
    assert merged[0] == merged[1]


def test_a_batch_knows_its_ids_and_works_out_the_rest_when_asked() -> None:
    tokenizer = adapter.Tokenizer.from_str(family_json("bert"))
    tokenizer.enable_padding(length=40)
    first, second = tokenizer.encode_batch(TEXTS[:2])
    assert first._rest is not None
    assert first.ids == tokenizer.encode(TEXTS[0]).ids
    # A change of the tokenizer does not reach what was encoded before.
    tokenizer.normalizer = None
    tokenizer.no_padding()
    assert len(second.tokens) == len(second.ids) == 40
    assert second.tokens == adapter_tokens(TEXTS[1], 40)


def adapter_tokens(text: str, length: int) -> list[str]:
    tokenizer = adapter.Tokenizer.from_str(family_json("bert"))
    tokenizer.enable_padding(length=length)
    return tokenizer.encode(text).tokens


def test_sizes_that_nobody_means_are_errors() -> None:
    tokenizer = adapter.Tokenizer.from_str(family_json("bert"))
    tokenizer.enable_padding(length=10**15)
    with pytest.raises(ValueError, match="padding would make 1000000000000000 tokens"):
        tokenizer.encode("a")
    with pytest.raises(ValueError, match="padding would make"):
        tokenizer.encode_batch(["a", "b"])
    tokenizer.no_padding()
    tokenizer.enable_truncation(9_000, stride=8_990)
    with pytest.raises(ValueError, match="windows that overlap would make"):
        _ = tokenizer.encode("a " * 60_000)
    # Windows that nobody asks for are not made.
    assert len(tokenizer.encode_batch(["a " * 60_000])[0].ids) == 9_000


def test_template_that_does_not_fit_is_an_error() -> None:
    tokenizer = adapter.Tokenizer.from_str(family_json("bert"))
    tokenizer.enable_truncation(2)
    with pytest.raises(ValueError, match="3 special tokens do not fit into a max_length of 2"):
        tokenizer.encode("a", "b")
