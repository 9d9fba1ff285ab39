"""Documents of Parquet files."""

from __future__ import annotations

import gzip
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from jeton.corpus import open_documents
from jeton.errors import LimitError, MissingExtraError, RecordError
from jeton.progress import Progress

pa = importlib.import_module("pyarrow")
pq = importlib.import_module("pyarrow.parquet")

TEXTS = ["one", None, "", "zwei é", "👩"]
READ = ["one", "", "zwei é", "👩"]


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def texts_of(path: Path, **options: Any) -> tuple[list[str], int]:
    stream = open_documents(path, **options)
    texts = [str(text) for _, batch in stream for text in batch]
    return texts, stream.n_null_documents


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary"])
def test_texts_come_back_and_nulls_are_counted(tmp_path: Path, kind: str) -> None:
    values = TEXTS if "string" in kind else [t if t is None else t.encode() for t in TEXTS]
    column = pa.array(values, type=getattr(pa, kind)())
    path = write(tmp_path / "a.parquet", {"id": range(5), "text": column})
    assert texts_of(path) == (READ, 1)
    assert texts_of(path, batch_bytes=1) == (READ, 1)


def test_dictionaries_and_string_views(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pq", {"text": pa.array(TEXTS).dictionary_encode()})
    assert texts_of(path) == (READ, 1)
    # Parquet itself has no views: the stored Arrow schema asks for them.
    path = write(tmp_path / "b.pq", {"text": pa.array(TEXTS, type=pa.string_view())})
    assert texts_of(path) == (READ, 1)


def test_dots_descend_and_a_null_on_the_way_is_a_null(tmp_path: Path) -> None:
    messages = [{"content": {"body": "deep"}}, None, {"content": None}, {"content": {"body": "x"}}]
    path = write(tmp_path / "a.parquet", {"message": messages, "id": [1, 2, 3, 4]})
    assert texts_of(path, field="message.content.body") == (["deep", "x"], 2)


def test_a_column_with_a_dot_in_its_name_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"a.b": ["flat"], "a": [{"b": "deep"}]})
    assert texts_of(path, field="a.b") == (["flat"], 0)


def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path: Path) -> None:
    column = pa.array([b"a\xff", b"fine"], type=pa.binary())
    [(_, batch)] = open_documents(write(tmp_path / "a.parquet", {"text": column}))
    assert (batch[0], batch.n_replacements, batch.n_replaced_documents) == ("a\ufffd", 1, 1)


def test_progress_follows_the_rows_and_ends_at_the_total(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["words"] * 20_000}, row_group_size=100)
    seen: list[Progress] = []
    stream = open_documents(path, batch_bytes=500, on_progress=seen.append)
    assert len([batch for _, batch in stream]) >= 10
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert 0 < done[0] < done[-1] == path.stat().st_size
    assert seen[-1].n_documents == 20_000


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("body", "no column 'body'; the columns there are 'text', 'n', 'list', 'm'"),
        ("m.none", "no column 'm.none'; the columns there in 'm' are 'a', 'b'"),
        ("text.inner", "row 1: no string in 'text.inner'"),
        ("n", "the column 'n' is of type int64; expected strings"),
        ("list", "the column 'list' is of type list"),
        ("m", "expected strings; its fields are 'a', 'b'"),
    ],
)
def test_a_wrong_column_names_those_there_are(tmp_path: Path, field: str, message: str) -> None:
    columns = {"text": ["a"], "n": [1], "list": [["a"]], "m": [{"a": "x", "b": 1}]}
    path = write(tmp_path / "a.parquet", columns)
    with pytest.raises(RecordError) as caught:
        list(open_documents(path, field=field))
    assert message in str(caught.value)
    assert caught.value.path == str(path)


def test_damaged_files_are_refused_with_their_path(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.parquet", {"text": ["words"] * 1000}).read_bytes()
    damaged = tmp_path / "b.parquet"
    middle = bytearray(whole)
    middle[4:40] = b"\xff" * 36
    for data in (whole[:-20], whole[: len(whole) // 2], b"no parquet", b"", b"PAR1", bytes(middle)):
        damaged.write_bytes(data)
        with pytest.raises(RecordError, match="Parquet file") as caught:
            list(open_documents(damaged))
        assert caught.value.path == str(damaged)
        assert str(caught.value).count("\n") == str(caught.value).count("\nhint: ") == 1


def test_a_compressed_file_is_read_within_the_limit(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.parquet", {"text": ["words"]}).read_bytes()
    path = tmp_path / "a.parquet.gz"
    path.write_bytes(gzip.compress(whole))
    assert texts_of(path) == (["words"], 0)
    with pytest.raises(LimitError):
        texts_of(path, max_decompressed_bytes=len(whole) - 1)


def test_a_long_text_that_repeats_does_not_fill_memory(tmp_path: Path) -> None:
    # Stored once, in a dictionary: the file states a few bytes a row.
    path = write(tmp_path / "a.parquet", {"text": ["x" * 10_000] * 5_000})
    sizes = [batch.n_bytes for _, batch in open_documents(path, batch_bytes=1 << 20)]
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= (1 << 20) + 1_024 * 10_000


def test_small_reads_are_joined(tmp_path: Path) -> None:
    texts = [None if i % 7 == 0 else f"text {i}" for i in range(5_000)]
    path = write(tmp_path / "a.parquet", {"text": texts}, row_group_size=100)
    stream = open_documents(path)
    [(_, batch)] = stream
    assert list(map(str, batch)) == [text for text in texts if text is not None]
    assert stream.n_null_documents == texts.count(None)


def test_no_rows_are_no_documents(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"text": pa.array([], type=pa.string())})
    assert texts_of(path) == ([], 0)


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jeton\[parquet\]'"):
        list(open_documents(path))
