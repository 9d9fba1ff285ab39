"""The service's own routes over real HTTP."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.service import ServiceLimits, ServiceSettings, create_app
from tests.formats import small
from tests.service.live import Live, live

TEXT = "Grüße, 世界! <|endoftext|> 👩‍👩‍👧"
ARROW = "application/vnd.apache.arrow.stream"


def good(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


def test_count_single_and_batch(served: Live, main: jeton.Tokenizer) -> None:
    one = good(served.post("/v1/count", {"text": TEXT}))
    assert one == {
        "count": main.count(TEXT),
        "tokenizer": "main",
        "fingerprint": main.fingerprint,
        "basis": "exact",
    }
    several = good(served.post("/v1/count", {"texts": [TEXT, "", "a"]}))
    assert several["counts"] == [main.count(TEXT), 0, 1]
    assert several["total"] == sum(several["counts"])


def test_another_tokenizer_by_name(served: Live, med: jeton.Tokenizer) -> None:
    found = served.post("/v1/count", {"text": TEXT, "tokenizer": "med"})
    assert good(found)["count"] == med.count(TEXT)
    assert found.headers["jeton-fingerprint"] == med.fingerprint
    assert found.headers["jeton-basis"] == "exact"


def test_encode_and_decode(served: Live, main: jeton.Tokenizer) -> None:
    found = good(served.post("/v1/encode", {"text": TEXT, "offsets": True, "pieces": True}))
    encoding = main.encode_with_offsets(TEXT)
    assert found["ids"] == encoding.ids.tolist() == main.encode(TEXT)
    assert found["starts"] == encoding.starts.tolist()
    assert found["ends_bytes"] == encoding.ends_bytes.tolist()
    pieces = [base64.b64decode(piece) for piece in found["pieces"]]
    assert b"".join(pieces) == TEXT.encode()
    # Text that looks like a special token is text.
    assert not any(found["is_special"])
    assert good(served.post("/v1/decode", {"ids": found["ids"]}))["text"] == TEXT
    batch = good(served.post("/v1/encode", {"texts": [TEXT, ""]}))
    lists = [item["ids"] for item in batch["texts"]]
    assert lists == [main.encode(TEXT), []]
    texts = good(served.post("/v1/decode", {"ids_batch": lists}))["texts"]
    assert texts == [TEXT, ""]


def test_estimate_holds_the_count(served: Live, main: jeton.Tokenizer) -> None:
    found = good(served.post("/v1/estimate", {"text": TEXT}))
    assert found["lower_tokens"] <= main.count(TEXT) <= found["upper_tokens"]
    assert (found["basis"], found["coverage"]) == ("estimated", 1.0)
    n_bytes = len(TEXT.encode())
    by_size = good(served.post("/v1/estimate", {"n_bytes": n_bytes}))
    assert by_size["upper_tokens"] == found["upper_tokens"]
    refused = served.post("/v1/estimate", {"text": TEXT, "method": "calibrated"})
    assert refused.status_code == 400
    assert "jeton predict calibrate" in refused.json()["error"]["hint"]


def test_a_calibrated_estimate(tmp_path: Path) -> None:
    from jeton.estimating.calibrated import CountModel

    tokenizer = small.tokenizer()
    texts = [b"hello world " * n for n in range(1, 201)]
    model = CountModel.fit(
        texts,
        [tokenizer.count(text) for text in texts],
        counted_by="small",
        fingerprint=tokenizer.fingerprint,
    )
    model.save(tmp_path / "model.json")
    settings = ServiceSettings(
        tokenizers={"small": tokenizer}, count_models={"small": tmp_path / "model.json"}
    )
    with live(settings) as server:
        found = good(server.post("/v1/estimate", {"texts": ["hello world " * 50]}))
    assert found["basis"] == "calibrated"
    (interval,) = found["texts"]
    assert interval["lower_tokens"] <= interval["upper_tokens"]
    assert interval["expected_tokens"] == pytest.approx(
        tokenizer.count("hello world " * 50), rel=0.1
    )
    others = ServiceSettings(
        tokenizers={"a": "jeton-general-32k"}, count_models={"a": tmp_path / "model.json"}
    )
    with pytest.raises(jeton.UsageError, match="another tokenizer"):
        create_app(others)


def test_chunk_is_the_library_s(served: Live, main: jeton.Tokenizer) -> None:
    from jeton.chunking import chunk_text

    text = "# Dose\nTake two. Wait an hour.\n\n# Risks\nNone are known."
    found = good(served.post("/v1/chunk", {"text": text, "max_tokens": 16}))
    expected = chunk_text(text, tokenizer=main, max_tokens=16)
    assert [item["text"] for item in found["chunks"]] == [c.text for c in expected.chunks]
    assert found["n_tokens"] == expected.n_tokens
    refused = served.post("/v1/chunk", {"text": "日本", "max_tokens": 1, "overlap": 3})
    assert refused.json()["error"]["type"] == "usage"


def test_compare_counts_as_each_tokenizer(
    served: Live, main: jeton.Tokenizer, med: jeton.Tokenizer
) -> None:
    text = "The patient takes hydroxychloroquine. " * 20
    found = good(served.post("/v1/compare", {"text": text}))
    rows = {row["tokenizer"]: row for row in found["tokenizers"]}
    assert rows["main"]["n_tokens"] == main.count(text)
    assert rows["med"]["n_tokens"] == med.count(text)
    change = med.count(text) / main.count(text) - 1
    assert rows["med"]["tokens_change"] == pytest.approx(change)
    assert found["n_bytes"] == len(text)
    twice = served.post("/v1/compare", {"text": text, "tokenizers": ["main", "main"]})
    assert twice.status_code == 400


def test_compare_of_nothing(served: Live) -> None:
    bodies: list[dict[str, Any]] = [{"text": ""}, {"texts": []}]
    for body in bodies:
        assert served.post("/v1/compare", body).status_code in (200, 400)


def test_route(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.toml"
    endpoint = '[[endpoint]]\nname = "{}"\nmodel = "{}"\ntokenizer = "jeton-general-32k"\n'
    price = "price = {{ input_usd_per_mtok = {}, output_usd_per_mtok = {} }}\n"
    file.write_text(
        (endpoint.format("short", "a") + price.format("1", "8"))
        + (endpoint.format("long", "b") + price.format("2", "2")),
        encoding="utf-8",
    )
    settings = ServiceSettings(tokenizers={"main": "jeton-general-32k"}, endpoints=file)
    with live(settings) as server:
        found = good(server.post("/v1/route", {"text": "hello", "max_output_tokens": 1}))
        bad = server.post("/v1/route", {"text": "hello", "extra_tokens": -1})
    assert found["endpoint"] == "long"
    assert {item["endpoint"] for item in found["candidates"]} == {"short", "long"}
    assert bad.status_code == 400


def test_route_without_endpoints(served: Live) -> None:
    refused = served.post("/v1/route", {"text": "hello"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "no_endpoints")


def test_many_ids_are_written_as_few_are(served: Live, main: jeton.Tokenizer) -> None:
    text = "\x00\x01\x02" * 20_000
    ids = good(served.post("/v1/encode", {"text": text}))["ids"]
    assert ids == main.encode(text)
    table = _ask(served, "/v1/encode", _stream("texts", [text, "a"]))
    assert table.column("ids").to_pylist() == [ids, main.encode("a")]


@given(st.lists(st.text(max_size=60), max_size=6))
@settings(max_examples=8)
def test_counts_are_the_library_s(served: Live, main: jeton.Tokenizer, texts: list[str]) -> None:
    found = good(served.post("/v1/count", {"texts": texts}))
    assert found["counts"] == [main.count(text) for text in texts]


CASES: list[tuple[str, Any]] = [
    ("/v1/count", {"text": TEXT}),
    ("/v1/count", {"texts": [TEXT, "b"]}),
    ("/v1/count", {}),
    ("/v1/count", {"text": 1}),
    ("/v1/count", {"text": "a", "tokenizer": "nope"}),
    ("/v1/encode", {"text": TEXT, "pieces": True}),
    ("/v1/decode", {"ids": [1, 2, 3]}),
    ("/v1/decode", {"ids": [10**6]}),
    ("/v1/decode", {"ids": [-1]}),
    ("/v1/chunk", {"text": TEXT, "max_tokens": 9}),
    ("/tokenize", {"prompt": TEXT}),
    ("/tokenize", {}),
    ("/tei/tokenize", {"inputs": [TEXT]}),
    ("/tei/tokenize", {"inputs": 3}),
    ("/v1/messages/count_tokens", {"model": "claude-x", "messages": []}),
]


def test_the_framework_answers_as_the_express_lane(served: Live) -> None:
    from tests.service.live import SHAPES
    from tests.service.live import settings as made

    slow = made(Path(served.gate.state.settings.templates["main"]).parent, compat=SHAPES)
    with live(slow, is_express=False) as twin:
        for path, body in CASES:
            fast, other = served.post(path, body), twin.post(path, body)
            assert fast.status_code == other.status_code, (path, body, fast.text, other.text)
            if fast.status_code == 200:
                assert fast.json() == other.json()
                assert fast.headers["jeton-basis"] == other.headers["jeton-basis"]
            else:
                assert fast.json().keys() == other.json().keys()


def _stream(column: str, values: list[Any], **fields: Any) -> bytes:
    table = pa.table({column: values}).replace_schema_metadata({"jeton": json.dumps(fields)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _ask(served: Live, path: str, data: bytes) -> Any:
    found = httpx.post(served.url + path, content=data, headers={"content-type": ARROW})
    assert found.status_code == 200, found.text
    assert found.headers["content-type"] == ARROW
    return pa.ipc.open_stream(found.content).read_all()


def test_arrow_streams(served: Live, med: jeton.Tokenizer) -> None:
    texts = [TEXT, "", "b"]
    counts = _ask(served, "/v1/count", _stream("texts", texts, tokenizer="med"))
    assert counts.column("counts").to_pylist() == [med.count(text) for text in texts]
    assert json.loads(counts.schema.metadata[b"jeton"])["fingerprint"] == med.fingerprint
    ids = _ask(served, "/v1/encode", _stream("texts", texts)).column("ids").to_pylist()
    assert ids == [jeton.load("jeton-general-32k").encode(text) for text in texts]
    back = _ask(served, "/v1/decode", _stream("ids_batch", ids))
    assert back.column("texts").to_pylist() == texts


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not arrow",
        _stream("texts", ["a"])[:60],
        _stream("other", ["a"]),
        _stream("texts", [1]),
        _stream("texts", ["a"], tokenizer="nope"),
        _stream("texts", ["a"], nonsense=1),
    ],
)
def test_bad_arrow_streams(served: Live, data: bytes) -> None:
    found = httpx.post(served.url + "/v1/count", content=data, headers={"content-type": ARROW})
    assert found.status_code in (400, 404)
    assert found.json()["error"]["message"]


def test_info_and_uploads(served: Live, med: jeton.Tokenizer) -> None:
    data = med.to_hf_json()
    found = httpx.post(
        served.url + "/v1/tokenizers",
        content=data,
        headers={"content-type": "application/octet-stream"},
        timeout=30,
    )
    name = good(found)["name"]
    assert found.json()["vocab_size"] == med.vocab_size
    count = good(served.post("/v1/count", {"text": TEXT, "tokenizer": name}))["count"]
    assert count == med.count(TEXT)
    names = [item["name"] for item in good(served.get("/v1/info"))["tokenizers"]]
    assert names[:2] == ["main", "med"]
    assert name in names
    for junk in (b"", b"{}", b'{"model": 1}', b"\x93JETO" + b"x" * 50, b"\x00" * 100):
        bad = httpx.post(served.url + "/v1/tokenizers", content=junk)
        assert bad.status_code == 400, bad.text
        assert "/tmp" not in bad.text


def test_uploads_make_room() -> None:
    limits = ServiceLimits(max_uploads=1)
    with live(ServiceSettings(tokenizers={"s": small.tokenizer()}, limits=limits)) as server:
        first = httpx.post(server.url + "/v1/tokenizers", content=small.tekken()).json()["name"]
        second = httpx.post(server.url + "/v1/tokenizers", content=small.claude()).json()["name"]
        assert server.post("/v1/count", {"text": "a", "tokenizer": second}).status_code == 200
        gone = server.post("/v1/count", {"text": "a", "tokenizer": first})
        assert gone.status_code == 404
        metrics = server.get("/metrics").text
    assert "upload-" not in metrics
