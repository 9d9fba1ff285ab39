"""Model inputs: their layouts, arrays, errors; the masks of generation; canonical ids."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer
from jeton._core import from_canonical, from_hf_json
from jeton._reference import model_inputs as reference
from tests.core import makers


def word_level(**parts: Any) -> Tokenizer:
    """Words ``a`` to ``z`` with the ids 10 to 35, and BERT's special tokens."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "</s>"]
    vocab = {name: id for id, name in enumerate(special)}
    vocab |= {chr(97 + letter): 10 + letter for letter in range(26)}
    file = {
        "added_tokens": [{"id": vocab[name], "content": name, "special": True} for name in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
        **parts,
    }
    return from_hf_json(json.dumps(file).encode())


@pytest.fixture(scope="module")
def bert() -> Tokenizer:
    return word_level()


def test_padded(bert: Tokenizer) -> None:
    inputs = bert.model_inputs(["a b c", "d"], ["e", "f g"], padding="longest")
    assert inputs.input_ids.dtype == np.int64
    assert inputs.input_ids.tolist() == [[2, 10, 11, 12, 3, 14, 3], [2, 13, 3, 15, 16, 3, 0]]
    assert inputs.attention_mask.tolist() == [[1] * 7, [1] * 6 + [0]]
    assert inputs.token_type_ids.tolist() == [[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 0]]
    assert inputs.sequence_ids.tolist() == [[-1, 0, 0, 0, -1, 1, -1], [-1, 0, -1, 1, 1, -1, -1]]
    assert inputs.position_ids.tolist() == [list(range(7)), [0, 1, 2, 3, 4, 5, 0]]
    assert inputs.special_tokens_mask.tolist()[1] == [True, False, True, False, False, True, True]
    assert inputs.lengths.tolist() == [7, 6]
    assert inputs.n_tokens.tolist() == [4, 3]
    assert [row.tolist() for row in inputs] == [[2, 10, 11, 12, 3, 14, 3], [2, 13, 3, 15, 16, 3]]
    assert inputs.is_padded
    assert repr(inputs) == "<jeton.ModelInputs: 2 rows of 7 columns, padded on the right, int64>"


def test_not_padded(bert: Tokenizer) -> None:
    inputs = bert.model_inputs(["a b", "", "c"], dtype="int32")
    assert inputs.input_ids.dtype == inputs.attention_mask.dtype == np.int32
    assert inputs.input_ids.tolist() == [2, 10, 11, 3, 2, 3, 2, 12, 3]
    assert inputs.row_offsets.tolist() == [0, 4, 6, 9]
    assert inputs.cu_seqlens.dtype == np.int32
    assert inputs.cu_seqlens.tolist() == [0, 4, 6, 9]
    assert (inputs.max_seqlen, len(inputs), inputs.is_padded) == (4, 3, False)
    assert inputs.position_ids.tolist() == [0, 1, 2, 3, 0, 1, 0, 1, 2]
    assert inputs[-1].tolist() == [2, 12, 3]
    with pytest.raises(IndexError):
        inputs[3]
    assert repr(inputs) == "<jeton.ModelInputs: 3 rows, 9 ids, not padded, int32>"


def test_windows(bert: Tokenizer) -> None:
    inputs = bert.model_inputs(
        ["a b c d e", "f"],
        truncation=True,
        max_length=5,
        stride=1,
        overflow=True,
        padding=True,
        offsets=True,
        padding_side="left",
    )
    assert inputs.input_ids.tolist() == [
        [2, 10, 11, 12, 3],
        [2, 12, 13, 14, 3],
        [0, 0, 2, 15, 3],
    ]
    assert inputs.overflow_to_sample.tolist() == [0, 0, 1]
    assert inputs.n_tokens.tolist() == [5, 1]
    assert inputs.n_truncated_tokens.tolist() == [0, 0]
    assert inputs.starts.tolist() == [[0, 0, 2, 4, 0], [0, 4, 6, 8, 0], [0, 0, 0, 0, 0]]
    assert inputs.ends.tolist() == [[0, 1, 3, 5, 0], [0, 5, 7, 9, 0], [0, 0, 0, 1, 0]]
    assert inputs.word_ids.tolist() == [[-1, 0, 1, 2, -1], [-1, 2, 3, 4, -1], [-1, -1, -1, 0, -1]]
    assert inputs[2].tolist() == [2, 15, 3]
    without = bert.model_inputs(["a b c d e", "f"], truncation=True, max_length=5)
    assert without.n_truncated_tokens.tolist() == [2, 0]


def test_no_texts(bert: Tokenizer) -> None:
    for padding in (None, "longest"):
        inputs = bert.model_inputs([], padding=padding, offsets=True)
        assert inputs.input_ids.size == inputs.starts.size == inputs.attention_mask.size == 0
        assert inputs.row_offsets.tolist() == [0]
        assert (len(inputs), inputs.max_seqlen) == (0, 0)


def test_arrays_travel_by_dlpack_without_a_copy(bert: Tokenizer) -> None:
    for padding in (None, "longest"):
        inputs = bert.model_inputs(["a b", "c"], padding=padding)
        for name in ("input_ids", "attention_mask", "token_type_ids", "position_ids"):
            array = getattr(inputs, name)
            assert array is getattr(inputs, name)
            assert array.flags.writeable
            assert array.flags.c_contiguous
            taken = np.from_dlpack(array)
            assert np.shares_memory(taken, array)
            assert taken.tolist() == array.tolist()
        whole = np.from_dlpack(inputs)
        assert np.shares_memory(whole, inputs.input_ids)
        assert inputs.__dlpack_device__() == (1, 0)  # the memory of the processor
        assert "capsule" in repr(inputs.__dlpack__()).lower()
    # The arrays outlive what they came from.
    ids = bert.model_inputs(["a b"]).input_ids
    assert ids.tolist() == [2, 10, 11, 3]


def test_to_dict(bert: Tokenizer) -> None:
    inputs = bert.model_inputs(["a b", "c"], padding=True)
    assert list(inputs.to_dict()) == ["input_ids", "attention_mask"]
    names = ["input_ids", "token_type_ids", "cu_seqlens", "max_seqlen"]
    converted = inputs.to_dict(names, convert=np.from_dlpack)
    assert list(converted) == names
    assert converted["max_seqlen"] == 4
    with pytest.raises(jeton.UsageError, match='"labels" is no array of model inputs'):
        inputs.to_dict(["labels"])


def test_the_number_of_threads_does_not_matter(bert: Tokenizer) -> None:
    texts = [" ".join("abcdefgh"[: 1 + i % 8]) * (1 + i % 5) for i in range(20_000)]
    options: Any = {"padding": True, "truncation": True, "max_length": 16}
    one = bert.model_inputs(texts, num_threads=1, **options)
    many = bert.model_inputs(texts, num_threads=4, **options)
    for name in ("input_ids", "attention_mask", "special_tokens_mask"):
        assert np.array_equal(getattr(one, name), getattr(many, name))


def test_ids_instead_of_texts(bert: Tokenizer) -> None:
    texts, seconds = ["a b c d", "e"], ["f", "g h"]
    options: Any = {"truncation": True, "max_length": 6, "padding": True, "overflow": True}
    expected = bert.model_inputs(texts, seconds, **options)
    batch = bert.encode_batch(texts)
    for ids in (batch, batch.to_lists(), [np.array(row) for row in batch.to_lists()]):
        found = bert.model_inputs_from_ids(ids, bert.encode_batch(seconds), **options)
        assert found.input_ids.tolist() == expected.input_ids.tolist()
        assert found.token_type_ids.tolist() == expected.token_type_ids.tolist()
    for ids, error in (([[10, 36]], 36), ([[10, 7]], 7), ([[2**40]], 2**40)):
        with pytest.raises(jeton.UnknownTokenIdError, match=f"id {error} has no token"):
            bert.model_inputs_from_ids(ids)
    with pytest.raises(jeton.UsageError, match="id -100 is negative"):
        bert.model_inputs_from_ids([[10, -100]])
    with pytest.raises(TypeError, match="several lists of ids"):
        bert.model_inputs_from_ids([10, 11])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_length": 5}, "nothing is to be done with it"),
        ({"max_length": -1, "truncation": True}, "max_length is -1; expected 0 or more"),
        ({"truncation": True}, "max_length is not given"),
        ({"padding": "max_length"}, "max_length is not given"),
        ({"truncation": "shortest", "max_length": 5}, "truncation is 'shortest'; expected"),
        ({"padding": "fixed"}, "padding is 'fixed'; expected"),
        ({"padding": 3}, "padding is 3; expected"),
        ({"padding": True, "padding_side": "top"}, 'padding_side is "top"'),
        ({"truncation": True, "max_length": 5, "truncation_side": ""}, 'truncation_side is ""'),
        ({"dtype": "uint8"}, 'dtype is "uint8"'),
        ({"padding": True, "pad_token": "[NO]"}, '"\\[NO\\]", which is no token'),
        ({"padding": True, "pad_to_multiple_of": 0}, "expected 1 or more"),
        ({"padding": True, "pad_type_id": 2**32}, "expected less than 2"),
        ({"padding": True, "pad_type_id": 2**31, "dtype": "int32"}, "go up to 2147483648"),
        ({"truncation": True, "max_length": 1}, "template alone has 2 tokens"),
        ({"truncation": True, "max_length": 2, "overflow": True}, "stride is 0; expected less"),
        ({"truncation": True, "max_length": 4, "overflow": True, "stride": 2}, "stride is 2"),
        ({"truncation": "only_second", "max_length": 4}, "there is no second text"),
        ({"padding": "max_length", "max_length": 3}, "text 1 has 5 tokens .* are to have 3"),
        (
            {"padding": True, "truncation": True, "max_length": 9, "pad_to_multiple_of": 8},
            "a max_length of 8 or 16",
        ),
        ({"pairs": ["a"]}, "2 first texts and 1 second"),
        (
            {"pairs": ["a", "b c"], "truncation": "only_first", "max_length": 5},
            "input 1 has 3 and 2",
        ),
    ],
)
def test_what_cannot_be_is_refused(bert: Tokenizer, options: dict[str, Any], words: str) -> None:
    with pytest.raises(jeton.UsageError, match=words):
        bert.model_inputs(["a", "a b c"], **options)


