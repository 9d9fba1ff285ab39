"""``jeton.compat.tokenizers.Tokenizer`` as an object: vocabulary, components, files, errors."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.compat import tokenizers as adapter
from tests.compat.hf_dumps import dump, outcome, same_outcome
from tests.compat.hf_families import FAMILIES, TEXTS, family_json

pytestmark = pytest.mark.rivals


def both(family: str) -> tuple[Any, Any]:
    written = family_json(family)
    return tokenizers.Tokenizer.from_str(written), adapter.Tokenizer.from_str(written)


def rounded(shown: str) -> str:
    return re.sub(r"(\.\d{10})\d+", r"\1", shown)


@pytest.mark.parametrize("family", FAMILIES)
def test_vocabulary_and_file(family: str, tmp_path: Path) -> None:
    theirs, ours = both(family)
    for added in (True, False):
        assert theirs.get_vocab(added) == ours.get_vocab(added)
        assert theirs.get_vocab_size(added) == ours.get_vocab_size(added)
    for number in [*range(theirs.get_vocab_size() + 3), 2**32 - 1]:
        assert theirs.id_to_token(number) == ours.id_to_token(number)
    for token in [*theirs.get_vocab(), "", "none of them"]:
        assert theirs.token_to_id(token) == ours.token_to_id(token)
    # Theirs reads scores off by a last bit now and then, and writes what it has read.
    assert json.loads(ours.to_str()) == json.loads(family_json(family))
    assert rounded(repr(ours)) == rounded(repr(theirs))
    assert rounded(str(ours)) == rounded(str(theirs))
    path = tmp_path / "tokenizer.json"
    ours.save(str(path))
    assert tokenizers.Tokenizer.from_file(str(path)).to_str() == theirs.to_str()
    assert adapter.Tokenizer.from_file(str(path)).to_str() == ours.to_str()
    assert adapter.Tokenizer.from_pretrained(str(tmp_path)).to_str() == ours.to_str()
    assert adapter.Tokenizer.from_buffer(path.read_bytes()).to_str() == ours.to_str()
    # The core reads it as the tokenizer that it is.
    tok = jeton.load(path)
    assert tok.encode(TEXTS[0]) == ours.encode(TEXTS[0], add_special_tokens=False).ids


@pytest.mark.parametrize("family", FAMILIES)
def test_copies(family: str) -> None:
    _, ours = both(family)
    ours.enable_truncation(50, stride=3)
    ours.enable_padding(length=60)
    expected = dump(ours.encode(TEXTS[3]))
    for other in (pickle.loads(pickle.dumps(ours)), deepcopy(ours), copy(ours)):
        assert dump(other.encode(TEXTS[3])) == expected
        assert (other.truncation, other.padding) == (ours.truncation, ours.padding)
        # A copy is its own: components are not shared.
        other.add_tokens(["quick brown"])
        other.no_truncation()
        other.no_padding()
        if other.normalizer is not None:
            other.normalizer = None
        assert dump(ours.encode(TEXTS[3])) == expected


CONTENTS = ["the", "ab", "", "<s>", "  ", "Größe", "a b", "Fox", "<x>", "ing", "é"]
FLAGS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("single_word", "lstrip", "rstrip", "normalized", "special"), st.booleans()
        ),
    ),
)
# Each content once: added again with other flags, the other library keeps some of the old ones.
TOKENS = st.lists(
    st.tuples(st.sampled_from(CONTENTS), FLAGS, st.booleans()), max_size=8, unique_by=lambda t: t[0]
)


@settings(max_examples=30)
@given(st.sampled_from(["bert", "gpt2", "words", "t5"]), TOKENS, st.integers(1, 4))
def test_adding_tokens(family: str, tokens: list[Any], at_once: int) -> None:
    theirs, ours = both(family)
    numbers: list[list[int]] = [[], []]
    for start in range(0, len(tokens), at_once):
        step = tokens[start : start + at_once]
        for library, tokenizer, added in zip(
            (tokenizers, adapter), (theirs, ours), numbers, strict=True
        ):
            made: Any = [
                text if flags is None else library.AddedToken(text, **flags)
                for text, flags, _ in step
            ]
            add = tokenizer.add_special_tokens if step[0][2] else tokenizer.add_tokens
            added.append(add(made))
    assert numbers[0] == numbers[1]
    expected = {n: t.__getstate__() for n, t in theirs.get_added_tokens_decoder().items()}
    found = {n: t.__getstate__() for n, t in ours.get_added_tokens_decoder().items()}
    assert expected == found
    assert theirs.get_vocab_size() == ours.get_vocab_size()
    assert [theirs.id_to_token(n) for n in expected] == [ours.id_to_token(n) for n in expected]
    for text in ("the Fox and [MASK] <x>ing the", "ab  éGröße a b <s>"):
        assert dump(theirs.encode(text)) == dump(ours.encode(text))
        ids = theirs.encode(text).ids
        assert theirs.decode(ids) == ours.decode(ids)
        assert theirs.decode(ids, False) == ours.decode(ids, skip_special_tokens=False)


@given(st.sampled_from(sorted(FAMILIES)), st.lists(st.integers(0, 600), max_size=12), st.booleans())
def test_decoding_any_ids(family: str, ids: list[int], skip: bool) -> None:
    theirs, ours = both(family)
    assert theirs.decode(ids, skip) == ours.decode(ids, skip)
    assert theirs.decode_batch([ids, ids[:2]], skip) == ours.decode_batch([ids, ids[:2]], skip)


@given(st.sampled_from(sorted(FAMILIES)), st.lists(st.integers(0, 400), max_size=12))
def test_decoding_as_ids_come(family: str, ids: list[int]) -> None:
    theirs, ours = both(family)
    streams = (
        (tokenizers.decoders.DecodeStream(ids[:2]), theirs),
        (adapter.decoders.DecodeStream(ids[:2]), ours),
    )
    steps = [*ids[2:6], ids[6:9]]
    found: list[Any] = []
    for stream, tokenizer in streams:

        def run(stream: Any = stream, tokenizer: Any = tokenizer) -> list[Any]:
            pieces = []
            for step in steps:
                pieces.append(stream.step(tokenizer, step))
                stream = copy(stream)
            return pieces

        found.append(outcome(run))
    same_outcome(found[0], found[1], (family, ids))


def test_changing_components_changes_the_tokenizer() -> None:
    for library in (tokenizers, adapter):
        tokenizer = library.Tokenizer(library.models.WordLevel({"a": 0, "A": 1, "<u>": 2}, "<u>"))
        tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
        assert tokenizer.encode("A a b").ids == [1, 0, 2]
        tokenizer.normalizer = library.normalizers.Lowercase()
        assert tokenizer.encode("A a b").ids == [0, 0, 2]
        tokenizer.normalizer = library.normalizers.Replace("b", "A")
        assert tokenizer.encode("A a b").ids == [1, 0, 1]
        tokenizer.normalizer.content = "a"
        assert tokenizer.encode("A a b").ids == [1, 0, 0]
        tokenizer.pre_tokenizer = None
        assert tokenizer.encode("A a b").ids == [2]
        tokenizer.model.unk_token = "A"
        assert tokenizer.encode("A a b").ids == [1]
        tokenizer.model = library.models.BPE({"x": 0}, [])
        assert tokenizer.encode("x").ids == [0]
        assert tokenizer.decode([0, 0]) == "x x"
        tokenizer.decoder = library.decoders.Fuse()
        assert tokenizer.decode([0, 0]) == "xx"


@given(st.data())
def test_settings_are_taken_and_shown_alike(data: st.DataObject) -> None:
    theirs, ours = both("bert")
    anything = st.one_of(
        st.integers(-2, 60), st.none(), st.text(max_size=2), st.just(2**70), st.floats()
    )
    truncation = data.draw(
        st.fixed_dictionaries(
            {"max_length": st.one_of(st.integers(0, 90), anything)},
            optional={
                "stride": anything,
                "strategy": st.one_of(st.sampled_from(["only_first", "longest"]), anything),
                "direction": st.one_of(st.sampled_from(["left", "right", "up"]), anything),
            },
        )
    )
    padding = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "length": anything,
                "pad_id": anything,
                "pad_token": anything,
                "pad_type_id": anything,
                "pad_to_multiple_of": anything,
                "direction": st.one_of(st.sampled_from(["left", "right", "up"]), anything),
            },
        )
    )

    def truncate(tokenizer: Any) -> Any:
        tokenizer.enable_truncation(**truncation)
        return tokenizer.truncation

    def pad(tokenizer: Any) -> Any:
        tokenizer.enable_padding(**padding)
        return tokenizer.padding

    room = truncation["max_length"]
    if not isinstance(room, int) or room >= 2:
        same_outcome(outcome(truncate, theirs), outcome(truncate, ours), truncation)
    same_outcome(outcome(pad, theirs), outcome(pad, ours), padding)
    for tokenizer in (theirs, ours):
        tokenizer.no_truncation()
        tokenizer.no_padding()
    assert theirs.truncation is ours.truncation is theirs.padding is ours.padding is None


WRONG: list[Callable[[Any], Any]] = [
    lambda t: t.encode(5),
    lambda t: t.encode(None),
    lambda t: t.encode(b"bytes"),
    lambda t: t.encode("\ud800"),
    lambda t: t.encode("a", 5),
    lambda t: t.encode(["a"]),
    lambda t: t.encode("a", ["b"]),
    lambda t: t.encode("a", is_pretokenized=True),
    lambda t: t.encode(["a", 5], is_pretokenized=True),
    lambda t: t.encode(["a"], "b", is_pretokenized=True),
    lambda t: t.encode("a", add_special_tokens="yes"),
    lambda t: t.encode_batch("abc"),
    lambda t: t.encode_batch(5),
    lambda t: t.encode_batch(None),
    lambda t: t.encode_batch([5]),
    lambda t: t.encode_batch([("a", "b", "c")]),
    lambda t: t.encode_batch([["a", 3]]),
    lambda t: t.encode_batch(["a"], is_pretokenized=True),
    lambda t: t.decode("abc"),
    lambda t: t.decode([-1]),
    lambda t: t.decode([2**32]),
    lambda t: t.decode([1.5]),
    lambda t: t.decode(["a"]),
    lambda t: t.decode(5),
    lambda t: t.decode_batch([5]),
    lambda t: t.id_to_token(-1),
    lambda t: t.id_to_token("a"),
    lambda t: t.id_to_token(2**32),
    lambda t: t.token_to_id(5),
    lambda t: t.add_tokens("abc"),
    lambda t: t.add_tokens([5]),
    lambda t: t.add_special_tokens([None]),
    lambda t: t.num_special_tokens_to_add("x"),
    lambda t: t.post_process("x"),
    lambda t: setattr(t, "encode_special_tokens", "yes"),
    lambda t: setattr(t, "normalizer", 5),
    lambda t: setattr(t, "model", None),
    lambda t: setattr(t, "decoder", "ByteLevel"),
    lambda t: t.train("file.txt"),
    lambda t: t.train(["/no/such/file"]),
    lambda t: type(t).from_str("{"),
    lambda t: type(t).from_str("{}"),
    lambda t: type(t).from_str(5),
    lambda t: type(t).from_buffer("text"),
    lambda t: type(t).from_buffer(b"\xff"),
    lambda t: type(t).from_file("/no/such/file"),
    lambda t: type(t)(None),
    lambda t: t.save("/no/such/folder/file.json"),
]


@pytest.mark.parametrize("call", WRONG)
def test_wrong_arguments_are_errors_of_the_same_kind(call: Callable[[Any], Any]) -> None:
    theirs, ours = both("bert")
    expected, found = outcome(call, theirs), outcome(call, ours)
    assert expected[1] is not None
    same_outcome(expected, found)


@given(
    st.recursive(st.one_of(st.none(), st.integers(), st.text(max_size=3)), st.lists, max_leaves=5)
)
def test_inputs_of_any_shape(value: Any) -> None:
    theirs, ours = both("words")
    for words in (True, False):

        def batch(tokenizer: Any, words: bool = words) -> Any:
            return [dump(encoding) for encoding in tokenizer.encode_batch(value, words)]

        same_outcome(outcome(lambda: batch(theirs)), outcome(lambda: batch(ours)), (value, words))


def test_arrays_of_texts_and_ids() -> None:
    theirs, ours = both("bert")
    for batch, words in (
        (np.array(["the fox", "the dog"]), False),
        (np.array([["the fox", "a"], ["the dog", "b"]]), False),
        (np.array([["the", "fox"], ["the", "dog"]], dtype=object), True),
    ):
        expected = [dump(e) for e in theirs.encode_batch(batch, is_pretokenized=words)]
        assert [dump(e) for e in ours.encode_batch(batch, is_pretokenized=words)] == expected
    ids = np.array(ours.encode("the fox").ids)
    assert ours.decode(ids) == ours.decode(ids.tolist()) == theirs.decode(ids.tolist())


def test_parameters_have_the_names_and_places_of_the_other_library() -> None:
    pairs = [
        (tokenizers.Tokenizer, adapter.Tokenizer),
        (tokenizers.Encoding, adapter.Encoding),
        (tokenizers.models.Model, adapter.models.Model),
        (tokenizers.processors.PostProcessor, adapter.processors.PostProcessor),
        (tokenizers.implementations.BaseTokenizer, adapter.implementations.BaseTokenizer),
    ]
    for theirs, ours in pairs:
        for name in [name for name in dir(theirs) if not name.startswith("_")]:
            assert hasattr(ours, name), (theirs, name)
            member = getattr(theirs, name)
            if not callable(member):
                continue
            expected = [p for p in _parameters(member) if p != "kwargs"]
            if (theirs.__name__, name) == ("Model", "token_to_id"):
                # What its signature says is not the name that it takes.
                expected = ["token"]
            found = _parameters(getattr(ours, name))
            # Options that the other library lists only in its text stand in ours as **options.
            if "options" in found:
                expected = expected[: found.index("options")]
            assert found[: len(expected)] == expected, (theirs, name)


def _parameters(member: Any) -> list[str]:
    return [name for name in inspect.signature(member).parameters if name != "self"]


def test_everything_public_is_there() -> None:
    for module in ("", "models", "normalizers", "pre_tokenizers", "processors", "decoders"):
        theirs = getattr(tokenizers, module) if module else tokenizers
        ours = getattr(adapter, module) if module else adapter
        public = {n for n in dir(theirs) if n[0].isupper() and n not in {"Dict", "List"}}
        assert public - {"Enum", "Tuple", "Union"} <= set(dir(ours)), module
    missing = {n for n in dir(tokenizers.trainers) if n[0].isupper()} - set(dir(adapter.trainers))
    # Of the other library's 0.23; Jeton trains byte-level BPE so far.
    assert missing == {"ParityBpeTrainer"}


def test_the_same_without_waiting() -> None:
    _, ours = both("gpt2")

    async def run() -> tuple[Any, ...]:
        one = await ours.async_encode("a text", "and one more")
        many = await ours.async_encode_batch(TEXTS[:3])
        fast = await ours.async_encode_batch_fast(TEXTS[:3])
        back = await ours.async_decode_batch([one.ids])
        return dump(one), [dump(e) for e in many], [dump(e) for e in fast], back

    one, many, fast, back = asyncio.run(run())
    assert one == dump(ours.encode("a text", "and one more"))
    assert many == fast == [dump(ours.encode(text)) for text in TEXTS[:3]]
    assert back == ["a textand one more"]


def test_threads_that_encode_while_one_changes() -> None:
    _, ours = both("bert")
    before = ours.encode("THE FOX").ids
    ours.normalizer.lowercase = False
    after = ours.encode("THE FOX").ids
    assert before != after

    def change(_: int) -> None:
        ours.normalizer.lowercase = not ours.normalizer.lowercase

    with ThreadPoolExecutor(8) as pool:
        changes = pool.map(change, range(50))
        found = list(pool.map(lambda _: ours.encode("THE FOX").ids, range(200)))
        list(changes)
    assert all(ids in (before, after) for ids in found)
    ours.normalizer.lowercase = True
    assert ours.encode("THE FOX").ids == before


def test_components_in_python_work_alone_and_are_refused_in_a_tokenizer() -> None:
    class Shout:
        def normalize(self, normalized: Any) -> None:
            normalized.uppercase()

    shout = adapter.normalizers.Normalizer.custom(Shout())
    assert shout.normalize_str("straße") == "STRASSE"
    tokenizer = adapter.Tokenizer(adapter.models.BPE())
    with pytest.raises(jeton.errors.UsageError, match="written in Python"):
        tokenizer.normalizer = shout


def test_strings_that_remember() -> None:
    for library in (tokenizers, adapter):
        string = library.NormalizedString("  Héllo, World 42 ")
        string.nfd()
        string.filter(lambda c: c != "\u0301")
        string.lowercase()
        string.strip()
        string.replace(library.Regex(r"\d"), "#")
        assert (string.normalized, string.original) == ("hello, world ##", "  Héllo, World 42 ")
        string.map(lambda c: "_" if c == " " else c)
        string.append("!")
        string.prepend(">")
        assert str(string) == ">hello,_world_##!"
        assert str(string[1:6]) == "hello"
        assert string[1:6].original == "Héllo"
        assert [str(p) for p in string.split("_", "removed")] == [">hello,", "world", "##!"]
        whole = library.PreTokenizedString("Héllo World")
        whole.normalize(lambda part: part.lowercase())
        whole.split(lambda n, part: part.split(" ", "removed"))
        assert [(s, o) for s, o, _ in whole.get_splits()] == [("héllo", (0, 5)), ("world", (6, 11))]
        splits = whole.get_splits("original", "byte")
        assert [(s, o) for s, o, _ in splits] == [("héllo", (0, 6)), ("world", (7, 12))]
        model = library.models.WordLevel({"héllo": 0, "world": 1}, "world")
        whole.tokenize(model.tokenize)
        encoding = whole.to_encoding()
        assert (encoding.ids, encoding.offsets) == ([0, 1], [(0, 5), (6, 11)])
        assert encoding.word_ids == [0, 1]


def test_nothing_is_fetched() -> None:
    with pytest.raises(FileNotFoundError, match="nothing is fetched from the Hugging Face Hub"):
        adapter.Tokenizer.from_pretrained("somebody/some-model")
    with pytest.raises(jeton.errors.UnknownTokenizerError):
        adapter.Tokenizer.from_pretrained("no-such-tokenizer")
    bundled = adapter.Tokenizer.from_pretrained("jeton-general-32k")
    tok = jeton.load("jeton-general-32k")
    assert bundled.encode(TEXTS[0]).ids == tok.encode(TEXTS[0])
