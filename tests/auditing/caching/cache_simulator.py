"""A prompt cache simulated for tests, and records as providers and collectors write them.

Nothing here is shared with the product: a cache is replayed by the published rules with names of
whole prefixes, and both the faulty and the mended requests are billed.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from dataclasses import dataclass, field
from typing import Any

USD = {
    "claude-sonnet-4-5": (3.0, 0.3, 3.75, 6.0, 15.0),
    "claude-sonnet-4-0": (3.0, 0.3, 3.75, 6.0, 15.0),
    "claude-haiku-4-5": (1.0, 0.1, 1.25, 2.0, 5.0),
    "gpt-4o": (2.5, 1.25, 2.5, 2.5, 10.0),
    "gpt-4o-2024-11-20": (2.5, 1.25, 2.5, 2.5, 10.0),
    "gpt-4.1": (2.0, 0.5, 2.0, 2.0, 8.0),
}
"""Input, read, write, write for an hour, output; USD per million tokens."""
LEAST = {"claude-sonnet-4-5": 1024, "claude-sonnet-4-0": 1024, "claude-haiku-4-5": 4096}
START = 1_780_000_000
FIRST_TOKEN = 3.0
WORDS = [
    "parcel", "courier", "invoice", "refund", "weight", "label", "depot", "customs", "window",
    "address", "claim", "damage", "return", "status", "email", "order", "signature", "delay",
    "driver", "route", "limit", "policy", "partner", "tariff", "region", "notice",
]  # fmt: skip

Request = dict[str, Any]


@dataclass
class Sent:
    """A request, when it is sent, and how long its answer is."""

    time: float
    body: Request
    output: int = 120
    session: str = ""


@dataclass
class Faulty:
    """A log with its fault.

    Attributes:
        sent: Requests with the fault.
        mended: The same without it.
        verdict: The verdict that names it; empty: a fault beside caches.
        finding: Id of the finding that names it.
        wait: Requests of the mended log wait for the first token of the one before.
        discount: Share of the price that goes when the fault is mended.
    """

    sent: list[Sent]
    mended: list[Sent]
    verdict: str = ""
    finding: str = ""
    wait: bool = False
    discount: float = 0.0
    usage: list[dict[str, int]] = field(default_factory=list)

    def waste_usd(self) -> float:
        """Cost that goes with the fault."""
        mended = bill(self.mended, simulate(self.mended, wait=self.wait))
        return self.usd() - mended * (1 - self.discount)

    def usd(self) -> float:
        """Cost of the log."""
        return bill(self.sent, simulate(self.sent))


def text(rng: random.Random, tokens: int) -> str:
    """Running text of a number of tokens, four characters each."""
    parts: list[str] = []
    size = 0
    while size < 4 * tokens:
        word = rng.choice(WORDS)
        parts.append(word)
        size += len(word) + 1
    return " ".join(parts)[: 4 * tokens]


# The simulator


def blocks_of(body: Request) -> list[tuple[str, int, str]]:
    """Each block as sent: its text, its tokens, its mark."""
    found = []
    for tool in body.get("tools", []):
        bare = {k: v for k, v in tool.items() if k != "cache_control"}
        found.append((json.dumps(bare, separators=(",", ":")), tool.get("cache_control")))
    for part in body.get("system", []):
        found.append((part["text"], part.get("cache_control")))
    for message in body["messages"]:
        content = message["content"]
        for part in content if isinstance(content, list) else [{"text": content}]:
            bare = {k: v for k, v in part.items() if k != "cache_control"}
            own = bare.get("text") or bare.get("thinking") or json.dumps(bare)
            found.append((f"{own}", part.get("cache_control")))
    rows = []
    for own, mark in found:
        tokens = 1500 if '"image"' in own else math.ceil(len(own) / 4)
        rows.append((own, tokens, (mark or {}).get("ttl", "5m") if mark else ""))
    return rows


def simulate(sent: list[Sent], *, wait: bool = False) -> list[dict[str, int]]:
    """Usage of each request: input, read, written, of these for an hour."""
    store: dict[str, dict[str, float]] = {}
    usage = []
    for one in sent:
        model = one.body["model"]
        rows = blocks_of(one.body)
        names, sums, name, total = [], [], model, 0
        for own, tokens, _ in rows:
            name = hashlib.sha1(f"{name}|{own}".encode()).hexdigest()
            total += tokens
            names.append(name)
            sums.append(total)
        if model.startswith("gpt"):
            usage.append(automatic(one, rows, store, total, delay=0.0 if wait else 1.0))
            continue
        marks = [i for i, row in enumerate(rows) if row[2]][-4:]
        hit = -1
        for mark in marks:
            for at in range(mark, max(-1, mark - 20), -1):
                entry = store.get(names[at])
                if entry and entry["from"] <= one.time <= entry["used"] + entry["life"]:
                    hit = max(hit, at) if sums[at] >= LEAST[model] else hit
                    break
        read = sums[hit] if hit >= 0 else 0
        written = hour = 0
        edge = read
        for mark in marks:
            if mark <= hit:
                entry = store.get(names[mark])
                if entry:
                    entry["used"] = one.time
            elif sums[mark] >= LEAST[model]:
                life = 3600.0 if rows[mark][2] == "1h" else 300.0
                written += sums[mark] - edge
                hour += sums[mark] - edge if life > 300 else 0
                edge = sums[mark]
                old = store.get(names[mark])
                if not old or old["from"] <= one.time:
                    begin = one.time + (0.0 if wait else FIRST_TOKEN)
                    store[names[mark]] = {"from": begin, "used": one.time, "life": life}
        if hit >= 0:
            store[names[hit]]["used"] = one.time
        usage.append({"input": total, "read": read, "written": written, "hour": hour})
    return usage


def automatic(
    one: Sent,
    rows: list[tuple[str, int, str]],
    store: dict[str, dict[str, float]],
    total: int,
    *,
    delay: float,
) -> dict[str, int]:
    """OpenAI: the longest beginning in steps of 128 tokens, from 1,024 on."""
    whole = "\n".join(row[0] for row in rows)
    read = 0
    where = f"{one.body['model']}|{one.body.get('prompt_cache_key')}"
    life = 86_400.0 if one.body.get("prompt_cache_retention") == "24h" else 300.0
    names = [
        hashlib.sha1(f"{where}|{whole[: 512 * i]}".encode()).hexdigest()
        for i in range(1, len(whole) // 512 + 1)
    ]
    for i, name in enumerate(names, start=1):
        entry = store.get(name)
        if entry and entry["from"] <= one.time <= entry["used"] + entry["life"]:
            read = 128 * i
    for name in names:
        old = store.get(name, {"from": one.time + delay})
        if one.time > old.get("used", one.time) + old.get("life", life):
            old = {"from": one.time + delay}
        store[name] = {"from": old["from"], "used": one.time, "life": life}
    return {"input": total, "read": read if read >= 1024 else 0, "written": 0, "hour": 0}


def bill(sent: list[Sent], usage: list[dict[str, int]]) -> float:
    """Cost, USD."""
    usd = 0.0
    for one, own in zip(sent, usage, strict=True):
        full, read, write, hour, output = USD[one.body["model"]]
        fresh = own["input"] - own["read"] - own["written"]
        usd += fresh * full + own["read"] * read + (own["written"] - own["hour"]) * write
        usd += own["hour"] * hour + one.output * output
    return usd / 1e6


# Records


def as_anthropic(sent: list[Sent]) -> list[dict[str, Any]]:
    """Rows of request and response."""
    rows = []
    for number, (one, own) in enumerate(zip(sent, simulate(sent), strict=True)):
        usage = {
            "input_tokens": own["input"] - own["read"] - own["written"],
            "cache_read_input_tokens": own["read"],
            "cache_creation_input_tokens": own["written"],
            "cache_creation": {
                "ephemeral_5m_input_tokens": own["written"] - own["hour"],
                "ephemeral_1h_input_tokens": own["hour"],
            },
            "output_tokens": one.output,
        }
        response = {
            "id": f"msg_{number:06d}",
            "type": "message",
            "role": "assistant",
            "model": one.body["model"],
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        row = {"timestamp": iso(one.time), "request": one.body, "response": response}
        rows.append({**row, "session_id": one.session} if one.session else row)
    return rows


def as_openai(sent: list[Sent]) -> list[dict[str, Any]]:
    """Rows of request and response, as OpenAI's."""
    rows = []
    for number, (one, own) in enumerate(zip(sent, simulate(sent), strict=True)):
        usage = {
            "prompt_tokens": own["input"],
            "completion_tokens": one.output,
            "total_tokens": own["input"] + one.output,
            "prompt_tokens_details": {"cached_tokens": own["read"]},
        }
        message = {"role": "assistant", "content": "Done."}
        response = {
            "id": f"chatcmpl-{number:06d}",
            "object": "chat.completion",
            "model": one.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }
        rows.append({"timestamp": iso(one.time), "request": one.body, "response": response})
    return rows


