"""jeton.compat.sentencepiece gives what sentencepiece gives: the same calls on both."""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import sentencepiece as peers
from hypothesis import example, given, settings

import jeton
import jeton.compat.sentencepiece as ours
from jeton.compat.sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "a",
    "dog",
    "ran",
    "after",
    "it",
    "in",
    "summer",
    "of",
    "été",
    "naïve",
    "東京",
    "に",
    "行く",
    "12",
    "345",
    "x-y",
]
SENTENCES = [" ".join(WORDS[(i * j) % len(WORDS)] for j in range(1, 9)) for i in range(1, 60)]
SETTINGS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram", "vocab_size": 120, "pad_id": 3},
    "bytes": {"model_type": "unigram", "vocab_size": 380, "byte_fallback": True},
    "bpe": {"model_type": "bpe", "vocab_size": 130, "user_defined_symbols": ["<u>", "at s"]},
    "bpe bytes": {"model_type": "bpe", "vocab_size": 400, "byte_fallback": True, "bos_id": -1},
    "word": {"model_type": "word", "vocab_size": 20},
    "char": {"model_type": "char", "vocab_size": 40, "add_dummy_prefix": False},
    "suffix": {"model_type": "unigram", "vocab_size": 120, "treat_whitespace_as_suffix": True},
    "raw": {
        "model_type": "unigram",
        "vocab_size": 120,
        "remove_extra_whitespaces": False,
        "normalization_rule_name": "identity",
        "unk_surface": " ? ",
    },
}


@functools.cache
def model(name: str) -> bytes:
    """A model that sentencepiece trains in a moment."""
    out = io.BytesIO()
    peers.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=out,
        minloglevel=2,
        hard_vocab_limit=False,
        character_coverage=0.98,
        **SETTINGS[name],
    )
    return out.getvalue()


@functools.cache
def both(name: str) -> tuple[ours.SentencePieceProcessor, Any]:
    data = model(name)
    return (
        ours.SentencePieceProcessor(model_proto=data),
        peers.SentencePieceProcessor(model_proto=data),
    )


MARKS = ["<u>", "<s>", "</s>", "<unk>", "<0x41>", "at s"]
# Each property runs for eight models: a quarter of the examples for each.
FEWER = settings(max_examples=max(settings.default.max_examples // 4, 1))  # type: ignore[union-attr]

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [*WORDS, " ", "  ", "\u2581", "<u>", "<s>", "</s>", "<unk>", "<0x41>", "at s"]
        ),
        st.text(alphabet=st.characters(codec="utf-8"), max_size=4),
    ),
    max_size=8,
).map("".join)
KINDS: list[Any] = [int, str, bytes, "serialized_proto", "offset_mapping", "numpy"]


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    return [plain(one) for one in value] if isinstance(value, list) else value


def alike(mine: Callable[[], Any], peer: Callable[[], Any]) -> None:
    """Both give the same, or ours is caught by who catches what the peer raises."""
    try:
        expected = plain(peer())
    except Exception as error:
        with pytest.raises(type(error)):
            mine()
        return
    assert plain(mine()) == expected


def call_both(name: str, method: str, *args: Any, **kwargs: Any) -> None:
    mine, peer = both(name)
    alike(
        lambda: getattr(mine, method)(*args, **kwargs),
        lambda: getattr(peer, method)(*args, **kwargs),
    )


@pytest.mark.parametrize("name", SETTINGS)
@FEWER
@given(TEXTS, st.sampled_from(KINDS), st.sampled_from(range(16)))
@example(" é\u0301 ∰ the ∰∰ ", "serialized_proto", 0)
@example("∰ the", str, 8)
def test_encoding_is_equal(name: str, text: str, kind: Any, flags: int) -> None:
    options = {
        option: bool(flags >> place & 1)
        for place, option in enumerate(("add_bos", "add_eos", "reverse", "emit_unk_piece"))
    }
    call_both(name, "encode", text, out_type=kind, **options)
    call_both(name, "encode", text.encode(), return_type=kind)
    call_both(name, "encode", [text, "", "the " + text], out_type=kind, **options)


@pytest.mark.parametrize("name", ["unigram", "bytes", "bpe", "word"])
@FEWER
@given(st.binary(max_size=12), st.sampled_from(KINDS))
@example(b"\xe2\x96 the \xff\xf0\x9f", "offset_mapping")
def test_bytes_that_are_no_text(name: str, data: bytes, kind: Any) -> None:
    call_both(name, "encode", data, out_type=kind)
    if kind == "offset_mapping":
        for as_bytes in (True, False):
            call_both(name, "encode", data, out_type=kind, return_bytes=as_bytes)
    call_both(name, "normalize", data)
    call_both(name, "normalize", data, with_offsets=True)


