"""Let the packages that training programs use read what ``jeton tokenize`` wrote.

``make dataset-readers`` runs this in an environment of its own, with the packages of
requirements/dataset-readers.txt. Each reader must give the documents of the independent encoder
call; a package that is not installed is named, and the exit code is 1.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import jeton
from jeton.datasets.options import FORMAT_NAMES

__all__ = ["main"]

TEXTS = [
    "",
    "A boat on the lake.",
    "x",
    "\n\n",
    "drei Vögel 🐦 sangen " * 300,
    "東京から船で。",
    "",
    "the end",
]


def read_megatron(folder: Path, _: int) -> list[list[int]]:
    """Documents by ``megatron.core``."""
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    found = []
    for path in sorted(folder.glob("*.idx")):
        data = IndexedDataset(str(path.with_suffix("")))
        bounds = data.document_indices
        assert bounds[-1] == len(data)
        found += [data[i].tolist() for i in range(len(data))]
    return found


def read_mds(folder: Path, _: int) -> list[list[int]]:
    """Documents by MosaicML Streaming."""
    from streaming import StreamingDataset

    data = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
    return [data[i]["tokens"].tolist() for i in range(len(data))]


def read_litdata(folder: Path, eos: int) -> list[list[int]]:
    """Blocks of one token by LitData, cut at the end tokens."""
    import litdata

    data = litdata.StreamingDataset(str(folder), item_loader=litdata.TokensLoader(block_size=1))
    return _cut([int(data[i][0]) for i in range(len(data))], eos)


def read_datatrove(folder: Path, _: int) -> list[list[int]]:
    """Windows of one token by datatrove, cut where its positions begin anew."""
    from datatrove.utils.dataset import DatatroveFileDataset

    found = []
    for path in sorted(folder.glob("*.ds")):
        ids = np.fromfile(path, dtype="<u2").tolist()
        data = DatatroveFileDataset(
            str(path), seq_len=len(ids) - 1, token_size=2, return_positions=True
        )
        item = data[0]
        assert item["input_ids"].tolist() == ids
        starts = np.flatnonzero(item["positions"].numpy() == 0).tolist()
        found += [ids[a:b] for a, b in pairwise([*starts, len(ids)])]
    return found


def read_arrow(folder: Path, _: int) -> list[list[int]]:
    """Rows by ``datasets.load_from_disk``."""
    import datasets

    return [list(row) for row in datasets.load_from_disk(str(folder))["input_ids"]]


def read_parquet(folder: Path, _: int) -> list[list[int]]:
    """Rows by ``datasets``."""
    import datasets

    files = [str(path) for path in sorted(folder.glob("*.parquet"))]
    cache = str(folder / "cache")
    data = datasets.load_dataset("parquet", data_files=files, cache_dir=cache)
    return [list(row) for row in data["train"]["input_ids"]]


def read_numpy(folder: Path, eos: int) -> list[list[int]]:
    """A memory map, as OLMo-core and nanoGPT open it."""
    found: list[int] = []
    for path in sorted(folder.glob("*.npy")):
        found += np.memmap(path, dtype=np.uint16, mode="r").tolist()
    return _cut(found, eos)


def read_nanochat(folder: Path, eos: int) -> list[list[int]]:
    """Texts by pyarrow, group by group, tokenized here."""
    import pyarrow.parquet as pq

    tok = jeton.load("jeton-general-32k")
    found = []
    for path in sorted(folder.glob("shard_*.parquet")):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            texts = file.read_row_group(group).column("text").to_pylist()
            found += [[*tok.encode(text), eos] for text in texts]
    return found


def _cut(ids: list[int], eos: int) -> list[list[int]]:
    ends = [i + 1 for i, number in enumerate(ids) if number == eos]
    return [ids[a:b] for a, b in pairwise([0, *ends])]


READERS: dict[str, Callable[[Path, int], list[list[int]]]] = {
    "megatron": read_megatron,
    "mds": read_mds,
    "litdata": read_litdata,
    "datatrove": read_datatrove,
    "arrow": read_arrow,
    "parquet": read_parquet,
    "numpy": read_numpy,
    "nanochat": read_nanochat,
}


def main() -> int:
    """Write every format, let it be read, and tell; return the exit code."""
    warnings.simplefilter("ignore")
    tok = jeton.load("jeton-general-32k")
    eos = tok.end_token_ids[0]
    wanted = [[*tok.encode(text), eos] for text in TEXTS if text]
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        for name in FORMAT_NAMES:
            for shard_tokens in (40, 10**6):
                folder = Path(place) / f"{name}-{shard_tokens}"
                options: dict[str, Any] = {"format": name, "shard_tokens": shard_tokens}
                jeton.tokenize_dataset(
                    iter(TEXTS), tokenizer=tok, output=folder, append_eos=True, **options
                )
                try:
                    verdict = "equal" if READERS[name](folder, eos) == wanted else "DIFFERENT"
                except ImportError as error:
                    verdict = f"NOT READ: {error}"
                failed += verdict != "equal"
                print(f"{name}, shards of {shard_tokens:,} tokens: {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
