"""Segmenters: names, plug-ins, what they may do, training on parts, encoding by parts."""

from __future__ import annotations

import importlib.metadata
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.errors import JetonWarning, MissingExtraError, TrainingError, UsageError
from jeton.pretokenizing import SegmentedTokenizer, find_segmenter
from jeton.pretokenizing.segmenters import segmented_counts, words_of_counts
from jeton.training import TrainSettings, count_pretokens, train_from_counts

TEXT = "lowest newest lowest new low unlikely likely unlike " * 4


def halves(pretoken: str) -> list[str]:
    """Cuts in the middle."""
    middle = len(pretoken) // 2
    return [pretoken[:middle], pretoken[middle:]]


def naive_counts(texts: Sequence[str], pattern: str) -> dict[bytes, int]:
    counts = count_pretokens(iter(texts), settings=TrainSettings(pattern=pattern)).counts
    found: dict[bytes, int] = {}
    for pretoken, count in counts.items():
        for part in halves(pretoken.decode()):
            if part:
                found[part.encode()] = found.get(part.encode(), 0) + count
    return found


@given(st.lists(st.text(max_size=20), min_size=1))
def test_counts_are_those_of_parts(texts: list[str]) -> None:
    if not any(texts):
        texts = ["a"]
    counts = count_pretokens(iter(texts), settings=TrainSettings(pattern="gpt2")).counts
    made = segmented_counts(counts, halves)
    assert dict(made.items()) == naive_counts(texts, "gpt2")
    assert made.cutting == counts.cutting
    assert made.n_bytes == counts.n_bytes


def test_no_token_crosses_the_end_of_a_part() -> None:
    tokenizer = jeton.train(iter([TEXT]), vocab_size=262, special_tokens=(), segmenter=halves)
    tokens = {tokenizer.id_to_bytes(id).decode() for id in range(256, 262)}
    parts = {part for word in TEXT.split() for part in halves(f" {word}")}
    assert all(any(token in part for part in parts) for token in tokens)


@pytest.mark.parametrize("algorithm", ["bpe", "char-bpe", "unigram", "sentencepiece-bpe"])
@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_algorithms_that_take_one(algorithm: str) -> None:
    def cut(pretoken: str) -> list[str]:
        return pretoken.partition("likely")[:2] if "likely" in pretoken else [pretoken]  # type: ignore[return-value]

    def three(pretoken: str) -> tuple[str, str, str]:
        return pretoken.partition("like")

    tokenizer = jeton.train(iter([TEXT]), algorithm=algorithm, vocab_size=290, segmenter=three)
    assert tokenizer.decode(tokenizer.encode("unlike")) == "unlike"
    tokens = [tokenizer.id_to_bytes(id) for id in range(tokenizer.vocab_size)]
    assert not any(token.replace("\u2581".encode(), b" ").strip() == b"unlike" for token in tokens)


@pytest.mark.parametrize("algorithm", ["superbpe", "wordpiece", "word", "char"])
def test_algorithms_that_do_not(algorithm: str) -> None:
    with pytest.raises(UsageError, match="does not take it"):
        TrainSettings(algorithm=algorithm, segmenter="jieba").check()


def test_affixes_and_parts_contradict() -> None:
    with pytest.raises(UsageError, match="contradict"):
        TrainSettings(
            algorithm="char-bpe", segmenter="jieba", options={"end_of_word_suffix": "</w>"}
        ).check()


def test_a_segmenter_may_only_cut() -> None:
    with pytest.raises(TrainingError, match="only cuts"):
        jeton.train(iter([TEXT]), vocab_size=300, segmenter=lambda text: [text.upper()])


def test_names_there_are_none_of() -> None:
    with pytest.raises(UsageError, match="unknown segmenter 'jieb'; expected one of jieba"):
        find_segmenter("jieb")
    with pytest.raises(UsageError, match="needs a file"):
        find_segmenter("morphemes")
    with pytest.raises(UsageError, match="expected a name or a function"):
        find_segmenter(3)  # type: ignore[arg-type]