def test_long_bytes_that_are_no_text_take_no_longer_than_they_should() -> None:
    mine, peer = both("bytes")
    data = b"\xff the \xe2\x96" * 20_000
    assert mine.encode(data) == peer.encode(data)


@pytest.mark.parametrize("name", SETTINGS)
@FEWER
@given(st.data())
def test_decoding_is_equal(name: str, data: st.DataObject) -> None:
    size = len(both(name)[0])
    rows = data.draw(st.lists(st.lists(st.integers(0, size - 1), max_size=6), max_size=3))
    kinds: list[Any] = [str, bytes, "serialized_proto", "offset_mapping", int, "numpy"]
    kind = data.draw(st.sampled_from(kinds))
    call_both(name, "decode", rows, out_type=kind)
    for row in rows:
        call_both(name, "decode", row, out_type=kind)
        call_both(name, "decode", np.array(row, dtype=np.int64), out_type=kind)
        pieces = [both(name)[1].id_to_piece(one) for one in row]
        call_both(name, "decode", pieces, out_type=kind)
        call_both(name, "decode", [[], pieces], out_type=kind)
        call_both(name, "decode", [piece.encode() for piece in pieces], out_type=kind)
        call_both(name, "decode", tuple(row), out_type=kind)
    strange = data.draw(
        st.lists(st.sampled_from(["\u2581", "zzz", "<0xE3>", "<unk>", "a"]), max_size=5)
    )
    call_both(name, "decode", strange, out_type=kind)


@pytest.mark.parametrize("name", SETTINGS)
@FEWER
@given(TEXTS)
@example("ﬁ  ①\u3000x")
def test_normalization_is_equal(name: str, text: str) -> None:
    for offsets in (None, True):
        call_both(name, "normalize", text, with_offsets=offsets)
    call_both(name, "normalize", [text, "a"], with_offsets=True)
    data = model(name)
    mine = ours.SentencePieceNormalizer(model_proto=data)
    peer = peers.SentencePieceNormalizer(model_proto=data)
    assert mine.normalize(text, with_offsets=True) == peer.normalize(text, with_offsets=True)


@pytest.mark.parametrize("name", SETTINGS)
@FEWER
@given(TEXTS.filter(lambda text: len(text) < 24), st.integers(-1, 6))
def test_the_best_segmentations_are_equal(name: str, text: str, n: int) -> None:
    for kind in (int, str, "serialized_proto", "numpy"):
        call_both(name, "nbest_encode", text, nbest_size=n, out_type=kind)
    call_both(name, "nbest_encode_as_ids", [text, "a"], n)


@pytest.mark.parametrize("name", SETTINGS)
def test_facts_about_pieces(name: str) -> None:
    mine, peer = both(name)
    assert len(mine) == len(peer) == mine.vocab_size() == mine.piece_size() == mine.get_piece_size()
    everyone = list(range(len(mine)))
    for method in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte"):
        call_both(name, method, everyone)
        call_both(name, method, np.array(everyone, dtype=np.int16))
        call_both(name, method, 3)
        bad: Any
        for bad in (-1, len(mine), 2**40, 1.5, "a", None, [-1], ["a"], [1.0], np.array([1.0])):
            call_both(name, method, bad)
    pieces = [peer.id_to_piece(one) for one in everyone]
    call_both(name, "piece_to_id", pieces)
    call_both(name, "PieceToId", ["no such", b"the"])
    for bad in (None, 5, [5], 1.5, [None]):
        call_both(name, "PieceToId", bad)
    assert mine["the"] == peer["the"]
    for method in ("unk_id", "bos_id", "eos_id", "pad_id", "serialized_model_proto"):
        call_both(name, method)


BAD_TEXTS: list[Any] = [None, 5, 1.5, ["a", 5], [None], ("a",), {"a": 1}, bytearray(b"a"), "\ud800"]


@pytest.mark.parametrize("text", BAD_TEXTS, ids=ascii)
def test_bad_texts_raise_alike(text: Any) -> None:
    for kind in KINDS:
        call_both("unigram", "encode", text, out_type=kind)
    call_both("unigram", "encode", [text])
    call_both("unigram", "normalize", text)
    call_both("unigram", "nbest_encode", text, nbest_size=2)
    call_both("unigram", "sample_encode_as_ids", text, -1, 0.1)


