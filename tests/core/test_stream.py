"""Ids that come one by one give the text that they give at once, and no push breaks a character."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer, _core, errors
from jeton._core import from_hf_json, from_rwkv, from_vocab_txt
from tests.core import makers

BUNDLED = ("jeton-general-32k-v1", "jeton-code-32k-v1")
PUBLISHED = (
    *("albert_30k-clean.model.zst", "llama2.model", "xlnet_base_cased.model.zst"),
    *("nmt_joint.spm.model", "bert_base_uncased.vocab.txt", "bert_base_cased.json.zst"),
    *("clip_base.json.zst", "llama2.json.zst", "t5-small.json.zst", "gpt2.json.zst"),
    *("cl100k_base.tiktoken.zst", "mistral01.json.zst", "falcon.json.zst"),
    *("rwkv_vocab_v20230424.txt.zst", "bpemb_en_100k.model.zst", "phi-3-mini.json.zst"),
)

# Tokens in which decoders find something to do, whole and in parts.
TOKENS = (
    *("a", "b", "\u2581", "\u2581a", "\u2581\u2581", "##a", "##", "a</w>", "</w>", "</", "w>"),
    *("a</w>b</w>", "<pad>", "|", " ", "  ", " a ", ".", " .", "n't", " do", " not", "'", "aab"),
    *("<0x41>", "<0xC3>", "<0xA9>", "<0xE4>", "<0xB8>", "<0xAD>", "<0xF0>", "<0x", "41>"),
    *("\u0120", "\u0120a", "\xc3", "\xa9", "\xe4", "\xb8", "\u0143", "\xe9", "\u4e2d"),
)
SPECIAL = "<s>"

FUSE = {"type": "Fuse"}
BYTE_FALLBACK = {"type": "ByteFallback"}


def strip(start: int, stop: int) -> dict[str, Any]:
    return {"type": "Strip", "content": " ", "start": start, "stop": stop}


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


DECODERS: dict[str, list[dict[str, Any]] | None] = {
    "none": None,
    "byte level": [{"type": "ByteLevel"}],
    "llama": [replace(" ", String="\u2581"), BYTE_FALLBACK, FUSE, strip(1, 0)],
    "gemma": [replace(" ", String="\u2581"), BYTE_FALLBACK, FUSE],
    "wordpiece": [{"type": "WordPiece", "prefix": "##", "cleanup": True}],
    "metaspace": [{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}],
    "clip": [{"type": "BPEDecoder", "suffix": "</w>"}],
    "ctc": [
        {
            "type": "CTC",
            "pad_token": "<pad>",
            "word_delimiter_token": "|",
            "cleanup": True,
        }
    ],
    "strip at the end": [FUSE, strip(1, 2)],
    "clean-up of all": [FUSE, {"type": "WordPiece", "prefix": "##", "cleanup": True}],
    "regex of all": [FUSE, replace("c", Regex="a+b?")],
    "suffix and bytes": [{"type": "BPEDecoder", "suffix": "</w>"}, BYTE_FALLBACK, strip(1, 1)],
}


def synthetic(decoders: list[dict[str, Any]] | None) -> Tokenizer:
    """Each of `TOKENS`, and one special token, with a chain of decoders."""
    vocab = {token: i for i, token in enumerate(dict.fromkeys((*TOKENS, "[UNK]")))}
    special = {"id": len(vocab), "content": SPECIAL, "special": True, "normalized": False}
    decoder = None if decoders is None else {"type": "Sequence", "decoders": decoders}
    file = {
        "added_tokens": [special],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    }
    return from_hf_json(json.dumps(file).encode())


def pushed(
    tokenizer: Tokenizer, ids: Sequence[int], cuts: Iterator[int], *, skip_special_tokens: bool
) -> Iterator[str]:
    """Return each push's text when ids come in pieces of these sizes, and the flush."""
    stream = tokenizer.decode_stream(skip_special_tokens=skip_special_tokens)
    start = 0
    while start < len(ids):
        size = next(cuts)
        yield stream.push(ids[start : start + size])
        start += size
    yield stream.flush()