def test_what_is_not_installed_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("jieba", "morfessor"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jeton\[jieba\]'"):
        find_segmenter("jieba")
    counts = count_pretokens(iter([TEXT])).counts
    with pytest.raises(MissingExtraError, match=r"pip install 'jeton\[morphology\]'"):
        find_segmenter("morfessor", counts=counts)


def test_a_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("plugged")

    def make(argument: str = "") -> object:
        return (lambda text: list(text)) if argument == "chars" else halves

    module.make = make  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plugged", module)
    entry = importlib.metadata.EntryPoint("mine", "plugged:make", "jeton.segmenters")
    monkeypatch.setattr("jeton.pretokenizing.segmenters.entry_points", lambda group: [entry])
    assert list(find_segmenter("mine")("abcd")) == ["ab", "cd"]
    assert list(find_segmenter("mine:chars")("abcd")) == ["a", "b", "c", "d"]


def test_jieba(tmp_path: Path) -> None:
    pytest.importorskip("jieba")
    cut = find_segmenter("jieba")
    assert list(cut("我来到北京清华大学")) == ["我", "来到", "北京", "清华大学"]
    assert list(cut(" hello")) == [" hello"]
    assert "".join(cut(" 我 a来到，北京！")) == " 我 a来到，北京！"
    (tmp_path / "words.txt").write_text("到北京 100000 n\n", encoding="utf-8")
    assert "到北京" in find_segmenter(f"jieba:{tmp_path / 'words.txt'}")("我来到北京清华大学")
    assert "到北京" not in cut("我来到北京清华大学")


@pytest.fixture(scope="module")
def tokenizer() -> _core.Tokenizer:
    return jeton.train(iter([TEXT]), vocab_size=275, special_tokens=(), segmenter=halves)


@given(text=st.text() | st.text(alphabet="lowestnikuy  "))
def test_encoding_by_parts(tokenizer: _core.Tokenizer, text: str) -> None:
    segmented = SegmentedTokenizer(tokenizer, segmenter=halves)
    ids = segmented.encode(text)
    naive = [
        id
        for pretoken in tokenizer.pretokenize(text)
        for part in halves(pretoken)
        for id in tokenizer.encode_pretoken(part.encode())
    ]
    assert ids == naive == segmented.encode(text)
    assert segmented.decode(ids) == text
    assert "".join(segmented.segments(text)) == text
    assert segmented.count(text) == len(ids)


def test_tokenizers_gives_equal_ids_for_segments(tokenizer: _core.Tokenizer) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_str(tokenizer.to_hf_json().decode())
    assert theirs.encode(TEXT, add_special_tokens=False).ids == tokenizer.encode(TEXT)
    segmented = SegmentedTokenizer(tokenizer, segmenter=halves)
    found = theirs.encode(segmented.segments(TEXT), is_pretokenized=True, add_special_tokens=False)
    assert found.ids == segmented.encode(TEXT)


def test_what_cannot_be_cut_further() -> None:
    with pytest.warns(JetonWarning):
        model = jeton.train(iter([TEXT]), algorithm="unigram", vocab_size=200)
    with pytest.raises(UsageError):
        SegmentedTokenizer(model, segmenter=halves)
    with pytest.warns(JetonWarning):
        words = jeton.train(
            iter([TEXT]), algorithm="char-bpe", vocab_size=200, pre_tokenizer="whitespace"
        )
    with pytest.raises(UsageError, match="train with a split pattern"):
        SegmentedTokenizer(words, segmenter=halves)


def test_the_card_names_the_segmenter() -> None:
    assert TrainSettings(segmenter="jieba").to_dict()["segmenter"] == "jieba"
    assert TrainSettings(segmenter=halves).to_dict()["segmenter"].endswith(".halves")
    assert "segmenter" not in TrainSettings().to_dict()


def test_words_of_counts() -> None:
    corpus = count_pretokens(iter(["Low low, LOWER 12"]))
    assert words_of_counts(corpus.counts) == {"low": 2, "lower": 1}
    assert train_from_counts(corpus, settings=TrainSettings(vocab_size=258)).vocab_size == 258


def test_only_segmenters_whose_packages_are_there_are_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "jeton.pretokenizing.segmenters.find_spec", lambda name: None if name == "jieba" else name
    )
    with pytest.raises(UsageError, match="those installed are morphemes, morfessor;"):
        find_segmenter("none of them")
