"""Readers of each format, written from its description with nothing of the package."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MEGATRON_CODES = {4: "<i4", 8: "<u2"}
LITDATA_CODES = {2: "<i4", 5: "<u2"}


def split(ids: Any, ends: list[int]) -> list[list[int]]:
    starts = [0, *ends[:-1]]
    return [[int(i) for i in ids[a:b]] for a, b in zip(starts, ends, strict=True)]


def read_megatron(folder: Path) -> list[list[int]]:
    found = []
    for path in sorted(folder.glob("*.idx")):
        data = path.read_bytes()
        assert data[:9] == b"MMIDIDX\0\0"
        version, code, n_sequences, n_bounds = struct.unpack_from("<QBQQ", data, 9)
        assert version == 1
        lengths = struct.unpack_from(f"<{n_sequences}i", data, 34)
        pointers = struct.unpack_from(f"<{n_sequences}q", data, 34 + 4 * n_sequences)
        bounds = struct.unpack_from(f"<{n_bounds}q", data, 34 + 12 * n_sequences)
        assert len(data) == 34 + 12 * n_sequences + 8 * n_bounds
        assert bounds == tuple(range(n_sequences + 1))
        raw = path.with_suffix(".bin").read_bytes()
        size = np.dtype(MEGATRON_CODES[code]).itemsize
        for length, pointer in zip(lengths, pointers, strict=True):
            part = raw[pointer : pointer + length * size]
            found.append([int(i) for i in np.frombuffer(part, MEGATRON_CODES[code])])
        assert sum(lengths) * size == len(raw)
    return found


def read_numpy(folder: Path, dtype: str, eos: int) -> list[list[int]]:
    found = []
    for path in sorted(folder.glob("*[0-9].npy")):
        ids = np.fromfile(path, dtype=dtype)
        found += split(ids, [i + 1 for i, number in enumerate(ids) if number == eos])
    return found


def read_datatrove(folder: Path, dtype: str) -> list[list[int]]:
    found = []
    for path in sorted(folder.glob("*.ds")):
        index = Path(f"{path}.index").read_bytes()
        ends = struct.unpack(f"<{len(index) // 8}Q", index)
        ids = np.fromfile(path, dtype=dtype)
        assert not ends or ends[-1] == len(ids)
        words = Path(f"{path}.metadata").read_text().splitlines()
        assert words[0].endswith(f"|{np.dtype(dtype).itemsize}")
        assert int(words[1]) == len(ids)
        found += split(ids, list(ends))
    return found


def read_litdata(folder: Path) -> list[list[int]]:
    index = json.loads((folder / "index.json").read_text())
    name, code = index["config"]["data_format"][0].split(":")
    assert name == "no_header_numpy"
    found = []
    for chunk in index["chunks"]:
        data = (folder / chunk["filename"]).read_bytes()
        assert len(data) == chunk["chunk_bytes"]
        (n,) = struct.unpack_from("<I", data)
        assert n == chunk["chunk_size"]
        places = struct.unpack_from(f"<{n + 1}I", data, 4)
        assert places[0] == 4 * (n + 2)
        parts = [data[a:b] for a, b in pairwise(places)]
        documents = [[int(i) for i in np.frombuffer(p, LITDATA_CODES[int(code)])] for p in parts]
        assert sum(map(len, documents)) == chunk["dim"]
        found += documents
    return found


def read_mds(folder: Path) -> list[list[int]]:
    index = json.loads((folder / "index.json").read_text())
    assert index["version"] == 2
    found = []
    for shard in index["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"]
        assert shard["column_names"] == ["tokens"]
        kind = shard["column_encodings"][0].removeprefix("ndarray:")
        (n,) = struct.unpack_from("<I", data)
        assert n == shard["samples"]
        places = struct.unpack_from(f"<{n + 1}I", data, 4)
        settings = json.loads(data[8 + 4 * n : places[0]])
        assert settings["format"] == "mds"
        for a, b in pairwise(places):
            (size,) = struct.unpack_from("<I", data, a)
            cell = data[a + 4 : a + 4 + size]
            assert a + 4 + size == b
            assert cell[0] >> 2 == 1
            shape = {0: "<B", 1: "<H", 2: "<I"}[cell[0] & 3]
            (length,) = struct.unpack_from(shape, cell, 1)
            ids = np.frombuffer(cell[1 + struct.calcsize(shape) :], kind)
            assert len(ids) == length
            found.append([int(i) for i in ids])
    return found


def read_parquet(folder: Path, column: str = "input_ids") -> list[Any]:
    return [
        row
        for path in sorted(folder.glob("*.parquet"))
        for row in pq.read_table(path).column(column).to_pylist()
    ]


def read_arrow(folder: Path, column: str = "input_ids") -> list[Any]:
    state = json.loads((folder / "state.json").read_text())
    found: list[Any] = []
    for file in state["_data_files"]:
        with pa.OSFile(str(folder / file["filename"])) as source:
            found += pa.ipc.open_stream(source).read_all().column(column).to_pylist()
    return found


def read_any(folder: Path, kind: str, dtype: str, eos: int) -> list[list[int]]:
    if kind == "numpy":
        return read_numpy(folder, dtype, eos)
    if kind == "datatrove":
        return read_datatrove(folder, dtype)
    return {
        "megatron": read_megatron,
        "litdata": read_litdata,
        "mds": read_mds,
        "parquet": read_parquet,
        "arrow": read_arrow,
    }[kind](folder)
