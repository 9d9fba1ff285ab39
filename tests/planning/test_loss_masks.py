"""Tokens that are not learned stay so in packs: calculated a second time, token by token."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.errors import CorpusError, UsageError
from jeton.planning.packing import open_tokens, packed_row, read_lengths

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def documents_with_masks(seed: int, n: int = 60) -> list[tuple[list[int], list[int]]]:
    draw = random.Random(seed)
    found = []
    for number in range(n):
        size = draw.choice([0, 1, 2, 5, 17])
        # Each id is unique, so that a token is known wherever it lies.
        ids = [number * 100 + place for place in range(size)]
        found.append((ids, [draw.randint(0, 1) for _ in ids]))
    return found


def write(folder: Path, documents: list[tuple[list[int], list[int]]], **types: Any) -> Path:
    folder.mkdir()
    kind = types.get("mask", pa.int8())
    for number, part in enumerate((documents[:20], documents[20:])):
        masks = [mask for _, mask in part]
        table = {
            "input_ids": pa.array([ids for ids, _ in part], pa.list_(pa.int32())),
            "loss_mask": pa.array(masks, pa.list_(pa.int8())).cast(pa.list_(kind)),
        }
        if types.get("labels"):
            table["labels"] = pa.array(
                [[i if i % 3 else -100 for i in ids] for ids, _ in part], pa.list_(pa.int32())
            )
        pq.write_table(pa.table(table), folder / f"part-{number}.parquet")
    return folder


def learned_of(documents: list[tuple[list[int], list[int]]]) -> set[int]:
    """Ids that are learned: asked for, and not the first of their document."""
    return {i for ids, mask in documents for i, m in list(zip(ids, mask, strict=True))[1:] if m}


def learned_in(path: Path) -> tuple[set[int], list[int]]:
    """Ids that a reader of packed Parquet learns, by the mask of the token before; and all ids."""
    learned, seen = set(), []
    for row in pq.read_table(path).to_pylist():
        seen += row["input_ids"]
        learned |= {
            row["input_ids"][place + 1]
            for place, mask in enumerate(row["loss_mask"])
            if mask and place + 1 < len(row["input_ids"])
        }
        starts = row["seq_start_id"]
        assert all(not row["loss_mask"][start - 1] for start in starts if start)
    return learned, seen


@pytest.mark.parametrize("kind", ["int8", "bool_", "int64", "float32"])
def test_masks_come_through(tmp_path: Path, kind: str) -> None:
    documents = documents_with_masks(5)
    folder = write(tmp_path / "set", documents, mask=getattr(pa, kind)())
    target = tmp_path / "packed.parquet"
    words = ["pack", str(folder), "--capacity", "20", "--emit", "tokens", "-o", str(target)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    learned, seen = learned_in(target)
    assert sorted(seen) == sorted(i for ids, _ in documents for i in ids)
    assert learned == learned_of(documents)
    # Rows in memory have labels at the places of their ids.
    tokens = open_tokens(folder)
    pack = jeton.pack(tokens.lengths, capacity=20)
    labels: set[int] = set()
    for index in range(len(pack)):
        labels |= set(packed_row(pack, index, tokens=tokens).labels.tolist())
    assert labels - {-100} == learned_of(documents)


def test_labels_and_a_mask_both_have_to_ask(tmp_path: Path) -> None:
    documents = documents_with_masks(6)
    folder = write(tmp_path / "set", documents, labels=True)
    tokens = open_tokens(folder)
    assert tokens.is_learned is not None
    learned = {
        int(i) for i, is_learned in zip(tokens.ids, tokens.is_learned, strict=True) if is_learned
    }
    assert learned == {
        i for ids, m in documents for i, k in zip(ids, m, strict=True) if k and i % 3
    }
    named = open_tokens(folder, field="input_ids")
    assert named.is_learned is None


def test_packed_rows_are_packed_again_as_their_documents(tmp_path: Path) -> None:
    documents = [(ids, mask) for ids, mask in documents_with_masks(7) if ids]
    folder = write(tmp_path / "set", documents)
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    for source, capacity, target in ((folder, "17", first), (first, "40", second)):
        words = ["pack", str(source), "--capacity", capacity, "--emit", "tokens", "-o", str(target)]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    assert learned_in(second)[0] == learned_in(first)[0] == learned_of(documents)
    assert sorted(read_lengths(first).tolist()) == sorted(len(ids) for ids, _ in documents)


def one_row(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table({"input_ids": [[1, 2, 3]], **columns}), path)
    return path


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"loss_mask": [[1, 0]]}, "has not as many marks as ids"),
        ({"loss_mask": pa.array([None], pa.list_(pa.int8()))}, "has not as many marks as ids"),
        ({"loss_mask": [[1, 0, None]]}, "has not as many marks as ids"),
        ({"loss_mask": [[0.5, 1.0, 0.0]]}, "other numbers than 0 and 1"),
        ({"loss_mask": [[1, 0, 2]]}, "other numbers than 0 and 1"),
        ({"seq_start_id": [[1]]}, "does not begin at 0"),
        ({"seq_start_id": [[0, 3]]}, "does not begin at 0"),
        ({"seq_start_id": [[0, 2, 1]]}, "does not begin at 0"),
        ({"seq_start_id": pa.array([[]], pa.list_(pa.int32()))}, "does not begin at 0"),
    ],
)
def test_columns_that_contradict_the_ids(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        open_tokens(one_row(tmp_path / "a.parquet", **columns))


def test_a_mask_of_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="loss_mask"):
        open_tokens(one_row(tmp_path / "a.parquet", loss_mask=[["a", "b", "c"]]))


def test_object_stores(tmp_path: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    documents = documents_with_masks(8)
    folder = write(tmp_path / "set", documents)
    for file in folder.iterdir():
        memory.pipe(f"/packing/set/{file.name}", file.read_bytes())
    memory.pipe("/packing/lengths.txt", b"3\n4\n")
    assert read_lengths("memory://packing/lengths.txt").tolist() == [3, 4]
    for address in ("memory://packing/set", f"file://{folder}"):
        far, near = open_tokens(address), open_tokens(folder)
        assert far.ids.tolist() == near.ids.tolist()
        assert far.lengths.tolist() == near.lengths.tolist() == read_lengths(address).tolist()
    made = jeton.tokenize_dataset(
        iter(["One boat.", "Two boats left."]), tokenizer="jeton-general-32k", output=tmp_path / "t"
    )
    for file in made.folder.glob("tokens-*"):
        memory.pipe(f"/packing/pair/{file.name}", file.read_bytes())
    pair = open_tokens("memory://packing/pair/tokens-00000.bin")
    assert pair.ids.tolist() == open_tokens(made.folder).ids.tolist()
    with pytest.raises(FileNotFoundError, match="memory://packing/nothing"):
        read_lengths("memory://packing/nothing.idx")
