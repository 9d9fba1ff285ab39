"""Token data sets in, packed Parquet out: read again by an independent reader."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.errors import FormatError, UsageError
from jeton.planning.packing import (
    TokenSource,
    open_tokens,
    packed_row,
    padded_batch,
    read_lengths,
    write_packed_parquet,
)
from jeton.progress import Progress

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

DOCUMENTS = [[], [11, 12, 13], [21], [31, 32, 33, 34, 35, 36, 37], [41, 42], []]


def write_megatron(prefix: Path, documents: list[list[list[int]]], code: int = 8) -> Path:
    """Writes documents of sequences, byte by byte as the format says."""
    kind = {8: "<u2", 4: "<i4"}[code]
    sequences = [sequence for document in documents for sequence in document]
    sizes = [len(sequence) for sequence in sequences]
    width = np.dtype(kind).itemsize
    pointers = [width * sum(sizes[:place]) for place in range(len(sizes))]
    bounds = [sum(len(d) for d in documents[:n]) for n in range(len(documents) + 1)]
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(sizes), len(bounds))
    index += np.array(sizes, "<i4").tobytes() + np.array(pointers, "<i8").tobytes()
    index += np.array(bounds, "<i8").tobytes()
    prefix.with_suffix(".idx").write_bytes(index)
    prefix.with_suffix(".bin").write_bytes(
        b"".join(np.array(sequence, kind).tobytes() for sequence in sequences)
    )
    return prefix.with_suffix(".idx")


def write_parquet(path: Path, documents: list[list[int]], kind: Any = None) -> Path:
    column = pa.array(documents, type=kind or pa.list_(pa.int32()))
    pq.write_table(pa.table({"input_ids": column}), path)
    return path


def read_rows(path: Path) -> list[list[list[int]]]:
    """Cuts rows at their starts; checks types and masks."""
    table = pq.read_table(path)
    assert [str(field.type) for field in table.schema] == [
        "list<element: int32>",
        "list<element: int8>",
        "list<element: int32>",
    ]
    rows = []
    for row in table.to_pylist():
        ends = [*row["seq_start_id"][1:], len(row["input_ids"])]
        assert row["seq_start_id"][:1] in ([0], [])
        rows.append([row["input_ids"][a:b] for a, b in zip(row["seq_start_id"], ends, strict=True)])
        mask = [row["loss_mask"][a:b] for a, b in zip(row["seq_start_id"], ends, strict=True)]
        assert mask == [[1] * (len(part) - 1) + [0] for part in rows[-1]]
    return rows


@pytest.fixture(params=["idx", "bin", "prefix", "parquet", "large", "folder", "two-idx"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    sequences = [[document] for document in DOCUMENTS]
    if request.param in ("idx", "bin", "prefix"):
        index = write_megatron(tmp_path / "corpus", sequences, code=4)
        return (
            index
            if request.param == "idx"
            else index.with_suffix(".bin" if request.param == "bin" else "")
        )
    if request.param in ("parquet", "large"):
        kind = pa.large_list(pa.uint32()) if request.param == "large" else None
        return write_parquet(tmp_path / "corpus.parquet", DOCUMENTS, kind)
    folder = tmp_path / "corpus"
    folder.mkdir()
    if request.param == "folder":
        write_parquet(folder / "a.parquet", DOCUMENTS[:2])
        write_parquet(folder / "b.parquet", DOCUMENTS[2:])
    else:
        write_megatron(folder / "a", sequences[:4])
        write_megatron(folder / "b", sequences[4:])
    return folder


def test_tokens_are_those_of_the_documents(source: Path, tmp_path: Path) -> None:
    tokens = open_tokens(source)
    assert tokens.lengths.tolist() == [len(document) for document in DOCUMENTS]
    if source.suffix or source.is_dir():
        assert read_lengths(source).tolist() == tokens.lengths.tolist()
    packed = jeton.pack(tokens.lengths, capacity=5, overflow="split")
    out = tmp_path / "packed.parquet"
    told: list[Progress] = []
    write_packed_parquet(packed, out, tokens=tokens, on_progress=told.append)
    assert told[-1] == Progress("write", 13, 13, "tokens")
    expected = [[31, 32, 33, 34, 35], [11, 12, 13], [36, 37], [41, 42], [21]]
    rows = read_rows(out)
    assert sorted(part for row in rows for part in row) == sorted(expected)
    assert len(rows) == len(packed) == 3
    assert all(sum(map(len, row)) <= 5 for row in rows)


def test_sequences_of_one_document_belong_together(tmp_path: Path) -> None:
    index = write_megatron(tmp_path / "c", [[[1, 2], [3]], [], [[4], [], [5, 6, 7]]])
    assert read_lengths(index).tolist() == [3, 0, 4]
    tokens = open_tokens(index)
    assert tokens.take(*map(np.array, ([2], [1], [3]))).tolist() == [5, 6, 7]


def test_the_command_writes_packed_tokens(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "packed.parquet"
    words = ["pack", str(source), "--capacity", "8", "--emit", "tokens", "-o", str(out)]
    if not source.suffix and not source.is_dir():
        return
    result = CliRunner().invoke(app, [*words, "--seed", "5"])
    assert result.exit_code == 0, result.output
    assert sorted(part for row in read_rows(out) for part in row) == sorted(filter(None, DOCUMENTS))
    before = out.read_bytes()
    assert CliRunner().invoke(app, [*words, "--seed", "5"]).exit_code == 0
    assert out.read_bytes() == before


def test_segments_are_filled_up_to_a_multiple(tmp_path: Path) -> None:
    tokens = TokenSource.from_documents([[5, 6, 7], [8]])
    packed = jeton.pack(tokens.lengths, capacity=8, multiple=4)
    write_packed_parquet(packed, tmp_path / "p.parquet", tokens=tokens, pad_id=99)
    (row,) = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert row == {
        "input_ids": [5, 6, 7, 99, 8, 99, 99, 99],
        "loss_mask": [1, 1, 0, 0, 0, 0, 0, 0],
        "seq_start_id": [0, 4],
    }


def test_many_bins_make_many_groups(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    documents = [list(range(n)) for n in generator.integers(0, 9, 4000).tolist()]
    tokens = TokenSource.from_documents(documents)
    packed = jeton.pack(tokens.lengths, capacity=10)
    write_packed_parquet(packed, tmp_path / "p.parquet", tokens=tokens)
    rows = read_rows(tmp_path / "p.parquet")
    found = sorted(len(part) for row in rows for part in row)
    assert found == sorted(len(document) for document in documents if document)


def test_damaged_sources_are_refused(tmp_path: Path) -> None:
    index = write_megatron(tmp_path / "c", [[[1, 2, 3]], [[4]]])
    whole = index.read_bytes()
    data = index.with_suffix(".bin")
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(FormatError, match="cut off"):
        open_tokens(index)
    for cut in (5, 20, len(whole) - 1):
        index.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match="hint"):
            read_lengths(index)
    index.write_bytes(whole[:17] + b"\x06" + whole[18:])
    with pytest.raises(FormatError, match="float64, which no ids are"):
        read_lengths(index)
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"input_ids": pa.array([[1], None])}), path)
    with pytest.raises(jeton.CorpusError, match="null"):
        open_tokens(path)
    pq.write_table(pa.table({"text": ["a"]}), path)
    with pytest.raises(UsageError, match="no column 'input_ids'"):
        open_tokens(path)
    path.write_bytes(b"PAR1 not at all")
    with pytest.raises(FormatError):
        open_tokens(path)


def test_nothing_is_left_of_an_output_that_fails(tmp_path: Path) -> None:
    tokens = TokenSource.from_documents([[2**31]])
    packed = jeton.pack([1], capacity=8)
    with pytest.raises(UsageError, match="outside 0 to"):
        write_packed_parquet(packed, tmp_path / "p.parquet", tokens=tokens)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="of 2 tokens"):
        write_packed_parquet(jeton.pack([2], capacity=8), tmp_path / "p.parquet", tokens=tokens)


def test_an_interrupt_leaves_the_old_output_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_parquet(tmp_path / "a.parquet", [[1, 2], [3], [4, 5, 6]])
    target = tmp_path / "p.parquet"
    target.write_bytes(b"an older pack")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TokenSource, "take", stop)
    words = ["pack", str(source), "--capacity", "3", "--emit", "tokens", "-o", str(target)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 130
    assert "interrupted" in done.output
    assert target.read_bytes() == b"an older pack"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "p.parquet"]


def test_labels_of_the_data_set_are_carried_on(tmp_path: Path) -> None:
    """Prompts are not learned: a label of -100 gives the token before it a mask of 0."""
    ids = [[11, 12, 13, 14], [21, 22], [31, 32, 33]]
    labels = [[-100, -100, 13, 14], [-100, -100], [31, 32, 33]]
    table = pa.table({"input_ids": ids, "labels": labels})
    pq.write_table(table, tmp_path / "a.parquet")
    tokens = open_tokens(tmp_path / "a.parquet")
    packed = jeton.pack(tokens.lengths, capacity=9, method="first-fit")
    write_packed_parquet(packed, tmp_path / "p.parquet", tokens=tokens)
    (row,) = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert row["input_ids"] == [11, 12, 13, 14, 21, 22, 31, 32, 33]
    assert row["loss_mask"] == [0, 1, 1, 0, 0, 0, 1, 1, 0]
    made = packed_row(packed, 0, tokens=tokens)
    assert made.labels.tolist() == [-100, -100, 13, 14, -100, -100, -100, 32, 33]
    batches = jeton.pack(tokens.lengths, capacity=4, method="buckets")
    rows = [padded_batch(batches, i, tokens=tokens).labels.tolist() for i in range(len(batches))]
    flat = sorted([label for label in row if label >= 0] for batch in rows for row in batch)
    assert flat == [[], [13, 14], [32, 33]]
    # A column of ids that is named has no labels.
    named = open_tokens(tmp_path / "a.parquet", field="input_ids")
    assert named.is_learned is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[1, 2, 3]], "not as many labels as ids"),
        ([None], "null"),
        ([[2, -100]], "neither its id nor -100"),
    ],
)
def test_labels_that_do_not_fit_are_refused(
    tmp_path: Path, labels: list[Any], message: str
) -> None:
    kind = pa.list_(pa.int64())
    table = pa.table({"input_ids": [[1, 2]], "labels": pa.array(labels, kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(jeton.CorpusError, match=message):
        open_tokens(tmp_path / "a.parquet")