def assert_streams(tokenizer: Tokenizer, ids: Sequence[int], rng: random.Random) -> None:
    for skip in (False, True):
        whole = tokenizer.decode(ids, skip_special_tokens=skip)
        cuts = iter(lambda: rng.choice((0, 1, 1, 2, 5)), None)
        text = ""
        for piece in pushed(tokenizer, ids, cuts, skip_special_tokens=skip):
            text += piece
            # What was given is never taken back: no U+FFFD where a character would have been.
            assert whole.startswith(text)
        assert text == whole
        pieces = list(tokenizer.decode_iter(iter(ids), skip_special_tokens=skip))
        assert "".join(pieces) == whole
        assert all(pieces)


@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder(name: str) -> None:
    tokenizer = synthetic(DECODERS[name])

    @given(
        ids=st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=20),
        rng=st.randoms(use_true_random=False),
    )
    def check(ids: list[int], rng: random.Random) -> None:
        assert_streams(tokenizer, ids, rng)

    check()


def random_ids(tokenizer: Tokenizer, rng: random.Random) -> list[int]:
    """Ids of a text whose bytes are cut anywhere, and ids of nothing in particular."""
    lengths = tokenizer.token_lengths()
    known = np.flatnonzero(lengths).tolist()
    short = np.flatnonzero((lengths > 0) & (lengths <= 1)).tolist() or known
    ids: list[int] = []
    for _ in range(rng.randint(1, 6)):
        text = "".join(rng.choices("ab \u4e2d\xe9\U0001f600\u0939\u093f .,'\n", k=6))
        ids += tokenizer.encode(text)[rng.randint(0, 2) :]
        ids += rng.choices(known, k=rng.randint(0, 3)) + rng.choices(short, k=rng.randint(0, 4))
    return ids


@pytest.mark.parametrize("name", [*makers.TINY, *BUNDLED])
def test_our_tokenizers(name: str) -> None:
    tokenizer = makers.tiny(name) if name in makers.TINY else jeton.load(name)
    rng = random.Random(name)
    for _ in range(60):
        assert_streams(tokenizer, random_ids(tokenizer, rng), rng)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(shared: Path, name: str) -> None:
    path = shared / "data" / "vocab" / name
    if name.startswith("rwkv"):
        tokenizer = from_rwkv(_core.decompress(path.read_bytes()))
    elif name.endswith(".vocab.txt"):
        tokenizer = from_vocab_txt(path.read_bytes())
    else:
        tokenizer = makers.load(path)
    rng = random.Random(name)
    for _ in range(60):
        assert_streams(tokenizer, random_ids(tokenizer, rng), rng)


def test_a_character_comes_whole(plain: Tokenizer) -> None:
    stream = plain.decode_stream()
    ids = [plain.bytes_to_id(bytes([byte])) for byte in "\U0001f600".encode()]
    assert None not in ids
    assert [stream.push(id) for id in ids if id is not None] == ["", "", "", "\U0001f600"]
    assert stream.flush() == ""


def test_what_is_not_a_character_is_shown_at_the_end(plain: Tokenizer) -> None:
    first = plain.bytes_to_id(b"\xf0")
    assert first is not None
    stream = plain.decode_stream()
    assert stream.push(first) == ""
    assert stream.flush() == "\ufffd"
    # A new text begins.
    assert stream.push(plain.encode("a")) == "a"


def test_arrays_and_numpy_integers(plain: Tokenizer) -> None:
    ids = plain.encode_array("some text")
    stream = plain.decode_stream()
    text = stream.push(ids) + "".join(stream.push(id) for id in ids)
    assert text + stream.flush() == "some textsome text"


def test_an_unknown_id_leaves_the_stream_as_it_was(plain: Tokenizer) -> None:
    stream = plain.decode_stream()
    with pytest.raises(errors.UnknownTokenIdError):
        stream.push([*plain.encode("a"), plain.vocab_size])
    with pytest.raises(errors.UnknownTokenIdError):
        stream.push(2**40)
    with pytest.raises(ValueError, match="negative"):
        stream.push(-1)
    assert stream.push(plain.encode("b")) + stream.flush() == "b"


def test_an_iterator_is_read_as_it_is_asked(plain: Tokenizer) -> None:
    taken: list[int] = []

    def ids() -> Iterator[int]:
        for id in plain.encode("one two three four"):
            taken.append(id)
            yield id

    pieces = plain.decode_iter(ids())
    assert taken == []
    first = next(pieces)
    assert len(taken) < len(plain.encode("one two three four"))
    assert first + "".join(pieces) == "one two three four"
    with pytest.raises(StopIteration):
        next(pieces)
