"""Logs in every container: JSON lines, arrays, pretty-printed values, CSV, Parquet; compressed."""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import RequestStream, open_requests
from jeton.corpus.json_records import json_lines, json_values, looks_like_values
from jeton.errors import LimitError, RecordError, UsageError
from jeton.progress import Progress

RECORDS: list[dict[str, Any]] = [
    {
        "prompt": f"Question {i}: é\n",
        "response": f"Answer {i}",
        "model": ("a", "b")[i % 2],
        "timestamp": 1_767_225_600 + 60 * i,
        "usage": {"input_tokens": 5 + i, "output_tokens": i},
        "route": ("search", "chat", None)[i % 3],
    }
    for i in range(7)
]


def drained(inputs: Any, **options: Any) -> tuple[list[str], RequestStream]:
    stream = open_requests(inputs, **options)
    return [text for batch in stream for text in batch.texts], stream


EXPECTED = [record["prompt"] for record in RECORDS]


def write(folder: Path, kind: str) -> Path:
    lines = "\n".join(json.dumps(record) for record in RECORDS)
    path = folder / f"log.{kind}"
    if kind == "jsonl":
        path.write_text(lines + "\n\n", encoding="utf-8")
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif kind == "log":
        path.write_text("\ufeff" + lines.replace("\n", "\r\n"), encoding="utf-8")
    elif kind == "json":
        path.write_text(json.dumps(RECORDS), encoding="utf-8")
    elif kind == "pretty.json":
        path.write_text(json.dumps(RECORDS, indent=2, ensure_ascii=False), encoding="utf-8")
    elif kind == "wrapped.json":
        wrapped = {"object": "list", "data": RECORDS, "has_more": False}
        path.write_text(json.dumps(wrapped, indent=1), encoding="utf-8")
    elif kind == "values.txt":
        values = "\n".join(json.dumps(record, indent=2) for record in RECORDS)
        path.write_text(values, encoding="utf-8")
    elif kind == "csv":
        import csv

        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            names = ("prompt", "response", "model", "timestamp", "route")
            writer.writerow([*names, "input_tokens", "output_tokens"])
            for record in RECORDS:
                writer.writerow([*(record[name] for name in names), *record["usage"].values()])
    else:
        pq = importlib.import_module("pyarrow.parquet")
        pa = importlib.import_module("pyarrow")
        rows = [{**record, "embedding": [0.5] * 8} for record in RECORDS]
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
    return path


KINDS = (
    "jsonl", "jsonl.gz", "log", "json", "pretty.json", "wrapped.json", "values.txt", "csv",
    "parquet",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_containers(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind)
    calls: list[Progress] = []
    texts, stream = drained(path, domain_field="route", on_progress=calls.append)
    assert texts == EXPECTED
    summary = stream.summary()
    assert summary.n_requests == summary.n_with_usage == summary.n_with_response == 7
    assert summary.models == ("a", "b")
    assert stream.domains == ["search", "chat"]
    assert set(stream.issues) == {"missing_domain"}
    assert stream.issues["missing_domain"].n == 2
    assert summary.output_tokens_mean == 3
    assert calls[-1].done == calls[-1].total == path.stat().st_size
    assert calls[-1].n_documents == 7


@pytest.mark.parametrize("batch_bytes", [1, 40, 10**6])
def test_batches_do_not_change_the_requests(tmp_path: Path, batch_bytes: int) -> None:
    stream = open_requests(write(tmp_path, "jsonl"), batch_bytes=batch_bytes)
    batches = list(stream)
    assert [text for batch in batches for text in batch.texts] == EXPECTED
    assert all(len(batch) for batch in batches)
    inputs = np.concatenate([batch.columns.input_tokens for batch in batches])
    assert inputs.tolist() == [record["usage"]["input_tokens"] for record in RECORDS]
    assert stream.summary().n_requests == 7


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "from jeton.corpus import open_requests\n"
        "print([t for b in open_requests('-') for t in b.texts])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        input=write(tmp_path, "jsonl").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert found.stdout.decode().strip() == repr(EXPECTED)
    with pytest.raises(UsageError, match="Parquet cannot be read from standard input"):
        open_requests("-", format="parquet")


def test_folder_and_file_domains(tmp_path: Path) -> None:
    for name in ("support/monday", "support/tuesday", "sales/monday"):
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"prompt": name}), encoding="utf-8")
    for by, names in (("folder", ["sales", "support"]), ("file", ["monday", "tuesday"])):
        stream = open_requests(tmp_path, domains_by=by)  # type: ignore[arg-type]
        found = [stream.domains[i] for batch in stream for i in batch.columns.domain]
        assert sorted(set(found)) == names
        assert len(found) == 3


