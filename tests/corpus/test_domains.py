"""Domains of plain documents: by a field of their records, by file, by folder."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import InputFile, open_documents
from jeton.corpus.inputs import domain_of_file
from jeton.errors import InvalidTextError, RecordError, UsageError

RECORDS: list[dict[str, Any]] = [
    {"text": "one", "meta": {"lang": "en"}},
    {"text": "zwei", "meta": {"lang": "de"}},
    {"text": "", "meta": {"lang": "en"}},
    {"text": "quatre", "meta": {}},
    {"text": "fünf", "meta": {"lang": "de"}},
]
EXPECTED = [("one", "en"), ("zwei", "de"), ("", "en"), ("quatre", None), ("fünf", "de")]


def pairs_of(inputs: Any, **options: Any) -> list[tuple[str, str | None]]:
    stream = open_documents(inputs, **options)
    found: list[tuple[str, str | None]] = []
    for _, batch in stream:
        assert stream.batch_domains is not None
        assert len(stream.batch_domains) == len(batch)
        names = [stream.domains[i] if i >= 0 else None for i in stream.batch_domains]
        found += zip(batch, names, strict=True)
    assert stream.n_documents == len(found)
    assert stream.n_documents_without_domain == sum(name is None for _, name in found)
    return found


def write(folder: Path, kind: str) -> Path:
    path = folder / f"corpus.{kind}"
    if kind == "parquet":
        pa, pq = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
        rows = [*RECORDS, {"text": None, "meta": {"lang": "xx"}}]
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    else:
        path.write_text("\n\n".join(json.dumps(record) for record in RECORDS), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("batch_bytes", [1, 10**6])
def test_by_field(tmp_path: Path, kind: str, batch_bytes: int) -> None:
    path = write(tmp_path, kind)
    found = pairs_of(path, domain_field="meta.lang", batch_bytes=batch_bytes)
    assert found == EXPECTED
    # The same documents as without domains.
    assert [text for text, _ in found] == [t for _, batch in open_documents(path) for t in batch]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("field", ["language", "meta.language", "text.lang"])
def test_a_field_that_no_record_has(tmp_path: Path, kind: str, field: str) -> None:
    found = pairs_of(write(tmp_path, kind), domain_field=field)
    assert found == [(text, None) for text, _ in EXPECTED]


def test_by_file_and_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/x.txt", "a/y.v2.txt", "z.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    by_file = dict(pairs_of(tmp_path, domains_by="file"))
    assert by_file == {"a/x.txt": "x", "a/y.v2.txt": "y.v2", "z.txt": "z"}
    by_folder = dict(pairs_of(tmp_path, domains_by="folder"))
    assert by_folder == {"a/x.txt": "a", "a/y.v2.txt": "a", "z.txt": tmp_path.name}


def test_names_of_files() -> None:
    names = {
        "logs/support/2026-11.jsonl.zst": ("2026-11", "support"),
        "README": ("README", "."),
        ".env": (".env", "."),
        "-": ("-", "."),
    }
    for path, (by_file, by_folder) in names.items():
        file = InputFile(path, "text")
        assert domain_of_file(file, "file") == by_file
        assert domain_of_file(file, "folder") == by_folder


def test_text_beside_records_is_in_no_domain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("plain", encoding="utf-8")
    write(tmp_path, "jsonl")
    assert pairs_of(tmp_path, domain_field="meta.lang") == [("plain", None), *EXPECTED]
    assert pairs_of(iter(["plain"]), domain_field="meta.lang") == [("plain", None)]


def test_no_domains_without_asking(tmp_path: Path) -> None:
    stream = open_documents(write(tmp_path, "jsonl"))
    for _ in stream:
        assert stream.batch_domains is None
    assert stream.domains == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "line 3: not valid JSON"),
        ('{"meta": {"lang": "en"}}', r'line 3: no string in the field "text"; the fields there'),
        ('{"text": 5}', 'line 3: no string in the field "text"; it is of type int'),
        ("[1]", 'line 3: no string in the field "text"; the record is not an object'),
    ],
)
def test_damaged_records_are_errors_as_without_domains(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(json.dumps(RECORDS[0]) + "\n\n" + line, encoding="utf-8")
    with pytest.raises(RecordError, match=message) as caught:
        pairs_of(path, domain_field="meta.lang")
    assert caught.value.line == 3
    with pytest.raises(RecordError, match="line 3"):
        list(open_documents(path))


def test_strict_reading(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"text": "a\xff", "lang": "en"}')
    assert pairs_of(path, domain_field="lang") == [("a\ufffd", "en")]
    with pytest.raises(InvalidTextError):
        pairs_of(path, domain_field="lang", strict=True)


def test_a_field_and_a_file_contradict(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contradict"):
        open_documents(tmp_path, domain_field="a", domains_by="file")


@given(
    records=st.lists(
        st.tuples(st.text(max_size=20), st.sampled_from(["a", "b", None, "c"])),
        min_size=1,
        max_size=30,
    ),
    batch_bytes=st.integers(1, 60),
)
def test_any_records(
    records: list[tuple[str, str | None]],
    batch_bytes: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("corpus") / "c.jsonl"
    lines = (json.dumps({"text": text, "domain": name}) for text, name in records)
    path.write_text("\n".join(lines), encoding="utf-8")
    assert pairs_of(path, domain_field="domain", batch_bytes=batch_bytes) == records
