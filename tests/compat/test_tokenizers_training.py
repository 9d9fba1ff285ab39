"""Trainers and the ready-made tokenizers of ``jeton.compat.tokenizers``."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from jeton.compat import tokenizers as adapter
from jeton.errors import TrainingError
from tests.compat.hf_dumps import dump
from tests.compat.hf_families import TEXTS, family_json

pytestmark = pytest.mark.rivals

WORDS = r"\s*\S+|\s+"


def byte_level(library: Any, prefix: bool = True) -> Any:
    return library.pre_tokenizers.ByteLevel(add_prefix_space=prefix)


def split_first(library: Any) -> Any:
    return library.pre_tokenizers.Sequence(
        [
            library.pre_tokenizers.Split(library.Regex(WORDS), "isolated"),
            library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


@pytest.mark.parametrize(
    ("cut", "normalizer", "options"),
    [
        (byte_level, None, {}),
        (lambda t: byte_level(t, False), None, {"min_frequency": 3}),
        (byte_level, "NFC", {"special_tokens": ["<s>", "</s>"]}),
        (split_first, None, {"max_token_length": 4, "special_tokens": ["<x>"]}),
    ],
)
def test_byte_level_bpe_is_learned_alike(
    cut: Callable[[Any], Any], normalizer: str | None, options: dict[str, Any]
) -> None:
    found = []
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer(library.models.BPE(dropout=None, unk_token=None))
        tokenizer.pre_tokenizer = cut(library)
        tokenizer.decoder = library.decoders.ByteLevel()
        if normalizer:
            tokenizer.normalizer = getattr(library.normalizers, normalizer)()
        trainer = library.trainers.BpeTrainer(
            vocab_size=360,
            initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
            **options,
        )
        tokenizer.train_from_iterator([TEXTS[:3], *TEXTS[3:]], trainer)
        found.append(tokenizer)
    theirs, ours = found
    assert json.loads(ours.to_str()) == json.loads(theirs.to_str())
    assert dump(ours.encode(TEXTS[3])) == dump(theirs.encode(TEXTS[3]))


def test_training_from_files(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXTS) + "\n\n  end", encoding="utf-8")
    found = []
    for library in (tokenizers, adapter):
        tokenizer = library.ByteLevelBPETokenizer(lowercase=False, add_prefix_space=True)
        tokenizer.train(str(path), vocab_size=330, show_progress=False, special_tokens=["<s>"])
        found.append(tokenizer)
    assert json.loads(found[1].to_str()) == json.loads(found[0].to_str())
    assert found[1].encode("quick fox").tokens == found[0].encode("quick fox").tokens


@pytest.mark.parametrize(
    ("model", "trainer", "reason"),
    [
        ("BPE", "UnigramTrainer", "UnigramTrainer can only train a Unigram"),
        ("Unigram", "BpeTrainer", "BpeTrainer can only train a BPE"),
    ],
)
def test_what_cannot_be_learned_is_said(model: str, trainer: str, reason: str) -> None:
    tokenizer = adapter.Tokenizer(getattr(adapter.models, model)())
    with pytest.raises(TrainingError, match=reason):
        tokenizer.train_from_iterator(TEXTS, getattr(adapter.trainers, trainer)())


def bert(library: Any) -> Any:
    return library.normalizers.BertNormalizer(), library.pre_tokenizers.BertPreTokenizer()


def spaces(library: Any) -> Any:
    parts = [library.pre_tokenizers.WhitespaceSplit(), library.pre_tokenizers.Punctuation()]
    return library.normalizers.Lowercase(), library.pre_tokenizers.Sequence(parts)


def metaspace(library: Any) -> Any:
    return None, library.pre_tokenizers.Metaspace()


def trained(library: Any, model: str, pipeline: Any, **options: Any) -> Any:
    tokenizer = library.Tokenizer(getattr(library.models, model)(unk_token="[UNK]"))
    normalizer, tokenizer.pre_tokenizer = pipeline(library)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = getattr(library.trainers, f"{model}Trainer")(
        special_tokens=["[UNK]", "[PAD]"], show_progress=False, **options
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


@pytest.mark.parametrize("pipeline", [bert, spaces, metaspace])
@pytest.mark.parametrize("options", [{}, {"vocab_size": 30}, {"min_frequency": 2}])
def test_words_are_learned_alike(pipeline: Any, options: dict[str, Any]) -> None:
    theirs = trained(tokenizers, "WordLevel", pipeline, **options)
    ours = trained(adapter, "WordLevel", pipeline, **options)
    assert json.loads(ours.to_str()) == json.loads(theirs.to_str())
    assert dump(ours.encode(TEXTS[0])) == dump(theirs.encode(TEXTS[0]))


@pytest.mark.parametrize("pipeline", [bert, spaces])
def test_wordpiece_to_the_end_has_the_tokens_of_the_reference(pipeline: Any) -> None:
    """Every word becomes whole at last, so ties decide on the way only."""
    theirs = trained(tokenizers, "WordPiece", pipeline, vocab_size=100_000)
    ours = trained(adapter, "WordPiece", pipeline, vocab_size=100_000)
    words = {token for token in theirs.get_vocab() if not token.startswith("##")}
    mine = {token for token in ours.get_vocab() if not token.startswith("##")}
    text = theirs.normalizer.normalize_str(TEXTS[0]) if theirs.normalizer else TEXTS[0]
    for word, _ in theirs.pre_tokenizer.pre_tokenize_str(text):
        assert word in words
        assert word in mine
    assert ours.encode(TEXTS[0]).tokens == theirs.encode(TEXTS[0]).tokens
    assert ours.token_to_id("[PAD]") == 1


def test_wordpiece_needs_its_prefix() -> None:
    with pytest.raises(TrainingError, match="continuing_subword_prefix"):
        trained(adapter, "WordPiece", bert, continuing_subword_prefix=None)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"limit_alphabet": 5}, "limit_alphabet=5"),
        ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix='</w>'"),
        ({"continuing_subword_prefix": "##"}, "continuing_subword_prefix='##'"),
    ],
)
def test_settings_that_byte_level_bpe_has_not(option: dict[str, Any], reason: str) -> None:
    tokenizer = adapter.Tokenizer(adapter.models.BPE())
    tokenizer.pre_tokenizer = byte_level(adapter)
    alphabet = adapter.pre_tokenizers.ByteLevel.alphabet()
    trainer = adapter.trainers.BpeTrainer(initial_alphabet=alphabet, **option)
    with pytest.raises(TrainingError, match=reason):
        tokenizer.train_from_iterator(TEXTS, trainer)


SYLLABLES = ["ba", "ko", "ti", "ru", "me", "sa", "Z\u00fc"]
SYLLABLE_LINES = [
    " ".join(
        "".join(SYLLABLES[(n * k * (k + 3)) % 7] for k in range(1, 2 + (n + k0) % 3))
        for k0 in range(6)
    )
    for n in range(200)
]


@pytest.mark.parametrize("pipeline", [bert, spaces, metaspace])
@pytest.mark.parametrize(
    "options", [{}, {"max_token_length": 5}, {"min_frequency": 30, "initial_alphabet": ["z", "q"]}]
)
def test_bpe_on_characters_learns_the_same(pipeline: Any, options: dict[str, Any]) -> None:
    found = []
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer(library.models.BPE(unk_token="[UNK]"))
        normalizer, tokenizer.pre_tokenizer = pipeline(library)
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        trainer = library.trainers.BpeTrainer(
            vocab_size=60, special_tokens=["[UNK]", "<s>"], show_progress=False, **options
        )
        tokenizer.train_from_iterator(SYLLABLE_LINES, trainer)
        found.append(tokenizer)
    theirs, ours = found
    assert json.loads(ours.to_str())["model"] == json.loads(theirs.to_str())["model"]
    assert ours.encode(SYLLABLE_LINES[3]).tokens == theirs.encode(SYLLABLE_LINES[3]).tokens


@pytest.mark.parametrize("option", ["continuing_subword_prefix", "end_of_word_suffix"])
def test_bpe_with_affixes(option: str) -> None:
    options: dict[str, Any] = {option: "@@"}
    tokenizer = adapter.Tokenizer(adapter.models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = adapter.pre_tokenizers.Whitespace()
    trainer = adapter.trainers.BpeTrainer(
        vocab_size=60, special_tokens=["[UNK]"], show_progress=False, **options
    )
    tokenizer.train_from_iterator(SYLLABLE_LINES, trainer)
    theirs = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    assert theirs.encode(SYLLABLE_LINES[5]).ids == tokenizer.encode(SYLLABLE_LINES[5]).ids
    assert any("@@" in token for token in tokenizer.get_vocab())


@pytest.mark.parametrize("pipeline", [bert, spaces, metaspace])
def test_unigram_under_any_pipeline(pipeline: Any) -> None:
    found = []
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer(library.models.Unigram())
        normalizer, tokenizer.pre_tokenizer = pipeline(library)
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        trainer = library.trainers.UnigramTrainer(
            vocab_size=30,
            special_tokens=["<s>"],
            unk_token="<unk>",
            initial_alphabet=["z"],
            show_progress=False,
        )
        tokenizer.train_from_iterator(SYLLABLE_LINES, trainer)
        found.append(tokenizer)
    learned_there, ours = found
    vocab = ours.get_vocab()
    assert len(vocab) <= 30
    assert {"<s>", "<unk>", "z"} <= set(vocab)
    theirs = tokenizers.Tokenizer.from_str(ours.to_str())
    for text in (*SYLLABLE_LINES[:20], "xyz bako <s>"):
        assert theirs.encode(text).ids == ours.encode(text).ids
    # The pieces differ. They serve the text about as well as those that are learned there.
    n_there, n_ours = (
        sum(len(one.encode(line).ids) for line in SYLLABLE_LINES) for one in (learned_there, ours)
    )
    assert n_ours <= 1.1 * n_there


def test_pipelines_that_training_refuses() -> None:
    alphabet = adapter.pre_tokenizers.ByteLevel.alphabet()
    trainer = adapter.trainers.BpeTrainer(initial_alphabet=alphabet)
    tokenizer = adapter.Tokenizer(adapter.models.BPE())
    with pytest.raises(TrainingError, match="no pre-tokenizer"):
        tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.pre_tokenizer = adapter.pre_tokenizers.Whitespace()
    with pytest.raises(TrainingError, match=r"the pre-tokenizer Whitespace\(\)"):
        tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.pre_tokenizer = byte_level(adapter)
    tokenizer.normalizer = adapter.normalizers.Lowercase()
    with pytest.raises(TrainingError, match=r"the normalizer Lowercase\(\)"):
        tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.normalizer = None
    # Letters are not the same characters in both dialects.
    words = adapter.pre_tokenizers.Split(adapter.Regex(r"\w+|\W+"), "isolated")
    cut = adapter.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = adapter.pre_tokenizers.Sequence([words, cut])
    with pytest.raises(TrainingError, match="the pattern of its Split"):
        tokenizer.train_from_iterator(TEXTS, trainer)
    with pytest.raises(TypeError):
        tokenizer.train_from_iterator("one text", trainer)
    with pytest.raises(TypeError):
        tokenizer.train_from_iterator(TEXTS, "BpeTrainer")


@pytest.mark.parametrize("name", ["BpeTrainer", "WordPieceTrainer", "WordLevelTrainer"])
def test_settings_of_trainers(name: str) -> None:
    trainers = []
    for library in (tokenizers, adapter):
        trainer = getattr(library.trainers, name)(
            vocab_size=77, special_tokens=["<a>", library.AddedToken("<b>", lstrip=True)]
        )
        trainer.min_frequency = 4
        trainers.append(trainer)
    theirs, ours = trainers
    ours = pickle.loads(pickle.dumps(ours))
    assert [t.__getstate__() for t in ours.special_tokens] == [
        t.__getstate__() for t in theirs.special_tokens
    ]
    for field in ("vocab_size", "min_frequency", "show_progress"):
        assert getattr(ours, field) == getattr(theirs, field)
    with pytest.raises(TypeError):
        ours.vocab_size = "many"


def files_of(family: str, folder: Path) -> tuple[Path, Path]:
    """A model's own files, written by the other library."""
    if family == "characters":
        made = tokenizers.CharBPETokenizer()
        made.train_from_iterator(TEXTS, vocab_size=200, show_progress=False)
        made.save_model(str(folder))
    elif family == "marked":
        made = tokenizers.SentencePieceBPETokenizer()
        made.train_from_iterator(TEXTS, vocab_size=200, show_progress=False)
        made.save_model(str(folder))
    else:
        tokenizers.Tokenizer.from_str(family_json(family)).model.save(str(folder))
    return folder / "vocab.json", folder / "merges.txt"