def test_csv_traces_of_lengths(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:17:03.9799600,4808,10\n"
        "2023-11-16 18:17:04.0319600,3180,8\n",
        encoding="utf-8",
    )
    stream = open_requests(path)
    (batch,) = list(stream)
    assert batch.columns.input_tokens.tolist() == [4808, 3180]
    assert batch.columns.output_tokens.tolist() == [10, 8]
    assert np.diff(batch.columns.time_s) == pytest.approx(0.052)
    assert stream.issues["missing_text"].n == 2
    assert stream.summary().shapes == {"usage": 2}


def test_csv_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('prompt,model\nhello,m\n"never closed,m\n' + "x" * 5_000, encoding="utf-8")
    texts, stream = drained(path, max_record_bytes=1_000)
    assert texts == ["hello"]
    assert stream.issues["not_json"].n == 1


def test_json_that_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would push the end out of what is shown
    path = Path("log.json")
    path.write_text(json.dumps(RECORDS, indent=1)[:-20], encoding="utf-8")
    texts, stream = drained(path)
    assert texts == EXPECTED[:-1]
    assert "the rest of the file is left out" in stream.issues["not_json"].examples[0]


def test_a_value_that_is_too_long_ends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps([RECORDS[0], {"prompt": "x" * 100_000}], indent=1), encoding="utf-8")
    texts, stream = drained(path, max_record_bytes=10_000)
    # The file is shorter than a piece, so that the value was whole when it was met.
    assert len(texts) == 2
    big = json.dumps([RECORDS[0], {"prompt": "x" * (10 << 20)}], indent=1)
    path.write_text(big, encoding="utf-8")
    texts, stream = drained(path, max_record_bytes=1 << 20)
    assert texts == EXPECTED[:1]
    assert stream.issues["line_too_long"].n == 1


def test_lines_that_are_lists_of_messages(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    path.write_text("\n".join([json.dumps(chat)] * 3), encoding="utf-8")
    texts, _ = drained(path)
    assert texts == ["Hi"] * 3


def test_a_file_that_grows_beyond_its_limit_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LimitError):
        drained(write(tmp_path, "jsonl.gz"), max_decompressed_bytes=100)


def test_a_damaged_parquet_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(RecordError, match="not a readable Parquet file"):
        drained(path)


def test_text_that_is_not_unicode_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n{"prompt": "b\xff"}\n')
    texts, stream = drained(path)
    assert texts == ["a", "b\ufffd"]
    assert stream.issues["invalid_unicode"].examples[0].startswith(f"{path}, line 2: ")


# The readers of JSON against the standard library, whatever the pieces.

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), PLAIN, max_size=3), min_size=1, max_size=6)


def pieces_of(data: bytes, size: int) -> list[bytes]:
    """Cut as the core does: never inside a character."""
    text = data.decode()
    return [text[i : i + size].encode() for i in range(0, len(text), size)]


def fail(*issue: object) -> None:
    pytest.fail(f"reported {issue}")


@given(values=OBJECTS, size=st.integers(1, 40))
def test_lines_whatever_the_pieces(values: list[Any], size: int) -> None:
    data = "\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode()
    found = list(json_lines(pieces_of(data, size), max_record_bytes=10**6, report=fail))
    assert found == list(enumerate(values, start=1))


@given(
    values=OBJECTS,
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
    is_array=st.booleans(),
)
def test_values_whatever_the_pieces(
    values: list[Any], size: int, indent: int | None, is_array: bool
) -> None:
    if is_array:
        text = json.dumps(values, indent=indent, ensure_ascii=False)
    else:
        text = "\n".join(json.dumps(value, indent=indent, ensure_ascii=False) for value in values)
    pieces = pieces_of(text.encode(), size)
    found = list(json_values(pieces, max_record_bytes=10**6, report=fail))
    assert [value for _, value in found] == values
    for line, value in found:
        rest = "\n".join(text.split("\n")[line - 1 :])
        assert json.dumps(value, indent=None)[:1] in rest


def test_how_a_file_is_told() -> None:
    assert looks_like_values(b"[\n{}")
    assert looks_like_values(b'{\n "a": 1}')
    assert looks_like_values(b'[{"a": 1}]')
    assert not looks_like_values(b'{"a": 1}\n{"a": 2}')
    assert not looks_like_values(b'{"a": 1}')
    assert not looks_like_values(b'[{"a": 1}]\n[{"a": 2}]')
    assert not looks_like_values(b'{"a": broken}\n{"a": 2}')
    assert not looks_like_values(b"plain text")
    assert not looks_like_values(b"")
