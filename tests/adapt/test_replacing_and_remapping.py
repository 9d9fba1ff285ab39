"""Other tokenizers for a model, and files of ids that follow a change."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.remapping import remap_file
from jeton.adapt.remapping_columns import remap_ids
from jeton.adapt.replacing import digit_rule, replacement
from jeton.errors import AdaptError, FormatError, UsageError
from tests.adapt.test_change import change, changes
from tests.adapt.test_pruning import BASES, PRUNED, USED

TEXT = ["the low lower lowest newer newest wide wider 1234567 town 20240101"] * 30


def trained(pattern: str, **more: Any) -> jeton.Tokenizer:
    return jeton.train(iter(TEXT), vocab_size=280, pattern=pattern, **more)


@pytest.mark.parametrize(
    ("pattern", "size", "rule"),
    [
        ("llama3", 265, "threes from the left"),
        ("gpt2", 340, "as merges have it"),
        (r"\p{N}|[^\p{N}]+", 265, "each digit by itself"),
    ],
)
def test_rules_of_digits_are_told(pattern: str, size: int, rule: str) -> None:
    texts = [f"some words {n}" for n in range(1000)] * 9
    many = jeton.train(iter(texts), vocab_size=size, pattern=pattern)
    assert digit_rule(many) == rule


def test_other_rule_for_digits_is_refused_unless_forced() -> None:
    texts = [str(n) for n in range(1000)] * 9
    old = jeton.train(iter(texts), vocab_size=400, pattern="llama3")
    new = jeton.train(iter(texts), vocab_size=257, pattern=r"\p{N}|[^\p{N}]+")
    with pytest.raises(AdaptError, match=r"into threes from the left, the new one into each digit"):
        replacement(old, new)
    forced = replacement(old, new, force=True)
    assert forced.new_digits == "each digit by itself"
    assert forced.n_kept + forced.n_added == new.n_tokens


def test_rows_are_found_by_bytes() -> None:
    old, new = trained("llama3"), trained("gpt2", special_tokens=["<|new|>"])
    found = replacement(old, new, force=True).change
    for id in found.kept.tolist():
        assert old.id_to_bytes(int(found.old_of[id])) == new.id_to_bytes(id)
    for id in found.added.tolist():
        parts = found.made_of(id).tolist()
        assert b"".join(map(old.id_to_bytes, parts)) == new.id_to_bytes(id)
        assert old.bytes_to_id(new.id_to_bytes(id)) is None or id in new.special_tokens.values()


@pytest.mark.parametrize("name", BASES)
def test_pruned_text_follows_exactly(name: str) -> None:
    ids = np.concatenate([BASES[name].encode_array(text) for text in USED])
    expected = np.concatenate([PRUNED[name].tokenizer.encode_array(text) for text in USED])
    assert remap_ids(PRUNED[name].change, ids).tolist() == expected.tolist()


@given(changes(n_old=12), st.lists(st.integers(-2, 13), max_size=30))
def test_ids_follow_or_are_refused(one: VocabularyChange, row: list[int]) -> None:
    ids = np.array(row, dtype=np.int32)
    if all(0 <= id < 12 and one.new_of[id] >= 0 for id in row):
        assert remap_ids(one, ids).tolist() == [int(one.new_of[id]) for id in row]
    else:
        with pytest.raises(AdaptError, match=r"gone from the new|not an id of the old"):
            remap_ids(one, ids)


PERMUTED = change([2, 0, 1, 3], n_old=4)
SHORTER = change([0, 1, 3], n_old=4)


def test_numbers_that_are_no_ids_stay() -> None:
    labels = np.array([-100, 0, 3, -100], dtype=np.int64)
    assert remap_ids(PERMUTED, labels, ignore=[-100]).tolist() == [-100, 1, 3, -100]
    with pytest.raises(AdaptError, match="-100 is not an id of the old vocabulary of 4"):
        remap_ids(PERMUTED, labels)
    with pytest.raises(AdaptError, match=r"2 of 4 ids are gone .*: 2 \(2 times\)"):
        remap_ids(SHORTER, np.array([2, 1, 2, 0]))
    with pytest.raises(UsageError, match="uint8 does not hold 300 ids"):
        remap_ids(change(list(range(300)), n_old=300), np.array([1], dtype=np.uint8))
    with pytest.raises(UsageError, match="no whole numbers"):
        remap_ids(PERMUTED, np.array([1.0]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_keeps_shape_and_type(order: Literal["C", "F"], tmp_path: Path) -> None:
    ids = np.array([[0, 1, 2], [3, 2, 1]], dtype=np.uint16, order=order)
    np.save(tmp_path / "old.npy", ids)
    done = remap_file(PERMUTED, tmp_path / "old.npy", tmp_path / "new.npy")
    new = np.load(tmp_path / "new.npy")
    assert new.dtype == np.uint16
    assert new.tolist() == [[1, 2, 0], [3, 0, 2]]
    assert (done.n_ids, done.dtype) == (6, "uint16")


def test_plain_numbers_need_their_type(tmp_path: Path) -> None:
    ids = np.array([0, 1, 2, 3], dtype="<u2")
    (tmp_path / "old.bin").write_bytes(ids.tobytes())
    with pytest.raises(UsageError, match=r"--dtype does"):
        remap_file(PERMUTED, tmp_path / "old.bin", tmp_path / "new.bin")
    remap_file(PERMUTED, tmp_path / "old.bin", tmp_path / "new.bin", dtype="uint16")
    assert np.fromfile(tmp_path / "new.bin", dtype="<u2").tolist() == [1, 2, 0, 3]
    (tmp_path / "cut.bin").write_bytes(b"\0\0\0")
    with pytest.raises(FormatError, match=r"3 bytes are no whole number of uint16"):
        remap_file(PERMUTED, tmp_path / "cut.bin", tmp_path / "new.bin", dtype="uint16")
    (tmp_path / "empty.bin").write_bytes(b"")
    assert (
        remap_file(PERMUTED, tmp_path / "empty.bin", tmp_path / "none.bin", dtype="uint16").n_ids
        == 0
    )


def test_megatron_index_says_the_type_and_goes_along(tmp_path: Path) -> None:
    ids = np.array([3, 0, 2], dtype="<i4")
    (tmp_path / "old.bin").write_bytes(ids.tobytes())
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQiqqq", 1, 4, 1, 2, 3, 0, 0, 1)
    (tmp_path / "old.idx").write_bytes(index)
    remap_file(PERMUTED, tmp_path / "old.bin", tmp_path / "new.bin")
    assert np.fromfile(tmp_path / "new.bin", dtype="<i4").tolist() == [3, 1, 0]
    assert (tmp_path / "new.idx").read_bytes() == index
    (tmp_path / "old.idx").write_bytes(b"other")
    with pytest.raises(FormatError, match=r"as a Megatron index does"):
        remap_file(PERMUTED, tmp_path / "old.bin", tmp_path / "new.bin")


def test_nothing_is_written_where_it_is_not_exact(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", np.array([0, 1, 2]))
    with pytest.raises(AdaptError, match=r"from number 0 on: 1 of 3 ids are gone"):
        remap_file(SHORTER, tmp_path / "old.npy", tmp_path / "new.npy")
    longer = change([0, 1, 2, 3, -1], n_old=4, added={4: [0, 1]})
    with pytest.raises(AdaptError, match="has 1 new tokens, so the new tokenizer cuts"):
        remap_file(longer, tmp_path / "old.npy", tmp_path / "new.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["old.npy"]
    remap_file(longer, tmp_path / "old.npy", tmp_path / "new.npy", as_cut=True)
    assert np.load(tmp_path / "new.npy").tolist() == [0, 1, 2]
    with pytest.raises(UsageError, match="is the file to read"):
        remap_file(PERMUTED, tmp_path / "old.npy", tmp_path / "old.npy")
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    with pytest.raises(FormatError, match=r"not a \.npy of numbers"):
        remap_file(PERMUTED, tmp_path / "bad.npy", tmp_path / "x.npy")
    with pytest.raises(UsageError, match=r"none of \.npy, \.bin"):
        remap_file(PERMUTED, tmp_path / "old.txt", tmp_path / "x.txt")


def test_row_groups_stay_and_damaged_pages_are_refused(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file, out = tmp_path / "old.parquet", tmp_path / "new.parquet"
    rows = pa.table({"input_ids": [[0, 2]] * 1500, "labels": [[-100, 2]] * 1500})
    with pq.ParquetWriter(file, rows.schema) as writer:
        for start, end in ((0, 1100), (1100, 1200), (1200, 1500)):
            writer.write_table(rows.slice(start, end - start))
    done = remap_file(PERMUTED, file, out)
    assert (done.n_ids, done.n_ignored, done.dtype) == (6000, 1500, "parquet")
    new = [int(PERMUTED.new_of[id]) for id in (0, 2)]
    found = pq.ParquetFile(out)
    sizes = [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)]
    assert sizes == [1100, 100, 300]
    assert found.read().to_pylist() == [{"input_ids": new, "labels": [-100, new[1]]}] * 1500
    data = bytearray(file.read_bytes())
    data[4:60] = b"\xff" * 56
    file.write_bytes(data)
    out.unlink()
    with pytest.raises(FormatError, match=r"old\.parquet: not a Parquet file, or a damaged one"):
        remap_file(PERMUTED, file, out)
    assert not out.exists()
