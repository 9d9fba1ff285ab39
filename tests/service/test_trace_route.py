"""``/v1/trace``: the library's own traces, with their page."""

from __future__ import annotations

import jeton
from jeton.tracing import trace_encode, trace_train
from tests.service.live import Live


def test_encoding_is_traced_as_the_library_does(served: Live, main: jeton.Tokenizer) -> None:
    found = served.post("/v1/trace", {"text": "lowest", "page": True}).json()
    assert found["trace"]["ids"] == main.encode("lowest") == list(trace_encode(main, "lowest").ids)
    assert found["matches_engine"]
    assert 'type="range"' in found["html"]


def test_training_is_traced_on_the_text(served: Live) -> None:
    text = "low lower lowest " * 9
    body = {"text": text, "algorithm": "trimmed-bpe", "vocab_size": 262}
    found = served.post("/v1/trace", body).json()
    expected = trace_train(iter([text]), algorithm="trimmed-bpe", vocab_size=262)
    assert [one["made"] for one in found["trace"]["merges"]] == [
        one.made for one in expected.merges
    ]
    assert "html" not in found


def test_what_cannot_be_traced_says_why(served: Live) -> None:
    answer = served.post("/v1/trace", {"text": "low", "algorithm": "gpt"})
    assert answer.status_code == 400
    assert "cannot be traced" in answer.json()["error"]["message"]
    assert served.post("/v1/trace", {"text": "low", "vocab_size": 10**6}).status_code == 400