READY_MADE: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("BertWordPieceTokenizer", "bert", [{}, {"lowercase": False, "strip_accents": True}]),
    ("ByteLevelBPETokenizer", "gpt2", [{}, {"add_prefix_space": True, "trim_offsets": True}]),
    (
        "ByteLevelBPETokenizer",
        "gpt2",
        [{"lowercase": True, "unicode_normalizer": "nfkc"}],
    ),
    ("CharBPETokenizer", "characters", [{}, {"bert_normalizer": False, "lowercase": True}]),
    ("CharBPETokenizer", "characters", [{"split_on_whitespace_only": True}]),
    ("SentencePieceBPETokenizer", "marked", [{}, {"add_prefix_space": False, "fuse_unk": True}]),
]


@pytest.mark.parametrize(("name", "family", "settings"), READY_MADE)
def test_ready_made_tokenizers(
    name: str, family: str, settings: list[dict[str, Any]], tmp_path: Path
) -> None:
    vocab, merges = files_of(family, tmp_path)
    paths = [str(tmp_path / "vocab.txt")] if family == "bert" else [str(vocab), str(merges)]
    for options in settings:
        theirs = getattr(tokenizers, name).from_file(*paths, **options)
        ours = getattr(adapter, name).from_file(*paths, **options)
        assert json.loads(ours.to_str()) == json.loads(theirs.to_str())
        assert repr(ours) == repr(theirs)
        for tokenizer in (theirs, ours):
            tokenizer.enable_padding(length=30, pad_token="[P]")
            tokenizer.enable_truncation(24, stride=2)
        for text in TEXTS[:5]:
            expected = theirs.encode(text, "and a pair")
            assert dump(ours.encode(text, "and a pair")) == dump(expected)
            assert ours.decode(expected.ids) == theirs.decode(expected.ids)
            assert ours.normalize(text) == theirs.normalize(text) if ours.normalizer else True
        assert (ours.padding, ours.truncation) == (theirs.padding, theirs.truncation)
        saved = ours.save_model(str(tmp_path), "again")
        assert sorted(Path(path).name for path in saved) == sorted(
            Path(path).name for path in theirs.save_model(str(tmp_path), "again")
        )
        again = getattr(adapter, name).from_file(*ours.save_model(str(tmp_path), "more"), **options)
        assert json.loads(again.to_str())["model"] == json.loads(ours.to_str())["model"]


