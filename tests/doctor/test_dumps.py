"""Dumps of model inputs: every kind of file, rows of any length, damage."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.doctor import InputBatch, batch_of_arrays, read_batches
from jeton.errors import FormatError, JetonError, LimitError, RecordError, UsageError
from tests.doctor import ward

ARRAYS = ward.padded([[1, 2], [3, 4, 5]], side="right", labels=True)


def same(batch: InputBatch) -> None:
    assert batch.ids.tolist() == [1, 2, ward.PAD, 3, 4, 5]
    assert batch.offsets.tolist() == [0, 3, 6]
    assert batch.mask is not None
    assert batch.mask.tolist() == [1, 1, 0, 1, 1, 1]
    assert batch.labels is not None
    assert batch.labels.tolist() == [1, 2, -100, 3, 4, 5]
    assert batch.is_rectangular


def test_every_kind_of_file_holds_the_same(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", **ARRAYS)  # type: ignore[arg-type]
    np.savez_compressed(tmp_path / "c.npz", **ARRAYS)  # type: ignore[arg-type]
    (tmp_path / "b.safetensors").write_bytes(ward.safetensors(ARRAYS))
    rows = [{name: array[row].tolist() for name, array in ARRAYS.items()} for row in range(2)]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    whole = {name: array.tolist() for name, array in ARRAYS.items()}
    (tmp_path / "c.jsonl").write_text(json.dumps(whole))
    (tmp_path / "b.json").write_text(json.dumps(whole))
    for file in tmp_path.iterdir():
        (batch,) = read_batches(file)
        same(batch)
        assert batch.where == str(file)


def test_ids_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.asarray([[1, 2], [3, 4]], dtype=np.uint16))
    (batch,) = read_batches(tmp_path / "b.npy")
    assert (batch.dtype, batch.n_rows, batch.mask) == ("uint16", 2, None)
    (tmp_path / "b.jsonl").write_text("[1, 2, 3]\n[4]\n")
    (batch,) = read_batches(tmp_path / "b.jsonl")
    assert batch.lengths.tolist() == [3, 1]
    assert not batch.is_rectangular


def test_masks_of_two_kinds() -> None:
    for mask in ([[1, 1, 0]], [[0.0, 0.0, -1e9]], [[True, True, False]]):
        batch = batch_of_arrays({"input_ids": [[5, 6, 7]], "attention_mask": mask})
        assert batch.is_kept is not None
        assert batch.is_kept.tolist() == [True, True, False]


def test_labels_of_a_classification_are_no_odd_shape() -> None:
    batch = batch_of_arrays({"input_ids": [[5, 6], [7, 8]], "labels": [0, 1]})
    assert batch.labels is None
    assert not batch.odd_shapes


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2]), max_size=6), min_size=1, max_size=6),
    st.sampled_from([frozenset({0}), frozenset({0, 1}), frozenset[int]()]),
)
def test_runs_at_the_ends_are_those_of_a_plain_loop(
    rows: list[list[int]], pads: frozenset[int]
) -> None:
    batch = InputBatch(
        where="x",
        ids=np.asarray([i for row in rows for i in row], dtype=np.int64),
        offsets=np.cumsum([0, *map(len, rows)]).astype(np.int64),
    )

    def run(row: list[int]) -> int:
        return next((i for i, token in enumerate(row) if token not in pads), len(row))

    expected = []
    for row in rows:
        left, right = run(row), run(row[::-1])
        expected += [i < left or i >= len(row) - right for i in range(len(row))]
    assert batch.padding_by_id(pads).tolist() == expected
    flags = np.isin(batch.ids, sorted(pads))
    lefts, rights = batch.ends(flags)
    assert lefts.tolist() == [run(row) for row in rows]
    assert rights.tolist() == [run(row[::-1]) for row in rows]


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (exec, ("raise SystemExit('run')",))

    trap = pickle.dumps(Trap())
    for name in ("b.pt", "b.pkl", "b.bin"):
        (tmp_path / name).write_bytes(trap)
        with pytest.raises(UsageError, match="pickle"):
            read_batches(tmp_path / name)
    np.save(tmp_path / "b.npy", np.asarray([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError):
        read_batches(tmp_path / "b.npy")
    np.savez(tmp_path / "b.npz", input_ids=np.asarray([Trap()], dtype=object))
    with pytest.raises(FormatError):
        read_batches(tmp_path / "b.npz")


def test_archives_that_unpack_to_much_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jeton.doctor.dumps.MAX_DUMP_BYTES", 10_000)
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("input_ids.npy", b"\0" * 1_000_000)
    with pytest.raises(LimitError):
        read_batches(tmp_path / "b.npz")
    (tmp_path / "b.jsonl").write_text("[1]\n" * 5000)
    with pytest.raises(LimitError):
        read_batches(tmp_path / "b.jsonl")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("b.npz", b"no zip"),
        ("b.npy", b"\x93NUMPY\x01\x00"),
        ("b.jsonl", b"{}\n"),
        ("b.jsonl", b'{"input_ids": ["a"]}'),
        ("b.jsonl", b'{"input_ids": [1, [2]]}'),
        ("b.jsonl", b"[1, 2\n"),
        ("b.jsonl", b"\xff\xfe"),
        ("b.jsonl", b"\n"),
        ("b.json", b"[" * 100_000),
        ("b.txt", b"1 2 3"),
        ("b.safetensors", b"xx"),
    ],
)
def test_damage_is_one_clear_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((FormatError, RecordError, UsageError)) as caught:
        read_batches(tmp_path / name)
    assert name in str(caught.value)


def test_ids_of_any_size_become_ids_that_no_vocabulary_has() -> None:
    batch = batch_of_arrays({"input_ids": np.asarray([[2**64 - 1, 3]], dtype=np.uint64)})
    assert batch.ids[0] > 2**40
    batch = batch_of_arrays({"input_ids": np.asarray([[np.nan, 3.0]])})
    assert not batch.are_integers
    with pytest.raises(FormatError):
        batch_of_arrays({"input_ids": np.asarray([["a"]])})
    with pytest.raises(FormatError):
        batch_of_arrays({"x": np.asarray([[1]])})


@given(st.binary(max_size=80), st.sampled_from(["npz", "npy", "safetensors", "jsonl", "json"]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str
) -> None:
    file = tmp_path_factory.mktemp("x") / f"b.{suffix}"
    file.write_bytes(data)
    try:
        batches = read_batches(file)
    except JetonError:
        return
    for batch in batches:
        assert len(batch.ids) == batch.offsets[-1]
