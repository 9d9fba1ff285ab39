"""The table of log shapes: an entry alone makes a shape readable, and every shape has a case."""

from __future__ import annotations

import json

import pytest

from jeton.corpus import open_requests
from jeton.corpus.requests import fields
from jeton.corpus.requests.fields import LOG_SHAPES, LogShape
from jeton.corpus.requests.shapes import SHAPES
from tests.corpus import test_requests_shapes

OTHERS = {
    "otel": {
        "name": "chat",
        "attributes": {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7},
    },
    "langfuse": {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "model": "m",
        "usageDetails": {"input": 7, "output": 2},
    },
    "langsmith": {
        "id": "r",
        "run_type": "llm",
        "inputs": {"messages": [{"role": "user", "content": "x"}]},
        "extra": {"metadata": {"ls_model_name": "m"}},
    },
    "export": {"n_requests": 3, "model": "m", "n_context_tokens_total": 21},
    "usage": {"model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
}
"""Records of shapes that have readers of their own, or no text."""

GATEWAY = LogShape(
    name="gateway-of-a-house",
    told="`gw` with `sent`",
    has=("gw.sent", "gw.v"),
    prompt="gw.sent",
    answer="gw.back",
    model="gw.who",
    usage="gw.counted",
    time="gw.at",
    id="gw.call",
)
RECORD = {
    "gw": {
        "v": 2,
        "sent": "What is BPE?",
        "back": "A merge list.",
        "who": "gpt-4o",
        "counted": {"prompt_tokens": 12, "completion_tokens": 3},
        "at": 1_767_225_600,
        "call": "c-7",
    }
}


@pytest.fixture
def with_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "LOG_SHAPES", (GATEWAY, *LOG_SHAPES))
    monkeypatch.setattr(fields, "_kinds", {})


@pytest.mark.usefixtures("with_an_entry")
@pytest.mark.parametrize("as_text", [False, True])
def test_an_entry_is_all_that_a_shape_needs(as_text: bool) -> None:
    record = {"gw": json.dumps(RECORD["gw"])} if as_text else RECORD
    stream = open_requests([record])
    (batch,) = stream
    columns = batch.columns
    assert stream.summary().shapes == {"gateway-of-a-house": 1}
    assert list(batch.texts) == ["What is BPE?"]
    assert batch.responses is not None
    assert list(batch.responses) == ["A merge list."]
    assert stream.models[columns.model[0]] == "gpt-4o"
    assert (columns.input_tokens[0], columns.output_tokens[0]) == (12, 3)
    assert columns.time_s[0] == 1_767_225_600
    assert batch.places is not None


@pytest.mark.usefixtures("with_an_entry")
def test_records_of_other_shapes_are_read_as_before() -> None:
    stream = open_requests([{**RECORD, "gw": {"sent": "x"}, "prompt": "y", "model": "m"}])
    (batch,) = stream
    assert stream.summary().shapes == {"plain": 1}
    assert list(batch.texts) == ["y"]


def test_a_repeated_id_of_an_entry_is_one_request(with_an_entry: None) -> None:
    stream = open_requests([RECORD, RECORD])
    (batch,) = stream
    assert len(batch) == 2 - sum(stream.joined.values())


@pytest.mark.parametrize("shape", OTHERS)
def test_records_of_other_shapes(shape: str) -> None:
    stream = open_requests([OTHERS[shape]])
    assert sum(map(len, stream)) == 1
    assert stream.summary().shapes == {shape: 1}


def test_every_shape_has_a_case() -> None:
    told = {shape for _, shape, _, _ in test_requests_shapes.SHAPES.values()}
    assert told | set(OTHERS) == set(SHAPES)


def test_entries_are_complete() -> None:
    assert len(SHAPES) == sum(bool(shape.told) for shape in LOG_SHAPES)
    assert {shape.name for shape in LOG_SHAPES} == set(SHAPES)
    assert all(shape.has for shape in LOG_SHAPES if not shape.told)
