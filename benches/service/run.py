"""Time the service on loopback: ``python -m benches.service.run [--only PART] [--seconds S]``.

``wrk`` (Debian) makes the load. Servers of one table are asked in turn, round after round, on one
core of their own; the load comes from another. Beside requests a second stands the processor time
of a request, which other work of the machine changes least. Everything is bounded in time and in
number, and nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx

import jeton
from benches.service.load import answered
from benches.service.servers import Process, free_port, server

__all__ = ["main"]

VOCABULARY = "cl100k_base"
ROUNDS = 5
SENTENCE = "The committee will review all 27 proposals before 9 May, and answer in writing. "
KILOBYTE = (SENTENCE * 13)[:1024]
_SCRIPT = (
    'wrk.method="POST"\nwrk.body=[==[{body}]==]\nwrk.headers["Content-Type"]="application/json"'
)


def load(
    process: Process, path: str, body: object, seconds: float, folder: Path, connections: int = 32
) -> tuple[float, float]:
    """Return requests a second, and processor seconds of the server for each."""
    script = folder / "wrk.lua"
    script.write_text(_SCRIPT.format(body=json.dumps(body)), encoding="utf-8")
    cpu = process.cpu_seconds()
    n, took = answered(process.url + path, script, seconds=seconds, connections=connections)
    return n / took, (process.cpu_seconds() - cpu) / n


def kilobytes(seconds: float, folder: Path) -> None:
    """Count 1 KB with our service and with rivals, on one core each in turn."""
    where = {"BENCH_VOCABULARY": VOCABULARY, "BENCH_FOLDER": str(folder)}
    ours = {"text": KILOBYTE}
    theirs = {"prompt": KILOBYTE}
    mine = ["jeton", "serve", "-t", VOCABULARY, "--threads", "1"]
    cases: list[tuple[str, list[str], str, object]] = [
        ("jeton /v1/count", mine, "/v1/count", ours),
        ("jeton /tokenize", [*mine, "--compat", "vllm"], "/tokenize", theirs),
        ("FastAPI + tiktoken, count", _uvicorn("tiktoken_app"), "/count", theirs),
        ("FastAPI + tiktoken, tokenize", _uvicorn("tiktoken_app"), "/tokenize", theirs),
        ("FastAPI + tokenizers, count", _uvicorn("tokenizers_app"), "/count", theirs),
    ]
    rates: dict[str, list[float]] = {name: [] for name, *_ in cases}
    costs: dict[str, list[float]] = {name: [] for name, *_ in cases}
    with ExitStack() as stack:
        running = {}
        for name, words, *_ in cases:
            port = free_port()
            entry = server([*words, "--port", str(port)], port=port, cores="0", environment=where)
            running[name] = stack.enter_context(entry)
        answers = {
            name: httpx.post(running[name].url + path, json=body).json()["count"]
            for name, _, path, body in cases
        }
        assert len(set(answers.values())) == 1, answers
        for name, _, path, body in cases:
            load(running[name], path, body, 1, folder)
        for turn in range(ROUNDS):
            for name, _, path, body in cases[turn % 2 :: 1] + cases[: turn % 2]:
                rate, cost = load(running[name], path, body, seconds, folder)
                rates[name].append(rate)
                costs[name].append(cost)
    print(f"1 KB ({next(iter(answers.values()))} tokens), {ROUNDS} rounds of {seconds:g} s, median")
    for name in rates:
        rate, cost = statistics.median(rates[name]), statistics.median(costs[name])
        print(f"  {name:30} {rate:8,.0f} requests/s  {cost * 1e6:7.0f} us of processor each")
    for own, rival in (
        ("jeton /v1/count", "FastAPI + tiktoken, count"),
        ("jeton /v1/count", "FastAPI + tokenizers, count"),
        ("jeton /tokenize", "FastAPI + tiktoken, tokenize"),
    ):
        by_rate = statistics.median(a / b for a, b in zip(rates[own], rates[rival], strict=True))
        by_cost = statistics.median(b / a for a, b in zip(costs[own], costs[rival], strict=True))
        print(f"  {own} over {rival}: {by_rate:.2f}x by rate, {by_cost:.2f}x by processor time")


def _uvicorn(app: str) -> list[str]:
    words = ["uvicorn", f"benches.service.rivals:{app}", "--factory", "--loop", "uvloop"]
    return [*words, "--http", "httptools", "--no-access-log", "--log-level", "error"]


def large(seconds: float, folder: Path) -> None:
    """Counts of 200k and 1M tokens, by the clock of a client with one connection."""
    del seconds, folder
    tokenizer = jeton.load(VOCABULARY)
    per_sentence = tokenizer.count(SENTENCE)
    port = free_port()
    words = ["jeton", "serve", "-t", VOCABULARY, "--port", str(port)]
    with server(words, port=port) as process, httpx.Client(timeout=60) as client:
        for n_tokens in (200_000, 1_000_000):
            text = _varied(n_tokens // per_sentence)
            body = json.dumps({"text": text}).encode()
            times = []
            for _ in range(15):
                start = time.perf_counter()
                found = client.post(
                    f"{process.url}/v1/count",
                    content=body,
                    headers={"content-type": "application/json"},
                )
                times.append(time.perf_counter() - start)
            count = found.json()["count"]
            assert count == tokenizer.count(text)
            print(
                f"  count of {count:,} tokens ({len(body) / 1e6:.1f} MB): median "
                f"{statistics.median(times) * 1e3:.1f} ms, least {min(times) * 1e3:.1f} ms"
            )


def _varied(n_sentences: int) -> str:
    """Sentences that differ, so that no cache holds them whole."""
    return "".join(
        SENTENCE.replace("27", str(n)).replace("May", f"May {n * 7919 % 2000}")
        for n in range(n_sentences)
    )


def lag(seconds: float, folder: Path) -> None:
    """Lag of the event loop while eight clients encode 128k tokens each, again and again."""
    tokenizer = jeton.load(VOCABULARY)
    text = _varied(128_000 // tokenizer.count(SENTENCE))
    body = json.dumps({"text": text}).encode()
    port, file = free_port(), folder / "lag.json"
    words = ["benches.service.lagging", VOCABULARY, str(port), str(file)]
    until = 0.0
    n_done = 0

    def ask(url: str) -> None:
        nonlocal n_done
        with httpx.Client(timeout=60) as client:
            while time.monotonic() < until:
                found = client.post(
                    f"{url}/v1/encode", content=body, headers={"content-type": "application/json"}
                )
                assert found.status_code == 200
                n_done += 1

    with server(words, port=port) as process:
        begun = time.monotonic()
        until = begun + 2 * seconds
        threads = [threading.Thread(target=ask, args=(process.url,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ended = time.monotonic()
        time.sleep(2 * seconds)
        idle_ended = time.monotonic()
    samples = json.loads(file.read_text(encoding="utf-8"))
    for name, first, last in (("8 encodes", begun, ended), ("idle", ended + 0.5, idle_ended)):
        lags = sorted(value for at, value in samples if first <= at <= last)
        print(
            f"  event loop, {name}: {len(lags)} samples, lag p50 {_at(lags, 0.5):.1f} ms, p99 "
            f"{_at(lags, 0.99):.1f} ms, most {lags[-1] * 1e3:.1f} ms"
        )
    print(f"  {n_done} encodes of {tokenizer.count(text):,} tokens in {ended - begun:.1f} s")


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3


def health(seconds: float, folder: Path) -> None:
    """Latency of /healthz while the service is saturated with counts of 1 KB."""
    port = free_port()
    words = ["jeton", "serve", "-t", VOCABULARY, "--threads", "1", "--port", str(port)]
    with server(words, port=port, cores="0") as process:
        times: list[float] = []
        stop = threading.Event()

        def look() -> None:
            with httpx.Client(timeout=10) as client:
                while not stop.is_set():
                    start = time.perf_counter()
                    assert client.get(f"{process.url}/healthz").status_code == 200
                    times.append(time.perf_counter() - start)
                    time.sleep(0.005)

        thread = threading.Thread(target=look)
        thread.start()
        time.sleep(seconds)
        idle = sorted(times)
        times.clear()
        rate, _ = load(process, "/v1/count", {"text": KILOBYTE}, 2 * seconds, folder, 64)
        busy = sorted(times)
        stop.set()
        thread.join()
    for name, found in (("idle", idle), (f"at {rate:,.0f} counts/s", busy)):
        print(
            f"  /healthz, {name}: {len(found)} looks, p50 {_at(found, 0.5):.1f} ms, p99 "
            f"{_at(found, 0.99):.1f} ms"
        )


def oversized(seconds: float, folder: Path) -> None:
    """Memory that an oversized chunked body takes."""
    del seconds, folder
    port = free_port()
    cap = 16 << 20
    with server(["jeton", "serve", "-t", VOCABULARY, "--port", str(port)], port=port) as process:
        httpx.post(f"{process.url}/v1/count", json={"text": "warm"})
        before = process.memory_bytes()
        answer = httpx.post(
            f"{process.url}/v1/count",
            content=(b"a" * 65_536 for _ in range(8 * cap // 65_536)),
            headers={"content-type": "application/json"},
            timeout=60,
        )
        grown = process.peak_bytes() - before
    assert answer.status_code == 413
    print(f"  chunked body of {8 * cap >> 20} MB, cap {cap >> 20} MB: 413, memory grew by at most "
          f"{grown / 2**20:.1f} MB ({grown / cap:.2f} caps)")  # fmt: skip


PARTS: dict[str, Callable[[float, Path], None]] = {
    "kilobytes": kilobytes,
    "large": large,
    "lag": lag,
    "health": health,
    "oversized": oversized,
}


def main() -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description="Time the service on loopback.")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only or PARTS:
            print(name)
            PARTS[name](given.seconds, Path(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
