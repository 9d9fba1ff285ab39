"""Documents are divided as they come: memory does not follow the size of the inputs."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import jeton
from jeton._core import compress_zstd
from jeton.chunking import documents
from jeton.cli.app import app
from jeton.corpus import open_documents

TEXT = "The ferry left at noon. Nobody saw it again, and nobody asked. " * 8


def records(n: int) -> bytes:
    return b"".join(json.dumps({"text": f"{i}. {TEXT}"}).encode() + b"\n" for i in range(n))


def write_parquet(path: Path, n: int) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"text": [f"{i}. {TEXT}" for i in range(n)]})
    pq.write_table(table, path, row_group_size=20)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst", "a.jsonl.gz", "a.parquet", "a.json"])
def test_the_first_document_comes_before_the_last_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    small = partial(open_documents, batch_bytes=4_000)
    monkeypatch.setattr(documents, "open_documents", small)
    path = tmp_path / name
    if name.endswith(".parquet"):
        write_parquet(path, 200)
    elif name.endswith(".json"):
        path.write_text(json.dumps([json.loads(line) for line in records(200).splitlines()]))
    else:
        data = records(200)
        if name.endswith(".zst"):
            data = compress_zstd(data)
        elif name.endswith(".gz"):
            data = gzip.compress(data)
        path.write_bytes(data)
    found = jeton.chunk(path, tokenizer="jeton-general-32k", max_tokens=60)
    first = next(found)
    assert first.document == 0
    assert found.stream.n_documents < 50
    rest = list(found)
    assert [document.document for document in rest] == list(range(1, 200))
    assert found.stream.n_documents == 200


def test_texts_of_an_iterator_are_asked_for_as_they_are_needed() -> None:
    n_asked = 0

    def texts() -> Iterator[str]:
        nonlocal n_asked
        for _ in range(60):
            n_asked += 1
            yield TEXT * 1000

    found = jeton.chunk(texts(), tokenizer="jeton-general-32k", max_tokens=600_000, by="tokens")
    next(found)
    assert n_asked < 30


def test_a_text_longer_than_batches_is_one_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jeton.corpus.documents.MAX_DOCUMENT_BYTES", 1000)
    path = tmp_path / "a.txt"
    path.write_text(TEXT * 20 + "\n" + TEXT * 20, encoding="utf-8")
    (found,) = jeton.chunk(path, tokenizer="jeton-general-32k", max_tokens=100)
    assert "".join(chunk.text for chunk in found.chunking.chunks) == path.read_text()


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n{"text": null}\n{"text": 3}\n{"text": "a\xffb"}\n')
    (tmp_path / "in" / "b.bin").write_bytes(bytes(200))
    words = ["chunk", str(tmp_path / "in"), "-t", "jeton-general-32k", "--max-tokens", "9"]
    result = CliRunner().invoke(app, [*words, "--on-bad-record", "skip"])
    assert result.exit_code == 0, result.output
    assert "left out: 1 record whose text is null" in result.stderr
    assert "left out: 1 record that cannot be used, the first: " in result.stderr
    assert "1 stretches of bytes" in result.stderr
    assert "1 file skipped" in result.stderr
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.conformance
@pytest.mark.timeout(600)
def test_peak_memory_is_flat(tmp_path: Path) -> None:
    """300 MB take as much memory as 120 MB."""
    peaks: list[int] = []
    for name, n in (("small.jsonl", 4), ("large.jsonl", 10)):
        path = tmp_path / name
        with path.open("wb") as stream:
            for _ in range(n):
                stream.write(records(57_000))
        program = [sys.executable, "-m", "jeton", "chunk", str(path), "-t", "jeton-general-32k"]
        program += ["--max-tokens", "256", "-o", str(tmp_path / "out.jsonl")]
        code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        done = subprocess.run(
            [sys.executable, "-c", code, *program], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < peaks[0] * 1.1, peaks
