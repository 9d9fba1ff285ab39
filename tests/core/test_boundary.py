"""The boundary between Python and the core: every kind of text, into every kind of result."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer
from jeton._core import from_canonical
from tests.core import makers

NAMES = ("tiny-gpt2", "tiny-cl100k_base", "tiny-qwen-nfc", "tiny-lookahead")

LATIN_1 = "naïve café, straße — ".replace("—", "-")
UCS_2 = "Москва, 東京, ไทย, हिन्दी"
UCS_4 = "a 😀 b 𝒳 naïve 東京"
KINDS = ("plain text", LATIN_1, UCS_2, UCS_4, "", "\x00", "é", "Ã©", "\ud7ff\ue000")

any_text = st.one_of(
    st.text(st.characters(max_codepoint=0x7F)),
    st.text(st.characters(max_codepoint=0xFF)),
    st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])),
    st.text(),
)


class Text(str):
    """A ``str`` that is stored in two parts."""

    __slots__ = ("more",)


class Once:
    """Texts that can be walked once, and have no length."""

    def __init__(self, texts: list[Any]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[Any]:
        return iter(self._texts)


def forms(texts: list[str]) -> dict[str, Any]:
    encoded = [text.encode() for text in texts]
    chunks = [texts[: len(texts) // 2], texts[len(texts) // 2 :]]
    return {
        "str": texts,
        "bytes": encoded,
        "both": [pair[index % 2] for index, pair in enumerate(zip(texts, encoded, strict=True))],
        "tuple": tuple(texts),
        "once": Once(texts),
        "subclass": [Text(text) for text in texts],
        "batch": jeton.TextBatch.from_texts(texts),
        "arrow": pa.array(texts, pa.string()),
        "large": pa.array(texts, pa.large_string()),
        "view": pa.array(texts, pa.string_view()),
        "binary": pa.array(encoded, pa.binary()),
        "slice": pa.array(["left out", *texts, "too"], pa.string())[1:-1],
        "chunked": pa.chunked_array(chunks, pa.string()),
    }


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(st.one_of(any_text, st.sampled_from(KINDS)), max_size=8))
@settings(max_examples=60 if not makers.THOROUGH else 2000, deadline=None)
def test_every_form_of_texts_gives_the_same_ids(name: str, texts: list[str]) -> None:
    tok = makers.tiny(name)
    expected = [tok.encode(text.encode()) for text in texts]
    counts = [len(ids) for ids in expected]
    for text, ids in zip(texts, expected, strict=True):
        assert tok.encode(text) == tok.encode(Text(text)) == ids
        assert tok.encode_array(text).tolist() == ids
        assert tok.encode_with_offsets(text).ids.tolist() == ids
        assert tok.count(text) == len(ids)
    for form, given_texts in forms(texts).items():
        batch = tok.encode_batch(given_texts, num_threads=1)
        assert batch.to_lists() == expected, form
        assert batch.offsets.tolist() == np.cumsum([0, *counts]).tolist(), form
        assert tok.count_batch(given_texts).tolist() == counts, form


@pytest.mark.parametrize("form", ["str", "bytes", "arrow", "view", "chunked"])
@pytest.mark.parametrize("text", KINDS, ids=range(len(KINDS)))
def test_large_batches_on_several_threads(form: str, text: str) -> None:
    tok = makers.tiny("tiny-cl100k_base")
    texts = [f"{text} {index}" * (1 + index % 5) for index in range(2500)]
    texts.append(text * (70_000 // max(1, len(text))))
    expected = [tok.encode(text.encode()) for text in texts]
    batch = tok.encode_batch(forms(texts)[form], num_threads=3)
    assert batch.to_lists() == expected
    assert tok.count_batch(forms(texts)[form], num_threads=3).tolist() == list(map(len, expected))


@pytest.mark.parametrize("name", ["tiny-gpt2", "tiny-cl100k_base", "tiny-qwen-nfc"])
@pytest.mark.parametrize("kind", [str, Text])
def test_the_utf8_that_a_str_has_of_itself_is_its_text(name: str, kind: type[str]) -> None:
    """As other extensions leave it there, which ask for it in this way."""
    tok = makers.tiny(name)
    make_copy = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
    make_copy.argtypes = [ctypes.py_object, ctypes.c_void_p]
    make_copy.restype = ctypes.c_void_p
    for word in KINDS:
        text = kind("".join([word, " ", word]))
        ids, size = tok.encode(text), sys.getsizeof(text)
        assert ids == tok.encode(text.encode())
        assert sys.getsizeof(text) == size, "no copy is left behind"
        assert make_copy(text, None)
        assert tok.encode(text) == ids
        assert tok.count(text) == len(ids)
        assert tok.encode_batch([text, text]).to_lists() == [ids, ids]


@pytest.mark.parametrize("name", ["tiny-gpt2", "tiny-cl100k_base", "tiny-qwen-nfc"])
def test_one_long_text_on_several_threads(name: str) -> None:
    tok = makers.tiny(name)
    prose = "\n".join(makers.prose())
    for text in ((prose * 9)[:530_000], "a" * 300_000 + UCS_4 * 9_000 + " " * 200_000):
        assert len(text.encode()) > 512 << 10, "shorter texts are not shared"
        ids = tok.encode(text)
        assert tok.encode(text, num_threads=2) == ids
        assert np.array_equal(tok.encode_array(text, num_threads=3), ids)
        assert tok.count(text, num_threads=None) == len(ids)
    allowed = (prose * 9)[:530_000].replace("the", makers.SPECIAL)
    options: Any = {"allow_special": "all", "add_special_tokens": True}
    assert tok.encode(allowed, num_threads=2, **options) == tok.encode(allowed, **options)


@pytest.mark.parametrize("prefix", ["", "abc ", "é", "東京 ", "😀"])
def test_half_a_surrogate_pair_is_no_text(prefix: str) -> None:
    tok = makers.tiny("tiny-gpt2")
    text = f"{prefix}\udc80 and more"
    place = f"offset {len(prefix.encode())}"
    for call in (tok.encode, tok.encode_array, tok.count, tok.encode_with_offsets):
        with pytest.raises(jeton.JetonError, match=place):
            call(text)
    for batch_call in (tok.encode_batch, tok.count_batch):
        with pytest.raises(jeton.JetonError, match=place):
            batch_call(["fine", text, "fine"])
        many: list[str | bytes] = [b"fine"] * 50_000
        with pytest.raises(jeton.JetonError, match="offset 3"):
            batch_call([*many, b"abc\xff", text, *many], num_threads=2)
    assert tok.encode("fine") == tok.encode(b"fine")


def test_what_is_no_text_is_named() -> None:
    tok = makers.tiny("tiny-gpt2")
    for call in (tok.encode, tok.encode_array, tok.count):
        with pytest.raises(TypeError, match="str or bytes, not int"):
            call(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"text 1 .* is NoneType; a text must be str or bytes"):
        tok.encode_batch(["a", None])  # type: ignore[list-item]
    for one in ("text", b"text"):
        with pytest.raises(TypeError, match="several texts, got one"):
            tok.encode_batch(one)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_threads is 0"):
        tok.encode("a", num_threads=0)


def test_a_str_keeps_no_copy_of_its_utf8() -> None:
    tok = makers.tiny("tiny-gpt2")
    text = "".join(["é東"] * 1000)
    before = sys.getsizeof(text)
    tok.encode(text), tok.encode_array(text), tok.count(text), tok.encode_batch([text] * 9)
    assert sys.getsizeof(text) == before


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="without a global lock, integers are not shared between lists",
)
def test_integers_of_lists_are_made_once_and_go_with_the_tokenizer() -> None:
    tok = from_canonical(makers.tiny("tiny-gpt2").to_canonical())
    assert tok.integers_used_bytes == 0
    text = makers.prose()[0]
    ids = tok.encode(text)
    used = tok.integers_used_bytes
    large = {id for id in ids if id > 256}
    assert used == tok.vocab_size * 8 + len(set(ids)) * 32
    again = tok.encode(text)
    assert all(a is b for a, b in zip(ids, again, strict=True))
    assert tok.with_name("other").encode(text)[0] is ids[0]
    assert tok.integers_used_bytes == used
    some = next(id for id in ids if id in large)
    counted = sys.getrefcount(some)
    del again
    assert sys.getrefcount(some) < counted
    copy = list(ids)
    tok.clear_cache()
    assert tok.integers_used_bytes == tok.vocab_size * 8
    assert tok.encode(text) == ids
    del tok
    gc.collect()
    assert ids == copy, "integers outlive the tokenizer where somebody has them"


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(any_text, max_size=6))
@settings(max_examples=40 if not makers.THOROUGH else 1000, deadline=None)
def test_batches_decode_as_texts_do(name: str, texts: list[str]) -> None:
    tok = makers.tiny(name)
    batch = tok.encode_batch(texts)
    rows = batch.to_lists()
    expected = [tok.decode(row) for row in rows]
    assert expected == [tok.decode_bytes(row).decode() for row in rows]
    assert tok.decode_batch(batch) == expected
    assert tok.decode_batch(rows) == expected
    assert tok.decode_batch(list(batch)) == expected
    assert tok.decode_batch(iter(rows), skip_special_tokens=True) == expected


def test_decoding_batches_refuses_as_decoding_does() -> None:
    tok = makers.tiny("tiny-gpt2")
    cut = tok.encode("é")[:1]
    if tok.decode(cut) == "\ufffd":
        with pytest.raises(jeton.JetonError):
            tok.decode_batch([[1], cut], errors="strict")
        assert tok.decode_batch([cut])[0] == "\ufffd"
    for bad in (tok.vocab_size, 2**40, -1):
        with pytest.raises(jeton.JetonError):
            tok.decode_batch([[1], [bad]])
        with pytest.raises(jeton.JetonError):
            tok.decode([bad])
    with pytest.raises(TypeError, match="must be an integer"):
        tok.decode([1.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="several lists of ids"):
        tok.decode_batch([1, 2])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="errors is"):
        tok.decode_batch([], errors="ignore")  # type: ignore[arg-type]
    numbers: list[Any] = [True, np.int64(3)]
    assert tok.decode(numbers) == tok.decode([1, 3])
    assert tok.decode_batch([]) == []


def test_many_threads_at_once() -> None:
    tok = from_canonical(makers.tiny("tiny-cl100k_base").to_canonical())
    texts = [*makers.prose()[:6], LATIN_1 * 50, UCS_2 * 3000, UCS_4]
    expected = [tok.encode(text.encode()) for text in texts]
    other = from_canonical(tok.to_canonical())
    wrong: list[int] = []

    def work(seed: int) -> None:
        for step in range(len(texts)):
            index = (seed * 7 + step) % len(texts)
            text, ids = texts[index], expected[index]
            if other.encode(text) != ids or other.encode_array(text).tolist() != ids:
                wrong.append(index)
            if other.encode_batch([text, text], num_threads=2).to_lists() != [ids, ids]:
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_goes_on_where_the_parent_was() -> None:
    tok = makers.tiny("tiny-cl100k_base")
    text = "\n".join(makers.prose()) * 2
    ids = tok.encode(text, num_threads=2)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            tok.encode_batch([text] * 2, num_threads=2)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                fine = (
                    tok.encode(text) == ids
                    and tok.encode(text, num_threads=2) == ids
                    and tok.encode_batch([text], num_threads=2).to_lists() == [ids]
                )
                os._exit(0 if fine else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


NO_NUMPY = "import sys, types; sys.modules['numpy'] = types.ModuleType('numpy')"


@pytest.mark.parametrize("before", ["import numpy", "", NO_NUMPY])
def test_imported_before_or_after_numpy(before: str, plain: Tokenizer, tmp_path: Path) -> None:
    """jeton meets NumPy when it is imported; where that is not NumPy, what needs none works."""
    path = tmp_path / "plain.jetonc"
    plain.save_compiled(path)
    lines = [before, "import jeton", f"tok = jeton.load({str(path)!r})", "print(tok.encode('a b'))"]
    if before != NO_NUMPY:
        lines.append("print(tok.encode_array('a b').tolist())")
    command = [sys.executable, "-c", "\n".join(lines)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n") == [str(plain.encode("a b"))] * (len(lines) - 3) + [""]
