"""GGUF files: rows of blocks are gathered exactly, the vocabulary in the metadata follows."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.weights import verify
from jeton.adapt.weights.gguf_applying import apply_gguf
from jeton.checkpoint.ggml_blocks import CAN_ENCODE, from_blocks, to_blocks
from jeton.checkpoint.gguf_file import BLOCKS, GgufFile, read_gguf_file
from jeton.errors import AdaptError, FormatError, UsageError

BASE = [*(chr(c) for c in range(97, 123)), "ab", "cd", "abcd", "xy"]
MERGES = ["a b", "c d", "ab cd", "x y"]
KIND = {name: number for number, (_, _, name) in BLOCKS.items()}


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind: int, items: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def write_gguf(file: Path, tensors: dict[str, tuple[int, list[int], bytes]]) -> None:
    """Writes a file with the vocabulary BASE, by lines of our own."""
    keys = [
        ("general.architecture", 8, text("llama")),
        ("llama.vocab_size", 4, struct.pack("<I", len(BASE))),
        ("tokenizer.ggml.model", 8, text("gpt2")),
        ("tokenizer.ggml.pre", 8, text("smollm")),
        ("tokenizer.ggml.tokens", 9, array(8, [text(t) for t in BASE])),
        ("tokenizer.ggml.token_type", 9, array(5, [struct.pack("<i", 1)] * len(BASE))),
        ("tokenizer.ggml.merges", 9, array(8, [text(m) for m in MERGES])),
        ("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 3)),
    ]
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, kind, data in keys:
        out += text(key) + struct.pack("<I", kind) + data
    at, body = 0, b""
    for name, (kind, shape, data) in tensors.items():
        out += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        out += struct.pack("<IQ", kind, at)
        padded = data + bytes(-len(data) % 32)
        body, at = body + padded, at + len(padded)
    file.write_bytes(out + bytes(-len(out) % 32) + body)


def blocks(kind: int, shape: list[int], seed: int) -> tuple[int, list[int], bytes]:
    """Random bytes of a type; scales that are halves get a small exponent."""
    rng = np.random.default_rng(seed)
    n, size, name = BLOCKS[kind]
    if name in CAN_ENCODE:
        values = rng.normal(size=shape).astype(np.float32)
        return kind, shape, to_blocks(name, values)
    n_bytes = shape[0] * shape[1] // n * size
    return kind, shape, rng.integers(0, 256, n_bytes, dtype=np.uint8).tobytes()


def table(file: GgufFile, name: str) -> np.ndarray[Any, Any]:
    tensor = file.tensors[name]
    data = file.path.read_bytes()[tensor.offset : tensor.offset + tensor.n_bytes]
    return np.frombuffer(data, np.uint8).reshape(tensor.shape[0], -1)


def new_tokenizer(folder: Path, tokens: list[str], merges: list[str]) -> jeton.Tokenizer:
    folder.mkdir()
    model = {
        "type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges,
        "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
        "ignore_merges": False,
    }  # fmt: skip
    document: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                          "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                    "use_regex": True},
        "model": model,
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(document))
    return jeton.load(folder / "tokenizer.json")


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    file = tmp_path / "m.gguf"
    n = len(BASE)
    write_gguf(
        file,
        {
            "token_embd.weight": blocks(KIND["Q8_0"], [n, 64], 1),
            "blk.0.ffn_up.weight": blocks(KIND["Q4_K"], [12, 256], 2),
            "output_norm.weight": blocks(KIND["F32"], [1, 64], 3),
            "output.weight": blocks(KIND["Q4_1"], [n, 64], 4),
        },
    )
    return file


def test_new_tokens_get_rows_and_the_rest_is_exact(gguf: Path, tmp_path: Path) -> None:
    new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    done = apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf", init="mean")
    assert (done.n_old_rows, done.n_new_rows) == (30, 31)
    before, after = read_gguf_file(gguf), read_gguf_file(tmp_path / "o.gguf")
    for name in before.tensors:
        old, new = table(before, name), table(after, name)
        assert np.array_equal(new[: len(old)], old)
    parts = [28, 29]
    embeddings = from_blocks("Q8_0", table(before, "token_embd.weight").tobytes(), 64)
    made = from_blocks("Q8_0", table(after, "token_embd.weight").tobytes(), 64)[30]
    assert np.abs(made - embeddings[parts].mean(axis=0)).max() < 0.02
    assert after.values["tokenizer.ggml.tokens"].texts()[30] == b"abcdxy"
    assert after.values["tokenizer.ggml.merges"].texts() == [
        m.encode() for m in (*MERGES, "abcd xy")
    ]
    assert after.values["tokenizer.ggml.pre"].text == "smollm"
    assert after.values["llama.vocab_size"].number == 31
    assert after.values["tokenizer.ggml.eos_token_id"].number == 3


def test_pruned_rows_of_every_type_are_gathered(tmp_path: Path) -> None:
    kept = [BASE[i] for i in (3, 2, *range(4, 26), 0, 1, 29)]
    new_tokenizer(tmp_path / "t", kept, ["x y"])
    for name, kind in KIND.items():
        if name.startswith("I") and name[1:].isdigit():
            continue
        file = tmp_path / f"{name}.gguf"
        write_gguf(file, {"token_embd.weight": blocks(kind, [30, 256], kind)})
        apply_gguf(file, tmp_path / "t", output=tmp_path / f"{name}-o.gguf")
        before, after = read_gguf_file(file), read_gguf_file(tmp_path / f"{name}-o.gguf")
        order = [BASE.index(token) for token in kept]
        old = table(before, "token_embd.weight")
        assert np.array_equal(table(after, "token_embd.weight"), old[order]), name
        assert after.values["tokenizer.ggml.eos_token_id"].number == 0
        assert after.values["tokenizer.ggml.merges"].texts() == [b"x y"]


def test_a_file_that_was_applied_is_proven(gguf: Path, tmp_path: Path) -> None:
    new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf", pad_to=16)
    proof = verify(tmp_path / "o.gguf", base=gguf)
    assert proof.is_proven, proof.problems
    assert (proof.n_tables, proof.n_kept_rows, proof.n_new_rows) == (2, 60, 4)
    assert proof.n_copied == 2
    assert verify(tmp_path / "o.gguf").is_proven


def test_a_pruned_file_is_proven(gguf: Path, tmp_path: Path) -> None:
    kept = [BASE[i] for i in (3, 2, *range(4, 26), 0, 1, 29)]
    new_tokenizer(tmp_path / "t", kept, ["x y"])
    apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf")
    proof = verify(tmp_path / "o.gguf", base=gguf)
    assert proof.is_proven, proof.problems
    assert (proof.n_kept_rows, proof.n_new_rows) == (54, 0)


def test_every_changed_byte_of_weights_is_found(gguf: Path, tmp_path: Path) -> None:
    new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf")
    file = read_gguf_file(tmp_path / "o.gguf")
    data = bytearray(file.path.read_bytes())
    for name, tensor in file.tensors.items():
        at = tensor.offset + tensor.n_bytes // 3
        data[at] ^= 1
        (tmp_path / "bad.gguf").write_bytes(data)
        data[at] ^= 1
        proof = verify(tmp_path / "bad.gguf", base=gguf)
        assert [problem.where for problem in proof.problems] == [name]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        (text("abcd"), text("abce"), "tokenizer.ggml.merges"),
        (text("ab cd"), text("ab ce"), "tokenizer.ggml.merges"),
        (text("smollm"), text("sm0llm"), "tokenizer.ggml.pre"),
        (struct.pack("<II", 4, 3), struct.pack("<II", 4, 5), "tokenizer.ggml.eos_token_id"),
        (struct.pack("<II", 4, 3), struct.pack("<II", 4, 99), "tokenizer.ggml.eos_token_id"),
        (struct.pack("<II", 4, 30), struct.pack("<II", 4, 31), "vocab_size"),
    ],
)
def test_contradictions_of_the_metadata_are_found(
    gguf: Path, tmp_path: Path, old: bytes, new: bytes, where: str
) -> None:
    data = gguf.read_bytes()
    assert old in data
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(data.replace(old, new, 1))
    assert where in [problem.where for problem in verify(bad, base=gguf).problems]


def test_rows_that_fail_are_found_without_a_base(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    write_gguf(file, {"token_embd.weight": blocks(KIND["Q8_0"], [29, 64], 1)})
    problems = [f"{p.where} {p.what}" for p in verify(file).problems]
    assert problems == ["token_embd.weight has 29 rows; there are 30 tokens"]


def test_as_is_is_for_directories(gguf: Path) -> None:
    with pytest.raises(UsageError, match="is for model directories"):
        verify(gguf, as_is=["x"])


def test_a_type_that_takes_no_new_rows_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    write_gguf(file, {"token_embd.weight": blocks(KIND["IQ2_S"], [30, 256], 1)})
    new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    with pytest.raises(AdaptError, match=r"is IQ2_S, in which no new rows can be written"):
        apply_gguf(file, tmp_path / "t", output=tmp_path / "o.gguf")
    assert not (tmp_path / "o.gguf").exists()


def test_a_special_id_that_is_gone_is_refused(gguf: Path, tmp_path: Path) -> None:
    new_tokenizer(tmp_path / "t", [t for t in BASE if t != "d" and "d" not in t], ["a b", "x y"])
    with pytest.raises(AdaptError, match=r"tokenizer.ggml.eos_token_id is 3, and the new"):
        apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf")


def test_no_change_keeps_every_byte(gguf: Path, tmp_path: Path) -> None:
    apply_gguf(gguf, gguf, output=tmp_path / "o.gguf")
    assert (tmp_path / "o.gguf").read_bytes() == gguf.read_bytes()


def test_damaged_files_are_refused(gguf: Path, tmp_path: Path) -> None:
    data = gguf.read_bytes()
    bad = tmp_path / "bad.gguf"
    for content, message in (
        (data[:3], "cut off within its metadata"),
        (data[:200], "cut off within its metadata"),
        (data[:-4000], "is cut off within tensor"),
        (b"GGML" + data[4:], "does not begin with GGUF"),
        (data[:4] + struct.pack("<I", 9) + data[8:], "is of version 9"),
    ):
        bad.write_bytes(content)
        with pytest.raises(FormatError, match=message):
            read_gguf_file(bad)


@pytest.mark.parametrize("name", sorted(CAN_ENCODE))
def test_written_blocks_are_near_and_stable(name: str) -> None:
    values = np.random.default_rng(3).normal(size=(5, 512)).astype(np.float32)
    read = from_blocks(name, to_blocks(name, values), 512)
    bits = {"Q8_0": 8, "Q6_K": 6, "Q5_0": 5, "Q5_1": 5, "Q4_0": 4, "Q4_1": 4}.get(name, 9)
    assert np.abs(read - values).max() <= 8.5 / 2**bits
    assert len(to_blocks(name, values)) == 5 * 512 // BLOCKS[KIND[name]][0] * BLOCKS[KIND[name]][1]
    assert not from_blocks(name, to_blocks(name, np.zeros((1, 256), np.float32)), 256).any()


def test_q6_k_by_hand() -> None:
    # One block: scale 0.5, group scales 1 to 16, value v in place i is (i % 64) - 32.
    rng = np.random.default_rng(2)
    whole = rng.integers(0, 64, 256)
    scales = np.arange(1, 17)
    low, high = bytearray(128), bytearray(64)
    for i, value in enumerate(whole.tolist()):
        half, within = divmod(i, 128)
        quarter, place = divmod(within, 32)
        at = half * 64 + place + 32 * (quarter % 2)
        low[at] |= (value & 15) << (4 * (quarter // 2))
        high[half * 32 + place] |= (value >> 4) << (2 * quarter)
    block = bytes(low) + bytes(high) + scales.astype(np.int8).tobytes()
    block += np.array([0.5], "<f2").tobytes()
    wanted = 0.5 * np.repeat(scales, 16) * (whole - 32)
    assert np.array_equal(from_blocks("Q6_K", block, 256)[0], wanted.astype(np.float32))


def test_the_change_file_of_the_other_form_serves(gguf: Path, tmp_path: Path) -> None:
    # Terms are added to the tokenizer.json; the GGUF file is another form of its tokenizer.
    old = new_tokenizer(tmp_path / "old", BASE, MERGES)
    new = new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    change = VocabularyChange.between(old, new)
    change.write(tmp_path / "t" / "vocabulary_change.json")
    assert jeton.load(gguf).fingerprint != old.fingerprint
    apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf")
    assert read_gguf_file(tmp_path / "o.gguf").tensors["token_embd.weight"].shape == (31, 64)
