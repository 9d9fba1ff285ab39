"""Each format against an independent reader of its bytes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import jeton
from jeton._core import from_tiktoken
from jeton.datasets.formats import FORMATS, ShardLayout
from jeton.datasets.formats.base import BodySpool
from jeton.datasets.options import DatasetOptions
from jeton.errors import JetonWarning, LimitError, UsageError
from tests.datasets.readers import read_any, read_arrow, read_megatron, read_parquet

IDS_FORMATS: tuple[Any, ...] = (
    "megatron",
    "numpy",
    "parquet",
    "arrow",
    "mds",
    "litdata",
    "datatrove",
)
TEXTS = ["", "A boat on the lake", "x", "\n", "", "drei Vögel 🐦 sangen " * 90, "end"]


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.load("jeton-general-32k")


def expected(tok: jeton.Tokenizer, texts: list[str]) -> list[list[int]]:
    eos = tok.end_token_ids[0]
    return [[*tok.encode(text), eos] for text in texts if text]


@pytest.mark.parametrize("kind", IDS_FORMATS)
@pytest.mark.parametrize("shard_tokens", [1, 7, 100_000])
def test_every_document_is_there_once_and_in_order(
    tmp_path: Path, tok: jeton.Tokenizer, kind: Any, shard_tokens: int
) -> None:
    made = jeton.tokenize_dataset(
        iter(TEXTS),
        tokenizer=tok,
        output=tmp_path,
        format=kind,
        append_eos=True,
        shard_tokens=shard_tokens,
    )
    wanted = expected(tok, TEXTS)
    assert read_any(tmp_path, kind, made.dtype, tok.end_token_ids[0]) == wanted
    assert made.n_tokens == sum(map(len, wanted))
    assert (made.n_documents, made.read.n_empty_documents) == (len(wanted), 2)
    assert all(s.n_tokens <= shard_tokens or s.n_documents == 1 for s in made.shards)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


@pytest.mark.parametrize("kind", IDS_FORMATS)
def test_wide_ids_are_exact(tmp_path: Path, tok: jeton.Tokenizer, kind: Any) -> None:
    shards = FORMATS[kind]
    dtype = shards.dtype(200_019)
    assert dtype.itemsize == 4
    layout = ShardLayout(tmp_path, dtype, DatasetOptions(format=kind), "wide", 200_019)
    ids = np.array([200_018, 65_536, 3, 5, 70_000, 3], dtype=np.uint32)
    writer = shards.open_shard(layout, 0)
    writer.append(ids[:3], np.array([0, 3]), None)
    writer.append(ids[3:], np.array([0, 3]), None)
    from jeton.datasets.formats import ShardRecord

    record = ShardRecord(0, 6, 2, writer.close())
    shards.finish(layout, [record])
    wanted = [[200_018, 65_536, 3], [5, 70_000, 3]]
    assert read_any(tmp_path, kind, dtype.str, 3) == wanted
    again = [
        block.ids[a:b].tolist()
        for block in shards.read_shard(layout, record, 3)
        for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)
    ]
    assert again == wanted


@pytest.mark.parametrize(
    ("kind", "size", "dtype"),
    [
        ("megatron", 65_499, "uint16"),
        ("megatron", 65_500, "int32"),
        ("numpy", 256, "uint8"),
        ("numpy", 257, "uint16"),
        ("numpy", 65_536, "uint16"),
        ("numpy", 65_537, "uint32"),
        ("datatrove", 65_536, "uint16"),
        ("datatrove", 65_537, "uint32"),
        ("litdata", 65_537, "int32"),
        ("mds", 65_536, "uint16"),
        ("parquet", 300, "int32"),
    ],
)
def test_width_follows_the_largest_id(kind: Any, size: int, dtype: str) -> None:
    assert FORMATS[kind].dtype(size).name == dtype


def test_added_tokens_widen_ids(tmp_path: Path) -> None:
    ranks = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
    for last, dtype in ((65_498, "uint16"), (65_499, "int32")):
        wide = from_tiktoken(ranks, pattern="gpt2", special_tokens={"<|endoftext|>": last})
        folder = tmp_path / dtype
        made = jeton.tokenize_dataset(iter(["ab"]), tokenizer=wide, output=folder, append_eos=True)
        assert made.dtype == dtype
        assert read_megatron(folder) == [[97, 98, last]]


def test_columns_and_their_types(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    readers: tuple[tuple[Any, Any], ...] = (("parquet", read_parquet), ("arrow", read_arrow))
    for kind, read in readers:
        folder = tmp_path / kind
        jeton.tokenize_dataset(
            iter(["one", "two boats"]),
            tokenizer=tok,
            output=folder,
            format=kind,
            columns=["attention_mask", "labels"],
        )
        ids = [tok.encode("one"), tok.encode("two boats")]
        assert read(folder) == ids
        assert read(folder, "labels") == ids
        assert read(folder, "attention_mask") == [[1] * len(row) for row in ids]
    schema = pq.read_schema(tmp_path / "parquet" / "train-00000.parquet")
    assert [str(field.type.value_type) for field in schema] == ["int32", "int8", "int64"]


def test_label_mask_leaves_out_first_tokens(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    jeton.tokenize_dataset(
        iter(["one boat", "x"]),
        tokenizer=tok,
        output=tmp_path,
        format="numpy",
        append_eos=True,
        label_mask=True,
    )
    mask = np.fromfile(tmp_path / "tokens-00000.label_mask.npy", dtype=np.bool_)
    n_first = len(tok.encode("one boat")) + 1
    assert len(mask) == (tmp_path / "tokens-00000.npy").stat().st_size // 2
    assert np.flatnonzero(~mask).tolist() == [0, n_first]


def test_nanochat_files_hold_text_in_small_groups(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    texts = [f"note {i}" for i in range(2500)]
    made = jeton.tokenize_dataset(
        iter(["", *texts]), tokenizer=tok, output=tmp_path, format="nanochat", shard_tokens=6000
    )
    files = sorted(tmp_path.glob("shard_*.parquet"))
    assert len(files) == len(made.shards) > 1
    assert [row for file in files for row in pq.read_table(file)["text"].to_pylist()] == texts
    file = pq.ParquetFile(files[0])
    assert file.metadata.row_group(0).num_rows == 1024
    with pytest.raises(UsageError, match="holds text"):
        jeton.transcode_dataset(tmp_path, output=tmp_path / "o", format="nanochat")


@pytest.mark.parametrize("kind", ["numpy", "litdata"])
def test_formats_without_bounds_warn_of_missing_ends(
    tmp_path: Path, tok: jeton.Tokenizer, kind: Any
) -> None:
    with pytest.warns(JetonWarning, match="no end token"):
        jeton.tokenize_dataset(iter(["a"]), tokenizer=tok, output=tmp_path, format=kind)


def test_positions_of_32_bits_are_guarded(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    kinds: tuple[Any, ...] = ("mds", "litdata")
    for kind in kinds:
        with pytest.raises(UsageError, match="32 bits"):
            jeton.tokenize_dataset(
                iter(["a"]),
                tokenizer=tok,
                output=tmp_path / kind,
                format=kind,
                append_eos=True,
                shard_tokens=2**31,
            )
    spool = BodySpool(tmp_path)
    spool.write(b"12345678")
    spool.add_sizes(np.array([8]))
    with pytest.raises(LimitError, match="too large"):
        spool.check(12, 16, "chunks")
    spool.close()


def test_every_transcoding_keeps_the_ids(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    wanted = expected(tok, TEXTS)
    eos = tok.end_token_ids[0]
    for source in IDS_FORMATS:
        folder = tmp_path / source
        jeton.tokenize_dataset(
            iter(TEXTS),
            tokenizer=tok,
            output=folder,
            format=source,
            append_eos=True,
            shard_tokens=50,
        )
        for target in IDS_FORMATS[:: 1 if source == "megatron" else 3]:
            place = tmp_path / f"{source}-{target}"
            made = jeton.transcode_dataset(folder, output=place, format=target, shard_tokens=9)
            assert read_any(place, target, made.dtype, eos) == wanted
            assert jeton.verify_dataset(place).is_fine