BAD_IDS: list[Any] = [
    -1, 10**6, [10**6], [[0], [10**6]], 1.5, [1.5], [1, "a"], ["a", 1], {1: 2}, {1}, [[1, 2], 3],
    np.array([1.5]), np.zeros((2, 2, 2), dtype=np.int32), [2**40], np.array([2**40]), Ellipsis,
    np.array([[1, 2], [3, 4]]), np.array([3], dtype=np.uint8), True, [True],
]  # fmt: skip


@pytest.mark.parametrize("ids", BAD_IDS, ids=repr)
@pytest.mark.parametrize("kind", [str, bytes, "serialized_proto", "offset_mapping"])
def test_bad_ids_raise_alike(ids: Any, kind: Any) -> None:
    call_both("unigram", "decode", ids, out_type=kind)


@pytest.mark.parametrize("options", [
    {"out_type": "nonsense"},
    {"out_type": "immutable_proto"},
    {"out_type": int, "return_type": int},
    {"out_type": float},
    {"return_bytes": True},
    {"num_threads": "x"},
    {"num_threads": 1.5},
    {"thread_pool": 5},
    {"enable_sampling": True, "nbest_size": 1},
    {"enable_sampling": True, "nbest_size": 0},
    {"enable_sampling": True, "nbest_size": 10_000},
    {"enable_sampling": True, "alpha": -1.0},
    {"enable_sampling": True, "alpha": float("nan")},
    {"enable_sampling": True, "nbest_size": "x"},
    {"out_type": "serialized_proto", "add_bos": True},
    {"out_type": "offset_mapping", "reverse": True},
    {"nonsense": 1},
], ids=repr)  # fmt: skip
def test_bad_options_raise_alike(options: dict[str, Any]) -> None:
    for name in ("unigram", "bpe bytes", "word"):
        text = ["the cat"] if "thread_pool" in options else "the cat"
        call_both(name, "encode", text, **options)


def test_processors_that_cannot_be(tmp_path: Path) -> None:
    for arguments in ({"model_file": str(tmp_path / "none")}, {"model_proto": b"nonsense"}):
        alike(
            partial(ours.SentencePieceProcessor, **arguments),
            partial(peers.SentencePieceProcessor, **arguments),
        )
    with pytest.raises(OSError, match="none"):
        ours.SentencePieceProcessor(str(tmp_path / "none"))
    damaged = model("unigram")[:-40]
    with pytest.raises(jeton.FormatError):
        ours.SentencePieceProcessor(model_proto=damaged)
    for library in (ours, peers):
        empty = library.SentencePieceProcessor()
        assert empty.vocab_size() == 0
        with pytest.raises(RuntimeError):
            empty.encode("a")
        with pytest.raises(ValueError, match="model"):
            empty.Load()


