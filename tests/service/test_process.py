"""``jeton serve`` as a process: signals, reloads, other servers, files of settings."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from jeton.errors import RecordError
from jeton.service.settings import read_keys, read_service_fields, settings_from
from tests.formats import small
from tests.service.live import Live


@contextmanager
def process(*words: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``jeton serve`` on a free port; give it and its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "jeton", "serve", "--json", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        try:
            line = running.stdout.readline()
            assert line, running.stderr.read()
            yield running, json.loads(line)["url"]
        finally:
            with suppress(ProcessLookupError):
                running.kill()


class _Clients:
    """Clients behind a balancer that looks at readiness, on two servers."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.ready = dict.fromkeys(urls, True)
        self.stop = threading.Event()
        self.n_fine = 0
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._balance)]
        self._threads += [threading.Thread(target=self._ask) for _ in range(4)]

    def __enter__(self) -> _Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(30)

    def _balance(self) -> None:
        while not self.stop.is_set():
            for url in self.urls:
                try:
                    self.ready[url] = httpx.get(f"{url}/readyz", timeout=5).status_code == 200
                except httpx.HTTPError:
                    self.ready[url] = False
            time.sleep(0.05)

    def _ask(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self.stop.is_set():
                url = next((one for one in self.urls if self.ready[one]), self.urls[-1])
                try:
                    found = client.post(f"{url}/v1/count", json={"text": "hello " * 200})
                    if found.status_code == 200:
                        self.n_fine += 1
                    else:
                        self.failures.append(str(found.status_code))
                except httpx.HTTPError as error:
                    self.failures.append(repr(error))


def test_sigterm_under_load_fails_no_request(served: Live) -> None:
    words = ("-t", "main=jeton-general-32k", "--drain-seconds", "1")
    with process(*words) as (first, url):
        with _Clients([url, served.url]) as clients:
            time.sleep(0.5)
            first.send_signal(signal.SIGTERM)
            assert first.wait(30) == 0
            time.sleep(0.3)
        assert clients.n_fine > 20
        assert clients.failures == []
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/healthz")


def test_a_tokenizer_is_reloaded_by_its_digest_and_a_second_signal_hurries(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_bytes(small.tokenizer().to_hf_json())
    with process("-t", f"own={file}", "--drain-seconds", "30") as (running, url):
        _reload_by_digest(file, running, url)
        running.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while httpx.get(f"{url}/readyz").status_code == 200:
            assert time.monotonic() < deadline
        # Alive, not ready, and still polite; the connection is to be given up.
        assert httpx.get(f"{url}/healthz").status_code == 200
        found = httpx.post(f"{url}/v1/count", json={"text": "hello"})
        assert (found.status_code, found.headers["connection"]) == (200, "close")
        running.send_signal(signal.SIGTERM)
        assert running.wait(15) == 0


def _reload_by_digest(file: Path, running: subprocess.Popen[str], url: str) -> None:
    assert httpx.get(f"{url}/v1/info").json()["tokenizers"][0]["vocab_size"] == 266

    def reload() -> None:
        running.send_signal(signal.SIGHUP)

    def outcomes() -> dict[str, float]:
        text = httpx.get(f"{url}/metrics").text
        pattern = r'jeton_tokenizer_reloads_total\{outcome="(\w+)",.*\} (\S+)'
        return {name: float(number) for name, number in re.findall(pattern, text)}

    def wait_for(name: str) -> None:
        deadline = time.monotonic() + 20
        while name not in outcomes():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    os.utime(file)
    reload()
    file.write_text("{", encoding="utf-8")
    reload()
    wait_for("failed")
    # The old one serves on, and the touched file was no change.
    assert httpx.post(f"{url}/v1/count", json={"text": "hello world"}).json()["count"] == 2
    assert "loaded" not in outcomes()
    changed = json.loads(small.tokenizer().to_hf_json())
    changed["added_tokens"].append(
        {
            "id": 266, "content": "<|new|>", "special": True, "single_word": False,
            "lstrip": False, "rstrip": False, "normalized": False,
        }
    )  # fmt: skip
    file.write_text(json.dumps(changed), encoding="utf-8")
    reload()
    wait_for("loaded")
    assert httpx.get(f"{url}/v1/info").json()["tokenizers"][0]["vocab_size"] == 267


def test_granian_serves_the_same_application(tmp_path: Path) -> None:
    config = tmp_path / "service.toml"
    config.write_text('compat = ["vllm"]\n[tokenizers]\nmain = "jeton-general-32k"\n')
    port = _free_port()
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--port", str(port)]
    with subprocess.Popen(
        [*command, "jeton.service.asgi:app"],
        env={**os.environ, "JETON_SERVICE_CONFIG": str(config)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as running:
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 60
            while True:
                with suppress(httpx.HTTPError):
                    if httpx.get(f"{url}/healthz").status_code == 200:
                        break
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert httpx.post(f"{url}/v1/count", json={"text": "Hello world"}).json()["count"] == 2
            assert httpx.post(f"{url}/tokenize", json={"prompt": "Hello"}).json()["count"] == 1
            big = httpx.post(f"{url}/v1/count", content=b"x" * (17 << 20))
            assert big.status_code == 413
        finally:
            running.terminate()
            running.wait(30)


def _free_port() -> int:
    from jeton.service.running import bound_socket

    with bound_socket("127.0.0.1", 0) as listening:
        port: int = listening.getsockname()[1]
    return port


def test_settings_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# keys\nteam a-long-secret\n")
    (tmp_path / "own.json").write_bytes(small.tokenizer().to_hf_json())
    file = tmp_path / "service.toml"
    file.write_text(
        'compat = ["vllm"]\nkeys_file = "keys"\nport = 9000\nwatch = "-"\n'
        '[tokenizers]\nown = "own.json"\n[limits]\nmax_texts = 7\n'
    )
    fields = read_service_fields(file)
    settings = settings_from(fields)
    assert fields["port"] == 9000
    assert settings.tokenizers == {"own": str(tmp_path / "own.json")}
    assert settings.keys == {"team": "a-long-secret"}
    assert settings.limits.max_texts == 7
    assert settings.watch == "-"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("compat = 3", "expected a list"),
        ("tokenizer = 3", "the nearest are tokenizers"),
        ("[limits]\nmax_text = 3", "the nearest are max_texts"),
        ("[limits]\nmax_texts = 0", "at least 1"),
        ("[limits]\nmax_texts = true", "expected a number"),
        ("limits = 3", "expected a table"),
        ("a = [", "is not TOML"),
        ('port = "x"', "expected a number"),
        ('host = ""', "expected"),
    ],
)
def test_bad_files_of_settings(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "service.toml"
    file.write_text(text)
    with pytest.raises(RecordError, match=words):
        read_service_fields(file)


def test_a_bad_file_of_keys_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    for text in ("team", "team short", "a secret-secret\na other-secret", "", "\xff"):
        file.write_text(text, encoding="latin-1")
        with pytest.raises(RecordError) as raised:
            read_keys(file)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "has no tokenizer"),
        (["-t", "a=jeton-general-32k", "-t", "a=jeton-general-32k"], "expected a new"),
        (["-t", "nope-at-all"], "unknown tokenizer"),
        (["-t", "jeton-general-32k", "--count-model", "x"], "is not NAME=F"),
        (["-t", "jeton-general-32k", "--model", "gpt-*=other"], "belongs to no tokenizer"),
        (["-t", "jeton-general-32k", "--compat", "vllm,tei"], "both want the path"),
        (["-t", "jeton-general-32k", "--host", "no.such.host.invalid"], "error"),
    ],
)
def test_bad_command_lines(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["serve", *words])
    assert result.exit_code == 2
    assert said in result.output
