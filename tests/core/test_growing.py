"""Texts that grow: ids equal to a full encoding, stable ids, changes, limits."""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer
from jeton._core import from_hf_json
from jeton.errors import JetonError
from tests.core import growing, makers
from tests.core.texts import FRAGMENTS, texts
from tests.differential import grammar, pieces
from tests.differential.families import (
    HF_JSON,
    SENTENCEPIECE,
    TIKTOKEN,
    WORDPIECE_TXT,
)
from tests.differential.harness import Refused

BUNDLED = "jeton-general-32k"
PUBLISHED = (
    *(f"{name}.tiktoken.zst" for name in TIKTOKEN),
    *(f"{name}.json.zst" for name in HF_JSON),
    *(f"{name}.vocab.txt" for name in WORDPIECE_TXT),
    *("claude.json.zst", "rwkv_vocab_v20230424.txt.zst", "tekken_240718.json.zst"),
    "bpe_simple_vocab_16e6.txt.gz",
)
LATER = ("x", "\u0301", " ", "\n", "the", "1", "\u200d", "'s")
N_MADE = 10
N_MADE_LONG = 1_500


def _rng(*parts: object) -> random.Random:
    return random.Random(" ".join(map(str, parts)))


def _try(tokenizer: Tokenizer, rng: random.Random, n_texts: int, tally: growing.Tally) -> None:
    own = [token.content for token in tokenizer.added_tokens][:50]
    for text in growing.texts_for(rng, tokenizer, n_texts):
        later = [*rng.choices(FRAGMENTS, k=3), *LATER, *rng.sample(own, min(2, len(own)))]
        growing.check_growth(
            tokenizer,
            rng,
            list(growing.cut_up(rng, text[:700])),
            later,
            allow=rng.choice((None, "all")),
            tally=tally,
        )


@settings(max_examples=15)
@given(
    name=st.sampled_from(makers.TINY),
    parts=st.lists(texts, max_size=6),
    later=texts,
    seed=st.integers(0, 99),
)
def test_ids_are_those_of_a_full_encoding(
    name: str, parts: list[str], later: str, seed: int
) -> None:
    growing.check_growth(makers.tiny(name), random.Random(seed), parts, [later, *LATER])


@pytest.mark.parametrize("byte_level", [False, True])
def test_any_mixture_of_components(byte_level: bool) -> None:
    _mixtures(byte_level, N_MADE)


@pytest.mark.conformance
@pytest.mark.parametrize("byte_level", [False, True])
def test_many_mixtures_of_components(byte_level: bool) -> None:
    _mixtures(byte_level, N_MADE_LONG)


def _mixtures(byte_level: bool, n_files: int) -> None:
    tally = growing.Tally()
    for seed in range(n_files):
        rng = _rng("mixture", byte_level, seed)
        data = json.dumps(grammar.tokenizer_json(seed, byte_level=byte_level)).encode()
        try:
            tokenizer = from_hf_json(data)
        except JetonError:
            continue
        _try(tokenizer, rng, 3, tally)
    assert tally.steps > n_files
    assert tally.stable_chars > 0


@pytest.mark.parametrize("seed", range(6))
def test_any_sentencepiece_model(seed: int) -> None:
    _sentencepiece(seed)


@pytest.mark.conformance
@pytest.mark.parametrize("seed", range(6, 200))
def test_many_sentencepiece_models(seed: int) -> None:
    _sentencepiece(seed)


def _sentencepiece(seed: int) -> None:
    try:
        tokenizer = pieces.pair(seed).tokenizers[0]
    except Refused as reason:
        pytest.skip(str(reason))
    _try(tokenizer, _rng("pieces", seed), 8, growing.Tally())


def _published(shared: Path, name: str) -> Tokenizer:
    folder = shared / "data" / "vocab"
    path = next((p for p in (folder / name, folder / f"{name}.zst") if p.is_file()), None)
    if path is None:
        pytest.skip(f"{name} is not in the shared data folder")
    return jeton.load(path)


@pytest.mark.parametrize("name", ["llama2.json.zst", "t5-small.json.zst", "llama2.model"])
def test_published_vocabularies(shared: Path, name: str) -> None:
    _try(_published(shared, name), _rng("published", name), 6, growing.Tally())


@pytest.mark.conformance
@pytest.mark.parametrize("name", [*PUBLISHED, *(f"{name}.model" for name in SENTENCEPIECE)])
def test_all_published_vocabularies(shared: Path, name: str) -> None:
    tally = growing.Tally()
    _try(_published(shared, name), _rng("all published", name), 40, tally)
    # The cleaning of CLIP's own texts may look anywhere: nothing is stable but behind added tokens.
    assert tally.stable_chars > 0 or name.startswith("bpe_simple_vocab")


def test_a_conversation_is_stable_but_for_its_end() -> None:
    tokenizer = jeton.load(BUNDLED)
    grow = tokenizer.grow()
    text = ""
    for turn in itertools.islice(itertools.cycle(makers.prose()), 40):
        before = grow.n_stable
        text += turn[:2_000]
        grown = grow.append(turn[:2_000])
        assert grown.n_kept >= before
        assert grown.n_kept + len(grown.ids) == len(grow)
        assert len(text) - grow.n_stable_chars < 100
    assert grow.ids.tolist() == tokenizer.encode(text)