def test_other_refusals(bert: Tokenizer) -> None:
    with pytest.raises(TypeError, match="several texts"):
        bert.model_inputs("a b")
    with pytest.raises(TypeError, match="several texts"):
        bert.model_inputs(["a"], "b")
    with pytest.raises(jeton.UnknownTokenIdError):
        bert.model_inputs(["a"], padding=True, pad_token=5)
    with pytest.raises(jeton.UsageError, match="offsets=True"):
        bert.model_inputs(["a"]).starts  # noqa: B018
    without = word_level(added_tokens=[])
    with pytest.raises(jeton.UsageError, match="no token for it\nhint: pad_token="):
        without.model_inputs(["a"], padding=True)
    assert without.model_inputs(["a"], padding="longest", pad_token="[PAD]").lengths.tolist() == [3]


def test_windows_that_would_fill_all_memory_are_refused(bert: Tokenizer) -> None:
    text = "a " * 60_000
    with pytest.raises(jeton.LimitError, match="exceeds the limit"):
        bert.model_inputs(
            [text], [text], truncation=True, max_length=50_003, stride=24_990, overflow=True
        )
    with pytest.raises(jeton.LimitError, match="exceeds the limit"):
        bert.model_inputs(
            ["a " * 200_000], truncation=True, max_length=100_002, stride=99_999, overflow=True
        )
    with pytest.raises(jeton.LimitError, match="exceeds the limit"):
        bert.model_inputs(["a"], padding="max_length", max_length=2**40)


