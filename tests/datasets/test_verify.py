"""Faults of data sets, each put there by hand and found by name and place."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import UsageError

TEXTS = ["one boat", "two boats on the lake", "", "x", "the end"]


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.load("jeton-general-32k")


def write_pair(
    path: Path,
    documents: Sequence[Sequence[int]],
    *,
    dtype: str = "<u2",
    code: int = 8,
    pointers: Sequence[int] | None = None,
    bounds: Sequence[int] | None = None,
) -> Path:
    """A pair of files as another tool may write them."""
    size = np.dtype(dtype).itemsize
    lengths = [len(document) for document in documents]
    starts = [sum(lengths[:i]) * size for i in range(len(lengths))]
    known = list(range(len(lengths) + 1)) if bounds is None else list(bounds)
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(known))
    index += struct.pack(f"<{len(lengths)}i", *lengths)
    index += struct.pack(f"<{len(lengths)}q", *(starts if pointers is None else pointers))
    index += struct.pack(f"<{len(known)}q", *known)
    path.with_suffix(".idx").write_bytes(index)
    ids = [i for document in documents for i in document]
    path.with_suffix(".bin").write_bytes(np.array(ids, dtype=dtype).tobytes())
    return path.with_suffix(".bin")


def kinds(check: Any) -> list[str]:
    return [fault.kind for fault in check.faults]


def test_a_sound_pair_of_another_tool(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    pair = write_pair(tmp_path / "a", [[*tok.encode(t), 0] for t in TEXTS if t])
    for place in (pair, pair.with_suffix(".idx"), tmp_path / "a", tmp_path):
        check = jeton.verify_dataset(place, tokenizer=tok, append_eos=True)
        assert check.is_fine
        assert (check.n_documents, check.n_with_eos) == (4, 4)
    assert jeton.verify_dataset(pair).notes
    with pytest.raises(UsageError, match="need --tokenizer"):
        jeton.verify_dataset(pair, append_eos=True)
    with pytest.raises(FileNotFoundError, match="no data set"):
        jeton.verify_dataset(tmp_path / "b")


@pytest.mark.parametrize(
    ("documents", "options", "expected"),
    [
        ([[5, 0], [6]], {}, [("missing_eos", "document 1")]),
        ([[5, 0], [6, 0, 0]], {}, [("double_eos", "document 1")]),
        ([[5, 0], [], [7, 0]], {}, [("empty_document", "document 1")]),
        ([[5, 0], [0]], {}, [("empty_document", "document 1")]),
        ([[5, 0], [6, 32_000, 0]], {}, [("id_out_of_range", "document 1, token 1")]),
        (
            [[5, 0], [-3, 0]],
            {"dtype": "<i4", "code": 4},
            [("id_out_of_range", "document 1, token 0")],
        ),
        ([[5, 0], [6, 0]], {"pointers": [0, -4]}, [("wrong_pointer", "sequence 1")]),
        ([[5, 0], [6, 0]], {"bounds": [0, 1]}, [("missing_documents", "bound 1")]),
        ([[5, 0], [6, 0]], {"bounds": [0, 1, 0, 1]}, [("wrong_document_bounds", "bound 2")]),
        ([[5, 0]], {"dtype": "<f4", "code": 7}, [("wrong_dtype", "")]),
        ([[5, 0]], {"dtype": "<u2", "code": 2}, [("wrong_dtype", ""), ("wrong_size", "")]),
        ([[5, 0]], {"code": 99}, [("damaged_index", "")]),
    ],
)
def test_faults_of_other_tools(
    tmp_path: Path,
    tok: jeton.Tokenizer,
    documents: list[list[int]],
    options: dict[str, Any],
    expected: list[tuple[str, str]],
) -> None:
    pair = write_pair(tmp_path / "a", documents, **options)
    check = jeton.verify_dataset(pair, tokenizer=tok, append_eos=True)
    found = [(fault.kind, fault.place.partition(", ")[2]) for fault in check.faults]
    assert found[: len(expected)] == expected


def test_ids_that_two_bytes_cut_off(tmp_path: Path) -> None:
    from jeton._core import from_tiktoken

    ranks = b"".join(b"%s %d\n" % (_base64(i), i) for i in range(256))
    wide = from_tiktoken(ranks, pattern="gpt2", special_tokens={"<|endoftext|>": 70_000})
    pair = write_pair(tmp_path / "a", [[97, 70_000 % 65_536]])
    check = jeton.verify_dataset(pair, tokenizer=wide, append_eos=True)
    assert kinds(check) == ["wrong_dtype", "id_without_token", "missing_eos"]


def _base64(number: int) -> bytes:
    import base64

    return base64.b64encode(bytes([number]))


def test_cut_files_and_lonely_ones(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    pair = write_pair(tmp_path / "a", [[5, 0], [6, 0]])
    pair.write_bytes(pair.read_bytes()[:-1])
    assert kinds(jeton.verify_dataset(pair, tokenizer=tok)) == ["wrong_size"]
    index = pair.with_suffix(".idx")
    index.write_bytes(index.read_bytes()[:-1])
    assert kinds(jeton.verify_dataset(pair, tokenizer=tok)) == ["damaged_index"]
    index.unlink()
    assert kinds(jeton.verify_dataset(pair, tokenizer=tok)) == ["missing_file"]


@pytest.mark.parametrize("kind", ["megatron", "numpy", "parquet", "arrow", "mds", "litdata"])
def test_own_data_sets_that_were_damaged(tmp_path: Path, tok: jeton.Tokenizer, kind: Any) -> None:
    source = tmp_path / "a.txt"
    source.write_text("\n".join(TEXTS))
    made = jeton.tokenize_dataset(
        source,
        tokenizer=tok,
        output=tmp_path / "o",
        format=kind,
        append_eos=True,
        documents="line",
        digest="sha256",
    )
    sound = jeton.verify_dataset(made.folder)
    assert (sound.is_fine, sound.n_compared, sound.n_with_eos) == (True, 4, 4)
    path = made.folder / made.shards[0].files[0].name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert "wrong_digest" in kinds(jeton.verify_dataset(made.folder))
    path.write_bytes(data[:-1])
    assert "wrong_size" in kinds(jeton.verify_dataset(made.folder))
    path.unlink()
    assert kinds(jeton.verify_dataset(made.folder))[0] == "missing_file"


def test_sources_that_have_more_or_are_gone(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    source = tmp_path / "a.txt"
    source.write_text("\n".join(TEXTS))
    made = jeton.tokenize_dataset(
        source, tokenizer=tok, output=tmp_path / "o", documents="line", append_eos=True
    )
    manifest = made.folder / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"n_documents": 4', '"n_documents": 3'))
    assert "missing_documents" in kinds(jeton.verify_dataset(made.folder))
    manifest.write_text(text)
    assert "other_tokenizer" in kinds(jeton.verify_dataset(made.folder, tokenizer="jeton-code-32k"))
    source.write_text("other")
    check = jeton.verify_dataset(made.folder)
    assert check.is_fine
    assert "was changed" in check.notes[0]


def test_the_command_says_the_place_and_exits_with_1(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    pair = write_pair(tmp_path / "a", [[5, 0], [6]])
    program = [sys.executable, "-m", "jeton", "tokenize", "--verify", str(pair)]
    program += ["-t", "jeton-general-32k", "--append-eos"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{pair}, document 1: missing_eos: ")
    assert subprocess.run(program[:-1], capture_output=True, check=False).returncode == 0


def test_template_and_asked_tokens_are_there_once(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    framed = tok.with_added_tokens(["<s>"]).with_template("<s> $A <|endoftext|>")
    bos, eos = framed.encode("", add_special_tokens=True)
    source = tmp_path / "a.txt"
    source.write_text("one boat")
    asked: list[dict[str, Any]] = [
        {},
        {"append_eos": True},
        {"prepend_bos": True},
        {"append_eos": True, "prepend_bos": True},
    ]
    for number, options in enumerate(asked):
        made = jeton.tokenize_dataset(
            source, tokenizer=framed, output=tmp_path / str(number), **options
        )
        ids = np.fromfile(made.folder / "tokens-00000.bin", dtype="<u2").tolist()
        assert ids == [bos, *tok.encode("one boat"), eos]
        assert jeton.verify_dataset(made.folder, tokenizer=framed).is_fine
    made = jeton.tokenize_dataset(
        source, tokenizer=framed, output=tmp_path / "n", use_template=False
    )
    ids = np.fromfile(made.folder / "tokens-00000.bin", dtype="<u2").tolist()
    assert ids == tok.encode("one boat")
    with pytest.raises(UsageError, match="no beginning token"):
        jeton.tokenize_dataset(source, tokenizer=tok, output=tmp_path / "x", prepend_bos=True)
    with pytest.raises(UsageError, match="no such token"):
        jeton.tokenize_dataset(
            source, tokenizer=tok, output=tmp_path / "x", append_eos=True, eos_token="</eos>"
        )