def test_a_fork_grows_by_itself() -> None:
    tokenizer = jeton.load(BUNDLED)
    trunk = tokenizer.grow("The answer is")
    branches = [trunk.fork(), copy.copy(trunk), copy.deepcopy(trunk)]
    for number, branch in enumerate(branches):
        branch.append(f" {number}, of course")
        assert branch.ids.tolist() == tokenizer.encode(f"The answer is {number}, of course")
    assert trunk.text == "The answer is"
    assert trunk.tokenizer is tokenizer


def test_a_change_in_the_middle_keeps_what_is_far() -> None:
    tokenizer = jeton.load(BUNDLED)
    text = "".join(makers.prose())[:200_000]
    grow = tokenizer.grow(text)
    place = 100_000
    kept = grow.replace(place, place + 5, "changed").n_kept
    changed = text[:place] + "changed" + text[place + 5 :]
    assert grow.ids.tolist() == tokenizer.encode(changed)
    assert kept > len(tokenizer.encode(text[: place - 50])) - 5
    # The places to go on from behind the change are still there.
    grow.replace(place + 50_000, place + 50_001, "")
    changed = changed[: place + 50_000] + changed[place + 50_001 :]
    assert grow.ids.tolist() == tokenizer.encode(changed)
    assert len(changed) - grow.n_stable_chars < 100


def test_places_in_a_long_text_are_code_points() -> None:
    text = "aé中\U0001f600b" * 120
    grow = makers.tiny("tiny-gpt2").grow(text)
    for place in (*range(0, len(text), 7), len(text) - 1, len(text)):
        changed = grow.fork()
        changed.replace(place, place, "x")
        assert changed.text == text[:place] + "x" + text[place:]
    with pytest.raises(ValueError, match="start is 601; the text has 600 characters"):
        grow.replace(601, 601, "")


def test_places_are_code_points() -> None:
    grow = makers.tiny("tiny-gpt2").grow("aé中\U0001f600b")
    grow.replace(3, 4, "c")
    assert grow.text == "aé中cb"
    grow.truncate(2)
    assert grow.text == "aé"
    with pytest.raises(ValueError, match="end is 3; the text has 2 characters"):
        grow.replace(0, 3, "")
    with pytest.raises(ValueError, match="start is 2 and end is 1"):
        grow.replace(2, 1, "")
    with pytest.raises(OverflowError):
        grow.truncate(-1)
    assert grow.text == "aé"


def test_text_that_cannot_be_encoded_changes_nothing() -> None:
    file: dict[str, object] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0, "b": 1}},
    }
    tokenizer = from_hf_json(json.dumps(file).encode())
    grow = tokenizer.grow("a b a ")
    before = (grow.text, grow.ids.tolist(), grow.n_stable)
    with pytest.raises(JetonError):
        grow.append("c")
    assert (grow.text, grow.ids.tolist(), grow.n_stable) == before
    with pytest.raises(JetonError):
        grow.replace(2, 3, "c")
    assert (grow.text, grow.ids.tolist(), grow.n_stable) == before
    grow.append("b")
    assert grow.ids.tolist() == [0, 1, 0, 1]


def test_special_tokens_are_found_when_they_are_complete() -> None:
    tokenizer = makers.tiny("tiny-cl100k_base")
    end = tokenizer.special_tokens[makers.SPECIAL]
    grow = tokenizer.grow("hello", allow_special="all")
    for character in makers.SPECIAL:
        grow.append(character)
    assert grow.ids.tolist()[-1] == end == grow.stable_ids.tolist()[-1]
    ordinary = tokenizer.grow("hello")
    ordinary.append(makers.SPECIAL)
    assert end not in ordinary.ids


def test_arrays_of_pieces_join_to_all_ids() -> None:
    tokenizer = jeton.load(BUNDLED)
    text = "".join(makers.prose())[:100_000]
    parts = [text[start : start + 777] for start in range(0, len(text), 777)]
    arrays = list(tokenizer.encode_iter(iter(parts)))
    assert len(arrays) > len(parts) // 2
    assert all(array.dtype == np.uint32 and len(array) for array in arrays)
    assert np.concatenate(arrays).tolist() == tokenizer.encode(text)
    assert list(tokenizer.encode_iter([])) == []
    with pytest.raises(TypeError, match="an iterable of texts, not a single text"):
        tokenizer.encode_iter("text")


def test_counting_stops_at_the_limit() -> None:
    tokenizer = jeton.load(BUNDLED)
    text = "one two three"
    n_tokens = len(tokenizer.encode(text))
    assert [tokenizer.count_up_to(text, limit) for limit in range(n_tokens + 2)] == [
        *range(1, n_tokens + 1),
        n_tokens,
        n_tokens,
    ]
    assert tokenizer.fits(text, n_tokens)
    assert not tokenizer.fits(text, n_tokens - 1)
    assert tokenizer.count_up_to("", 0) == 0


def test_growing_text_says_what_it_is() -> None:
    grow = makers.tiny("tiny-gpt2").grow("a b c")
    assert "5 characters" in repr(grow)
    assert len(grow) == len(grow.ids)
    assert makers.tiny("tiny-gpt2").grow().text == ""
