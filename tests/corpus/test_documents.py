"""Documents of files and of Python objects as one stream."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton import _core
from jeton.corpus import (
    DocumentStream,
    InputFile,
    expand_inputs,
    open_documents,
    require_text,
)
from jeton.errors import (
    EmptyCorpusError,
    InvalidTextError,
    LimitError,
    RecordError,
    UsageError,
)
from jeton.progress import Progress


def texts_of(stream: DocumentStream) -> list[str]:
    return [batch[i] for _, batch in stream for i in range(len(batch))]


def write_jsonl(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def test_files_of_all_kinds_come_in_the_order_given(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "z.jsonl", ["one", "", "zwei"])
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfwhole\nfile\n")
    (tmp_path / "m.txt.gz").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "n.jsonl.zst").write_bytes(_core.compress_zstd(b'{"text": "squeezed"}'))
    inputs = [tmp_path / name for name in ("z.jsonl", "a.txt", "m.txt.gz", "n.jsonl.zst")]
    stream = open_documents(inputs)
    pairs = [(Path(file.path).name, list(map(str, batch))) for file, batch in stream]
    assert pairs == [
        ("z.jsonl", ["one", "", "zwei"]),
        ("a.txt", ["whole\nfile\n"]),
        ("m.txt.gz", ["packed"]),
        ("n.jsonl.zst", ["squeezed"]),
    ]
    assert (stream.n_documents, stream.n_bytes) == (6, 3 + 4 + 11 + 6 + 8)


def test_options_reach_the_reader(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ntwo\n")
    assert texts_of(open_documents(tmp_path / "a.txt", documents="line")) == ["one", "two"]
    (tmp_path / "b").write_text('{"message": {"content": "deep"}}\n')
    assert texts_of(open_documents([tmp_path / "b"], field="message.content", format="jsonl")) == [
        "deep"
    ]
    batches = list(open_documents(tmp_path / "a.txt", documents="line", batch_bytes=1))
    assert [len(batch) for _, batch in batches] == [1, 1]


def test_bad_text_is_replaced_and_counted_or_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\xffb")
    [(_, batch)] = open_documents(tmp_path / "a.txt")
    assert (batch[0], batch.n_replaced_documents, batch.n_replacements) == ("a\ufffdb", 1, 1)
    with pytest.raises(InvalidTextError) as caught:
        list(open_documents(tmp_path / "a.txt", strict=True))
    assert caught.value.byte_offset == 1
    assert str(tmp_path / "a.txt") in str(caught.value)


def test_a_bad_record_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "fine"}\n\n{"text": \n')
    with pytest.raises(RecordError, match="line 3: not valid JSON") as caught:
        list(open_documents(path))
    assert (caught.value.path, caught.value.line) == (str(path), 3)


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.txt.zst").write_bytes(_core.compress_zstd(b"\n" * 10_000, level=1))
    with pytest.raises(LimitError) as caught:
        list(open_documents(tmp_path / "bomb.txt.zst", max_decompressed_bytes=9_999))
    assert caught.value.limit == 9_999


def test_large_documents_are_cut_and_counted(tmp_path: Path) -> None:
    line = b"x" * 1023 + b"\n"
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(line * (64 * 1024 + 1))  # one line above 64 MiB
    stream = open_documents(tmp_path)
    sizes = [batch.n_bytes for _, batch in stream]
    assert sizes == [64 << 20, 1024] * 2
    assert (stream.n_cut_documents, stream.n_documents) == (2, 4)


def test_progress_is_of_stored_bytes_and_ends_at_the_total(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", ["text"] * 1000)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"words " * 1000))
    seen: list[Progress] = []
    stream = open_documents(tmp_path, batch_bytes=1000, on_progress=seen.append)
    assert sum(len(batch) for _, batch in stream) == 1001
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert {progress.total for progress in seen} == {total}
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert seen[-1] == Progress("read", total, total, "bytes", n_documents=1001)
    assert stream.progress == seen[-1]


def test_skipped_files_are_told_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.bin").write_bytes(b"\0\0")
    stream = open_documents(tmp_path)
    assert texts_of(stream) == ["text"]
    assert [Path(file.path).name for file in stream.skipped] == ["b.bin"]
    assert stream.progress.total == 4


def test_expanded_inputs_can_be_given_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    files = expand_inputs([tmp_path])
    assert texts_of(open_documents(files)) == ["text"]
    assert texts_of(open_documents([*files, InputFile(files[0].path, "text")])) == ["text"] * 2


def test_a_missing_file_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="hint: "):
        open_documents([tmp_path / "missing.txt"])


def test_a_file_that_vanishes_is_the_systems_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    stream = open_documents(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        next(stream)


def test_iterables_are_texts_and_are_read_lazily() -> None:
    taken: list[int] = []

    def texts() -> Iterator[str | bytes]:
        for i in range(10):
            taken.append(i)
            yield "é" * 10 if i % 2 else b"\xff"

    stream = open_documents(texts(), batch_bytes=20)
    file, batch = next(stream)
    assert (file.path, file.format, list(map(str, batch))) == (
        "<texts>",
        "memory",
        ["\ufffd", "é" * 10, "\ufffd", "é" * 10],
    )
    assert taken == [0, 1, 2, 3]
    assert sum(len(batch) for _, batch in stream) == 6
    assert stream.progress == Progress("read", 0, None, "bytes", n_documents=10)


def test_what_counts_as_texts() -> None:
    assert texts_of(open_documents(iter(["a", "b"]))) == ["a", "b"]
    assert texts_of(open_documents([b"a", b"b"])) == ["a", "b"]
    assert texts_of(open_documents(_core.TextBatch.from_texts(["a", ""]))) == ["a", ""]
    assert texts_of(open_documents(_core.TextBatch.from_texts([]))) == []
    assert texts_of(open_documents(iter([]))) == [] == texts_of(open_documents([]))
    arrow = importlib.import_module("pyarrow")
    assert texts_of(open_documents(arrow.array(["a", "é"]))) == ["a", "é"]


def test_empty_texts_do_not_gather_forever() -> None:
    stream = open_documents(iter([""] * 70_000))
    assert [len(batch) for _, batch in stream] == [65_536, 70_000 - 65_536]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (b"one text", "inputs is one bytes object"),
        (["path", 3], "of type int beside paths"),
        (7, "inputs is of type int"),
        (iter(["fine", None]), "document 1 is of type NoneType"),
    ],
)
def test_what_cannot_be_meant_is_refused(inputs: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(open_documents(inputs))


def test_bad_options_are_refused() -> None:
    with pytest.raises(UsageError, match="batch_bytes is 0"):
        open_documents(iter(["a"]), batch_bytes=0)
    with pytest.raises(UsageError, match="field has no name"):
        open_documents(iter(["a"]), field="")
    with pytest.raises(UsageError, match="standard input"):
        open_documents("-", format="parquet")


def test_require_text() -> None:
    require_text(n_documents=1, n_bytes=1)
    with pytest.raises(EmptyCorpusError, match="no document"):
        require_text(n_documents=0, n_bytes=0)
    with pytest.raises(EmptyCorpusError, match="2 documents, all empty"):
        require_text(n_documents=2, n_bytes=0)
    skipped = [InputFile("x.bin", "text", 9, "binary")]
    with pytest.raises(
        EmptyCorpusError, match=r"1 files were skipped, the first is 'x\.bin': binary"
    ):
        require_text(n_documents=0, n_bytes=0, skipped=skipped)
    with pytest.raises(EmptyCorpusError, match="the text of 5 records is null"):
        require_text(n_documents=0, n_bytes=0, n_null_documents=5)


def test_a_stream_knows_whether_it_had_text(tmp_path: Path) -> None:
    with_text = open_documents(iter(["", "a"]))
    assert [len(batch) for _, batch in with_text] == [2]
    with_text.require_text()
    empty = open_documents(iter(["", ""]))
    list(empty)
    with pytest.raises(EmptyCorpusError, match="2 documents, all empty"):
        empty.require_text()
    (tmp_path / "x.bin").write_bytes(b"\0\0")
    skipping = open_documents(tmp_path)
    list(skipping)
    with pytest.raises(EmptyCorpusError, match=r"1 files were skipped, the first is '.*x\.bin'"):
        skipping.require_text()


def run_python(code: str, **options: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,
    )


def test_standard_input_compressed_or_not() -> None:
    code = (
        "from jeton.corpus import open_documents\n"
        "stream = open_documents('-', format='jsonl')\n"
        "print([str(t) for _, b in stream for t in b], stream.progress)"
    )
    for store in (bytes, _core.compress_zstd, gzip.compress):
        output, error = run_python(code).communicate(store(b'{"text": "a"}\n'), timeout=60)
        assert output.startswith(b"['a'] Progress("), error.decode()
        assert b"total=None" in output


def test_ctrl_c_ends_the_wait_for_standard_input() -> None:
    code = (
        "from jeton.corpus import open_documents\n"
        "stream = open_documents('-')\n"
        "print('ready', flush=True)\n"
        "try:\n    next(stream)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    process = run_python(code)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    # The signal may come before the read starts to wait; then the next one meets it waiting.
    stop = threading.Event()

    def knock() -> None:
        while not stop.wait(0.3) and process.poll() is None:
            process.send_signal(signal.SIGINT)
            if stop.wait(5):
                return

    thread = threading.Thread(target=knock)
    thread.start()
    try:
        process.wait(timeout=30)
    finally:
        stop.set()
        thread.join()
        process.kill()
        output, _ = process.communicate()
    assert output == b"interrupted\n"


json_texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), max_size=12)


@settings(deadline=None, max_examples=60)
@given(
    texts=json_texts,
    ascii_only=st.booleans(),
    packing=st.sampled_from(["", ".gz", ".zst"]),
    batch_bytes=st.integers(1, 500),
)
def test_any_texts_come_back_from_jsonl(
    texts: list[str],
    ascii_only: bool,
    packing: str,
    batch_bytes: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    buffer = io.StringIO()
    for text in texts:
        json.dump({"id": 1, "text": text, "more": [text]}, buffer, ensure_ascii=ascii_only)
        buffer.write("\n")
    data = buffer.getvalue().encode()
    if packing == ".gz":
        data = gzip.compress(data)
    elif packing:
        data = _core.compress_zstd(data, level=1)
    path = tmp_path_factory.mktemp("texts") / f"texts.jsonl{packing}"
    path.write_bytes(data)
    assert texts_of(open_documents(path, batch_bytes=batch_bytes)) == texts
    assert texts_of(open_documents(iter(texts), batch_bytes=batch_bytes)) == texts


@pytest.mark.parametrize("bad_line", [None, 700])
def test_reading_ahead_changes_nothing(tmp_path: Path, bad_line: int | None) -> None:
    lines = [json.dumps({"text": f"{i} " * (i % 90)}) for i in range(1_000)]
    if bad_line is not None:
        lines[bad_line] = "{"
    path = tmp_path / "large.jsonl"
    path.write_text("\n".join(lines))

    def seen(*, read_ahead: bool) -> tuple[list[tuple[list[str], int, int]], str]:
        stream = open_documents(path, batch_bytes=5_000, read_ahead=read_ahead)
        batches = []
        try:
            for _, batch in stream:
                batches.append((list(batch), stream.n_documents, stream.progress.done))
        except RecordError as error:
            return batches, str(error)
        return batches, ""

    assert seen(read_ahead=True) == seen(read_ahead=False)
    assert len(seen(read_ahead=True)[0]) > 10
    assert bool(seen(read_ahead=True)[1]) == (bad_line is not None)


def test_a_stream_that_reads_ahead_can_be_left(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "large.jsonl", ["x" * 100] * 2_000)
    before = threading.active_count()
    stream = open_documents(path, batch_bytes=1_000, read_ahead=True)
    next(stream)
    assert threading.active_count() == before + 1
    stream.close()
    assert threading.active_count() == before
