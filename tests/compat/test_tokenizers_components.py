"""Components of ``jeton.compat.tokenizers`` do, say and keep what those of ``tokenizers`` do."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.compat import tokenizers as adapter
from jeton.edge_texts import edge_texts
from tests.compat.hf_dumps import dump, outcome, same_outcome
from tests.compat.hf_families import TEXTS, family_json

pytestmark = pytest.mark.rivals

Make = Callable[[Any], Any]

NORMALIZERS: list[Make] = [
    lambda t: t.normalizers.BertNormalizer(),
    lambda t: t.normalizers.BertNormalizer(False, False, True, False),
    lambda t: t.normalizers.NFC(),
    lambda t: t.normalizers.NFD(),
    lambda t: t.normalizers.NFKC(),
    lambda t: t.normalizers.NFKD(),
    lambda t: t.normalizers.Lowercase(),
    lambda t: t.normalizers.Nmt(),
    lambda t: t.normalizers.ByteLevel(),
    lambda t: t.normalizers.Strip(),
    lambda t: t.normalizers.Strip(left=False),
    lambda t: t.normalizers.Prepend("▁"),
    lambda t: t.normalizers.Replace("a", "<b>"),
    lambda t: t.normalizers.Replace(t.Regex(r"\s+"), " "),
    lambda t: t.normalizers.Sequence([t.normalizers.NFD(), t.normalizers.StripAccents()]),
    lambda t: t.normalizers.Sequence([]),
    lambda t: t.normalizers.unicode_normalizer_from_str("nfkc"),
]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PRE_TOKENIZERS: list[Make] = [
    lambda t: t.pre_tokenizers.BertPreTokenizer(),
    lambda t: t.pre_tokenizers.ByteLevel(),
    lambda t: t.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    lambda t: t.pre_tokenizers.CharDelimiterSplit("e"),
    lambda t: t.pre_tokenizers.Digits(),
    lambda t: t.pre_tokenizers.Digits(individual_digits=True),
    lambda t: t.pre_tokenizers.FixedLength(3),
    lambda t: t.pre_tokenizers.Metaspace(),
    lambda t: t.pre_tokenizers.Metaspace("_", "never", split=False),
    lambda t: t.pre_tokenizers.Metaspace(prepend_scheme="first"),
    lambda t: t.pre_tokenizers.UnicodeScripts(),
    lambda t: t.pre_tokenizers.Whitespace(),
    lambda t: t.pre_tokenizers.WhitespaceSplit(),
    *(lambda t, b=behavior: t.pre_tokenizers.Punctuation(b) for behavior in BEHAVIORS),
    *(lambda t, b=behavior: t.pre_tokenizers.Split(" ", b) for behavior in BEHAVIORS),
    lambda t: t.pre_tokenizers.Split(t.Regex(r"\w+|[^\w\s]+"), "removed", invert=True),
    lambda t: t.pre_tokenizers.Sequence(
        [t.pre_tokenizers.WhitespaceSplit(), t.pre_tokenizers.Digits(individual_digits=True)]
    ),
]
DECODERS: list[Make] = [
    lambda t: t.decoders.ByteLevel(),
    lambda t: t.decoders.ByteFallback(),
    lambda t: t.decoders.Fuse(),
    lambda t: t.decoders.WordPiece(),
    lambda t: t.decoders.WordPiece("__", cleanup=False),
    lambda t: t.decoders.BPEDecoder(),
    lambda t: t.decoders.CTC(),
    lambda t: t.decoders.Metaspace(),
    lambda t: t.decoders.Metaspace("_", "never"),
    lambda t: t.decoders.Strip("_", 1, 2),
    lambda t: t.decoders.Replace("▁", " "),
    lambda t: t.decoders.Sequence(
        [t.decoders.Replace("▁", " "), t.decoders.ByteFallback(), t.decoders.Fuse()]
    ),
]
PROCESSORS: list[Make] = [
    lambda t: t.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
    lambda t: t.processors.RobertaProcessing(("</s>", 3), ("<s>", 2)),
    lambda t: t.processors.RobertaProcessing(("</s>", 3), ("<s>", 2), False, False),
    lambda t: t.processors.ByteLevel(),
    lambda t: t.processors.ByteLevel(False, True, False),
    lambda t: t.processors.TemplateProcessing(),
    lambda t: t.processors.TemplateProcessing(
        single="[CLS] $0 [SEP]:4",
        pair=["[CLS]", "$B:5", "[SEP]", "$A"],
        special_tokens=[("[CLS]", 2), (3, "[SEP]")],
    ),
    lambda t: t.processors.TemplateProcessing(
        single=["Q", "$A:3"],
        special_tokens=[{"id": "Q", "ids": [4, 5], "tokens": ["qu", "estion"]}],
    ),
    lambda t: t.processors.Sequence(
        [
            t.processors.ByteLevel(),
            t.processors.TemplateProcessing(single="$A x", special_tokens=[("x", 9)]),
        ]
    ),
    lambda t: t.processors.Sequence([]),
]
ALL = [*NORMALIZERS, *PRE_TOKENIZERS, *DECODERS, *PROCESSORS]
STRINGS = ["▁My", "▁", "_a_", "##b", "Ġc", "<0xE5>", "<0x8f>", "<0xab>", "d</w>", "<pad>", "h", "h"]


def edges(seed: int, n: int) -> list[str]:
    stream = edge_texts(seed=seed)
    return [next(stream) for _ in range(n)]


@pytest.mark.parametrize("make", NORMALIZERS)
def test_normalizers(make: Make) -> None:
    theirs, ours = make(tokenizers), make(adapter)
    for text in [*TEXTS[:5], *edges(4, 40)]:
        assert theirs.normalize_str(text) == ours.normalize_str(text), text


@pytest.mark.parametrize("make", PRE_TOKENIZERS)
def test_pre_tokenizers(make: Make) -> None:
    theirs, ours = make(tokenizers), make(adapter)
    for text in [*TEXTS[:5], *edges(5, 40)]:
        assert theirs.pre_tokenize_str(text) == ours.pre_tokenize_str(text), text


@pytest.mark.parametrize("make", DECODERS)
@settings(max_examples=20)
@given(tokens=st.lists(st.one_of(st.sampled_from(STRINGS), st.text(max_size=4)), max_size=6))
def test_decoders(make: Make, tokens: list[str]) -> None:
    theirs, ours = make(tokenizers), make(adapter)
    expected = outcome(lambda: theirs.decode(tokens))
    # A panic there (Strip of an empty token) is a text here.
    if expected[1] is None:
        assert ours.decode(tokens) == expected[0]
    else:
        assert isinstance(ours.decode(tokens), str)


@pytest.mark.parametrize("make", PROCESSORS)
@pytest.mark.parametrize("special", [True, False])
def test_processors(make: Make, special: bool) -> None:
    for pair in (False, True):
        found = []
        for library in (tokenizers, adapter):
            tokenizer = library.Tokenizer.from_str(family_json("gpt2"))
            tokenizer.post_processor = None
            tokenizer.enable_truncation(6, stride=1)
            parts = [
                tokenizer.encode(" Some text of more than six tokens"),
                tokenizer.encode("b c"),
            ]
            processor = make(library)
            assert isinstance(processor.num_special_tokens_to_add(pair), int)
            found.append(
                (
                    processor.num_special_tokens_to_add(pair),
                    dump(processor.process(parts[0], parts[1] if pair else None, special), depth=2),
                )
            )
        assert found[0] == found[1]


@pytest.mark.parametrize("make", ALL)
def test_written_shown_and_pickled_alike(make: Make) -> None:
    theirs, ours = make(tokenizers), make(adapter)
    state = json.loads(ours.__getstate__())
    assert state == json.loads(theirs.__getstate__())
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)
    assert json.loads(pickle.loads(pickle.dumps(ours)).__getstate__()) == state
    assert json.loads(deepcopy(ours).__getstate__()) == state
    # One of the other library's is taken, too.
    base = next(kind for kind in type(ours).__mro__ if "family" in kind.__dict__)
    assert json.loads(adapter.normalizers.Normalizer.__getstate__(ours)) == state
    slot = {"Normalizer": "normalizer", "PreTokenizer": "pre_tokenizer", "Decoder": "decoder"}
    tokenizer = adapter.Tokenizer(adapter.models.BPE())
    name = slot.get(base.__name__, "post_processor")
    setattr(tokenizer, name, theirs)
    assert json.loads(getattr(tokenizer, name).__getstate__()) == state


FIELDS = [
    (NORMALIZERS[0], "lowercase", [True, False, 1, None]),
    (NORMALIZERS[0], "strip_accents", [True, None, "yes"]),
    (NORMALIZERS[9], "left", [False, 0]),
    (NORMALIZERS[11], "prepend", ["x", 3]),
    (NORMALIZERS[12], "content", ["x", None]),
    (PRE_TOKENIZERS[1], "add_prefix_space", [False, "no"]),
    (PRE_TOKENIZERS[3], "delimiter", ["x", "xy", ""]),
    (PRE_TOKENIZERS[6], "length", [7, -1, 1.5, "a"]),
    (PRE_TOKENIZERS[7], "replacement", ["_", "", 5]),
    (PRE_TOKENIZERS[7], "prepend_scheme", ["first", "sometimes", 1]),
    (PRE_TOKENIZERS[13], "behavior", ["isolated", "loudly"]),
    (DECODERS[3], "prefix", ["@@", None]),
    (DECODERS[9], "start", [3, -3]),
    (PROCESSORS[1], "trim_offsets", [False, "x"]),
    (PROCESSORS[0], "sep", [("x", 1), ("x", -1), ("x",), 5]),
]


@pytest.mark.parametrize(("make", "name", "values"), FIELDS)
def test_fields_are_read_and_written_alike(make: Make, name: str, values: list[Any]) -> None:
    for value in values:
        found = []
        for library in (tokenizers, adapter):
            component = make(library)

            def change(component: Any = component, value: Any = value) -> Any:
                setattr(component, name, value)
                return getattr(component, name)

            found.append(outcome(change))
        same_outcome(found[0], found[1], (name, value))


def test_patterns_cannot_be_read_or_changed() -> None:
    for component in (NORMALIZERS[12](adapter), PRE_TOKENIZERS[18](adapter)):
        with pytest.raises(Exception, match="Cannot get pattern"):
            _ = component.pattern
        with pytest.raises(Exception, match="Cannot set pattern"):
            component.pattern = "x"


def test_members_of_sequences_are_shared() -> None:
    inner = adapter.normalizers.Strip(left=True, right=False)
    sequence = adapter.normalizers.Sequence([adapter.normalizers.Lowercase(), inner])
    assert sequence.normalize_str(" A ") == "a "
    inner.right = True
    assert sequence.normalize_str(" A ") == "a"
    assert len(sequence) == 2
    sequence[1] = adapter.normalizers.Prepend(">")
    assert sequence.normalize_str(" A ") == "> a "
    with pytest.raises(IndexError):
        sequence[2]
    with pytest.raises(TypeError):
        adapter.normalizers.Sequence("NFC")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Normalizer is needed"):
        adapter.normalizers.Sequence([adapter.decoders.Fuse()])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.Regex("("),
        lambda t: t.Regex(5),
        lambda t: t.normalizers.Replace(5, "x"),
        lambda t: t.normalizers.BertNormalizer("yes"),
        lambda t: t.normalizers.unicode_normalizer_from_str("NFX"),
        lambda t: t.normalizers.Precompiled(b"damaged"),
        lambda t: t.normalizers.Lowercase().normalize_str(5),
        lambda t: t.normalizers.Lowercase().normalize_str("\ud800"),
        lambda t: t.pre_tokenizers.Split(" ", "gone"),
        lambda t: t.pre_tokenizers.FixedLength(-5),
        lambda t: t.pre_tokenizers.Whitespace().pre_tokenize_str(None),
        lambda t: t.pre_tokenizers.Metaspace("ab"),
        lambda t: t.pre_tokenizers.Metaspace("_", "now and then"),
        lambda t: t.decoders.Fuse().decode("abc" if t is None else [1]),
        lambda t: t.decoders.Strip("ab"),
        lambda t: t.processors.BertProcessing("x", ("a", 1)),
        lambda t: t.processors.TemplateProcessing(single="[CLS] $A"),
        lambda t: t.processors.TemplateProcessing(single="$A: x"),
        lambda t: t.processors.TemplateProcessing(single="$C"),
        lambda t: t.processors.TemplateProcessing(pair="$A"),
        lambda t: t.processors.TemplateProcessing(single=5),
        lambda t: t.processors.TemplateProcessing(special_tokens=[("a", "b")]),
        lambda t: t.processors.TemplateProcessing(
            special_tokens=[{"id": "a", "ids": [1], "tokens": []}]
        ),
        lambda t: t.processors.Sequence(5),
    ],
)
def test_what_is_refused(make: Make) -> None:
    theirs, ours = outcome(lambda: make(tokenizers)), outcome(lambda: make(adapter))
    assert theirs[1] is not None
    same_outcome(theirs, ours)


def test_the_alphabet() -> None:
    ours = adapter.pre_tokenizers.ByteLevel.alphabet()
    assert sorted(ours) == sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