def test_templates_of_the_caller() -> None:
    plain = makers.tiny("tiny-gpt2")
    end = plain.special_tokens[makers.SPECIAL]
    with pytest.raises(jeton.UsageError, match=r"neither a text .* nor a token"):
        plain.with_template("<nothing> $A")
    made = plain.with_template(
        f"{makers.SPECIAL} $A {makers.SPECIAL}:1", f"$A {makers.SPECIAL} $B:1"
    )
    first, second = plain.encode("one"), plain.encode("two")
    assert made.encode("one", add_special_tokens=True) == [end, *first, end]
    inputs = made.model_inputs(["one"], ["two"])
    assert inputs.input_ids.tolist() == [*first, end, *second]
    assert inputs.token_type_ids.tolist() == [0] * (len(first) + 1) + [1] * len(second)
    single = made.model_inputs(["one"])
    assert single.token_type_ids.tolist() == [0] * (len(first) + 1) + [1]
    assert made.fingerprint != plain.fingerprint
    assert made.name is None
    assert from_canonical(made.to_canonical()) == made
    wrapped = plain.with_template([makers.SPECIAL, "$A"])
    assert wrapped.model_inputs(["one"], ["two"]).input_ids.tolist() == [end, *first, end, *second]


SIDES = st.sampled_from(["left", "right"])
WORDS = st.text("abc", max_size=12).map(" ".join)


