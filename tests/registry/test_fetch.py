"""Downloads, from a server on this machine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import jeton
from jeton import UnknownTokenizerError, VocabularyError, _published, registry
from jeton._published import PublishedVocabulary, RankFile
from tests.formats import small


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind = self.path.strip("/")
        if kind == "missing":
            self.send_error(404)
            return
        data = small.ranks()
        if kind == "changed":
            data = data[:-2] + b"9\n"
        elif kind == "short":
            data = data[:-100]
        elif kind == "long":
            data += data
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        # "broken": fewer bytes come than were promised.
        self.wfile.write(data[: len(data) // 2] if kind == "broken" else data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> RankFile:
    """A published vocabulary "tiny" with the small ranks."""
    data = small.ranks()
    file = RankFile(
        name="tiny",
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
        n_ranks=len(data.splitlines()),
        url="http://127.0.0.1:9/tiny.tiktoken",
        source="made here",
    )
    vocabularies = {
        name: PublishedVocabulary(
            name=name,
            rank_file=file,
            pattern="gpt2",
            normalizer=None,
            runs=[{"first_id": i, "names": [text]} for text, i in small.SPECIAL.items()],
            source="made here",
            comment="",
        )
        for name in ("tiny", "tiny_chat")
    }
    for module in ("jeton.registry.fetching", "jeton.registry.places"):
        monkeypatch.setattr(f"{module}.published_vocabularies", lambda: vocabularies)
    monkeypatch.setattr(_published, "published_vocabularies", lambda: vocabularies)
    return file


def cached() -> list[str]:
    folder = registry.cache_dir()
    return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []


def test_a_download_is_found_by_name(address: str) -> None:
    path = registry.fetch("tiny", _address=f"{address}/good")
    assert path == registry.cache_dir() / "tiny.tiktoken"
    assert cached() == ["tiny.tiktoken"]
    assert jeton.load("tiny").encode("hello world") == [259, 264]
    assert jeton.load("tiny_chat").name == "tiny_chat"


def test_a_file_that_is_there_is_not_downloaded_again(address: str) -> None:
    registry.fetch("tiny", _address=f"{address}/good")
    # Nothing answers at the published address.
    assert registry.fetch("tiny").is_file()
    assert registry.fetch("tiny_chat").is_file()


def test_a_damaged_file_in_the_cache_is_replaced(address: str, published: RankFile) -> None:
    registry.cache_dir().mkdir(parents=True, exist_ok=True)
    (registry.cache_dir() / "tiny.tiktoken").write_bytes(b"IQ== 0\n")
    path = registry.fetch("tiny", _address=f"{address}/good")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == published.sha256


@pytest.mark.parametrize("kind", ["changed", "short", "long"])
def test_what_is_not_what_was_published_is_not_kept(address: str, kind: str) -> None:
    with pytest.raises(VocabularyError, match=r"not the published tiny.*SHA-256.*\nhint: nothing"):
        registry.fetch("tiny", _address=f"{address}/{kind}")
    assert cached() == []


def test_a_download_that_breaks_off_is_not_kept(address: str) -> None:
    with pytest.raises((VocabularyError, ConnectionError)):
        registry.fetch("tiny", _address=f"{address}/broken")
    assert cached() == []


def test_an_answer_that_is_an_error(address: str) -> None:
    with pytest.raises(ConnectionError, match="404"):
        registry.fetch("tiny", _address=f"{address}/missing")
    assert cached() == []


def test_no_server_at_the_address() -> None:
    with pytest.raises(ConnectionError, match="cannot download tiny from"):
        registry.fetch("tiny", _address="http://127.0.0.1:9/")
    assert cached() == []


def test_nothing_is_downloaded_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr("urllib.request.urlopen", fail)
    with pytest.raises(UnknownTokenizerError, match="jeton vocab fetch tiny"):
        jeton.load("tiny")


def test_load_downloads_when_asked_to(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.fetch
    monkeypatch.setattr(
        "jeton.registry.fetching.fetch", lambda name: real(name, _address=f"{address}/good")
    )
    assert jeton.load("tiny", download=True).encode("hello") == [259]


def test_an_unknown_name_offers_those_that_can_be_fetched() -> None:
    with pytest.raises(UnknownTokenizerError, match="tiny"):
        registry.fetch("tinny")
