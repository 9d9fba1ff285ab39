"""Properties of encoding and decoding for every text and tokenizer."""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jeton import TextBatch, Tokenizer
from tests.core.texts import texts

# The fixture is a tokenizer, which no example changes.
with_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@with_fixture
@given(text=texts)
def test_decoding_gives_the_text_back(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    seen = tokenizer.normalize(text)
    assert tokenizer.decode(ids) == seen
    assert tokenizer.decode_bytes(ids) == seen.encode()
    assert tokenizer.decode(ids, errors="strict") == seen
    assert b"".join(tokenizer.id_to_bytes(i) for i in ids) == seen.encode()
    assert all(0 <= i < tokenizer.vocab_size for i in ids)


@with_fixture
@given(text=texts)
def test_pretokens_joined_are_the_text(tokenizer: Tokenizer, text: str) -> None:
    pretokens = tokenizer.pretokenize(text)
    assert "".join(pretokens) == tokenizer.normalize(text)
    assert "" not in pretokens


@with_fixture
@given(text=texts)
def test_ways_to_encode_one_text_agree(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.encode(text.encode()) == ids
    assert tokenizer.count(text) == tokenizer.count(text.encode()) == len(ids)
    array = tokenizer.encode_array(text)
    assert array.dtype == np.uint32
    assert array.tolist() == ids
    assert tokenizer.encode_with_offsets(text).ids.tolist() == ids
    assert tokenizer.decode(array) == tokenizer.decode(ids)


@with_fixture
@given(batch=st.lists(texts, max_size=8), as_bytes=st.booleans())
def test_a_batch_is_its_texts(tokenizer: Tokenizer, batch: list[str], as_bytes: bool) -> None:
    single = [tokenizer.encode(text) for text in batch]
    given_texts = [text.encode() for text in batch] if as_bytes else batch
    for num_threads in (1, 2, 8):
        found = tokenizer.encode_batch(given_texts, num_threads=num_threads)
        assert found.to_lists() == single
        assert [ids.tolist() for ids in found] == single
        assert [found[i].tolist() for i in range(len(found))] == single
        assert found.offsets.tolist() == np.cumsum([0, *map(len, single)]).tolist()
        assert found.ids.dtype == np.uint32
        assert found.offsets.dtype == np.int64
        counts = tokenizer.count_batch(given_texts, num_threads=num_threads)
        assert counts.dtype == np.int64
        assert counts.tolist() == [len(ids) for ids in single]
    assert tokenizer.encode_batch(TextBatch.from_texts(batch)).to_lists() == single


@with_fixture
@given(text=texts)
def test_offsets(tokenizer: Tokenizer, text: str) -> None:
    found = tokenizer.encode_with_offsets(text)
    starts, ends, data = found.starts_bytes, found.ends_bytes, text.encode()
    assert len(found) == len(starts) == len(ends) == len(found.word_ids)
    assert (np.diff(starts) >= 0).all()
    assert (np.diff(ends) >= 0).all()
    assert (starts <= ends).all()
    # What is in code points covers just the characters that the bytes touch.
    for byte_start, byte_end, start, end in zip(
        starts.tolist(), ends.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True
    ):
        assert len(text[:start].encode()) <= byte_start <= byte_end <= len(text[:end].encode())
        if byte_start < byte_end:
            assert len(text[: start + 1].encode()) > byte_start
            assert len(text[: end - 1].encode()) < byte_end
    # A composed character comes from the first of its parts, as `tokenizers` has it: places may
    # leave out the others.
    if tokenizer.normalize(text) == text:
        if len(found):
            assert starts[0] == 0
            assert ends[-1] == len(data)
        pieces = [data[a:b] for a, b in zip(starts, ends, strict=True)]
        assert pieces == [tokenizer.id_to_bytes(int(i)) for i in found.ids]


@with_fixture
@given(text=texts)
def test_word_ids_number_the_pretokens(tokenizer: Tokenizer, text: str) -> None:
    found = tokenizer.encode_with_offsets(text)
    pretokens = tokenizer.pretokenize(text)
    words: dict[int, bytes] = {}
    for word, i in zip(found.word_ids.tolist(), found.ids.tolist(), strict=True):
        words[word] = words.get(word, b"") + tokenizer.id_to_bytes(i)
    assert words == {n: pretoken.encode() for n, pretoken in enumerate(pretokens)}


@with_fixture
@given(text=texts)
def test_normalizing_twice_is_normalizing_once(tokenizer: Tokenizer, text: str) -> None:
    once = tokenizer.normalize(text)
    assert tokenizer.normalize(once) == once
    assert tokenizer.encode(once) == tokenizer.encode(text)


@functools.lru_cache(maxsize=1)
def lengths_and_known(tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Returns bytes of each id, and the ids that have some."""
    lengths = tokenizer.token_lengths()
    return lengths, np.flatnonzero(lengths)


@with_fixture
@given(data=st.data())
def test_any_ids_decode(tokenizer: Tokenizer, data: st.DataObject) -> None:
    lengths, known = lengths_and_known(tokenizer)
    places = data.draw(st.lists(st.integers(0, len(known) - 1), max_size=20))
    ids = known[places].tolist() if places else []
    expected = b"".join(tokenizer.id_to_bytes(i) for i in ids)
    assert tokenizer.decode_bytes(ids) == expected
    assert tokenizer.decode(ids) == expected.decode("utf-8", errors="replace")
    assert int(lengths[ids].sum()) == len(expected)


def test_nothing_is_nothing(tokenizer: Tokenizer) -> None:
    for empty in ("", b""):
        assert tokenizer.encode(empty) == []
        assert tokenizer.count(empty) == 0
        assert len(tokenizer.encode_with_offsets(empty)) == 0
        assert tokenizer.encode_array(empty).shape == (0,)
    assert tokenizer.pretokenize("") == []
    assert tokenizer.decode([]) == tokenizer.decode(np.array([], dtype=np.uint32)) == ""
    assert tokenizer.encode_batch([]).to_lists() == []
    assert tokenizer.encode_batch([]).offsets.tolist() == [0]
    assert tokenizer.encode_batch(["", "", ""]).to_lists() == [[], [], []]
    assert tokenizer.count_batch(["", "a", ""]).tolist() == [0, 1, 0]


def test_every_token_of_the_vocabulary(tokenizer: Tokenizer) -> None:
    lengths = tokenizer.token_lengths()
    assert lengths.shape == (tokenizer.vocab_size,)
    assert np.count_nonzero(lengths) == tokenizer.n_tokens
    special = set(tokenizer.special_tokens.values())
    for i in np.flatnonzero(lengths)[:: max(1, tokenizer.vocab_size // 2000)].tolist():
        token_bytes = tokenizer.id_to_bytes(i)
        assert len(token_bytes) == lengths[i]
        assert tokenizer.bytes_to_id(token_bytes) == i or i in special
    assert tokenizer.bytes_to_id(b"no vocabulary has such a long token\xff\xff") is None