def test_unigram_pieces() -> None:
    pieces = json.loads(family_json("t5"))["model"]["vocab"]
    theirs = tokenizers.SentencePieceUnigramTokenizer([tuple(piece) for piece in pieces])
    ours = adapter.SentencePieceUnigramTokenizer([tuple(piece) for piece in pieces])
    assert json.loads(ours.to_str()) == json.loads(theirs.to_str())
    assert ours.encode("the lazy dog").tokens == theirs.encode("the lazy dog").tokens


def test_a_sentencepiece_file(shared: Path) -> None:
    path = shared / "data" / "vocab" / "nmt_joint.spm.model"
    tokenizer = adapter.SentencePieceUnigramTokenizer.from_spm(str(path))
    assert tokenizer.get_vocab_size() == 32_000
    theirs = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    assert tokenizer.encode(TEXTS[0]).tokens == theirs.encode(TEXTS[0]).tokens


def test_models_alone() -> None:
    for library in (tokenizers, adapter):
        model = library.models.BPE(
            {"a": 0, "b": 1, "ab": 2, "<u>": 3}, [("a", "b")], unk_token="<u>"
        )
        assert [t.as_tuple() for t in model.tokenize("abcb")] == [
            (2, "ab", (0, 2)),
            (3, "<u>", (2, 3)),
            (1, "b", (3, 4)),
        ]
        assert (model.token_to_id("ab"), model.id_to_token(2), model.id_to_token(9)) == (
            2,
            "ab",
            None,
        )
        unigram = library.models.Unigram([("<u>", -5.0), ("a", -1.0), ("bc", -2.0)], 0)
        assert [(t.id, t.value) for t in unigram.tokenize("abcxy")] == [
            (1, "a"),
            (2, "bc"),
            (0, "xy"),
        ]


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.models.BPE({"a": 0}),
        lambda t: t.models.BPE({"a": 0}, "merges.txt"),
        lambda t: t.models.BPE({"a": 0}, [("a", "b")]),
        lambda t: t.models.BPE({"a": -1}, []),
        lambda t: t.models.BPE({"a": "0"}, []),
        lambda t: t.models.BPE({"a": 0}, [("a",)]),
        lambda t: t.models.BPE("/no/such/vocab.json", "/no/such/merges.txt"),
        lambda t: t.models.BPE(dropout="x"),
        lambda t: t.models.WordPiece("/no/such/vocab.txt"),
        lambda t: t.models.WordPiece({"a": 0}, max_input_chars_per_word=-1),
        lambda t: t.models.WordLevel({"a": 0}, 5),
        lambda t: t.models.Unigram([("a", 0.0)], 7),
        lambda t: t.models.Unigram([("a", "b")], 0),
        lambda t: t.models.Unigram(None, 0),
        lambda t: t.models.BPE({"a": 0}, []).save("/no/such/folder"),
    ],
)
def test_models_that_are_refused(make: Callable[[Any], Any]) -> None:
    for library in (tokenizers, adapter):
        with pytest.raises(Exception):  # noqa: B017, PT011 - the other library's is no more than that
            make(library)
