"""A shard that is filled exactly, and a shard file that is longer than the journal says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import jeton
from jeton.datasets import tokenize_dataset
from jeton.datasets.formats.base import ShardRecord
from jeton.datasets.manifest import DatasetManifest, RunJournal


def _write(folder: Path, **options: object) -> list[int]:
    texts = iter(["a"] * 12)
    tokenize_dataset(
        texts,
        tokenizer="jeton-general-32k",
        output=folder,
        format="numpy",
        append_eos=True,
        **options,  # type: ignore[arg-type]
    )
    return [shard.n_tokens for shard in DatasetManifest.read(folder).shards]


def test_a_shard_is_filled_to_its_last_token(tmp_path: Path) -> None:
    n = len(jeton.load("jeton-general-32k").encode("a")) + 1
    assert _write(tmp_path / "exact", shard_tokens=4 * n) == [4 * n] * 3
    assert _write(tmp_path / "above", shard_tokens=4 * n + n - 1) == [4 * n] * 3


@pytest.mark.parametrize(("n_bytes", "is_there"), [(9, False), (10, True), (11, False)])
def test_a_run_goes_on_from_files_of_just_their_size(
    tmp_path: Path,
    n_bytes: int,
    is_there: bool,
) -> None:
    (tmp_path / "tokens.npy").write_bytes(b"x" * n_bytes)
    file = {"name": "tokens.npy", "n_bytes": 10, "digest": "crc32:0"}
    fields = {"number": 0, "n_tokens": 1, "n_documents": 1, "files": [file], "inputs": []}
    record = ShardRecord.from_dict(fields)
    journal = RunJournal(tmp_path, cast(Any, None))
    assert journal._is_there(record) is is_there
