"""Lines, rows and ids of documents, by which a gate finds them again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import open_documents

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

PIECES = st.sampled_from(["a", "b\r\n", "\n", "\r", "\u00e9", " ", "\n\n", "x\ny", "\ufeff"])


@given(st.lists(PIECES, min_size=1, max_size=30))
def test_lines_with_their_numbers_are_the_lines_of_the_core(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "prompts.txt"
    text = "".join(pieces)
    path.write_bytes(text.encode())
    plain = [document for _, batch in open_documents(path, documents="line") for document in batch]
    documents: list[str] = []
    lines: list[int] = []
    stream = open_documents(path, documents="line", with_places=True)
    for _, batch in stream:
        documents += batch
        assert stream.batch_places is not None
        lines += stream.batch_places.lines
    assert documents == plain
    stored = text.removeprefix("\ufeff").split("\n")
    for document, line in zip(documents, lines, strict=True):
        assert document in (stored[line - 1], stored[line - 1].removesuffix("\r"))


def test_rows_of_parquet_have_numbers_and_ids(tmp_path: Path) -> None:
    rows = [
        {"note": "x", "custom_id": f"order-{i}", "text": None if i == 3 else f"Order {i} is late."}
        for i in range(10)
    ]
    path = tmp_path / "orders.parquet"
    pa.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=4)
    stream = open_documents(path, with_places=True, batch_bytes=40)
    found = []
    for _, batch in stream:
        assert stream.batch_places is not None
        found += list(zip(batch, stream.batch_places.lines, stream.batch_places.ids, strict=True))
    assert found == [(f"Order {i} is late.", i + 1, f"order-{i}") for i in range(10) if i != 3]


def test_places_are_read_only_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "orders.parquet"
    pa.parquet.write_table(pa.Table.from_pylist([{"id": "1", "text": "late"}]), path)
    stream = open_documents(path)
    assert [list(batch) for _, batch in stream] == [["late"]]
    assert stream.batch_places is None
