"""Drawn faults in requests to a provider whose cache needs no marks: OpenAI's bodies."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable

from tests.auditing.caching.cache_simulator import START, Faulty, Request, Sent, iso, text
from tests.auditing.caching.faulty_logs import agent, singles

MODEL = "gpt-4o"


def as_chat(body: Request, model: str = MODEL) -> Request:
    """Return a body of Anthropic's as one for chat completions."""
    messages: list[Request] = []
    if body.get("system"):
        words = "".join(part["text"] for part in body["system"])
        messages.append({"role": "system", "content": words})
    for message in body["messages"]:
        calls = [part for part in message["content"] if part["type"] == "tool_use"]
        if calls:
            messages.append(
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": call["id"], "type": "function", "function": {
                        "name": call["name"], "arguments": json.dumps(call["input"])}}
                    for call in calls
                ]}
            )  # fmt: skip
        for part in message["content"]:
            if part["type"] == "tool_result":
                messages.append(
                    {"role": "tool", "tool_call_id": part["tool_use_id"],
                     "content": part["content"]}
                )  # fmt: skip
            elif part["type"] == "text":
                messages.append({"role": message["role"], "content": part["text"]})
    chat: Request = {"model": model, "max_tokens": body["max_tokens"], "messages": messages}
    if body.get("tools"):
        chat["tools"] = [
            {"type": "function", "function": {
                "name": tool["name"], "description": tool["description"],
                "parameters": tool["input_schema"]}}
            for tool in body["tools"]
        ]  # fmt: skip
    return chat


def chats(sent: list[Sent], model: str = MODEL) -> list[Sent]:
    """Return all requests with bodies for chat completions."""
    return [Sent(s.time, as_chat(s.body, model), s.output, s.session) for s in sent]


def clock(rng: random.Random) -> Faulty:
    mended = chats(singles(rng, tools=0))
    sent = copy.deepcopy(mended)
    for one, good in zip(sent, mended, strict=True):
        own = f"Current time: {iso(one.time)}\n"
        one.body["messages"][0]["content"] = own + one.body["messages"][0]["content"]
        good.body["messages"][1]["content"] += own
    return Faulty(sent, mended, "changed", "cache-changed")


def tool_order(rng: random.Random) -> Faulty:
    mended = chats(singles(rng, tools=16))
    sent = copy.deepcopy(mended)
    for one in sent:
        rng.shuffle(one.body["tools"])
    return Faulty(sent, mended, "changed", "cache-changed")


def tool_schema(rng: random.Random) -> Faulty:
    mended = chats(singles(rng, tools=8))
    sent = copy.deepcopy(mended)
    for i, one in enumerate(sent):
        one.body["tools"][2]["function"]["description"] += f" build {i:04d}"
        mended[i].body["tools"][2]["function"]["description"] += " build 0000"
    return Faulty(sent, mended, "changed", "cache-changed")


def model_switch(rng: random.Random) -> Faulty:
    mended = chats(agent(rng))
    sent = copy.deepcopy(mended)
    for i, one in enumerate(sent):
        if i % 7 in (3, 4, 5):
            one.body["model"] = "gpt-4o-2024-11-20"
    return Faulty(sent, mended, "switched", "cache-switched")


def keys(rng: random.Random) -> Faulty:
    mended = chats(singles(rng))
    sent = copy.deepcopy(mended)
    for i, one in enumerate(sent):
        one.body["prompt_cache_key"] = f"request-{i}"
        mended[i].body["prompt_cache_key"] = "support"
    return Faulty(sent, mended, "switched", "cache-switched")


def below_minimum(rng: random.Random) -> Faulty:
    sent = chats(singles(rng, system=800, tools=0))
    mended = copy.deepcopy(sent)
    more = text(rng, 226)
    for one in mended:
        one.body["messages"][0]["content"] += more
    return Faulty(sent, mended, "below-minimum", "cache-below-minimum")


def expired(rng: random.Random) -> Faulty:
    sent = chats(singles(rng, gap=480.0), "gpt-4.1")
    mended = copy.deepcopy(sent)
    for one in mended:
        one.body["prompt_cache_retention"] = "24h"
    return Faulty(sent, mended, "expired", "cache-expired")


def concurrent(rng: random.Random) -> Faulty:
    sent = chats(singles(rng, n=40, gap=0.05))
    for i, one in enumerate(sent):
        one.time = START + (i // 10) * 900.0 + (i % 10) * 0.02
    return Faulty(sent, sent, "concurrent", "cache-concurrent", wait=True)


OPENAI_FAULTS: dict[str, Callable[[random.Random], Faulty]] = {
    "01 clock in system": clock,
    "02 order of tools": tool_order,
    "03 schema of a tool": tool_schema,
    "04 model switched": model_switch,
    "04b key of each request": keys,
    "05 below minimum": below_minimum,
    "06 expired": expired,
    "13 concurrent": concurrent,
}
"""The faults that a cache without marks can have."""
