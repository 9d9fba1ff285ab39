"""A log that other processes read beside this one: the same result for any number of them."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import RequestStream, open_requests
from jeton.corpus.json_records import json_lines
from jeton.corpus.requests import chunks, pool
from jeton.corpus.requests.chunks import ChunkReader, LineChunk, line_chunks, records_of_chunk
from jeton.corpus.requests.fields import FieldNames
from jeton.corpus.requests.reading import ReadOptions
from jeton.errors import LimitError, UsageError

Note = tuple[str, int, str]


def chat(number: int, **more: Any) -> dict[str, Any]:
    return {
        "request": {"model": "gpt-4o", "messages": [{"role": "user", "content": f"No. {number}"}]},
        "response": {
            "id": f"chatcmpl-{number}",
            "model": "gpt-4o-2024-08-06",
            "created": 1_767_225_600 + number,
            "choices": [{"message": {"role": "assistant", "content": "Fine."}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        },
        **more,
    }


def message(number: int) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": 40}
    return {
        "model": "claude-sonnet-4-5",
        "messages": [{"role": "user", "content": [{"type": "text", "text": f"Öl {number}"}]}],
        "response": {"type": "message", "id": f"msg_{number}", "content": [], "usage": usage},
    }


def span(number: int, *, parent: str = "") -> dict[str, Any]:
    return {
        "traceId": f"t{number // 3}",
        "spanId": f"s{number}",
        "parentSpanId": parent,
        "attributes": {
            "gen_ai.operation.name": "invoke_agent" if not parent else "chat",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.usage.output_tokens": 2,
        },
    }


def piece(number: int, text: str | None) -> dict[str, Any]:
    delta = {"content": text} if text is not None else {}
    usage = None if text is not None else {"prompt_tokens": 4, "completion_tokens": 2}
    return {
        "id": f"stream-{number}",
        "object": "chat.completion.chunk",
        "model": "gpt-4o",
        "choices": [{"delta": delta, "index": 0}] if text is not None else [],
        "usage": usage,
    }


def lines_of_all_kinds() -> list[bytes]:
    records: list[Any] = []
    for number in range(0, 90, 3):
        records += [chat(number), message(number + 1), chat(number + 2, team="a")]
        records += [span(number), span(number + 1, parent=f"s{number}")]
    records += [chat(3), message(4), span(4, parent="s3")]  # again
    records += [piece(1, "Hel"), piece(1, "lo"), piece(1, None), [chat(100), chat(101)]]
    records += [{"nothing": 1}, [], 7, None, {"data": [chat(102), {"x": 1}, chat(103)]}]
    records += [{"prompt": "x" * 3000, "usage": {"input_tokens": 1, "odd_tokens": 3}}]
    records += [{"prompt": "lone \ud800", "timestamp": "never", "usage": {"input_tokens": -1}}]
    lines = [json.dumps(record).encode() for record in records]
    lines[5:5] = [b"", b"   ", b"{", b"data: [DONE]", b'data: {"prompt": "event"}', b"event: ping"]
    lines += [b'{"prompt": "not \xff unicode"}', b"  " + lines[0] + b"  ", lines[0] + b"junk"]
    return lines


def everything(stream: RequestStream) -> list[Any]:
    """Returns the output and counts of a stream, as values that compare."""
    found: list[Any] = []

    def add(columns: Any) -> None:
        for field in dataclasses.fields(columns):
            value = getattr(columns, field.name)
            parts = value if isinstance(value, dict) else {field.name: value}
            found.extend((name, part.tobytes()) for name, part in parts.items())

    for batch in stream:
        found += [list(batch.texts), list(batch.responses or ()), batch.first_row]
        assert batch.places is not None
        found += [list(batch.places.lines), list(batch.places.ids), stream.n_records]
        add(batch.columns)
        for correction in batch.corrections:
            found.append(correction.row)
            if correction.columns is not None:
                add(correction.columns)
    found += [stream.models, stream.providers, stream.tariffs, stream.joined]
    return [*found, stream.summary(), stream.issues, stream.n_bytes]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 2000)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """True if each chunk was answered by a process."""
    seen: list[bool] = []

    def noted(chunk: LineChunk, answer: bytes, **options: Any) -> Any:
        seen.append(bool(answer))
        return records_of_chunk(chunk, answer, **options)

    monkeypatch.setattr("jeton.corpus.requests.pool.records_of_chunk", noted)
    return seen


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("options", [{}, {"domain_field": "team"}, {"max_record_bytes": 900}])
def test_any_number_of_processes_gives_the_same(
    tmp_path: Path, answers: list[bool], options: dict[str, Any]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines_of_all_kinds()))
    here = everything(open_requests(path, num_processes=0, batch_bytes=500, **options))
    assert not answers
    for n in (1, 2):
        there = everything(open_requests(path, num_processes=n, batch_bytes=500, **options))
        assert there == here
    assert sum(answers) > 10


@pytest.mark.usefixtures("small_chunks")
def test_several_files_and_compressed_ones(tmp_path: Path, answers: list[bool]) -> None:
    lines = lines_of_all_kinds()
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines[:60]))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[40:])))
    (tmp_path / "c.json").write_text(json.dumps([chat(200)]), encoding="utf-8")
    (tmp_path / "d.csv").write_text("prompt,model\nHello,gpt-4o\n", encoding="utf-8")
    here = everything(open_requests(tmp_path, num_processes=0))
    assert everything(open_requests(tmp_path, num_processes=1)) == here
    assert any(answers)


@pytest.mark.usefixtures("small_chunks")
def test_a_process_that_ends_costs_only_time(
    tmp_path: Path, answers: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines_of_all_kinds()))
    here = everything(open_requests(path, num_processes=0))
    ask = pool._Process.ask

    def killed(self: Any, first_line: int, data: bytes) -> bytes:
        if first_line > 30:
            os.kill(self._process.pid, signal.SIGKILL)
        return ask(self, first_line, data)

    monkeypatch.setattr(pool._Process, "ask", killed)
    assert everything(open_requests(path, num_processes=1)) == here
    assert any(answers)
    assert not all(answers)


@pytest.mark.usefixtures("small_chunks")
def test_without_an_interpreter_the_log_is_read_here(
    tmp_path: Path, answers: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines_of_all_kinds()))
    here = everything(open_requests(path, num_processes=0))
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    assert everything(open_requests(path, num_processes=2)) == here
    assert not any(answers)


@pytest.mark.usefixtures("small_chunks")
def test_the_processes_end_with_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines_of_all_kinds()))
    started: list[Any] = []
    start = pool._Process.__init__

    def noted(self: Any, options: bytes) -> None:
        start(self, options)
        started.append(self._process)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool._Process, "__init__", noted)
        stream = open_requests(path, num_processes=1, batch_bytes=1)
        next(stream)
        assert started[0].poll() is None
        stream.close()
    assert started[0].poll() is not None


@pytest.mark.usefixtures("small_chunks")
def test_what_stands_before_a_failure_is_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(lines_of_all_kinds() * 300)))
    limit = 5 << 20

    def read(n: int) -> tuple[int, str]:
        stream = open_requests(path, num_processes=n, max_decompressed_bytes=limit, batch_bytes=999)
        rows: list[int] = []
        with pytest.raises(LimitError) as error:
            rows.extend(len(batch) for batch in stream)
        return sum(rows), str(error.value)

    assert read(1) == read(0)


def test_a_small_log_is_read_here(tmp_path: Path) -> None:
    assert pool.processes_for([1000, 2000]) == 0
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines_of_all_kinds()))
    with pytest.raises(UsageError, match="num_processes is 99; it should be from 0 to 16"):
        open_requests(path, num_processes=99)
    with pytest.raises(UsageError, match="num_processes is -1"):
        open_requests(path, num_processes=-1)


# Without processes: chunks are cut and read as lines are.


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size
    yield data[at:]


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=12),
    sizes=st.lists(st.integers(0, 20), max_size=12),
    chunk_bytes=st.integers(1, 40),
    max_record_bytes=st.integers(1, 30),
)
def test_chunks_are_the_lines(
    lines: list[bytes], sizes: list[int], chunk_bytes: int, max_record_bytes: int
) -> None:
    data = b"\n".join(lines)
    expected: list[Any] = []
    taken: list[Any] = []

    def take(kind: str, line: int, detail: str) -> None:
        taken.append((kind, line, detail))

    known = list(
        json_lines(
            cut(data, sizes),
            max_record_bytes=max_record_bytes,
            report=lambda *note: expected.append(note),
        )
    )
    found: list[tuple[int, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", chunk_bytes)
        for chunk in line_chunks(
            cut(data, sizes), max_record_bytes=max_record_bytes, take_notes=lambda: ()
        ):
            assert chunk.is_long == (len(chunk.data) > chunk_bytes)
            assert not chunk.is_long or chunk.data.rstrip(b"\n").count(b"\n") == 0
            taken += chunk.notes
            records, _ = records_of_chunk(
                chunk, b"", max_record_bytes=max_record_bytes, report=take
            )
            found += records
    assert (found, taken) == (known, expected)


def test_a_line_or_a_chunk_that_says_too_much_is_left_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "MAX_EVENTS", 20)
    reader = ChunkReader(ReadOptions(FieldNames()), max_record_bytes=1 << 20)
    many = json.dumps([chat(number) for number in range(30)]).encode()
    answer = reader.read(1, many + b"\n" + json.dumps(chat(1)).encode())
    unread: list[Note] = []
    records, n_unread = records_of_chunk(
        LineChunk(1, many + b"\n" + json.dumps(chat(1)).encode(), ()),
        answer,
        max_record_bytes=1 << 20,
        report=lambda *note: unread.append(note),
    )
    found = list(records)
    assert (n_unread, [line for line, _ in found], unread) == (1, [1, 2], [])
    assert found[0][1] == json.loads(many)
    assert reader.read(1, b"3\n" * 21) == b""
