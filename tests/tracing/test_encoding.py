"""Traces of encoding: equal to the core on every kind of model, with and without draws."""

from __future__ import annotations

import doctest
import functools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer, tracing
from jeton.cli.app import app
from jeton.errors import UsageError
from jeton.tracing import TRACED_MODELS, LatticeTraced, MatchTraced, MergeTraced, trace_encode

VOCABULARIES = Path(__file__).parents[3] / "shared" / "data" / "vocab"
TEXTS = [
    "Hello there, 2024! hydroxychloroquine",
    "naïve  café\n\tif x == 10:  # ok",
    "日本語のテキスト 中文",
    "<s>[MASK]</s> a<|endoftext|>b",
    "🙂 ﬁne ½ Å ®",
    " ",
    "",
    "aaaaaaaaaaaa the the the",
]
WORDS = ["low lower lowest", "new newer newest", "wide wider widest", "a  b\tc é"]
SMALL = [
    ("bpe", {"vocab_size": 280}),
    ("superbpe", {"vocab_size": 280}),
    ("char-bpe", {"vocab_size": 35}),
    ("char-bpe", {"vocab_size": 45, "end_of_word_suffix": "</w>"}),
    ("wordpiece", {"vocab_size": 50}),
    ("unigram", {"vocab_size": 30}),
    ("unigram", {"vocab_size": 290, "byte_fallback": True, "user_defined_symbols": ["<sep>"]}),
    ("sentencepiece-bpe", {"vocab_size": 40}),
    ("sentencepiece-bpe", {"vocab_size": 300, "byte_fallback": True}),
    ("sentencepiece-char", {"vocab_size": 30}),
    ("sentencepiece-word", {"vocab_size": 20}),
    ("word", {"vocab_size": 20}),
    ("char", {"vocab_size": 30}),
]


@functools.cache
def trained(number: int) -> Tokenizer:
    algorithm, options = SMALL[number]
    return jeton.train(iter(WORDS * 20), algorithm=algorithm, **options)  # type: ignore[arg-type]


def draws(tokenizer: Tokenizer) -> bool:
    return bool({"dropout", "unigram"} & set(tokenizer.sampling_methods))


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
@pytest.mark.parametrize("number", range(len(SMALL)))
@settings(max_examples=30, deadline=None)
@given(text=st.text("lowernstwid  \té?<sep>▁", max_size=24), seed=st.integers(0, 99))
def test_small_vocabularies(number: int, text: str, seed: int) -> None:
    tokenizer = trained(number)
    found = trace_encode(tokenizer, text)
    assert found.matches_engine
    assert "".join(part.text for part in found.parts if part.is_added) == ""
    if draws(tokenizer):
        assert trace_encode(tokenizer, text, seed=seed).matches_engine


def check_published(name: str) -> None:
    tokenizer = jeton.load(str(VOCABULARIES / name))
    for text in TEXTS[:5]:
        assert trace_encode(tokenizer, text, n_best=1).matches_engine, (name, text)
    if draws(tokenizer):
        assert trace_encode(tokenizer, TEXTS[1], seed=1, n_best=1).matches_engine, name


ONE_OF_EACH_KIND = (
    "bert_base_uncased.vocab.txt",
    "clip_base.json.zst",
    "gpt_neox_20b.json.zst",
    "llama2.model",
    "o200k_base.tiktoken.zst",
    "rwkv_vocab_v20230424.txt.zst",
    "t5-small.json.zst",
    "xlnet_base_cased.model.zst",
)


@pytest.mark.skipif(not VOCABULARIES.is_dir(), reason="no shared data folder beside the project")
@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_published_vocabularies(name: str) -> None:
    check_published(name)


@pytest.mark.conformance
@pytest.mark.skipif(not VOCABULARIES.is_dir(), reason="no shared data folder beside the project")
def test_every_published_vocabulary() -> None:
    names = sorted(path.name for path in VOCABULARIES.iterdir())
    assert len(names) > 50
    for name in names:
        check_published(name)


