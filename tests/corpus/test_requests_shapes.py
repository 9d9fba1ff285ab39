"""Every shape of record gives what was sent, what came back, and the facts beside it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jeton.corpus import RequestBatch, RequestStream, open_requests


def read(*records: Any, **options: Any) -> tuple[RequestBatch, RequestStream]:
    stream = open_requests(iter(records), **options)
    (batch,) = list(stream)
    return batch, stream


USER = {"role": "user", "content": "What is BPE?"}
SYSTEM = {"role": "system", "content": "Be brief."}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_767_225_600,
    "model": "gpt-4o-2024-08-06",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "A merge list."}}],
    "usage": {"prompt_tokens": 17, "completion_tokens": 4, "total_tokens": 21},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "A merge list."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 17, "output_tokens": 4},
}
SENT = "Be brief.\nWhat is BPE?"
SAID = "A merge list."

SHAPES: dict[str, tuple[Any, str, str, str]] = {
    "plain prompt": ({"prompt": SENT, "response": SAID, "model": "m"}, "plain", SENT, SAID),
    "plain input and output": ({"input": SENT, "output": SAID, "model": "m"}, "plain", SENT, SAID),
    "plain messages": (
        {"messages": [SYSTEM, USER], "completion": SAID, "model_name": "m"},
        "plain",
        SENT,
        SAID,
    ),
    "chat kept with its answer": (
        {"messages": [SYSTEM, USER, {"role": "assistant", "content": SAID}], "model_id": "m"},
        "plain",
        SENT,
        SAID,
    ),
    "sharegpt": (
        {
            "conversations": [
                {"from": "system", "value": "Be brief."},
                {"from": "human", "value": "What is BPE?"},
                {"from": "gpt", "value": SAID},
            ],
            "model_name": "m",
        },
        "plain",
        SENT,
        SAID,
    ),
    "openai, request beside response": (
        {"request": {"model": "gpt-4o", "messages": [SYSTEM, USER]}, "response": COMPLETION},
        "openai-chat",
        SENT,
        SAID,
    ),
    "openai, in one object": (
        {**COMPLETION, "messages": [SYSTEM, USER]},
        "openai-chat",
        SENT,
        SAID,
    ),
    "openai, bodies as strings": (
        {
            "request_body": json.dumps({"model": "gpt-4o", "messages": [SYSTEM, USER]}),
            "response_body": json.dumps(COMPLETION),
        },
        "openai-chat",
        SENT,
        SAID,
    ),
    "openai, parts": (
        {
            "model": "gpt-4o",
            "messages": [
                SYSTEM,
                {"role": "user", "content": [{"type": "text", "text": "What is BPE?"}]},
            ],
            "response": COMPLETION,
        },
        "openai-chat",
        SENT,
        SAID,
    ),
    "openai batch, joined": (
        {
            "custom_id": "1",
            "body": {"model": "gpt-4o", "messages": [SYSTEM, USER]},
            "response": {"status_code": 200, "body": COMPLETION},
            "error": None,
        },
        "openai-chat",
        SENT,
        SAID,
    ),
    "openai completions": (
        {
            "prompt": SENT,
            "model": "davinci",
            "response": {"object": "text_completion", "choices": [{"text": SAID}]},
        },
        "openai-completions",
        SENT,
        SAID,
    ),
    "openai responses": (
        {
            "request": {"model": "gpt-5", "instructions": "Be brief.", "input": "What is BPE?"},
            "response": {
                "object": "response",
                "model": "gpt-5",
                "output": [
                    {"type": "reasoning", "summary": []},
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": SAID}],
                    },
                ],
            },
        },
        "openai-responses",
        SENT,
        SAID,
    ),
    "anthropic": (
        {
            "model": "claude-sonnet-4-5",
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {}}],
            "messages": [USER],
            "response": MESSAGE,
        },
        "anthropic",
        SENT,
        SAID,
    ),
    "anthropic batch": (
        {
            "custom_id": "1",
            "params": {"model": "claude-x", "system": "Be brief.", "messages": [USER]},
            "result": {"type": "succeeded", "message": MESSAGE},
        },
        "anthropic",
        SENT,
        SAID,
    ),
    "gemini": (
        {
            "request": {
                "contents": [{"role": "user", "parts": [{"text": "What is BPE?"}]}],
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
            },
            "response": {
                "modelVersion": "gemini-2.5-flash",
                "candidates": [{"content": {"role": "model", "parts": [{"text": SAID}]}}],
            },
        },
        "gemini",
        SENT,
        SAID,
    ),
    "bedrock invocation log": (
        {
            "schemaType": "ModelInvocationLog",
            "modelId": "amazon.nova-pro-v1:0",
            "input": {
                "inputBodyJson": {
                    "system": [{"text": "Be brief."}],
                    "messages": [{"role": "user", "content": [{"text": "What is BPE?"}]}],
                },
                "inputTokenCount": 17,
            },
            "output": {
                "outputBodyJson": {
                    "output": {"message": {"role": "assistant", "content": [{"text": SAID}]}},
                    "stopReason": "end_turn",
                },
                "outputTokenCount": 4,
            },
        },
        "bedrock",
        SENT,
        SAID,
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    record, shape, sent, said = SHAPES[name]
    batch, stream = read(record)
    assert stream.summary().shapes == {shape: 1}
    assert list(batch.texts) == [sent]
    assert batch.responses is not None
    assert list(batch.responses) == [said]
    assert len(stream.summary().models) == 1
    assert batch.columns.model.tolist() == [0]
    assert batch.columns.has_text.tolist() == [True]


def test_facts_of_an_openai_log() -> None:
    record = {
        "request": {"model": "gpt-4o", "messages": [SYSTEM, USER]},
        "response": COMPLETION,
        "service": "search",
    }
    batch, stream = read(record, domain_field="service")
    columns = batch.columns
    # The one that answered is the one that is billed.
    assert stream.models[columns.model[0]] == "gpt-4o-2024-08-06"
    assert stream.models[columns.model_asked[0]] == "gpt-4o"
    assert stream.domains == ["search"]
    assert columns.domain.tolist() == [0]
    assert columns.time_s.tolist() == [1_767_225_600.0]
    assert columns.input_tokens.tolist() == [17]
    assert columns.output_tokens.tolist() == [4]
    assert columns.cache_read_tokens.tolist() == [-1]
    assert not stream.issues


def test_tools_and_their_calls_are_sent() -> None:
    tools = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"q":"é"}'}}
    messages = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "nothing"},
    ]
    batch, _ = read({"model": "m", "messages": messages, "tools": tools, "response": "Nothing."})
    assert batch.texts[0].split("\n") == [
        '{"type":"function","function":{"name":"find","parameters":{"type":"object"}}}',
        "What is BPE?",
        'find {"q":"é"}',
        "nothing",
    ]


def test_anthropic_blocks() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "tool_use", "id": "t", "name": "find", "input": {"q": "é"}},
    ]
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "no"}],
    }
    messages = [
        USER,
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]
    batch, _ = read({"model": "claude-x", "messages": messages, "response": MESSAGE})
    assert batch.texts[0].split("\n") == ["What is BPE?", "Hm.", 'find {"q":"é"}', "no"]


def test_attachments_are_counted_and_not_measured() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    text = {"type": "text", "text": "What is this?"}
    usage = {"prompt_tokens": 800, "completion_tokens": 5}
    batch, stream = read(
        {"model": "m", "messages": [{"role": "user", "content": [text, image]}], "usage": usage}
    )
    assert list(batch.texts) == ["What is this?"]
    assert stream.issues["attachment"].n == 1
    assert "usage_exceeds_text" not in stream.issues


def test_input_that_the_log_does_not_show() -> None:
    """More tokens than bytes cannot come from the text alone."""
    shown = {"prompt": "Hello", "response": "Hi", "usage": {"input_tokens": 60, "output_tokens": 1}}
    hidden = {
        "prompt": "Hello",
        "response": "Hi",
        "usage": {"input_tokens": 600, "output_tokens": 1},
    }
    _, stream = read(shown)
    assert "usage_exceeds_text" not in stream.issues
    _, stream = read(hidden)
    assert stream.issues["usage_exceeds_text"].n == 1


def test_published_overhead_of_chats() -> None:
    """3 a message, 1 for its role, 1 for a name, 3 for the reply."""
    named = {**USER, "name": "ada"}
    batch, stream = read(
        {"model": "gpt-4o", "messages": [SYSTEM, USER]},
        {"model": "gpt-4o", "messages": [named]},
        {"prompt": "no chat"},
        {"model": "claude-x", "messages": [USER], "response": MESSAGE},
    )
    assert batch.columns.overhead_tokens.tolist() == [2 * 4 + 3, 4 + 1 + 3, 0, 0]
    assert "OpenAI" in stream.summary().chat_format


def test_overhead_agrees_with_the_published_formula(shared: Path) -> None:
    """Text and overhead of real dialogues against the formula as published, message by message."""
    import jeton
    from jeton.corpus import open_documents

    tok = jeton.load(shared / "data/vocab/o200k_base.tiktoken.zst")
    roles = {"USER": "user", "SYSTEM": "assistant"}
    chats: list[list[dict[str, str]]] = []
    for _, texts in open_documents(shared / "data/corpora/chat.jsonl.zst"):
        for text in texts:
            turns = [line.partition(": ") for line in text.split("\n")]
            if len(turns) > 2 and all(role in roles and said for role, _, said in turns):
                chats.append([{"role": roles[role], "content": said} for role, _, said in turns])
        break
    chats = chats[:400]
    by_formula = [
        3 + sum(3 + tok.count(message["role"]) + tok.count(message["content"]) for message in chat)
        for chat in chats
    ]
    # A chat that ends with an answer was kept with it; here all of it was sent.
    batch, _ = read(*({"model": "gpt-4o", "messages": chat, "response": "."} for chat in chats))
    ours = tok.count_batch(batch.texts) + batch.columns.overhead_tokens
    # Of the line breaks between messages, each is a token of its own at most.
    assert (ours >= by_formula).all()
    assert (ours < np.add(by_formula, [len(chat) for chat in chats])).all()
    assert ours.sum() / sum(by_formula) == pytest.approx(1.004, abs=0.002)


def test_a_template_renders_chats_as_they_are_sent() -> None:
    from jeton.chat import ChatTemplate

    template = ChatTemplate.from_source(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}",
        is_trusted=True,
    )
    batch, stream = read(
        {
            "model": "m",
            "messages": [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        },
        template=lambda messages, tools: (
            template.render(messages, tools=tools, add_generation_prompt=True).text
        ),
    )
    assert list(batch.texts) == ["<|system|>Be brief.<|user|>Hi<|assistant|>"]
    assert batch.columns.overhead_tokens.tolist() == [0]
    assert stream.summary().chat_format == "rendered by the chat template"


def test_a_template_that_refuses_a_chat() -> None:
    from jeton.chat import ChatTemplate

    template = ChatTemplate.from_source("{{ raise_exception('no system role') }}", is_trusted=True)
    batch, stream = read(
        {"model": "m", "messages": [SYSTEM, USER]},
        template=lambda messages, tools: template.render(messages, tools=tools).text,
    )
    assert list(batch.texts) == [SENT]
    assert stream.issues["template_failed"].n == 1


def test_each_turn_of_a_chat_is_a_request() -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "2"},
    ]
    record = {"messages": messages, "usage": {"input_tokens": 9, "output_tokens": 1}}
    batch, _ = read(record, turns="each")
    assert list(batch.texts) == ["one", "one\n1\ntwo"]
    assert batch.responses is not None
    assert list(batch.responses) == ["1", "2"]
    assert batch.columns.input_tokens.tolist() == [-1, 9]
    batch, _ = read(record)
    assert list(batch.texts) == ["one\n1\ntwo"]


def test_fields_that_the_user_names() -> None:
    record = {
        "req": {"q": "What is BPE?"},
        "ans": {"text": SAID},
        "engine": "m",
        "at": 1_767_225_600_000,
        "meta": {"team": 7},
    }
    batch, stream = read(
        record,
        prompt_field="req.q",
        response_field="ans",
        model_field="engine",
        time_field="at",
        domain_field="meta.team",
    )
    assert list(batch.texts) == ["What is BPE?"]
    assert batch.responses is not None
    assert list(batch.responses) == [SAID]
    assert (stream.models, stream.domains) == (["m"], ["7"])
    assert batch.columns.time_s.tolist() == [1_767_225_600.0]


def test_usage_without_text() -> None:
    batch, stream = read({"timestamp": 27482, "input_length": 6758, "output_length": 500})
    assert batch.columns.has_text.tolist() == [False]
    assert list(batch.texts) == [""]
    assert batch.responses is None
    assert stream.summary().n_with_text == 0
    assert stream.issues["missing_text"].n == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1_767_225_600, 1_767_225_600.0),
        (1_767_225_600.25, 1_767_225_600.25),
        (1_767_225_600_250, 1_767_225_600.25),
        (1_767_225_600_250_000, 1_767_225_600.25),
        ("1767225600250000000", 1_767_225_600.25),
        ("2026-01-01T00:00:00.250Z", 1_767_225_600.25),
        ("2026-01-01T01:00:00.250+01:00", 1_767_225_600.25),
        ("2026-01-01 00:00:00.250 UTC", 1_767_225_600.25),
    ],
)
def test_times(value: Any, seconds: float) -> None:
    batch, stream = read({"prompt": "a", "timestamp": value})
    assert batch.columns.time_s.tolist() == [seconds]
    assert not {"bad_time", "time_without_zone"} & set(stream.issues)


def test_times_that_are_none() -> None:
    values = ["soon", -5, 10**30, float("nan"), True, "9" * 100, "9999-12-31T23:59:59Z"]
    batch, stream = read(*({"prompt": "a", "timestamp": value} for value in values))
    assert np.isnan(batch.columns.time_s).all()
    assert stream.issues["bad_time"].n == len(values)
    batch, stream = read({"prompt": "a", "timestamp": "2026-01-01T00:00:00"})
    assert not math.isnan(batch.columns.time_s[0])
    assert stream.issues["time_without_zone"].n == 1


def test_unit_of_times() -> None:
    batch, _ = read({"prompt": "a", "timestamp": 27_482}, time_unit="ms")
    assert batch.columns.time_s.tolist() == [27.482]
