"""Faults of a log are counted and shown, never dropped in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import RequestStream, open_requests
from jeton.corpus.requests.issues import ISSUE_KINDS
from jeton.errors import EmptyCorpusError, RecordError, UsageError

GOOD: dict[str, Any] = {
    "prompt": "Hello",
    "response": "Hi",
    "model": "m",
    "timestamp": "2026-01-01T00:00:00Z",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
OTHER: dict[str, Any] = {**GOOD, "usage": {"input_tokens": 2, "output_tokens": 5}}


def without(*names: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key not in names}


def drained(inputs: Any, **options: Any) -> RequestStream:
    stream = open_requests(inputs, **options)
    for batch in stream:
        assert len(batch.texts) == len(batch.columns) == len(batch)
    return stream


def counted(*records: Any, **options: Any) -> dict[str, int]:
    return {kind: issue.n for kind, issue in drained(iter(records), **options).issues.items()}


def test_a_sound_log_has_no_issue() -> None:
    later = {**GOOD, "timestamp": "2026-01-01T00:00:01Z"}
    assert counted(GOOD, later) == {}


@pytest.mark.parametrize(
    ("records", "kind", "n"),
    [
        ([without("prompt")], "missing_text", 1),
        ([without("response")], "missing_response", 1),
        ([without("usage")], "missing_usage", 1),
        ([without("timestamp")], "missing_time", 1),
        ([without("model")], "missing_model", 1),
        ([GOOD, {"colour": "red"}], "not_a_request", 1),
        ([GOOD, 7, None, "text"], "not_a_request", 3),
        ([GOOD, {"object": "chat.completion.chunk", "choices": []}], "stream_chunk", 1),
        ([{**GOOD, "error": {"message": "overloaded"}}], "failed_request", 1),
        ([{**GOOD, "status_code": 429}], "failed_request", 1),
        ([{**GOOD, "usage": {"input_tokens": -1, "output_tokens": 1}}], "negative_count", 1),
        ([{**GOOD, "usage": {"input_tokens": 10**9, "output_tokens": 1}}], "absurd_count", 1),
        ([{**GOOD, "usage": {"input_tokens": "?", "output_tokens": 1}}], "bad_count", 1),
        ([{**GOOD, "usage": {"input_tokens": 999, "output_tokens": 1}}], "usage_exceeds_text", 1),
        ([{**GOOD, "timestamp": "yesterday"}], "bad_time", 1),
        ([{**GOOD, "timestamp": "2026-01-01"}], "time_without_zone", 1),
        ([GOOD, {**GOOD, "timestamp": "2025-12-31T23:59:59Z"}], "time_backwards", 1),
        ([{**GOOD, "id": "a"}, {**GOOD, "id": "b"}, {**OTHER, "id": "a"}], "duplicate_id", 1),
        ([{**GOOD, "prompt": "a\ud800"}], "invalid_unicode", 1),
        (
            [GOOD, GOOD, {"model": "gpt-4o", "messages": [{"role": "user", "content": "q"}]}],
            "mixed_schemas",
            1,
        ),
    ],
)
def test_each_oddity_is_counted_with_its_place(records: list[Any], kind: str, n: int) -> None:
    stream = drained(iter(records))
    issue = stream.issues[kind]
    assert issue.n == n
    assert issue.examples
    assert issue.meaning == ISSUE_KINDS[kind]


def test_records_that_give_no_request_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.dumps(GOOD), "", "{broken", json.dumps([1]), json.dumps(GOOD)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stream = drained(path)
    assert stream.n_requests == 2
    assert stream.issues["not_json"].examples[0].startswith(f"{path}, line 3: ")
    assert stream.issues["not_a_request"].examples == (f"{path}, line 4: it is a number",)


@pytest.mark.parametrize("line", ["{broken", "[1]"])
def test_strict_reading_stops_there(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match="line 2: not ") as caught:
        drained(path, strict=True)
    assert (caught.value.path, caught.value.line) == (str(path), 2)


def test_a_line_that_is_too_long_is_counted_and_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    # Longer than several pieces of the reader, so that it is never held as a whole.
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(GOOD) + "\n")
        file.write('{"prompt": "')
        for _ in range(10):
            file.write("x" * (1 << 20))
        file.write('"}\n')
        file.write(json.dumps(GOOD))
    stream = drained(path, max_record_bytes=1 << 20)
    assert stream.n_requests == 2
    issue = stream.issues["line_too_long"]
    assert issue.n == 1
    assert "line 2: 10,485,7" in issue.examples[0]
    assert drained(path).n_requests == 3


def test_a_log_without_a_request_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"colour": "red"}\nnothing\n', encoding="utf-8")
    with pytest.raises(EmptyCorpusError) as caught:
        drained(path)
    message = str(caught.value)
    assert "no request in 1 records" in message
    assert "1 not valid JSON" in message
    assert "its fields are colour" in message
    assert "hint: " in message


def test_deep_nesting_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    deep = '{"prompt": ' + "[" * 100_000 + "]" * 100_000 + "}"
    moderate = '{"messages": [{"role": "user", "content": ' + "[" * 200 + '"x"' + "]" * 200 + "}]}"
    path.write_text("\n".join([json.dumps(GOOD), deep, moderate]), encoding="utf-8")
    stream = drained(path)
    assert stream.issues["not_json"].n == 1
    assert stream.n_requests == 2


def test_many_names_are_bounded() -> None:
    records = ({**GOOD, "model": f"model-{i}", "user": f"u{i}"} for i in range(2_500))
    stream = drained(records, domain_field="user")
    assert len(stream.models) == len(stream.domains) == 1_001
    assert stream.models[-1] == stream.domains[-1] == "(other)"
    assert stream.issues["too_many_names"].n == 2 * 1_500
    by_model = {entry.name: entry.n_requests for entry in stream.summary().by_model}
    assert by_model["(other)"] == 1_500
    assert sum(by_model.values()) == 2_500


def test_a_chat_of_many_turns_is_bounded() -> None:
    messages = [{"role": ("user", "assistant")[i % 2], "content": "x"} for i in range(4_000)]
    stream = drained(iter([{"messages": messages}]), turns="each")
    assert stream.n_requests == 1_001
    assert stream.issues["too_many_turns"].n == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_bytes": 0}, "batch_bytes is 0"),
        ({"max_record_bytes": 0}, "max_record_bytes is 0"),
        ({"domain_field": "a", "domains_by": "file"}, "contradict"),
    ],
)
def test_arguments_that_cannot_be_meant(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_requests(iter([GOOD]), **options)


@pytest.mark.parametrize("inputs", [GOOD, b"{}", 7, ["log.jsonl", GOOD]])
def test_inputs_that_cannot_be_meant(inputs: Any) -> None:
    with pytest.raises(UsageError):
        open_requests(inputs)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"did you mean .*requests\.jsonl"):
        open_requests(tmp_path / "request.jsonl")


NAMES = st.sampled_from(
    ["prompt", "messages", "role", "content", "response", "usage", "input", "output", "choices",
     "message", "text", "type", "parts", "contents", "system", "tools", "input_tokens", "model",
     "prompt_tokens", "completion_tokens", "total_tokens", "timestamp", "id", "error", "name",
     "attributes", "gen_ai.operation.name", "gen_ai.input.messages", "resourceSpans", "spanId",
     "gen_ai.prompt.0.content", "events", "key", "value", "stringValue", "body", "request",
     "inputBodyJson", "result", "candidates", "tool_calls", "function", "arguments", "source",
     "prompt_tokens_details", "cached_tokens", "data", "conversations", "status", "traceId",
     "context", "intValue", "arrayValue", "values", "scopeSpans", "spans", "resource"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["chat", "text", "tool_use", "image", "user", "assistant", "{", '["a"]',
                     '[{"role":"user"}]', "response", "chat.completion.chunk"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=30,
)


@given(record=st.dictionaries(NAMES, VALUES, max_size=8), turns=st.sampled_from(["last", "each"]))
def test_no_record_is_a_crash(record: dict[str, Any], turns: Any) -> None:
    """Whatever a record holds, it is a request or an issue; counts are unknown or sensible."""
    stream = open_requests(iter([GOOD, record]), turns=turns, domain_field="name")
    n_requests = 0
    for batch in stream:
        n_requests += len(batch)
        columns = batch.columns
        for name in ("input_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens"):
            assert (getattr(columns, name) >= -1).all()
        known = columns.input_tokens >= 0
        cached = columns.cache_read_tokens.clip(0) + columns.cache_write_tokens.clip(0)
        assert (cached[known] <= columns.input_tokens[known]).all()
        said = columns.output_tokens >= 0
        assert (columns.reasoning_tokens[said] <= columns.output_tokens[said]).all()
    assert n_requests == stream.n_requests == stream.summary().n_requests
    assert n_requests > 1 or stream.issues


@given(data=st.binary(max_size=300))
def test_no_file_is_a_crash(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + data)
    assert drained(path).n_requests >= 1