def as_otlp(sent: list[Sent]) -> list[dict[str, Any]]:
    """Spans by the conventions of OpenTelemetry: texts and usage, no marks."""
    rows = []
    for number, (one, own) in enumerate(zip(sent, simulate(sent), strict=True)):
        messages = []
        for message in one.body["messages"]:
            content = message["content"]
            parts = (
                [{"type": "text", "content": content}]
                if isinstance(content, str)
                else [
                    {"type": "text", "content": p["text"]}
                    if p.get("type") == "text"
                    else {k: v for k, v in p.items() if k != "cache_control"}
                    for p in content
                ]
            )
            messages.append({"role": message["role"], "parts": parts})
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": one.body["model"],
            "gen_ai.response.model": one.body["model"],
            "gen_ai.response.id": f"msg_{number:06d}",
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.usage.input_tokens": own["input"],
            "gen_ai.usage.cache_read.input_tokens": own["read"],
            "gen_ai.usage.cache_creation.input_tokens": own["written"],
            "gen_ai.usage.output_tokens": one.output,
        }
        if one.body.get("system"):
            attributes["gen_ai.system_instructions"] = json.dumps(
                [{"type": "text", "content": part["text"]} for part in one.body["system"]]
            )
        if one.body.get("tools"):
            attributes["gen_ai.tool.definitions"] = json.dumps(
                [{k: v for k, v in t.items() if k != "cache_control"} for t in one.body["tools"]]
            )
        if one.session:
            attributes["gen_ai.conversation.id"] = one.session
        rows.append(
            {
                "traceId": f"{number:032x}",
                "spanId": f"{number:016x}",
                "name": "chat",
                "startTimeUnixNano": str(int(one.time * 1e9)),
                "endTimeUnixNano": str(int((one.time + 2) * 1e9)),
                "attributes": [
                    {
                        "key": key,
                        "value": {"intValue": str(value)}
                        if isinstance(value, int)
                        else {"stringValue": value},
                    }
                    for key, value in attributes.items()
                ],
            }
        )
    return rows


def iso(time: float) -> str:
    """A time as logs have it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time, UTC).isoformat()
