"""Logs that grow and are hurt while they are followed, live sources, outputs, the command."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from jeton.cli.app import app
from jeton.errors import UsageError
from jeton.watch import Monitor, alert_sink
from jeton.watch.collectors import FollowedFile, OtlpReceiver, Phoenix, open_live
from jeton.watch.run import Outputs, WatchRun, requests_of
from tests.watch.streams import TOKENIZER, requests


def test_lines_that_are_left_out_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line(1) + b"not json\n[1]\n" + line(2))
    said: list[str] = []
    run = WatchRun(Monitor(tokenizer=TOKENIZER), Outputs(complain=said.append))
    run.read([str(path)])
    assert run.monitor.n_requests == 2
    assert "left out" in said[0]
    run.follow([FollowedFile(path)], for_seconds=0.01, every_seconds=0.001)
    assert "2 lines were left out" in said[1]


def test_a_process_that_never_was_is_an_error() -> None:
    found = CliRunner().invoke(app, ["watch", "--pid", "999999999"])
    assert found.exit_code == 2
    assert found.stderr.count("no process") == 1
    assert "number of the process" in found.stderr


def test_a_live_source_needs_follow() -> None:
    found = CliRunner().invoke(app, ["watch", "otlp:127.0.0.1:1", "-t", TOKENIZER])
    assert found.exit_code == 2
    assert "--follow" in found.stderr


def line(n: int) -> bytes:
    return json.dumps({"prompt": f"text {n}", "n": n}).encode() + b"\n"


def numbers(followed: FollowedFile) -> list[int]:
    return [record["n"] for record in followed.poll()]


def test_a_log_is_followed_through_half_lines_rotation_and_truncation(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    followed = FollowedFile(path)
    assert numbers(followed) == []  # not there yet
    path.write_bytes(line(1) + line(2)[:9])
    assert numbers(followed) == [1]
    with path.open("ab") as log:
        log.write(line(2)[9:] + b"not json\n[1]\n" + line(3))
    assert numbers(followed) == [2, 3]
    assert followed.n_bad_lines == 2
    with path.open("ab") as log:  # written after the last look, just before the rotation
        log.write(line(4) + line(5).rstrip(b"\n"))
    path.rename(tmp_path / "log.jsonl.1")
    assert numbers(followed) == [4]  # the name is gone: the old file stays
    path.write_bytes(line(6))
    assert numbers(followed) == [5, 6]
    assert followed.n_rotations == 1
    path.write_bytes(line(7))  # shorter or other bytes in the same file
    assert numbers(followed) == [7]
    path.write_bytes(line(8) + line(9) + line(10))
    assert numbers(followed) == [8, 9, 10]
    assert followed.n_truncations == 2
    followed.close()


def test_from_the_end_on_and_lines_that_are_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jeton.watch.collectors.MAX_LINE_BYTES", 100)
    path = tmp_path / "log.jsonl"
    path.write_bytes(line(1) + line(2)[:5])
    followed = FollowedFile(path, from_end=True)
    with path.open("ab") as log:
        log.write(line(2)[5:] + line(3))
    assert numbers(followed) == [3]  # of line 2 only a half was seen
    with path.open("ab") as log:
        log.write(b'{"n": "' + b"x" * 200)
    assert numbers(followed) == []
    with path.open("ab") as log:
        log.write(b'"}\n' + line(4))
    assert numbers(followed) == [4]
    assert followed.n_long_lines == 1
    followed.close()


@given(st.lists(st.integers(0, 40), max_size=8), st.binary(max_size=60))
def test_any_cuts_give_the_same_records(cuts: list[int], junk: bytes) -> None:
    data = line(1) + junk.replace(b"\n", b"") + b"\n" + line(2) + line(3)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.touch()
        followed, found, at = FollowedFile(path), [], 0
        for cut in [*sorted(cuts), len(data)]:
            with path.open("ab") as log:
                log.write(data[at : max(at, cut)])
            at = max(at, cut)
            found += [record.get("n") for record in followed.poll()]
        followed.close()
    assert [n for n in found if n in (1, 2, 3)] == [1, 2, 3]


def test_records_become_requests() -> None:
    records = [
        {"prompt": "Hello", "route": "chat", "source": "mail", "usage": {"prompt_tokens": 7}},
        {"name": "a span of a tool"},
        {"model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 2}, "timestamp": 5},
    ]
    found = list(requests_of(records))
    assert [(r.text, r.n_tokens, r.route, r.source) for r in found] == [
        ("Hello", 7, "chat", "mail"),
        (None, 9, "", ""),
    ]
    assert found[1].n_output == 2
    assert list(requests_of([{"name": "nothing"}])) == []


class _Receiver:
    def __init__(self, *answers: int) -> None:
        self.bodies: list[Any] = []
        statuses = list(answers)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.bodies.append(json.loads(body))
                self.send_response(statuses.pop(0) if statuses else 200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> _Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_alerts_go_to_files_and_addresses(loud: Monitor, tmp_path: Path) -> None:
    alert = loud.alerts[0]
    file = tmp_path / "alerts.jsonl"
    for _ in range(2):
        alert_sink(str(file))(alert)
    assert [json.loads(text)["signal"] for text in file.read_text().splitlines()] == [
        alert.signal
    ] * 2
    with _Receiver(500, 200) as hook:
        alert_sink(hook.address)(alert)  # the second try
    assert hook.bodies[1]["text"] == alert.line
    assert hook.bodies[1]["causes"][0]["cause"] == "preprocessing"
    with _Receiver(404, 410) as gone:
        with pytest.raises(OSError, match="answered 404"):
            alert_sink(gone.address)(alert)
        said: list[str] = []
        Outputs([alert_sink(gone.address)], complain=said.append).alert(alert)
    assert "answered 410" in said[0]
    with pytest.raises(FileNotFoundError):
        alert_sink(str(tmp_path / "no" / "alerts"))


def _post(port: int, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
    wanted = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=body,
        headers={"Content-Type": "application/json", **headers},
    )
    try:
        with urllib.request.urlopen(wanted, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.fixture
def otlp() -> Iterator[OtlpReceiver]:
    receiver = OtlpReceiver(port=0)
    yield receiver
    receiver.close()


def test_spans_of_another_process_are_watched_live(otlp: OtlpReceiver) -> None:
    """A process with OpenTelemetry's own batches, protobuf and gzip, while the watch looks."""
    pytest.importorskip("opentelemetry.sdk")
    n = 70
    address = f"http://127.0.0.1:{otlp.port}/v1/traces"
    monitor = Monitor(tokenizer=TOKENIZER)
    with subprocess.Popen([sys.executable, "-m", "tests.watch.sender", address, str(n)]) as sender:
        run = WatchRun(monitor, Outputs())
        end = time.monotonic() + 60
        while monitor.n_requests < n and time.monotonic() < end:
            run._take(requests_of(otlp.poll()))
            time.sleep(0.02)
        assert sender.wait(30) == 0
    assert monitor.n_requests == n
    assert monitor.sums.total().n_bytes == sum(len(f"Hello {i}") for i in range(n))


