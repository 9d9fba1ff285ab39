"""``SentencePieceTrainer``: models equal to those of sentencepiece, and what is refused."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest

import jeton.compat.sentencepiece as ours
from jeton.compat.sentencepiece import sentencepiece_model_pb2
from jeton.errors import UsageError
from jeton.training.normalization_rules import named_rules

peers = pytest.importorskip("sentencepiece")

WORDS = [
    *(
        "the",
        "of",
        "and",
        "to",
        "in",
        "is",
        "cafe\u0301",
        "\ufb01ne",
        "\uff76\uff9e",
        "low",
        "lower",
    ),
    *("lowest", "new", "newer", "wide", "running", "runner", "\uff11\uff12", "x\u3000y"),
]
SYLLABLES = ["ba", "ko", "ti", "ru", "me", "sa"]


def _lines() -> list[str]:
    rng = random.Random(1)
    return [
        " ".join(rng.choices(WORDS, k=5) + ["".join(rng.choices(SYLLABLES, k=3)) for _ in range(4)])
        for _ in range(400)
    ]


LINES = _lines()
TEXTS = [
    "The cafe\u0301 \ufb01 \uff76\uff9e\u200b x",
    "bakoti\u0001ru  lowest",
    "",
    "\u00c5ngstrom 12",
]


def trained(library: Any, **options: Any) -> Any:
    writer = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=writer, minloglevel=2, **options
    )
    return peers.SentencePieceProcessor(model_proto=writer.getvalue())


def pieces(processor: Any) -> list[str]:
    return [processor.id_to_piece(id) for id in range(processor.vocab_size())]


@pytest.mark.parametrize(
    ("model_type", "vocab_size"), [("bpe", 150), ("char", 30), ("word", 60), ("BPE", 90)]
)
def test_the_same_pieces_with_its_own_defaults(model_type: str, vocab_size: int) -> None:
    options = {"model_type": model_type.lower(), "vocab_size": vocab_size}
    mine, theirs = trained(ours, **options), trained(peers, **options)
    assert pieces(mine) == pieces(theirs)
    for text in TEXTS:
        assert mine.encode(text) == theirs.encode(text)


@pytest.mark.parametrize(
    "options",
    [
        {"normalization_rule_name": "identity", "byte_fallback": True, "vocab_size": 360},
        {"user_defined_symbols": "<a>,<b>", "control_symbols": ["<c>"], "pad_id": 3},
        {"split_digits": True, "add_dummy_prefix": False, "unk_piece": "<u>"},
        {"treat_whitespace_as_suffix": "true", "max_sentencepiece_length": 4, "vocab_size": 90},
        {"max_sentence_length": 52, "vocab_size": 60},
        {"input_sentence_size": 150, "shuffle_input_sentence": False},
        {"normalization_rule_name": "nfkc"},
    ],
)
def test_options(options: dict[str, Any]) -> None:
    options = {"model_type": "bpe", "vocab_size": 120, **options}
    mine, theirs = trained(ours, **options), trained(peers, **options)
    assert pieces(mine) == pieces(theirs)


def test_unigram_is_a_model_of_its_own() -> None:
    mine, theirs = trained(ours, vocab_size=90), trained(peers, vocab_size=90)
    assert mine.vocab_size() == theirs.vocab_size() == 90
    common = set(pieces(mine)) & set(pieces(theirs))
    assert len(common) > 45
    for text in TEXTS:
        assert mine.normalize(text) == theirs.normalize(text)


def test_files_and_one_string(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("\n".join(LINES), encoding="utf-8")
    found = []
    for name, library in (("ours", ours), ("theirs", peers)):
        library.SentencePieceTrainer.Train(
            f"--input={source} --model_prefix={tmp_path / name} --vocab_size=120 "
            "--model_type=bpe --minloglevel=2"
        )
        found.append((tmp_path / f"{name}.vocab").read_text(encoding="utf-8"))
        assert (tmp_path / f"{name}.model").exists()
    assert found[0] == found[1]
    loaded = ours.SentencePieceProcessor(model_file=str(tmp_path / "ours.model"))
    assert loaded.decode(loaded.encode("the lowest")) == "the lowest"


def test_rules_of_normalization_given() -> None:
    normalizer = ours.SentencePieceNormalizer(norm_map=[("low", "high")])
    writer = io.BytesIO()
    ours.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=writer, vocab_size=80, normalizer=normalizer
    )
    loaded = peers.SentencePieceProcessor(model_proto=writer.getvalue())
    assert loaded.normalize("lowest") == "\u2581highest"


@pytest.mark.parametrize("name", ["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_rules_by_name_are_those_of_sentencepiece(name: str) -> None:
    theirs = dict(peers.SentencePieceNormalizer(rule_name=name).Decompile())
    mine = dict(named_rules(name))
    assert {k: v for k, v in mine.items() if theirs.get(k) != v} == {}
    missing = [key for key in theirs if key not in mine]
    assert all(len(key) > 1 for key in missing)
    hangul = [k for k in missing if any("\u1100" <= c <= "\ud7ff" or c >= "\u3131" for c in k)]
    assert len(missing) - len([k for k in hangul if max(k) < "\U00010000"]) == 20


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_sise": 9}, UsageError, "vocab_size"),
        ({"enable_differential_privacy": True}, NotImplementedError, "enable_differential_privacy"),
        ({"pretokenization_delimiter": "|"}, NotImplementedError, "segmenter"),
        ({"use_all_vocab": "true"}, NotImplementedError, "use_all_vocab"),
        ({"vocab_size": "many"}, UsageError, "expected int"),
        ({"split_digits": "maybe"}, UsageError, "true or false"),
        ({"model_type": "bert"}, UsageError, "unigram, bpe, word, char"),
        ({"vocab_size": 5000}, RuntimeError, "hard_vocab_limit"),
        ({"input": "x"}, UsageError, "one of the two"),
        ({"normalization_rule_name": "nfx"}, UsageError, "nmt_nfkc"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ours.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES), model_writer=io.BytesIO(), **options
        )


def test_a_soft_limit_and_no_text() -> None:
    mine = trained(ours, vocab_size=5000, hard_vocab_limit=False)
    assert mine.vocab_size() < 5000
    with pytest.raises(RuntimeError):
        ours.SentencePieceTrainer.train(sentence_iterator=iter([]), model_writer=io.BytesIO())
    with pytest.raises(UsageError, match="where the model is to go"):
        ours.SentencePieceTrainer.train(sentence_iterator=iter(LINES))


@pytest.mark.parametrize("symbol", ["\t", " ", "<x y>", "<x\u2581y>", "\uff21\uff22", "\u2460"])
def test_symbols_are_looked_for_in_normalized_text(symbol: str) -> None:
    lines = ["xa\tbc \uff21\uff22q <x y> zz<x y>kk", "xa\tbc hello \uff21\uff22q \u2460 test"] * 4

    def pieces(library: Any) -> list[str]:
        writer = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=writer,
            vocab_size=40,
            model_type="bpe",
            user_defined_symbols=[symbol],
            minloglevel=2,
        )
        loaded = peers.SentencePieceProcessor(model_proto=writer.getvalue())
        return [loaded.id_to_piece(id_) for id_ in range(loaded.get_piece_size())]

    assert pieces(ours) == pieces(peers)


@pytest.mark.parametrize("name", ["add_dummy_prefix", "remove_extra_whitespaces"])
def test_a_normalizer_brings_its_flags(name: str) -> None:
    flag: dict[str, Any] = {name: False}

    def spec(library: Any) -> Any:
        normalizer = library.SentencePieceNormalizer(norm_map=[("low", "high")], **flag)
        writer = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES),
            model_writer=writer,
            vocab_size=80,
            normalizer=normalizer,
            minloglevel=2,
        )
        kept = sentencepiece_model_pb2.ModelProto.FromString(writer.getvalue()).normalizer_spec
        return [getattr(kept, each) for each in ("add_dummy_prefix", "remove_extra_whitespaces")]

    assert spec(ours) == spec(peers)
    normalizer = ours.SentencePieceNormalizer(norm_map=[("low", "high")])
    with pytest.raises(UsageError, match=name):
        ours.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES),
            model_writer=io.BytesIO(),
            normalizer=normalizer,
            **flag,
        )
    plain = ours.SentencePieceNormalizer(norm_map=[("low", "high")], escape_whitespaces=False)
    with pytest.raises(RuntimeError, match="escape_whitespaces"):
        ours.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES), model_writer=io.BytesIO(), normalizer=plain
        )


SPELLED = [
    *["lilac<s>olive umber", "lilac </s>olive<unk>  umber", "umber fig9 <u>fig <pad>"] * 7,
    *["\u0192ig umber", "fig<u> \u2581umber olive-fig"] * 3,
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"user_defined_symbols": ["<u>"], "pad_id": 3},
        {"control_symbols": ["fig"], "bos_id": -1},
        {"treat_whitespace_as_suffix": True, "remove_extra_whitespaces": False},
        {"split_by_whitespace": False, "split_digits": True, "add_dummy_prefix": False},
        {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
        {"character_coverage": 0.99, "max_sentencepiece_length": 3},
    ],
)
@pytest.mark.parametrize(("model_type", "vocab_size"), [("word", 14), ("char", 14), ("bpe", 24)])
def test_texts_that_spell_pieces(model_type: str, vocab_size: int, options: dict[str, Any]) -> None:
    found = []
    for library in (ours, peers):
        writer = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(SPELLED),
            model_writer=writer,
            minloglevel=2,
            model_type=model_type,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            **options,
        )
        model = peers.SentencePieceProcessor(model_proto=writer.getvalue())
        found.append(
            [(piece, round(model.get_score(i), 3)) for i, piece in enumerate(pieces(model))]
        )
    assert found[0] == found[1]


def test_a_missing_input_is_named_without_a_number(tmp_path: Path) -> None:
    for name, reason in (("none.txt", "no such file"), (".", "is a directory")):
        with pytest.raises(RuntimeError) as caught:
            ours.SentencePieceTrainer.train(
                input=str(tmp_path / name), model_prefix=str(tmp_path / "m"), vocab_size=20
            )
        message = str(caught.value)
        assert str(tmp_path / name) in message
        assert reason in message
        assert "\nhint: " in message
        assert "Errno" not in message