@given(
    texts=st.lists(st.tuples(WORDS, WORDS), max_size=3),
    strategy=st.sampled_from(["longest_first", "only_first", "only_second"]),
    room=st.integers(1, 9),
    stride=st.integers(0, 3),
    sides=st.tuples(SIDES, SIDES),
    overflow=st.booleans(),
    multiple=st.sampled_from([1, 4]),
)
def test_equals_the_slow_twin(
    texts: list[tuple[str, str]],
    strategy: Any,
    room: int,
    stride: int,
    sides: tuple[Any, Any],
    overflow: bool,
    multiple: int,
) -> None:
    tokenizer = BERT
    template: list[tuple[str | int, int]] = [(2, 0), ("$A", 0), (3, 0), ("$B", 1), (3, 1)]
    expected: list[reference.Row] = []
    fails = overflow and stride >= room
    for first, second in texts:
        a, b = tokenizer.encode(first), tokenizer.encode(second)
        try:
            kept = reference.keep(len(a), len(b), room, strategy)
        except ValueError:
            fails = True
            break
        fails |= overflow and any(
            size < len(ids) and size <= stride for ids, size in zip((a, b), kept, strict=True)
        )
        parts = zip(("$A", "$B"), (a, b), kept, strict=True)
        cut = {name: reference.windows(ids, size, stride, sides[0]) for name, ids, size in parts}
        expected += reference.rows(template, cut, overflow=overflow)
    options: Any = {
        "truncation": strategy,
        "max_length": (room + 3) * 4,
        "stride": stride,
        "overflow": overflow,
        "padding": "longest",
        "pad_to_multiple_of": multiple,
        "truncation_side": sides[0],
        "padding_side": sides[1],
        "pad_type_id": 5,
    }
    options["max_length"] = room + 3
    if multiple > 1 and options["max_length"] % multiple:
        multiple = options["pad_to_multiple_of"] = 1
    given_texts = [first for first, _ in texts], [second for _, second in texts]
    if fails:
        with pytest.raises(jeton.UsageError):
            tokenizer.model_inputs(*given_texts, **options)
        return
    inputs = tokenizer.model_inputs(*given_texts, **options)
    padded = reference.pad(expected, None, multiple, sides[1], (0, 5))
    for index, name in enumerate(("input_ids", "token_type_ids", "special_tokens_mask")):
        found = getattr(inputs, name).tolist()
        assert found == [[cell[index] for cell in row] for row in padded]


BERT = word_level()


def test_ids_never_to_be_generated() -> None:
    tokenizer = BERT
    mask = tokenizer.never_generated_mask()
    assert mask.dtype == np.bool_
    assert tokenizer.end_token_ids == [4]
    # [PAD] [UNK] [CLS] [SEP], and the ids 5 to 9, which have no token.
    assert np.flatnonzero(mask).tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    padded = tokenizer.never_generated_mask(64)
    assert np.flatnonzero(padded).tolist() == [0, 1, 2, 3, *range(5, 10), *range(36, 64)]
    assert np.flatnonzero(tokenizer.never_generated_mask(3)).tolist() == [0, 1, 2]
    assert tokenizer.never_generated_mask(allow=())[4]
    allowed = tokenizer.never_generated_mask(allow=["[SEP]", 2], allow_unknown=True)
    assert np.flatnonzero(allowed).tolist() == [0, 4, 5, 6, 7, 8, 9]
    with pytest.raises(jeton.UsageError, match="which is no token"):
        tokenizer.never_generated_mask(allow=["<no>"])
    with pytest.raises(jeton.UnknownTokenIdError):
        tokenizer.never_generated_mask(allow=[7])
    with pytest.raises(TypeError, match="several tokens"):
        tokenizer.never_generated_mask(allow="</s>")
    for size in (0, -1, 2**60):
        with pytest.raises(jeton.UsageError, match="vocab_size is"):
            tokenizer.never_generated_mask(size)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_bias_for_logits(dtype: Any) -> None:
    bias = BERT.never_generated_bias(40, dtype=dtype)
    assert bias.dtype == dtype
    mask = BERT.never_generated_mask(40)
    assert np.array_equal(np.isneginf(bias), mask)
    assert not bias[~mask].any()
    with pytest.raises(jeton.UsageError, match='dtype is "int8"'):
        BERT.never_generated_bias(dtype="int8")  # type: ignore[arg-type]