def test_an_answer_is_of_the_request_s_type(otlp: OtlpReceiver) -> None:
    from google.rpc.status_pb2 import Status

    address = f"http://127.0.0.1:{otlp.port}/v1/traces"
    kind = {"Content-Type": "application/x-protobuf"}
    wanted = urllib.request.Request(address, data=b"", headers=kind)
    with urllib.request.urlopen(wanted, timeout=10) as answer:
        assert answer.headers["Content-Type"] == "application/x-protobuf"
        assert answer.read() == b""
    broken = urllib.request.Request(address, data=b"\xff", headers=kind)
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(broken, timeout=10)
    assert "protobuf" in Status.FromString(raised.value.read()).message


def test_hostile_bodies_are_refused(otlp: OtlpReceiver) -> None:
    import gzip

    assert _post(otlp.port, b"{") == 400
    assert _post(otlp.port, b"[" * 100_000) == 400
    assert _post(otlp.port, b"{}", path="/elsewhere") == 404
    assert _post(otlp.port, b"junk", **{"Content-Encoding": "gzip"}) == 400
    bomb = gzip.compress(b" " * (64 << 20))
    assert _post(otlp.port, bomb, **{"Content-Encoding": "gzip"}) == 413
    assert _post(otlp.port, b"\xff\xff", **{"Content-Type": "application/x-protobuf"}) == 400
    assert list(otlp.poll()) == []


