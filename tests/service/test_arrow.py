"""Arrow streams that would grow, or that say less than they seem to."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.service.arrow import ARROW_TYPE
from tests.service.live import Live


def stream(columns: dict[str, Any], *, codec: str | None = None, **fields: Any) -> bytes:
    table = pa.table(columns).replace_schema_metadata({"jeton": json.dumps(fields)})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def ask(served: Live, path: str, data: bytes) -> httpx.Response:
    return httpx.post(
        served.url + path, content=data, headers={"content-type": ARROW_TYPE}, timeout=30
    )


def refusal(served: Live, path: str, data: bytes) -> tuple[int, str]:
    found = ask(served, path, data)
    return found.status_code, found.json()["error"]["message"]


LONG = "hello world " * 200_000


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_nothing_is_unpacked(served: Live, codec: str) -> None:
    data = stream({"texts": [LONG]}, codec=codec)
    assert len(data) < 20_000
    assert refusal(served, "/v1/count", data) == (
        415,
        "the body is compressed, and this service unpacks nothing",
    )
    packed = pa.array(["a", LONG]).dictionary_encode()
    assert refusal(served, "/v1/count", stream({"texts": packed}, codec=codec))[0] == 415
    beside = {"texts": ["a"], "other": [LONG]}
    assert refusal(served, "/v1/count", stream(beside, codec=codec))[0] == 415
    ids = {"ids_batch": [[1] * 100_000]}
    assert refusal(served, "/v1/decode", stream(ids, codec=codec))[0] == 415


def _shared() -> Any:
    """Rows whose offsets all stand for the same bytes."""
    offsets = np.tile(np.array([0, 1000], dtype=np.int32), 100)
    return pa.StringArray.from_buffers(199, pa.py_buffer(offsets), pa.py_buffer(b"a" * 1000))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array(["a" * 1000]).dictionary_encode().take(pa.array([0] * 5000)), "dictionary"),
        (pa.RunEndEncodedArray.from_arrays(pa.array([9000], pa.int32()), ["a" * 99]), "run_end"),
        (pa.nulls(1 << 20), "the type null"),
        (pa.array(["a"] * 9, pa.string_view()), "string_view"),
        (_shared(), "no Arrow stream"),
        (pa.array(["a", None]), "has a null; expected texts"),
        (pa.array([1, 2]), "the type int64; expected texts"),
    ],
    ids=["dictionary", "runs", "nulls", "views", "offsets", "null", "numbers"],
)
def test_columns_that_are_more_than_their_bytes(served: Live, column: Any, words: str) -> None:
    status, said = refusal(served, "/v1/count", stream({"texts": column}))
    assert status == 400
    assert words in said


def test_rows_and_ids_have_limits(served: Live) -> None:
    assert refusal(served, "/v1/count", stream({"texts": [""] * 10_001}))[0] == 413
    many = pa.ListArray.from_arrays([0, 4_000_001], pa.array(np.ones(4_000_001, np.int8)))
    assert refusal(served, "/v1/decode", stream({"ids_batch": many}))[0] == 413


def test_answers_have_one_type(served: Live) -> None:
    for texts in ([], [""], ["a", ""]):
        given = {"texts": pa.array(texts, pa.string())}
        found = {
            path: pa.ipc.open_stream(ask(served, path, stream(given)).content).read_all()
            for path in ("/v1/count", "/v1/encode")
        }
        assert found["/v1/count"].schema.field("counts").type == pa.int64()
        assert found["/v1/encode"].schema.field("ids").type == pa.list_(pa.int64())


def test_options_of_encode_are_columns(served: Live) -> None:
    body = {"texts": ["Grüße <|endoftext|>", "a"], "offsets": True, "pieces": True}
    plain = served.post("/v1/encode", body).json()["texts"]
    data = stream({"texts": body["texts"]}, offsets=True, pieces=True)
    table = pa.ipc.open_stream(ask(served, "/v1/encode", data).content).read_all()
    for name in ("ids", "starts", "ends", "starts_bytes", "ends_bytes", "pieces", "is_special"):
        assert table.column(name).to_pylist() == [row[name] for row in plain]


_GOOD = stream({"texts": ["Grüße", "b"]})


@given(st.integers(0, len(_GOOD) - 1), st.binary(min_size=1, max_size=8))
@settings(max_examples=60)
def test_damaged_streams(served: Live, place: int, junk: bytes) -> None:
    data = _GOOD[:place] + junk + _GOOD[place + len(junk) :]
    assert ask(served, "/v1/count", data).status_code in (200, 400, 404, 413, 415)
