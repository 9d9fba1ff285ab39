"""Records that look like something that they are not."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import RequestBatch, RequestStream, json_records, open_requests
from jeton.corpus.requests.messages import chat_of


def read(*records: Any, **options: Any) -> tuple[RequestBatch, RequestStream]:
    stream = open_requests(iter(records), **options)
    (batch,) = list(stream)
    return batch, stream


@pytest.mark.parametrize(
    "said",
    [
        {"text": "a part of the answer", "score": 1},
        {"error": "the user's words", "status": 500},
        {"content": [1, 2], "object": "cat"},
        ["a", "b"],
    ],
)
def test_an_answer_that_is_json_is_a_text(said: Any) -> None:
    """Structured output: the model wrote JSON, which is no provider's object."""
    text = json.dumps(said)
    batch, stream = read({"prompt": "Give me JSON", "response": text, "model": "m"})
    assert batch.responses is not None
    assert list(batch.responses) == [text]
    assert "failed_request" not in stream.issues


def test_a_prompt_that_is_json_is_a_text() -> None:
    text = json.dumps([{"role": "admin", "name": "Ada"}])
    batch, _ = read({"prompt": text})
    assert list(batch.texts) == [text]
    chat = json.dumps([{"role": "user", "content": "Hi"}])
    batch, _ = read({"prompt": chat})
    assert list(batch.texts) == ["Hi"]


def test_a_prompt_of_token_ids_has_no_text() -> None:
    record = {"model": "m", "prompt": [9906, 1917], "usage": {"prompt_tokens": 2}}
    batch, stream = read(record)
    assert batch.columns.has_text.tolist() == [False]
    assert batch.columns.input_tokens.tolist() == [2]
    assert stream.issues["attachment"].n == 1


def test_a_list_of_embeddings_is_no_list_of_records() -> None:
    vectors = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
    record = {
        "object": "list",
        "data": vectors,
        "model": "text-embedding-3-small",
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
    }
    batch, stream = read(record)
    assert batch.columns.input_tokens.tolist() == [8]
    assert stream.models == ["text-embedding-3-small"]
    batch, _ = read({"input": ["one", "two"], "response": record})
    assert list(batch.texts) == ["one\ntwo"]


def test_arguments_nested_too_deeply_to_be_written() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    call = {"type": "tool_use", "name": "f", "input": {"a": deep}}
    record = {
        "messages": [{"role": "assistant", "content": [call]}, {"role": "user", "content": "q"}]
    }
    stream = open_requests(iter([record, {"prompt": "next"}]))
    n_requests = sum(len(batch) for batch in stream)
    # Whether it can be written depends on the depth of the stack; it is counted in either case.
    assert (
        n_requests + stream.issues["not_a_request"].n == 2 if n_requests == 1 else n_requests == 2
    )


def test_what_is_shown_cannot_command_a_terminal() -> None:
    hostile = "\x1b[2Jgone\ud800\n"
    record = {"prompt": "a", "model": hostile, "team": hostile, "error": hostile}
    _, stream = read(record, domain_field="team")
    shown = [*stream.models, *stream.domains, *stream.issues["failed_request"].examples]
    assert len(shown) == 3
    assert all(text.isprintable() for text in shown)
    assert stream.models == ["\ufffd[2Jgone\ufffd\ufffd"]


def test_events_of_an_otlp_log_export() -> None:
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-4o"}},
        {
            "key": "gen_ai.input.messages",
            "value": {"stringValue": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]'},
        },
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "8"}},
    ]
    event = {
        "timeUnixNano": "1767225600000000000",
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": attributes,
        "spanId": "a",
    }
    batch, stream = read({"resourceLogs": [{"scopeLogs": [{"logRecords": [event]}]}]})
    assert list(batch.texts) == ["Hi"]
    assert batch.columns.time_s.tolist() == [1_767_225_600.0]
    assert batch.columns.input_tokens.tolist() == [8]
    assert stream.models == ["gpt-4o"]


def test_an_empty_export_is_told() -> None:
    _, stream = read({"prompt": "a"}, [], {"resourceSpans": []})
    assert stream.issues["not_a_request"].n == 2


def test_streamed_responses_kept_as_lists() -> None:
    def piece(text: str, **more: Any) -> dict[str, Any]:
        return {
            "object": "chat.completion.chunk",
            "choices": [{"delta": {"content": text}}],
            **more,
        }

    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    pieces = [piece("Hel"), piece("lo"), {"choices": [], "usage": usage}]
    batch, _ = read(
        {"model": "m", "messages": [{"role": "user", "content": "q"}], "response": pieces}
    )
    assert batch.responses is not None
    assert list(batch.responses) == ["Hello"]
    assert batch.columns.input_tokens.tolist() == [3]


# Fast paths against their slow twins.

PARTS = st.lists(
    st.one_of(
        st.text(max_size=5),
        st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=5)),
        st.just({"type": "image", "source": {"type": "base64", "data": "AA=="}}),
    ),
    max_size=4,
)


@given(content=st.text(max_size=9) | PARTS, role=st.sampled_from(["user", "assistant"]))
def test_plain_messages_are_read_as_any_other(content: Any, role: str) -> None:
    fast = chat_of([{"role": role, "content": content}])
    # A field that the fast path does not know sends the message through the general one.
    slow = chat_of([{"role": role, "content": content, "type": "message"}])
    assert fast.messages == slow.messages
    assert fast.n_attachments == slow.n_attachments
    assert fast.joined() == slow.joined()


def test_the_collector_of_cycles_comes_back_after_a_long_line() -> None:
    long = b'{"a": "' + b"x" * json_records.LONG_BYTES + b'"}'
    assert gc.isenabled()
    assert len(json_records.parse_line(long)["a"]) == json_records.LONG_BYTES
    with pytest.raises(ValueError, match="Extra data"):
        json_records.parse_line(long + b"}")
    assert gc.isenabled()
    gc.disable()
    try:
        json_records.parse_line(long)
        assert not gc.isenabled()
    finally:
        gc.enable()
