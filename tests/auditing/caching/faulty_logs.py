"""Logs with one known fault each, and the bill without it, by a simulator of its own.

Nothing here is shared with the product: requests are drawn, a cache is replayed by the published
rules with names of whole prefixes, and both the faulty and the mended requests are billed.
"""

from __future__ import annotations

import copy
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
    """

    sent: list[Sent]
    mended: list[Sent]
    verdict: str = ""
    finding: str = ""
    wait: bool = False
    usage: list[dict[str, int]] = field(default_factory=list)

    def waste_usd(self) -> float:
        """Cost that goes with the fault."""
        return self.usd() - bill(self.mended, simulate(self.mended, wait=self.wait))

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
            usage.append(automatic(one, rows, store, total))
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
    one: Sent, rows: list[tuple[str, int, str]], store: dict[str, dict[str, float]], total: int
) -> dict[str, int]:
    """OpenAI: the longest beginning in steps of 128 tokens, from 1,024 on."""
    whole = "\n".join(row[0] for row in rows)
    read = 0
    names = [
        hashlib.sha1(whole[: 512 * i].encode()).hexdigest() for i in range(1, len(whole) // 512 + 1)
    ]
    for i, name in enumerate(names, start=1):
        entry = store.get(name)
        if entry and entry["from"] <= one.time <= entry["used"] + 300:
            read = 128 * i
    for name in names:
        old = store.get(name, {"from": one.time + 1.0, "used": 0.0})
        store[name] = {"from": old["from"], "used": one.time}
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


# Workloads

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def tool(rng: random.Random, number: int, tokens: int = 120) -> Request:
    """Definition of a tool."""
    return {
        "name": f"tool_{number}",
        "description": text(rng, tokens),
        "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
    }


def singles(
    rng: random.Random,
    *,
    n: int = 40,
    gap: float = 60.0,
    system: int = 3000,
    tools: int = 4,
    mark: Request = MARK,
    model: str = "claude-sonnet-4-5",
) -> list[Sent]:
    """Independent requests with one system prompt."""
    shared = text(rng, system)
    defined = [tool(rng, i) for i in range(tools)]
    return [
        Sent(
            START + gap * i + rng.random() * min(gap, 1.0) * 0.5,
            {
                "model": model,
                "max_tokens": 500,
                "tools": copy.deepcopy(defined),
                "system": [{"type": "text", "text": shared, **mark}],
                "messages": [
                    {"role": "user", "content": [
                        {"type": "text", "text": f"Case {i}: {text(rng, 60 + rng.randrange(80))}"}
                    ]}
                ],
            },
            output=rng.randrange(60, 160),
        )
        for i in range(n)
    ]  # fmt: skip


def agent(
    rng: random.Random,
    *,
    sessions: int = 2,
    turns: int = 14,
    marked: bool = True,
    blocks: int = 1,
    result: int = 250,
    thinking: bool = False,
    gap: float = 20.0,
) -> list[Sent]:
    """Sessions of an agent whose conversations grow."""
    shared, found = text(rng, 2000), []
    defined = [tool(rng, i) for i in range(4)]
    for s in range(sessions):
        history: list[Request] = [
            {"role": "user", "content": [{"type": "text", "text": f"Task {s}: {text(rng, 80)}"}]}
        ]
        for t in range(turns):
            messages = copy.deepcopy(history)
            system = [{"type": "text", "text": shared}]
            if marked:
                system[0].update(copy.deepcopy(MARK))
                messages[-1]["content"][-1].update(copy.deepcopy(MARK))
            found.append(
                Sent(
                    START + s * 7 + t * gap + rng.random(),
                    {
                        "model": "claude-sonnet-4-5",
                        "max_tokens": 900,
                        "tools": copy.deepcopy(defined),
                        "system": system,
                        "messages": messages,
                    },
                    output=rng.randrange(80, 160),
                    session=f"session-{s}",
                )
            )
            said: list[Request] = []
            if thinking:
                said.append(
                    {"type": "thinking", "thinking": text(rng, 300), "signature": f"s{s}{t}"}
                )
            back = []
            for b in range(blocks):
                call = f"toolu_{s}_{t}_{b}"
                said.append(
                    {"type": "tool_use", "id": call, "name": f"tool_{rng.randrange(4)}",
                     "input": {"q": text(rng, 10)}}
                )  # fmt: skip
                back.append(
                    {"type": "tool_result", "tool_use_id": call, "content": text(rng, result)}
                )
            history += [{"role": "assistant", "content": said}, {"role": "user", "content": back}]
    return sorted(found, key=lambda one: one.time)


# Faults


def control(rng: random.Random) -> Faulty:
    sent = singles(rng)
    return Faulty(sent, sent)


def healthy_agent(rng: random.Random) -> Faulty:
    sent = agent(rng)
    return Faulty(sent, sent)


def clock(rng: random.Random) -> Faulty:
    mended = singles(rng)
    sent = copy.deepcopy(mended)
    for one, good in zip(sent, mended, strict=True):
        own = f"Current time: {iso(one.time)}\n"
        one.body["system"][0]["text"] = own + one.body["system"][0]["text"]
        good.body["messages"][0]["content"].append({"type": "text", "text": own})
    return Faulty(sent, mended, "changed", "cache-changed")


def tool_order(rng: random.Random) -> Faulty:
    mended = singles(rng, tools=16)
    sent = copy.deepcopy(mended)
    for one in sent:
        rng.shuffle(one.body["tools"])
    return Faulty(sent, mended, "changed", "cache-changed")


def tool_schema(rng: random.Random) -> Faulty:
    mended = singles(rng, tools=8)
    sent = copy.deepcopy(mended)
    for i, one in enumerate(sent):
        one.body["tools"][2]["description"] += f" build {i:04d}"
        mended[i].body["tools"][2]["description"] += " build 0000"
    return Faulty(sent, mended, "changed", "cache-changed")


def model_switch(rng: random.Random) -> Faulty:
    mended = agent(rng)
    sent = copy.deepcopy(mended)
    for i, one in enumerate(sent):
        if i % 7 in (3, 4, 5):
            one.body["model"] = "claude-sonnet-4-0"
    return Faulty(sent, mended, "switched", "cache-switched")


def below(rng: random.Random, model: str, system: int, least: int) -> Faulty:
    sent = singles(rng, system=system, tools=0, model=model)
    mended = copy.deepcopy(sent)
    more = text(rng, least - system)
    for one in mended:
        one.body["system"][0]["text"] += more
    return Faulty(sent, mended, "below-minimum", "cache-below-minimum")


def expired(rng: random.Random) -> Faulty:
    sent = singles(rng, gap=480.0)
    mended = copy.deepcopy(sent)
    for one in mended:
        one.body["system"][0].update(copy.deepcopy(HOUR))
    return Faulty(sent, mended, "expired", "cache-expired")


def hour(rng: random.Random) -> Faulty:
    mended = agent(rng, sessions=3)
    sent = copy.deepcopy(mended)
    for one in sent:
        one.body["system"][0].update(copy.deepcopy(HOUR))
        one.body["messages"][-1]["content"][-1].update(copy.deepcopy(HOUR))
    return Faulty(sent, mended, "hour-unearned", "cache-hour-unearned")


def unique_documents(rng: random.Random) -> Faulty:
    mended = singles(rng, system=200, tools=0, mark={})
    for one in mended:
        one.body["messages"][0]["content"].insert(0, {"type": "text", "text": text(rng, 1800)})
    sent = copy.deepcopy(mended)
    for one in sent:
        one.body["messages"][0]["content"][0].update(copy.deepcopy(MARK))
    return Faulty(sent, mended, "write-unread", "cache-writes-unread")


def no_mark(rng: random.Random) -> Faulty:
    mended = agent(rng)
    sent = copy.deepcopy(mended)
    for one in sent:
        one.body["system"][0].pop("cache_control")
        one.body["messages"][-1]["content"][-1].pop("cache_control")
    return Faulty(sent, mended, "no-mark", "cache-no-mark")


def large_result(rng: random.Random) -> Faulty:
    mended = agent(rng, sessions=1, turns=24, gap=15.0)
    sent = copy.deepcopy(mended)
    large = text(rng, 12_000)
    for one in sent:
        if len(one.body["messages"]) > 2:
            one.body["messages"][2]["content"][0]["content"] = large
    for i, one in enumerate(mended):
        if 1 <= i <= 3:
            one.body["messages"][2]["content"][0]["content"] = large
    return Faulty(sent, mended, "", "agent-results-carried")


def retries(rng: random.Random) -> Faulty:
    mended = singles(rng, gap=90.0)
    sent = []
    for i, one in enumerate(mended):
        sent.append(one)
        if i % 2:
            for k in (1, 2):
                sent.append(Sent(one.time + 4.0 * k, copy.deepcopy(one.body), one.output))
    return Faulty(sent, mended, "", "agent-retries")


def concurrent(rng: random.Random) -> Faulty:
    sent = singles(rng, n=40, gap=0.05)
    for i, one in enumerate(sent):
        one.time = START + (i // 10) * 900.0 + (i % 10) * 0.02
    return Faulty(sent, sent, "concurrent", "cache-concurrent", wait=True)


def mark_late(rng: random.Random) -> Faulty:
    mended = singles(rng)
    sent = copy.deepcopy(mended)
    for one in sent:
        one.body["system"][0].pop("cache_control")
        one.body["messages"][0]["content"][-1].update(copy.deepcopy(MARK))
    return Faulty(sent, mended, "mark-late", "cache-mark-late")


def look_back(rng: random.Random) -> Faulty:
    sent = agent(rng, sessions=2, turns=8, blocks=13, result=120)
    for one in sent:
        one.body["system"][0].pop("cache_control")
    mended = copy.deepcopy(sent)
    for one in mended:
        flat = [part for message in one.body["messages"] for part in message["content"]]
        for part in flat[-16::-15][:2]:
            part.update(copy.deepcopy(MARK))
        one.body["system"][0].update(copy.deepcopy(MARK))
    return Faulty(sent, mended, "look-back", "cache-look-back")


def thinking_removed(rng: random.Random) -> Faulty:
    mended = agent(rng, thinking=True, sessions=2, turns=16, result=500)
    sent = copy.deepcopy(mended)
    for one in sent:
        said = [m for m in one.body["messages"] if m["role"] == "assistant"]
        for message in said[:-1]:
            message["content"] = [p for p in message["content"] if p["type"] != "thinking"]
    return Faulty(sent, mended, "changed", "cache-changed")


def pictures(rng: random.Random) -> Faulty:
    mended = agent(rng, sessions=2, turns=20)
    sent = copy.deepcopy(mended)
    seen: dict[str, int] = {}
    for one, good in zip(sent, mended, strict=True):
        data = hashlib.sha1(one.session.encode()).hexdigest() * 40
        picture = {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        }
        one.body["messages"][0]["content"].insert(0, picture)
        seen[one.session] = seen.get(one.session, 0) + 1
        if seen[one.session] <= 3:
            good.body["messages"][0]["content"].insert(0, picture)
    return Faulty(sent, mended, "", "agent-pictures-carried")


def openai_clock(rng: random.Random) -> Faulty:
    mended = []
    for one in singles(rng, model="gpt-4o", tools=0):
        body = {
            "model": "gpt-4o",
            "messages": [
                {"role": "system", "content": one.body["system"][0]["text"]},
                {"role": "user", "content": one.body["messages"][0]["content"][0]["text"]},
            ],
        }
        mended.append(Sent(one.time, body, one.output))
    sent = copy.deepcopy(mended)
    for one, good in zip(sent, mended, strict=True):
        own = f"Current time: {iso(one.time)}\n"
        one.body["messages"][0]["content"] = own + one.body["messages"][0]["content"]
        good.body["messages"][1]["content"] += own
    return Faulty(sent, mended, "changed", "cache-changed")


FAULTS = {
    "01 clock in system": clock,
    "02 order of tools": tool_order,
    "03 schema of a tool": tool_schema,
    "04 model switched": model_switch,
    "05 below minimum": lambda rng: below(rng, "claude-sonnet-4-5", 800, 1024),
    "05b below minimum of haiku": lambda rng: below(rng, "claude-haiku-4-5", 3200, 4096),
    "06 expired": expired,
    "07 hour unearned": hour,
    "08 unique documents": unique_documents,
    "09 agent without marks": no_mark,
    "13 concurrent": concurrent,
    "14 mark late": mark_late,
    "15 look-back": look_back,
    "16 thinking removed": thinking_removed,
    "20 openai clock": openai_clock,
}
"""Faults of caches."""

AGENT_FAULTS = {
    "10 large result": large_result,
    "11 retries": retries,
    "17 pictures": pictures,
}
"""Faults of agents beside caches."""