def test_every_name_of_loading(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(model("unigram"))
    message = sentencepiece_model_pb2.ModelProto.FromString(model("unigram"))
    made = [ours.SentencePieceProcessor(str(path)), ours.SentencePieceProcessor.from_file(path)]
    made.append(ours.SentencePieceProcessor.from_proto(message, out_type=str))
    one = ours.SentencePieceProcessor()
    assert one.load(str(path)) is True
    assert one.load_from_serialized_proto(model("unigram")) is True
    expected = both("unigram")[1].encode("the cat", out_type=str)
    for processor in [*made, one]:
        assert processor.encode("the cat", out_type=str) == expected
    assert made[2].encode("the cat") == expected


def test_drawn_segmentations() -> None:
    text = "the cat sat on a mat"
    for name in ("unigram", "bytes", "bpe"):
        mine, _ = both(name)
        draws = {tuple(mine.sample_encode_as_pieces(text, -1, 0.3)) for _ in range(40)}
        assert len(draws) > 3
        assert all(mine.decode(list(pieces)) == text for pieces in draws)
        ours.set_random_generator_seed(7)
        first = [mine.sample_encode_as_ids(text, -1, 0.3) for _ in range(5)]
        ours.SetRandomGeneratorSeed(7)
        assert first == [mine.sample_encode_as_ids(text, -1, 0.3) for _ in range(5)]
    mine, peer = both("unigram")
    best = {tuple(row) for row in peer.nbest_encode_as_ids(text, 3)}
    drawn = {tuple(mine.sample_encode_as_ids(text, 3, 0.1)) for _ in range(60)}
    assert drawn == best
    assert mine.encode([text] * 2, enable_sampling=True, nbest_size=-1, alpha=0.1, out_type="proto")


def test_how_often_segmentations_are_drawn() -> None:
    mine, peer = both("unigram")
    text, n, alpha = "cat mat", 4000, 0.5
    ours.set_random_generator_seed(1)
    peers.set_random_generator_seed(1)

    def shares(processor: Any) -> dict[tuple[int, ...], float]:
        counts: dict[tuple[int, ...], float] = {}
        for _ in range(n):
            row = tuple(processor.sample_encode_as_ids(text, -1, alpha))
            counts[row] = counts.get(row, 0) + 1 / n
        return counts

    found, expected = shares(mine), shares(peer)
    common = [row for row, share in expected.items() if share > 0.02]
    assert common
    for row in common:
        # Five standard deviations of the difference of two shares, and more.
        assert abs(found.get(row, 0.0) - expected[row]) < 0.055


def test_pickling_keeps_options() -> None:
    mine = ours.SentencePieceProcessor(model_proto=model("bpe"), add_eos=True, out_type=str)
    again = pickle.loads(pickle.dumps(mine))
    assert again.encode("the cat") == mine.encode("the cat")
    assert again.encode("the cat")[-1] == "</s>"
    normalizer = ours.SentencePieceNormalizer(model_proto=model("bpe"), add_dummy_prefix=False)
    assert pickle.loads(pickle.dumps(normalizer)).normalize("ﬁ x") == normalizer.normalize("ﬁ x")


RULES = st.lists(
    st.tuples(st.text("abｱé", min_size=1, max_size=3), st.text("xyé", max_size=3)), max_size=5
)


@given(RULES, st.text("abｱé xy", max_size=12))
def test_rules_are_equal(rules: list[tuple[str, str]], text: str) -> None:
    def run(library: Any) -> Any:
        normalizer = library.SentencePieceNormalizer(norm_map=rules, escape_whitespaces=False)
        return normalizer.normalize(text, with_offsets=True), sorted(normalizer.decompile())

    alike(lambda: run(ours), lambda: run(peers))


def test_normalizers(tmp_path: Path) -> None:
    tsv = tmp_path / "rules.tsv"
    tsv.write_text("61 62\t78\n63\t\n", encoding="utf-8")
    for arguments in (
        {"rule_tsv": str(tsv)},
        {"rule_name": "identity"},
        {"rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False},
        {"norm_map": [(b"foo", b"bar"), ("x", "y")]},
        {"norm_map": [("", "a")]},
        {"norm_map": [("a", "a")]},
        {"norm_map": [("a", "b"), ("a", "c")]},
        {"rule_name": "no such"},
        {"model_file": str(tmp_path / "none")},
        {},
    ):

        def run(library: Any, arguments: dict[str, Any] = arguments) -> Any:
            normalizer = library.SentencePieceNormalizer(**arguments)
            again = library.SentencePieceNormalizer(
                normalizer_spec=normalizer.serialized_normalizer_spec()
            )
            texts = ["abc foo  x", b"ab c"]
            return [normalizer.normalize(texts, with_offsets=True), again.normalize(texts)]

        alike(partial(run, ours), partial(run, peers))
    spec = ours.SentencePieceNormalizer(rule_tsv=str(tsv)).serialized_normalizer_spec()
    theirs = peers.SentencePieceNormalizer(normalizer_spec=spec)
    assert theirs.normalize("abc") == "\u2581x"
    with pytest.raises(ValueError, match="not UTF-8"):
        ours.SentencePieceNormalizer(norm_map=[(b"\xff", b"a")])


@pytest.mark.parametrize("name", ["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_rules_by_name(name: str) -> None:
    texts = ["ＡBC İ ß ẞ Straße ΑΣ Ǆ ﬃ Å A\u030a \u16ea0 Ꭰ", "\u200bx\u2028y\t～"]

    def run(library: Any) -> Any:
        normalizer = library.SentencePieceNormalizer(rule_name=name)
        return normalizer.normalize(texts, with_offsets=True)

    alike(partial(run, ours), partial(run, peers))


def test_messages_are_those_of_protobuf() -> None:
    their_model: Any = importlib.import_module("sentencepiece.sentencepiece_model_pb2")
    their_text: Any = importlib.import_module("sentencepiece.sentencepiece_pb2")

    data = model("bpe")
    mine, peer = sentencepiece_model_pb2.ModelProto.FromString(data), their_model.ModelProto()
    peer.ParseFromString(data)
    assert mine.SerializeToString() == peer.SerializeToString() == data
    for spec in ("trainer_spec", "normalizer_spec"):
        mine_spec, peer_spec = getattr(mine, spec), getattr(peer, spec)
        fields = {field.name: field for field in peer_spec.DESCRIPTOR.fields}
        assert fields.keys() >= type(mine_spec).FIELDS.keys()
        for name in type(mine_spec).FIELDS:
            value = getattr(mine_spec, name)
            expected = getattr(peer_spec, name)
            assert (
                list(value) == list(expected)
                if isinstance(value, list)
                else (
                    value == pytest.approx(expected)
                    if isinstance(value, float)
                    else value == expected
                )
            ), name
    # A program that adds a piece to a model.
    for message in (mine, peer):
        message.pieces.add(piece="\u2581new", score=-3.5, type=4)
        message.trainer_spec.vocab_size = len(message.pieces)
    assert mine.SerializeToString() == peer.SerializeToString()
    grown = ours.SentencePieceProcessor(model_proto=mine)
    assert grown.encode("a new", out_type=str)[-1] == "\u2581new"
    text = both("bpe")[0].encode("the ∰ cat", out_type="proto")
    theirs = their_text.SentencePieceText.FromString(text.SerializeToString())
    assert [p.surface for p in theirs.pieces] == [p.surface for p in text.pieces]
    assert text == sentencepiece_pb2.SentencePieceText.FromString(theirs.SerializeToString())
    assert text.pieces[0].HasField("surface")
    assert not text.HasField("score")


@given(st.binary(max_size=40))
def test_bytes_that_are_no_message(data: bytes) -> None:
    for kind in (sentencepiece_model_pb2.ModelProto, sentencepiece_pb2.NBestSentencePieceText):
        try:
            message = kind.FromString(data)
        except jeton.FormatError:
            continue
        assert kind.FromString(message.SerializeToString()) == message


@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_damaged_models_raise_and_no_more(place: int, patch: bytes) -> None:
    data = bytearray(model("unigram"))
    data[place : place + len(patch)] = patch
    try:
        processor = ours.SentencePieceProcessor(model_proto=bytes(data))
    except jeton.JetonError:
        return
    processor.decode(processor.encode("the cat"))


def test_what_is_not_here_says_so() -> None:
    with pytest.raises(NotImplementedError, match="enable_differential_privacy"):
        ours.SentencePieceTrainer.train(enable_differential_privacy=True)
    with pytest.raises(NotImplementedError):
        ours.ConvertToFlatbuffer(model_file="x")
    ours.set_min_log_level(1)
    ours.set_nbest_timeout(5)
    assert ours.ThreadPool(3).num_threads() == 3
    mine, peer = both("unigram")
    pool = ours.ThreadPool(2)
    assert mine.encode(["the cat"] * 3, thread_pool=pool) == peer.encode(["the cat"] * 3)
    assert mine.parallel_encode("the cat " * 9, chunk_len=8) == peer.encode("the cat " * 9)


def test_signatures_accept_what_the_peers_accept() -> None:
    for name in ("SentencePieceProcessor", "SentencePieceNormalizer", "SentencePieceTrainer"):
        mine_class, peer_class = getattr(ours, name), getattr(peers, name)
        for method in dir(peer_class):
            if method.startswith("_") and method != "__init__":
                continue
            peer = inspect.signature(getattr(peer_class, method))
            have = inspect.signature(getattr(mine_class, method)).parameters
            assert list(have)[: len(peer.parameters)] == list(peer.parameters), f"{name}.{method}"
    for name in ("SetDataDir", "set_nbest_timeout", "ConvertToFlatbuffer", "ThreadPool"):
        assert hasattr(ours, name)
    missing = {n for n in dir(peers) if n[0].isalpha() and callable(getattr(peers, n))} - set(
        dir(ours)
    )
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("file", ["llama2.model", "mistral_v3.model", "nmt_joint.spm.model"])
def test_published_models_are_equal(file: str, shared: Path) -> None:
    path = shared / "data" / "vocab" / file
    mine, peer = ours.SentencePieceProcessor(path), peers.SentencePieceProcessor(str(path))
    for text in ["Hello  world, été 中文 👍🏽 ①", " x\ty\r\n", "", "<s>[INST] \u2581 a"]:
        for kind in (int, str, "serialized_proto", "offset_mapping"):
            assert mine.encode(text, out_type=kind) == peer.encode(text, out_type=kind)
        ids = peer.encode(text)
        assert mine.decode(ids) == peer.decode(ids)
        if file != "nmt_joint.spm.model":  # its denormalizer makes sentencepiece's places wrong
            mapping = peer.decode(ids, out_type="offset_mapping")
            assert mine.decode(ids, out_type="offset_mapping") == mapping
