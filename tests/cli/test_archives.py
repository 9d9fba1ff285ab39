"""Archives and binary files where text is expected, and control characters in messages."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from jeton._archives import archive_kind

Run = Callable[..., Result]

ROWS = b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,100,20\n"


def _tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("trace.csv")
        member.size = len(ROWS)
        archive.addfile(member, io.BytesIO(ROWS))
    return stream.getvalue()


def _zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("trace.csv", ROWS)
    return stream.getvalue()


FILES = {
    "t.tar": (_tar(), "a tar archive"),
    "t.tar.gz": (gzip.compress(_tar()), "a tar archive"),
    "t.zip": (_zip(), "a zip archive"),
    "t.bin": (b"\0\1\2\x1b[31m" * 100, "not a text file"),
}
OPTIONS = (
    ("--model", "llama-3.1-8b", "--gpu", "l4", "--trace"),
    ("--terms",),
    ("--pipeline",),
    ("--baseline",),
    ("--logs", "--bill"),
)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda words: words[-1])
@pytest.mark.parametrize("name", FILES)
def test_an_archive_is_named_and_nothing_of_it_printed(
    run: Run, name: str, options: tuple[str, ...]
) -> None:
    data, kind = FILES[name]
    Path(name).write_bytes(data)
    Path("log.jsonl").write_text('{"prompt": "a b", "response": "c"}\n', encoding="utf-8")
    Path("a.txt").write_text("a b c\n", encoding="utf-8")
    inputs = "log.jsonl" if "--logs" in options else "a.txt"
    result = run("audit", inputs, "-t", "small", *options, name)
    assert result.exit_code == 2
    assert f"{name} is {kind}" in result.stderr
    assert "hint: " in result.stderr
    assert all(c == "\n" or c.isprintable() for c in result.stderr)


@pytest.mark.parametrize("command", [("audit", "--logs"), ("audit",), ("count",)])
@pytest.mark.parametrize("name", ["t.tar", "t.tar.gz", "t.zip"])
def test_an_archive_as_input_is_refused(run: Run, name: str, command: tuple[str, ...]) -> None:
    data, kind = FILES[name]
    Path(name).write_bytes(data)
    result = run(command[0], name, *command[1:], "-t", "small")
    assert result.exit_code == 2
    assert f"{name} is {kind}" in result.stderr
    assert "; expected documents or logs" in result.stderr


def test_a_trace_without_its_columns_prints_no_control_characters(run: Run) -> None:
    Path("a.txt").write_text("a b c\n", encoding="utf-8")
    Path("t.csv").write_bytes(b"\x1b[31mred,\xe2\x80\xae,two\n1,2,3\n")
    words = ("--model", "llama-3.1-8b", "--gpu", "l4", "--trace", "t.csv")
    result = run("audit", "a.txt", "-t", "small", *words)
    assert result.exit_code == 2
    assert all(c == "\n" or c.isprintable() for c in result.stderr)


def test_a_file_name_cannot_control_the_terminal(run: Run) -> None:
    result = run("audit", "no\x1b[31m\u202ename", "-t", "small")
    assert result.exit_code == 2
    assert all(c == "\n" or c.isprintable() for c in result.stderr)


def test_text_is_no_archive() -> None:
    assert archive_kind("a.jsonl", b'{"text": "PK"}') == ""
    assert archive_kind("a.tgz", b"") == "a tar archive"
    assert archive_kind("data.parquet", b"PAR1") == "a Parquet file"
