"""Hostile clients over raw sockets: each ends in a clear answer or a closed connection."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton._os_errors import os_message
from jeton.errors import RecordError
from jeton.service import ServiceLimits, ServiceSettings
from jeton.service.keys import ApiKeys, RequestRates
from jeton.service.running import bound_socket
from jeton.service.settings import read_keys
from tests.formats import small
from tests.service.live import Live, live

KEY = "a-key-of-some-length"


@pytest.fixture(scope="module")
def tight() -> Iterator[Live]:
    """A server with limits that tests can reach."""
    limits = ServiceLimits(
        max_body_bytes=100_000,
        max_tokens=5_000,
        max_texts=50,
        header_seconds=1,
        body_seconds=1,
        max_header_bytes=8_000,
        max_uploads=0,
    )
    settings = ServiceSettings(tokenizers={"s": small.tokenizer()}, compat=("vllm",), limits=limits)
    with live(settings) as server:
        yield server


def raw(server: Live, data: bytes, *, close_sending: bool = False, seconds: float = 20) -> bytes:
    """Send bytes as they are; return all that comes back until the connection closes."""
    with socket.create_connection((server.host, server.port), timeout=seconds) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
            if close_sending:
                connection.shutdown(socket.SHUT_WR)
        parts = []
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                parts.append(part)
    return b"".join(parts)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def request(body: bytes, *headers: bytes, path: bytes = b"/v1/count") -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", b"host: x", b"connection: close", *headers]
    if not any(line.lower().startswith((b"content-length", b"transfer")) for line in headers):
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe{}",
    b'{"text": "\\ud800"}',
    b'{"text": "\xff"}',
    b'{"text": 1e400}',
    b'{"text": "a", "text": 3}',
    b'{"texts": [' + b"[" * 5_000 + b"]" * 5_000 + b"]}",
    b"[" * 50_000,
    b'{"a":' * 20_000,
    b'{"texts": {"a": 1}}',
    b'{"text": null}',
    b'{"texts": ["a"], "text": "a"}',
    b'{"text": "a", "tokenizer": 5}',
    b'{"text": "a", "tokenizer": "../../../etc/passwd"}',
    b'{"text": "a", "add_special_tokens": "yes"}',
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_broken_bodies(tight: Live, body: bytes) -> None:
    answer = raw(tight, request(body, b"content-type: application/json"))
    assert status(answer) in (400, 404), answer
    error = json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]
    assert error["type"]
    assert error["message"]


@pytest.mark.parametrize(
    "ids", ["1" * 400, "-1", "1.5", "99999999999999999999", "4294967296", "true", '"1"', "[1]"]
)
def test_ids_that_are_none(tight: Live, ids: str) -> None:
    body = f'{{"ids": [{ids}]}}'.encode()
    assert status(raw(tight, request(body, path=b"/v1/decode"))) == 400
    body = f'{{"tokens": [{ids}]}}'.encode()
    assert status(raw(tight, request(body, path=b"/detokenize"))) == 400


def test_too_many_ids_texts_and_tokens(tight: Live) -> None:
    for path, body in (
        ("/v1/decode", {"ids": [1] * 6_000}),
        ("/v1/decode", {"ids_batch": [[1]] * 51}),
        ("/v1/count", {"texts": ["a"] * 51}),
        ("/v1/encode", {"text": "\x00" * 6_000}),
        ("/v1/encode", {"texts": ["\x00" * 200] * 30}),
        ("/v1/compare", {"text": "a", "tokenizers": ["s"] * 7}),
        ("/tokenize", {"prompt": "\x00" * 6_000}),
        ("/v1/chunk", {"text": "a b " * 2_000, "max_tokens": 9, "overlap": 8, "by": "tokens"}),
    ):
        found = tight.post(path, body)
        assert found.status_code == 413, (path, found.text)
        assert found.json()["error"]


@given(st.binary(max_size=200))
@settings(max_examples=15)
def test_any_bytes_as_a_body(tight: Live, body: bytes) -> None:
    found = httpx.post(f"{tight.url}/v1/encode", content=body)
    assert found.status_code in (200, 400, 404, 413)


@given(st.binary(min_size=1, max_size=300))
@settings(max_examples=15)
def test_any_bytes_as_a_request(tight: Live, data: bytes) -> None:
    answer = raw(tight, data, close_sending=True)
    assert not answer or 400 <= status(answer) < 500 or status(answer) == 200


def test_a_body_that_claims_to_be_large(tight: Live) -> None:
    for claim in (b"100001", b"9" * 18):
        answer = raw(tight, request(b"", b"content-length: " + claim), seconds=20)
        assert status(answer) == 413
        assert b"connection: close" in answer.lower()
    assert status(raw(tight, request(b"", b"content-length: " + b"9" * 40))) == 400


def test_an_oversized_chunked_body(tight: Live) -> None:
    chunk = b"2710\r\n" + b"a" * 10_000 + b"\r\n"
    head = request(b"", b"transfer-encoding: chunked", b"content-type: application/json")
    answer = raw(tight, head + chunk * 40 + b"0\r\n\r\n")
    assert status(answer) == 413
    # One that is small enough is a body like any other.
    small_chunk = b'f\r\n{"text":"hello"\r\n1\r\n}\r\n0\r\n\r\n'
    answer = raw(tight, head + small_chunk)
    assert status(answer) == 200


def test_a_slow_header_and_a_slow_body(tight: Live) -> None:
    begun = time.monotonic()
    assert raw(tight, b"POST /v1/count HTTP/1.1\r\nhost: x\r\n") == b""
    assert time.monotonic() - begun < 15
    slow = request(b'{"text"', b"content-length: 50")
    assert status(raw(tight, slow)) == 408


def test_half_closed_connections(tight: Live) -> None:
    whole = raw(tight, request(b'{"text": "hello"}'), close_sending=True)
    assert status(whole) == 200
    alive = request(b'{"text": "hello"}').replace(b"connection: close\r\n", b"")
    # A connection that would stay open closes behind its last answer.
    twice = raw(tight, alive * 2, close_sending=True)
    assert twice.count(b"HTTP/1.1 200") == 2
    torn = raw(tight, request(b"{", b"content-length: 50"), close_sending=True)
    assert torn == b"" or status(torn) in (400, 408)
    assert tight.post("/v1/count", {"text": "hello"}).status_code == 200


def test_a_flood_of_headers(tight: Live) -> None:
    many = b"".join(b"x-%d: %s\r\n" % (n, b"a" * 100) for n in range(500))
    answer = raw(tight, b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + many)
    assert status(answer) == 431
    # Whole in one piece, a body behind it; and one long value.
    for lines in (many[:12_000].rpartition(b"\r\n")[0], b"x: " + b"a" * 9_000):
        for path in (b"/v1/count", b"/healthz"):
            flood = request(b'{"text": "hello"}', lines, path=path)
            assert status(raw(tight, flood)) == 431
    few = b"\r\n".join(b"x-%d: %s" % (n, b"a" * 100) for n in range(60))
    assert status(raw(tight, request(b'{"text": "hello"}', few))) == 200
    long = b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    assert status(raw(tight, long)) in (404, 414, 431)


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/v1/count/",
        "/V1/COUNT",
        "/v1/count%00",
        "/v1/%63ount",
        "/page/../../settings.py",
        "/\u00e9",
    ],
)
def test_tricks_with_paths(tight: Live, path: str) -> None:
    line = path.encode("utf-8")
    answer = raw(tight, b"GET " + line + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    assert status(answer) in (400, 404, 405), answer
    assert b"root:" not in answer


def test_methods_and_types(tight: Live) -> None:
    assert httpx.get(f"{tight.url}/v1/count").status_code == 405
    assert httpx.delete(f"{tight.url}/v1/count").status_code == 405
    form = httpx.post(f"{tight.url}/v1/count", data={"text": "a"})
    assert form.status_code == 415
    assert "Content-Type" in form.json()["error"]["hint"]
    named = {"content-type": "application/json; charset=utf-8"}
    assert httpx.post(f"{tight.url}/v1/count", content=b'{"text":"a"}', headers=named).json()


def test_answers_say_which_methods_there_are(tight: Live) -> None:
    assert httpx.get(f"{tight.url}/v1/count").headers["allow"] == "OPTIONS, POST"
    assert "GET" in httpx.post(f"{tight.url}/v1/info").headers["allow"]


@pytest.mark.parametrize("path", ["/v1/count", "/v1/tokenizers", "/tokenize", "/nowhere"])
def test_compressed_bodies(tight: Live, path: str) -> None:
    for body in (gzip.compress(b'{"text": "hello"}'), b'{"text": "hello"}'):
        found = httpx.post(f"{tight.url}{path}", content=body, headers={"content-encoding": "gzip"})
        assert found.status_code == 415
        assert "compressed" in found.text
    plain = httpx.post(
        f"{tight.url}/v1/count", json={"text": "hello"}, headers={"content-encoding": "identity"}
    )
    assert plain.status_code == 200


def test_half_characters_are_named(tight: Live) -> None:
    for text in (rb"\ud800", rb"a\udc00b", rb"\ud800" + b"x" * 50, rb"\uD83D\u0041"):
        found = httpx.post(f"{tight.url}/v1/count", content=b'{"text": "%s"}' % text)
        assert found.status_code == 400
        assert "lone surrogate" in found.json()["error"]["message"]
    cut = httpx.post(f"{tight.url}/v1/count", content=rb'{"text": "\ud83d\ude00')
    assert "surrogate" not in cut.json()["error"]["message"]


def test_counts_have_the_limit_on_tokens(tight: Live) -> None:
    text = "\u00e9" * 2_501
    for path, body in (
        ("/v1/count", {"text": text}),
        ("/v1/count", {"texts": ["a", text]}),
        ("/v1/compare", {"text": text}),
        ("/v1/audit", {"content": text}),
        ("/tokenize", {"prompt": text}),
    ):
        found = tight.post(path, body)
        assert found.status_code == 413, (path, found.text)
    assert tight.post("/v1/count", {"text": text[:2_500]}).status_code == 200


def test_clients_that_leave(tight: Live) -> None:
    for _ in range(20):
        with socket.create_connection((tight.host, tight.port)) as connection:
            connection.sendall(request(b'{"texts": ["hello"]}')[:-5])
    time.sleep(0.2)
    assert tight.gate.held_bytes == 0
    assert tight.post("/v1/count", {"text": "hello"}).json()["count"] == 1
    assert tight.gate.n_running == 0


def test_answers_of_one_connection_keep_their_order(tight: Live) -> None:
    body = b'{"text": "hello"}'
    count = b"POST /v1/count HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    probe = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    answer = raw(tight, count + probe + count + last)
    bodies = [part.split(b"HTTP/1.1")[0] for part in answer.split(b"\r\n\r\n")[1:]]
    kinds = [sorted(json.loads(part)) for part in bodies]
    counted = ["basis", "count", "fingerprint", "tokenizer"]
    assert kinds == [counted, ["status"], counted, ["status"]]


def test_many_that_come_at_once_are_all_answered(tight: Live) -> None:
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection((tight.host, tight.port), timeout=20))
            for _ in range(60)
        ]
        for connection in connections:
            connection.sendall(request(b'{"text": "hello"}'))
        for connection in connections:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_uploads_can_be_off(tight: Live) -> None:
    found = httpx.post(f"{tight.url}/v1/tokenizers", content=small.tekken())
    assert (found.status_code, found.json()["error"]["type"]) == (404, "no_uploads")


def test_metrics_have_no_label_that_a_client_invents(tight: Live) -> None:
    before = len(tight.get("/metrics").text.splitlines())
    with httpx.Client() as client:
        for number in range(60):
            client.get(f"{tight.url}/junk-{number}")
            client.post(f"{tight.url}/tokenize", json={"prompt": "a", "model": f"m{number}"})
    after = tight.get("/metrics").text
    assert len(after.splitlines()) - before < 60
    assert "junk" not in after


def test_keys(tmp_path: Path) -> None:
    settings = ServiceSettings(tokenizers={"s": small.tokenizer()}, keys={"team": KEY})
    body = {"text": "hello"}
    with live(settings) as server:
        assert server.post("/v1/count", body).status_code == 401
        assert server.post("/v1/count", body, authorization="Bearer wrong").status_code == 401
        assert server.post("/v1/count", body, authorization=f"Bearer {KEY}").status_code == 200
        assert server.post("/v1/count", body, **{"x-api-key": KEY}).status_code == 200
        assert server.get("/healthz").status_code == 200
        assert server.get("/metrics").status_code == 401
    assert ApiKeys({"a": KEY}).name_of([(b"x-api-key", KEY.encode())]) == "a"


@pytest.mark.parametrize(("host", "hint"), [("127.0.0.1", "another port"), ("256.1.1.1", "host")])
def test_addresses_that_cannot_be_had(tight: Live, host: str, hint: str) -> None:
    with pytest.raises(OSError) as raised:  # noqa: PT011 - the words are asserted
        bound_socket(host, tight.port)
    assert hint in os_message(raised.value).partition("hint: ")[2]


def test_a_key_belongs_to_one_name(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"alice {KEY}\nbob {KEY}\n", encoding="utf-8")
    with pytest.raises(RecordError, match="line 2") as raised:
        read_keys(file)
    assert KEY not in str(raised.value)


def test_guesses_at_keys_have_a_rate() -> None:
    limits = ServiceLimits(requests_per_minute=1, burst=3)
    settings = ServiceSettings(tokenizers={"s": small.tokenizer()}, keys={"a": KEY}, limits=limits)
    with live(settings) as server:
        wrong = {"x-api-key": "wrong"}
        codes = [server.post("/v1/count", {"text": "a"}, **wrong).status_code for _ in range(5)]
        right = server.post("/v1/count", {"text": "a"}, **{"x-api-key": KEY}).status_code
    assert (codes[0], codes[-1], right) == (401, 429, 200)


def test_rates_by_key() -> None:
    limits = ServiceLimits(requests_per_minute=1, burst=3)
    settings = ServiceSettings(
        tokenizers={"s": small.tokenizer()}, keys={"a": KEY, "b": KEY + "b"}, limits=limits
    )
    with live(settings) as server:
        found = [server.post("/v1/count", {"text": "a"}, **{"x-api-key": KEY}) for _ in range(5)]
        other = server.post("/v1/count", {"text": "a"}, **{"x-api-key": KEY + "b"})
    codes = [response.status_code for response in found]
    assert codes[:3] == [200, 200, 200]
    assert codes[-1] == 429
    assert int(found[-1].headers["retry-after"]) >= 1
    assert other.status_code == 200


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 600), st.integers(1, 9))
def test_no_key_goes_beyond_its_rate(gaps: list[float], per_minute: int, burst: int) -> None:
    now = 0.0
    rates = RequestRates(per_minute, burst, clock=lambda: now)
    n_taken = 0
    for gap in gaps:
        now += gap
        n_taken += rates.take("key") == 0
    assert n_taken <= burst + now * per_minute / 60 + 1e-6


def test_a_full_queue_says_so() -> None:
    limits = ServiceLimits(n_workers=1, max_waiting=1)
    with live(ServiceSettings(tokenizers={"s": small.tokenizer()}, limits=limits)) as server:
        hold, held = threading.Event(), threading.Event()

        def wait(*_: object) -> None:
            held.set()
            assert hold.wait(20)

        server.gate.state.watchers.append(wait)
        answers: list[int] = []

        def ask() -> None:
            answers.append(server.post("/v1/count", {"text": "a"}).status_code)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        threads[0].start()
        assert held.wait(20)
        threads[1].start()
        deadline = time.monotonic() + 20
        while server.gate.n_running < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        refused = server.post("/v1/count", {"text": "a"})
        # Health does not wait behind work.
        assert server.get("/healthz").status_code == 200
        hold.set()
        for thread in threads:
            thread.join(20)
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    assert answers == [200, 200]


def test_faults_are_logged_without_text(caplog: pytest.LogCaptureFixture) -> None:
    with live(ServiceSettings(tokenizers={"s": small.tokenizer()})) as server:

        def fail(*_: object) -> None:
            raise RuntimeError("a secret text")

        server.gate.state.watchers.append(fail)
        found = server.post("/v1/count", {"text": "a secret text"})
    assert found.status_code == 500
    assert "secret" not in found.text
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text