class _Pages:
    """A loopback server that answers GET with the pages of a function of the query."""

    def __init__(self, page: Callable[[str, dict[str, str]], Any]) -> None:
        self.asked: list[tuple[str, str]] = []
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                pages.asked.append((path, self.headers.get("Authorization", "")))
                body = json.dumps(page(path, dict(parse_qsl(query)))).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_langfuse_is_read_page_by_page_and_each_generation_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Answers have the documented shape; a real Langfuse needs Postgres and ClickHouse."""
    entries = [
        {
            "id": f"g{n}", "type": "GENERATION", "model": "m", "input": f"Hello {n}",
            "startTime": "2026-11-29T10:00:00Z", "usageDetails": {"input": 5, "output": 2},
        }
        for n in range(130)
    ]  # fmt: skip

    def page(path: str, query: dict[str, str]) -> Any:
        assert path == "/api/public/observations"
        size, number = int(query["limit"]), int(query["page"])
        newest_first = entries[::-1]
        return {"data": newest_first[(number - 1) * size : number * size]}

    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    server = _Pages(page)
    source = open_live(f"langfuse:{server.address}")
    assert source is not None
    first = list(source.poll())
    assert [entry["id"] for entry in first] == [f"g{n}" for n in range(130)]
    assert [r.n_tokens for r in requests_of(first)] == [5] * 130
    entries.append({**entries[0], "id": "new"})
    assert [entry["id"] for entry in source.poll()] == ["new"]
    assert server.asked[0][1].startswith("Basic ")
    server.close()


def test_addresses_of_live_sources_are_checked() -> None:
    assert open_live("plain.jsonl") is None
    for address in ("otlp:4318", "phoenix:file:///x", "langfuse:"):
        with pytest.raises(UsageError):
            open_live(address)
    with pytest.raises(OSError, match="cannot be reached"):
        list(Phoenix("http://127.0.0.1:9").poll())


def watch(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["watch", *arguments])


def write_log(path: Path, n: int, seed: int, *, spread: bool = False) -> None:
    rows = [
        {"prompt": " ".join(r.text or "") if spread else r.text, "source": r.source}
        for r in requests(n, seed=seed)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_command_says_what_moved_and_exits_with_1(tmp_path: Path) -> None:
    good, bad, base = tmp_path / "good.jsonl", tmp_path / "bad.jsonl", tmp_path / "good.watch"
    write_log(good, 400, 1)
    write_log(bad, 100, 2, spread=True)
    made = watch(str(good), "-t", TOKENIZER, "--save-baseline", str(base))
    assert made.exit_code == 0, made.output
    store, alerts = tmp_path / "history.db", tmp_path / "alerts.jsonl"
    found = watch(
        str(bad), "--baseline", str(base), "--alert", str(alerts), "--store", f"sqlite:{store}",
        "--parquet", str(tmp_path / "w.parquet"), "--json", "-",
    )  # fmt: skip
    assert found.exit_code == 1, found.output
    state = json.loads(found.stdout)
    assert state["alerts"][0]["causes"][0]["cause"] == "preprocessing"
    assert json.loads(alerts.read_text().splitlines()[0])["kind"] == "drift"
    assert (tmp_path / "w.parquet").stat().st_size > 0
    quiet = watch(str(good), "--baseline", str(base))
    assert quiet.exit_code == 0, quiet.output
    assert "tokens a byte" in quiet.stdout


def test_the_command_follows(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    write_log(log, 20, 1)
    found = watch(str(log), "-t", TOKENIZER, "--follow", "--for", "1s", "--every", "1s")
    assert found.exit_code == 0, found.output
    assert "20 requests, 0 alerts" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no logs were given"),
        (["-", "--follow"], "standard input is not followed"),
        (["x.jsonl", "--model", "m"], "--model and --gpu go together"),
        (["x.jsonl", "--parquet", "p"], "--parquet writes what --store keeps"),
        (["x.jsonl", "--baseline", "absent"], "there is no baseline absent"),
        (["--pid", "1", "x.jsonl"], "--pid and logs were given"),
        (["x.jsonl", "-t", TOKENIZER, "--metrics", "9464"], "is no place to listen at"),
        (["--pid", "999999999", "--for", "1s"], "there is no process"),
    ],
)
def test_the_command_refuses(arguments: list[str], words: str) -> None:
    found = watch(*arguments)
    assert found.exit_code == 2, found.output
    assert words in found.stderr


def test_a_log_without_tokens_needs_a_tokenizer(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    write_log(log, 2, 1)
    found = watch(str(log))
    assert found.exit_code == 2
    assert "name the tokenizer" in found.stderr
