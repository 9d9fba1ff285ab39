"""Superwords: what is learned, that other libraries give the same ids, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton._core import from_hf_json
from jeton.errors import TrainingError, UsageError
from jeton.training import TrainSettings
from jeton.training.algorithms.superbpe import PHRASE_PATTERNS

pytestmark = pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")

_TEXTS = [
    "In the end of the day, we went to the end of the road. At the end of it: 12345 stones!",
    "in the case of the people v. the state\r\n\r\nthe end of the day. In the case of (the) state",
    "e.g. don't do it... it's the end  of   the day\n\tthe end of the day",
    "在这里的人们说：你好，世界。在这里的人们说你好。 Ende der Straße, Ende der Straße",
] * 5


def _train(**options: Any) -> jeton.Tokenizer:
    return jeton.train(
        iter(_TEXTS), algorithm="superbpe", vocab_size=440, special_tokens=(), **options
    )


@pytest.fixture(scope="module")
def tokenizer() -> jeton.Tokenizer:
    return _train(transition_size=330)


def _tokens(tokenizer: jeton.Tokenizer) -> list[bytes]:
    return [tokenizer.id_to_bytes(id) for id in range(256, tokenizer.vocab_size)]


def test_tokens_span_words_but_no_sentence_and_no_line(tokenizer: jeton.Tokenizer) -> None:
    tokens = _tokens(tokenizer)
    several = [token for token in tokens if len(token.split()) > 1]
    assert b" of the day" in several
    assert all(b"\n" not in token.rstrip(b"\r\n") for token in several)
    assert all(b". " not in token for token in several)
    assert max(len(token.split()) for token in tokens) <= 4


def test_words_come_first(tokenizer: jeton.Tokenizer) -> None:
    tokens = _tokens(tokenizer)
    # Spaces in a row are white space, not two words.
    assert all(len(token.split()) <= 1 for token in tokens[: 330 - 256])


@pytest.mark.parametrize("phrases", sorted(PHRASE_PATTERNS))
@pytest.mark.parametrize("whole_words", [False, True])
def test_tokenizers_gives_the_same_ids(phrases: str, whole_words: bool) -> None:
    hf = pytest.importorskip("tokenizers")
    ours = _train(phrases=phrases, whole_words=whole_words, transition_size=330)
    theirs = hf.Tokenizer.from_str(ours.to_hf_json().decode())
    loaded = from_hf_json(ours.to_hf_json())

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.sampled_from(["the", " end", " of", ".", "!", "\n", "\r", " ", "12", "'t", "在"])
        )
        | st.lists(st.characters(codec="utf-8"), max_size=30)
    )
    def check(parts: list[str]) -> None:
        text = "".join(parts)
        ids = ours.encode(text)
        assert theirs.encode(text, add_special_tokens=False).ids == ids
        assert loaded.encode(text) == ids
        assert ours.decode(ids) == text

    check()
    for text in _TEXTS:
        assert theirs.encode(text, add_special_tokens=False).ids == ours.encode(text)


def test_superwords_need_fewer_tokens_than_words_alone(tokenizer: jeton.Tokenizer) -> None:
    plain = jeton.train(iter(_TEXTS), vocab_size=440, special_tokens=())
    assert tokenizer.count_batch(_TEXTS).sum() < plain.count_batch(_TEXTS).sum()


@pytest.mark.parametrize("whole_words", [False, True])
def test_threads_do_not_matter(whole_words: bool) -> None:
    one = _train(whole_words=whole_words, num_threads=1)
    assert _train(whole_words=whole_words, num_threads=5).fingerprint == one.fingerprint


def test_a_run_that_was_interrupted_goes_on() -> None:
    counts = _core.PretokenCounts(pattern=PHRASE_PATTERNS["sentence"])
    counts.add(_core.TextBatch.from_texts(_TEXTS))

    def learn(resume: list[tuple[int, int]], **hooks: Any) -> jeton.Tokenizer:
        options = _core.BpeOptions(vocab_size=440, resume=resume)
        return _core.train_superwords(
            counts,
            options=options,
            word_pattern="llama3",
            transition_size=330,
            max_words=4,
            **hooks,
        ).tokenizer

    whole = learn([])
    kept: list[list[tuple[int, int]]] = []

    def stop(done: int, total: int) -> None:
        if done > 256:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        learn([], on_progress=stop, on_interrupt=kept.append)
    assert learn(kept[0]).fingerprint == whole.fingerprint


def test_what_cannot_be_says_why() -> None:
    with pytest.raises(TrainingError, match="transition_size is 100; it should be from 256"):
        _train(transition_size=100)
    with pytest.raises(UsageError, match="transition_size is 500; it should be at most"):
        _train(transition_size=500)
    with pytest.raises(UsageError, match="phrases is 'sentences'; expected one of"):
        _train(phrases="sentences")
    with pytest.raises(UsageError, match="max_words is 0"):
        _train(max_words=0)


def test_half_of_the_places_go_to_words() -> None:
    chosen = TrainSettings(algorithm="superbpe", vocab_size=64_000)
    assert chosen.read_options().size_at_transition(chosen) == 32_000
