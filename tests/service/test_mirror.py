"""The mirror between two real servers on loopback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from jeton.errors import JetonError, RecordError
from jeton.service import ServiceSettings
from jeton.service.mirror import read_mirror_plan
from jeton.service.mirror.forwarding import AnswerReader
from tests.formats import small
from tests.service.live import Live, live


@dataclass
class Upstream:
    """A server of OpenAI's shape whose answers a test chooses."""

    tokens_a_word: int = 1
    status: int = 200
    states_usage: bool = True
    go_on: threading.Event = field(default_factory=threading.Event)
    seen: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        words = sum(len(message["content"].split()) for message in request["messages"])
        usage = {"prompt_tokens": words * self.tokens_a_word, "completion_tokens": 2}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "hello world"},
                }
            ],
            **({"usage": usage | {"total_tokens": 2}} if self.states_usage else {}),
        }


@contextmanager
def running(upstream: Upstream) -> Iterator[Upstream]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            upstream.seen.append((dict(self.headers), request))
            if request.get("stream"):
                self._stream(request)
                return
            data = json.dumps(upstream.answer(request)).encode()
            self.send_response(upstream.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("x-upstream", "yes")
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, request: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for number, text in enumerate(("hello", " world")):
                if number:
                    assert upstream.go_on.wait(20)
                choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
                self._event(json.dumps({"object": "chat.completion.chunk", "choices": [choice]}))
            if request.get("stream_options"):
                usage = upstream.answer(request)["usage"]
                self._event(json.dumps({"choices": [], "usage": usage}))
            self._event("[DONE]")
            self.wfile.write(b"0\r\n\r\n")

        def _event(self, data: str) -> None:
            line = f"data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        upstream.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield upstream
        finally:
            server.shutdown()


PLAN = """
stages = [50, 100]
[a]
url = "{a}"
tokenizer = "{tokenizer}"
price = "usd:1/2"
[b]
url = "{b}"
tokenizer = "{tokenizer}"
price = "usd:1/2"
model = "other"
key_env = "JETON_TEST_KEY"
[rules]
min_requests = 4
stage_requests = 8
max_more_seconds = 100
"""


@contextmanager
def mirrored(tmp_path: Path, a: Upstream, b: Upstream, **settings: Any) -> Iterator[Live]:
    file = tmp_path / "small.json"
    file.write_bytes(small.tokenizer().to_hf_json())
    plan = tmp_path / "plan.toml"
    with running(a), running(b):
        plan.write_text(PLAN.format(a=a.url, b=b.url, tokenizer=file), encoding="utf-8")
        fields = ServiceSettings(tokenizers={"s": small.tokenizer()}, shadow=plan, **settings)
        with live(fields) as server:
            yield server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETON_TEST_KEY", "key-of-b")


def chat(number: int) -> dict[str, Any]:
    content = "hello world " * (number % 7 + 1) + str(number)
    return {"model": "m", "messages": [{"role": "user", "content": content}]}


def ask(server: Live, n: int) -> None:
    with httpx.Client(timeout=30) as client:
        for number in range(n):
            headers = {"authorization": "Bearer key-of-the-client", "cookie": "c"}
            found = client.post(
                f"{server.url}/v1/chat/completions", json=chat(number), headers=headers
            )
            assert found.status_code == 200


def report(server: Live, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while True:
        found: dict[str, Any] = server.get("/v1/shadow").json()
        if until(found):
            return found
        assert time.monotonic() < deadline, json.dumps(found)
        time.sleep(0.05)


def test_equal_sides_pass_all_stages(tmp_path: Path) -> None:
    a, b = Upstream(), Upstream()
    with mirrored(tmp_path, a, b) as server:
        ask(server, 40)
        found = report(server, lambda value: value["n_pending"] == 0 and len(value["stages"]) > 1)
        metrics = server.get("/metrics").text
    assert not found["is_aborted"]
    assert found["percent"] == 100
    first = found["stages"][0]
    assert (first["percent"], first["verdict"], first["n_requests"]) == (50, "go", 8)
    assert first["tokens"]["difference"] == 0
    assert first["usd"]["mean_a"] > 0
    assert 'jeton_mirror_requests_total{outcome="mirrored"}' in metrics
    # B sees its own key and model, and nothing that names the user.
    headers, request = b.seen[0]
    assert headers["authorization"] == "Bearer key-of-b"
    assert "cookie" not in {name.lower() for name in headers}
    assert request["model"] == "other"
    headers, request = a.seen[0]
    assert headers["authorization"] == "Bearer key-of-the-client"
    assert request == chat(0)
    assert 8 <= len(b.seen) < len(a.seen) == 40


def test_more_tokens_abort(tmp_path: Path) -> None:
    a, b = Upstream(), Upstream(tokens_a_word=2)
    with mirrored(tmp_path, a, b) as server:
        ask(server, 30)
        found = report(server, lambda value: bool(value["is_aborted"]))
        n_seen = len(b.seen)
        ask(server, 5)
        assert len(b.seen) == n_seen
    (stage,) = found["stages"]
    assert stage["verdict"] == "abort"
    assert "tokens rise by +100" in stage["reasons"][0]
    assert any("dollars rise" in reason for reason in stage["reasons"])


def test_errors_of_b_abort_and_users_see_none(tmp_path: Path) -> None:
    a, b = Upstream(), Upstream(status=500)
    with mirrored(tmp_path, a, b) as server:
        ask(server, 30)
        found = report(server, lambda value: bool(value["is_aborted"]))
    assert "fail at B" in found["stages"][0]["reasons"][0]


def test_tokens_are_counted_where_none_are_stated(tmp_path: Path) -> None:
    a, b = Upstream(states_usage=False), Upstream(states_usage=False)
    with mirrored(tmp_path, a, b) as server:
        ask(server, 30)
        found = report(server, lambda value: len(value["stages"]) > 1)
    assert found["stages"][0]["n_counted"] == 8
    assert found["stages"][0]["tokens"]["mean_a"] > 1


def test_a_stream_stays_a_stream(tmp_path: Path) -> None:
    a, b = Upstream(), Upstream()
    b.go_on.set()
    with (
        mirrored(tmp_path, a, b) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client,
    ):
        for number in range(12):
            a.go_on.clear()
            events = client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": f"hello world {number}"}],
                stream=True,
            )
            # The first part is here while the endpoint still waits to send the second.
            assert next(iter(events)).choices[0].delta.content == "hello"
            a.go_on.set()
            assert [event.choices[0].delta.content for event in events] == [" world"]
        found = report(server, lambda value: value["n_pending"] == 0)
    # The streams of A state no usage; those of B are asked for it.
    assert found["stages"][0]["n_requests"] >= 1
    assert b.seen[0][1]["stream_options"] == {"include_usage": True}
    assert "stream_options" not in a.seen[0][1]


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    a, b = Upstream(), Upstream()
    with mirrored(tmp_path, a, b) as server:
        plan = server.gate.mirror
        assert plan is not None
        object.__setattr__(plan._plan.a, "url", "http://127.0.0.1:9")
        found = server.post("/v1/chat/completions", chat(1))
        junk = httpx.post(f"{server.url}/v1/chat/completions", content=b"\xff{")
    assert found.status_code == 502
    assert sorted(found.json()["error"]) == ["code", "message", "param", "type"]
    assert junk.status_code == 502


def test_the_service_s_own_keys_stay_here(tmp_path: Path) -> None:
    a, b = Upstream(), Upstream()
    with mirrored(tmp_path, a, b, keys={"team": "a-long-secret"}) as server:
        assert server.post("/v1/chat/completions", chat(1)).status_code == 401
        headers = {"authorization": "Bearer a-long-secret"}
        assert server.post("/v1/chat/completions", chat(1), **headers).status_code == 200
    assert "authorization" not in {name.lower() for name in a.seen[0][0]}


def test_no_mirror(served: Live) -> None:
    assert served.get("/v1/shadow").status_code == 404
    assert served.post("/v1/chat/completions", chat(1)).status_code == 404


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[a]", "[c]"), "unknown field 'c'"),
        (('url = "{a}"', 'url = "ftp://x"'), "expected http"),
        (('tokenizer = "{tokenizer}"', 'tokenizer = "nope"'), "unknown tokenizer"),
        (("stages = [50, 100]", "stages = [100, 50]"), "ascend"),
        (("stages = [50, 100]", 'stages = ["x"]'), "expected percents"),
        (("min_requests = 4", "min_request = 4"), "the nearest are min_requests"),
        (("JETON_TEST_KEY", "JETON_NO_KEY"), "is not set"),
        (("usd:1/2", "nope"), "unknown price"),
        (("stages", "stages = ["), "is not TOML"),
    ],
)
def test_bad_plans(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    plan = tmp_path / "plan.toml"
    text = PLAN.replace(*change)
    plan.write_text(
        text.format(a="http://a", b="http://b", tokenizer="jeton-general-32k"), encoding="utf-8"
    )
    with pytest.raises(JetonError, match=words) as raised:
        read_mirror_plan(plan)
    assert isinstance(raised.value, RecordError | JetonError)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"data: {\n", b"data: [1]\n", b'data: {"usage": 3}\n', b"[" * 100_000],
)
def test_answers_that_say_nothing(data: bytes) -> None:
    for is_stream in (False, True):
        reader = AnswerReader(is_stream=is_stream)
        reader.feed(data)
        assert reader.usage().input_tokens is None