def test_no_text_gives_a_masked_id(plain: Tokenizer) -> None:
    mask = plain.never_generated_mask(plain.vocab_size + 8)
    for text in makers.prose()[:5]:
        assert not mask[plain.encode_array(text)].any()


@given(st.text(max_size=30))
def test_what_is_encoded_is_canonical(text: str) -> None:
    tokenizer = makers.tiny("tiny-cl100k_base")
    ids = tokenizer.encode(text)
    assert tokenizer.is_canonical(ids)
    assert tokenizer.first_noncanonical(ids) is None
    assert tokenizer.canonical_ids(np.array(ids, dtype=np.uint32)) == ids


@given(st.lists(st.integers(0, makers.TINY_VOCAB_SIZE - 1), max_size=12))
def test_canonical_by_its_definition(ids: list[int]) -> None:
    tokenizer = makers.tiny("tiny-cl100k_base")
    special = set(tokenizer.special_tokens.values())
    ids = [id for id in ids if id not in special]
    again = tokenizer.encode(tokenizer.decode(ids))
    assert tokenizer.canonical_ids(ids) == again
    assert tokenizer.is_canonical(ids) == (again == ids)
    found = tokenizer.first_noncanonical(ids)
    assert (found is None) == (again == ids)
    if found is None:
        return
    assert ids[: found.position] == again[: found.position]
    assert ids[found.position :][:1] != again[found.position :][:1]
    assert ids[found.position :][: len(found.ids)] == found.ids
    assert again[found.position :][: len(found.canonical_ids)] == found.canonical_ids
    text = tokenizer.decode_bytes(ids).decode("utf-8", errors="ignore")
    if tokenizer.decode_bytes(ids) == text.encode():
        assert tokenizer.decode_bytes(found.ids) == tokenizer.decode_bytes(found.canonical_ids)


def test_special_tokens_are_canonical_and_their_spelling_stays_text(plain: Tokenizer) -> None:
    end = plain.special_tokens[makers.SPECIAL]
    spelled = plain.encode(makers.SPECIAL)
    for ids in ([end], [*spelled, end], [end, *plain.encode(" and"), end], spelled):
        assert plain.is_canonical(ids)
    letters = [plain.encode(letter)[0] for letter in "the"]
    found = plain.first_noncanonical([end, *letters])
    assert found is not None
    assert (found.position, found.ids, found.canonical_ids) == (1, letters, plain.encode("the"))
    assert (
        repr(found) == f"<jeton.NoncanonicalIds at 1: {letters} instead of {plain.encode('the')}>"
    )
    with pytest.raises(jeton.UnknownTokenIdError):
        plain.is_canonical([plain.vocab_size])


def test_bundled_tokenizers_have_rows() -> None:
    tokenizer = jeton.load("jeton-general-32k")
    end = next(iter(tokenizer.special_tokens))
    inputs = tokenizer.model_inputs(
        ["The patient was seen.", "No."], padding="longest", pad_token=end, pad_to_multiple_of=8
    )
    assert inputs.input_ids.shape == (2, 8)
    for row, text in zip(inputs, ["The patient was seen.", "No."], strict=True):
        assert row.tolist() == tokenizer.encode(text)
    assert [len(row) for row in itertools.islice(inputs, 2)] == inputs.lengths.tolist()
