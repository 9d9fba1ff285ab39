"""Texts come in from many kinds of containers and are the same texts then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton import InvalidTextError, TextBatch, Tokenizer
from tests.core.texts import texts

TEXTS = ["", "a", "\u4e2d\u6587", "a longer text that is not inlined by views", "", "\U0001f600\0"]


class OnlyStream:
    """Stand-in for a data frame library: nothing but the Arrow stream interface."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._array.__arrow_c_stream__(requested_schema)


class OnlyArray:
    """Nothing but the Arrow array interface."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._array.__arrow_c_array__(requested_schema)


def strings(values: Sequence[str | None]) -> Any:
    return pa.array(values, pa.string())


def sliced(values: list[str]) -> Any:
    return strings(["before", *values, "after"]).slice(1, len(values))


def chunked(values: list[str]) -> Any:
    middle = len(values) // 2
    return pa.chunked_array([strings(values[:middle]), strings([]), sliced(values[middle:])])


CONTAINERS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda v: (text for text in v),
    "iterator": iter,
    "bytes": lambda v: [text.encode() for text in v],
    "mixed": lambda v: [t.encode() if i % 2 else t for i, t in enumerate(v)],
    "dict keys": lambda v: dict(enumerate(v)).values(),
    "batch": TextBatch.from_texts,
    "string": strings,
    "large_string": lambda v: pa.array(v, pa.large_string()),
    "string_view": lambda v: pa.array(v, pa.string_view()),
    "binary": lambda v: pa.array([t.encode() for t in v], pa.binary()),
    "sliced": sliced,
    "sliced large_string": lambda v: sliced(v).cast(pa.large_string()),
    "sliced string_view": lambda v: pa.array(["before", *v, "after"], pa.string_view()).slice(
        1, len(v)
    ),
    "chunked": chunked,
    "chunked string_view": lambda v: chunked(v).cast(pa.string_view()),
    "only a stream": lambda v: OnlyStream(chunked(v)),
    "only a stream of large_string": lambda v: OnlyStream(chunked(v).cast(pa.large_string())),
    "only an array": lambda v: OnlyArray(sliced(v)),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("values", [[], ["one"], TEXTS, TEXTS * 50], ids=len)
def test_containers(container: str, values: list[str], plain: Tokenizer) -> None:
    make = CONTAINERS[container]
    batch = TextBatch.from_texts(make(values))
    assert list(batch) == values
    assert len(batch) == len(values)
    assert batch.n_bytes == sum(len(text.encode()) for text in values)
    assert batch.data.tobytes() == "".join(values).encode()
    assert len(batch.offsets) == len(values) + 1
    assert (batch.n_replaced_documents, batch.n_replacements) == (0, 0)
    assert not batch.data.flags.writeable
    assert not batch.offsets.flags.writeable
    # Every container may be given to a tokenizer as it is.
    assert plain.encode_batch(make(values)).to_lists() == [plain.encode(text) for text in values]
    assert plain.count_batch(make(values)).tolist() == [plain.count(text) for text in values]


@given(st.lists(texts, max_size=10), st.sampled_from(sorted(CONTAINERS)))
def test_any_texts_in_any_container(values: list[str], container: str) -> None:
    assert list(TextBatch.from_texts(CONTAINERS[container](values))) == values


def test_items() -> None:
    batch = TextBatch.from_texts(["a", "\xe9", ""])
    assert [batch[i] for i in (0, 1, 2, -1, -3)] == ["a", "\xe9", "", "", "a"]
    for index in (3, -4, 10**9):
        with pytest.raises(IndexError):
            batch[index]
    assert batch.offsets.tolist() == [0, 1, 3, 3]


def test_a_view_outlives_its_batch() -> None:
    batch = TextBatch.from_texts(["still here"])
    data = batch.data
    del batch
    assert data.tobytes() == b"still here"


@pytest.mark.parametrize(
    "make",
    [
        lambda: strings(["a", None, "b"]),
        lambda: pa.array(["a", None], pa.large_string()),
        lambda: pa.array(["a", None], pa.string_view()),
        lambda: pa.chunked_array([strings(["a"]), strings([None])]),
        lambda: OnlyStream(pa.chunked_array([strings([None])])),
    ],
)
def test_nulls_are_refused(make: Callable[[], Any], plain: Tokenizer) -> None:
    with pytest.raises(TypeError, match="null at position"):
        TextBatch.from_texts(make())
    with pytest.raises(TypeError, match="null at position"):
        plain.encode_batch(make())


def test_a_null_outside_of_a_slice_is_not_there() -> None:
    array = strings([None, "a", "b", None])
    assert list(TextBatch.from_texts(array.slice(1, 2))) == ["a", "b"]


@pytest.mark.parametrize("value", ["text", b"text"])
def test_one_text_is_not_several(value: Any, plain: Tokenizer) -> None:
    for take in (TextBatch.from_texts, plain.encode_batch, plain.count_batch):
        with pytest.raises(TypeError, match="expected several texts, got one"):
            take(value)


@pytest.mark.parametrize("value", [["a", None], [1], ["a", 2.5], [["a"]], [bytearray(b"a")]])
def test_what_is_no_text(value: Any, plain: Tokenizer) -> None:
    for take in (TextBatch.from_texts, plain.encode_batch, plain.count_batch):
        with pytest.raises(TypeError, match="a text must be str or bytes\\nhint"):
            take(value)
    with pytest.raises(TypeError, match="Int64"):
        TextBatch.from_texts(pa.array([1, 2]))
    with pytest.raises(TypeError):
        TextBatch.from_texts(5)


def test_an_error_of_the_iterator_is_not_swallowed() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        TextBatch.from_texts(failing())


class TestInvalidText:
    def test_is_replaced_and_counted(self) -> None:
        batch = TextBatch.from_texts(["a\ud800b\udfff", b"\xff\xfea", "fine", b"\xe4\xb8"])
        assert list(batch) == ["a\ufffdb\ufffd", "\ufffd\ufffda", "fine", "\ufffd"]
        assert (batch.n_replaced_documents, batch.n_replacements) == (3, 5)

    @given(st.lists(st.binary(max_size=12), max_size=6))
    def test_bytes_are_replaced_as_python_does(self, values: list[bytes]) -> None:
        batch = TextBatch.from_texts(values)
        expected = [value.decode("utf-8", errors="replace") for value in values]
        assert list(batch) == expected
        pairs = list(zip(expected, values, strict=True))
        n_more = [e.count("\ufffd") - v.count(b"\xef\xbf\xbd") for e, v in pairs]
        assert batch.n_replacements == sum(n_more)
        assert batch.n_replaced_documents == sum(n > 0 for n in n_more)

    @pytest.mark.parametrize(
        ("text", "byte_offset"),
        [
            ("\ud800", 0),
            ("a\xe9\udcff!", 3),
            (b"\xff", 0),
            (b"abc\x80", 3),
            (b"a\xe4\xb8", 1),
            (b"\xed\xa0\x80", 0),
            (b"ab\xc0\x80", 2),
        ],
    )
    def test_is_refused(self, text: str | bytes, byte_offset: int, plain: Tokenizer) -> None:
        for take in (
            plain.encode,
            plain.encode_array,
            plain.encode_with_offsets,
            plain.count,
            plain.normalize,
            plain.pretokenize,
        ):
            with pytest.raises(InvalidTextError, match="UTF-8") as caught:
                take(text)
            assert caught.value.byte_offset == byte_offset
        with pytest.raises(InvalidTextError) as caught:
            TextBatch.from_texts(["fine", text], strict=True)
        assert caught.value.byte_offset == byte_offset
        with pytest.raises(InvalidTextError):
            plain.encode_batch(["fine", text])

    def test_arrow_bytes_are_replaced_or_refused(self) -> None:
        array = pa.array([b"a", b"\xff"], pa.binary())
        batch = TextBatch.from_texts(array)
        assert list(batch) == ["a", "\ufffd"]
        assert batch.n_replacements == 1
        with pytest.raises(InvalidTextError):
            TextBatch.from_texts(array, strict=True)