def test_a_merge_tells_who_lost() -> None:
    found = trace_encode(jeton.load("jeton-general-32k"), "hydroxychloroquine")
    (part,) = found.parts
    assert len(part.steps) == 10
    for step in part.steps:
        assert isinstance(step, MergeTraced)
        taken = (step.taken.rank, step.taken.place)
        assert all((pair.rank, pair.place) > taken for pair in step.lost)
        assert step.n_lost >= len(step.lost)
    assert [token.text for token in part.tokens][:2] == ["hyd", "ro"]


def test_byte_level_letters() -> None:
    found = trace_encode(jeton.load("jeton-general-32k"), "é b")
    assert found.parts[0].letters == ("Ã", "©")
    assert found.parts[1].letters == ("Ġ", "b")


def test_wordpiece_tries_the_longest_first() -> None:
    tokenizer = trained(4)
    step = trace_encode(tokenizer, "lowz").parts[0].steps[0]
    assert isinstance(step, MatchTraced)
    assert step.tried[0] == "lowz"
    assert [len(text) for text in step.tried] == sorted(map(len, step.tried), reverse=True)


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_unigram_lists_the_best_ways() -> None:
    tokenizer = trained(5)
    found = trace_encode(tokenizer, "lowest", n_best=4)
    step = found.parts[0].steps[0]
    assert isinstance(step, LatticeTraced)
    best = tokenizer.nbest("lowest", 4)
    assert [score for score, _ in step.ways] == pytest.approx([way.score for way in best], rel=1e-5)
    on_path = [arc for arc in step.arcs if arc.on_path]
    assert sum(arc.score for arc in on_path) == pytest.approx(step.score, rel=1e-5)


def test_long_texts_are_cut() -> None:
    found = trace_encode(jeton.load("jeton-general-32k"), "a b " * 300)
    assert (len(found.text), found.n_chars_cut) == (400, 800)


def test_special_tokens_are_found_when_allowed() -> None:
    tokenizer = jeton.load("jeton-general-32k")
    text = "a<|endoftext|>b"
    assert not any(part.is_added for part in trace_encode(tokenizer, text).parts)
    found = trace_encode(tokenizer, text, allow_special="all")
    assert [part.is_added for part in found.parts] == [False, True, False]
    assert found.matches_engine


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_best": 0}, "n_best is 0"),
        ({"max_chars": 5000}, "max_chars is 5000"),
        ({"dropout": 0.5}, "give a seed"),
        ({"seed": 1, "alpha": 0.5}, "alpha is for Unigram"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        trace_encode(jeton.load("jeton-general-32k"), "a", **settings)  # type: ignore[arg-type]


def test_a_model_without_draws() -> None:
    with pytest.raises(UsageError, match="has no such draw"):
        trace_encode(trained(4), "low", seed=1)


def test_plain_values_and_repr() -> None:
    found = trace_encode(jeton.load("jeton-general-32k"), "low")
    assert json.loads(json.dumps(found.to_dict()))["ids"] == list(found.ids)
    assert len(repr(found)) < 90


def test_every_kind_of_model_is_listed() -> None:
    assert {"bpe", "wordpiece", "unigram", "sentencepiece"} < set(TRACED_MODELS)


def test_examples_of_the_package() -> None:
    for name in ("encoding", "training"):
        module = __import__(f"jeton.tracing.{name}", fromlist=["_"])
        assert doctest.testmod(module).failed == 0
    assert tracing.MAX_CHARS == 400


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands(tmp_path: Path) -> None:
    encode = ("trace", "encode", "-t", "jeton-general-32k", "--text", "lowest é")
    out = run(*encode)
    assert "rank" in out
    assert "letters   Ġ Ã ©" in out
    assert "chance 0.3" in run(*encode, "--seed", "1", "--dropout", "0.3")
    assert json.loads(run(*encode, "--json"))["matches_engine"]
    text = tmp_path / "a.txt"
    text.write_text("low lower lowest " * 9, encoding="utf-8")
    assert "l + o = lo: 27 times" in run("trace", "train", str(text), "--vocab-size", "260")
    unigram = ("--algorithm", "unigram", "--vocab-size", "15")
    assert "expectation and maximization" in run("trace", "train", str(text), *unigram)
    value = json.loads(run("trace", "train", str(text), *unigram, "--json"))
    assert value["matches_engine"]
