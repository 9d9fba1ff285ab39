"""The service's routes of the page: audit of a file, and drift."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("litestar")

from jeton.errors import JetonError
from jeton.service import ServiceSettings, create_app
from jeton.service.failures import ServiceFailure
from jeton.service.routes.audit import AUDIT, AuditRequest
from tests.watch.streams import TOKENIZER, requests

pytestmark = pytest.mark.filterwarnings("ignore:.*Reserved kwarg")


@pytest.fixture(scope="module")
def state() -> Any:
    return create_app(ServiceSettings(tokenizers={"main": TOKENIZER})).state


def test_a_log_and_a_text_are_audited(state: Any) -> None:
    log = '{"prompt": "Hello there"}\n{"prompt": "Hello again"}\nnot json\n'
    found = AUDIT.work(state, AuditRequest(content=log, name="../../etc/a.jsonl")).answer
    assert found.n_documents == 2
    assert found.html.startswith("<!doctype html>")
    assert "a.jsonl" in found.html
    assert "/etc" not in found.html
    text = AUDIT.work(state, AuditRequest(content="one text", name="a.json")).answer
    assert text.n_documents == 1


@pytest.mark.parametrize(
    ("content", "name", "tokenizers"),
    [
        ("", "a.txt", None),
        ("x", "a", ["none"]),
        ("x", "a", ["main"] * 9),
        ("[" * 5000, "a.json", []),
    ],
)
def test_bad_files_are_refused_with_words(
    state: Any, content: str, name: str, tokenizers: list[str] | None
) -> None:
    request = AuditRequest(content=content, name=name, tokenizers=tokenizers or None)
    if content.startswith("["):
        assert AUDIT.work(state, request).answer.n_documents == 1  # no JSON: a text
        return
    with pytest.raises((JetonError, ServiceFailure)):
        AUDIT.work(state, request)


def test_the_service_watches_what_it_counts() -> None:
    gate = create_app(ServiceSettings(tokenizers={"main": TOKENIZER}, watch="-"))
    (watcher,) = gate.state.watchers
    drift: Any = getattr(watcher, "__self__")  # noqa: B009
    drift.start()
    served = gate.state.tokenizers.get("main")
    from jeton.findings import Basis
    from jeton.service.wire import Worked

    texts = [request.text for request in requests(20, seed=1)]
    watcher("/v1/count", Worked(None, served, Basis.EXACT, 1, texts))
    drift.stop()
    assert drift.monitor.n_requests == 20
    assert set(drift.monitor.sums.routes) == {"/v1/count"}
    with pytest.raises(FileNotFoundError):
        create_app(ServiceSettings(tokenizers={"main": TOKENIZER}, watch="absent"))
