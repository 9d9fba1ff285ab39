"""Drawn logs with one known fault each, beside the same logs without it."""

from __future__ import annotations

import copy
import hashlib
import random

from tests.auditing.caching.cache_simulator import START, Faulty, Request, Sent, iso, text

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
            system: list[Request] = [{"type": "text", "text": shared}]
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


def clock_behind(rng: random.Random, *, apart: bool) -> Faulty:
    """A clock at the end of a long prompt, in its block or in one of its own with the mark."""
    mended = singles(rng, system=5000, tools=0)
    sent = copy.deepcopy(mended)
    for one, good in zip(sent, mended, strict=True):
        own = f"Current time: {iso(one.time)}"
        good.body["messages"][0]["content"].append({"type": "text", "text": own})
        if apart:
            del one.body["system"][0]["cache_control"]
            one.body["system"].append({"type": "text", "text": own, **copy.deepcopy(MARK)})
        else:
            one.body["system"][0]["text"] += own
    return Faulty(sent, mended, "changed", "cache-changed")


def tenants(rng: random.Random) -> Faulty:
    """Prompts of several tenants in turn: each is another text, none is changed."""
    prompts = [text(rng, 3000) for _ in range(6)]
    sent = singles(rng, n=60, gap=20.0, tools=0)
    for i, one in enumerate(sent):
        one.body["system"][0]["text"] = prompts[i % 6]
    return Faulty(sent, sent)


def bursts(rng: random.Random) -> Faulty:
    """A document for each burst, never seen again: an hour of life would be paid in vain."""
    sent = singles(rng, n=30, tools=0)
    for i, one in enumerate(sent):
        if i % 6 == 0:
            document = text(rng, 2500)
        one.time = START + (i // 6) * 950.0 + (i % 6) * 20.0
        one.body["system"][0]["text"] = document
    return Faulty(sent, sent)


def days_apart(rng: random.Random) -> Faulty:
    """Sessions eleven hours apart, which no life of a mark spans."""
    sent = agent(rng, sessions=3, turns=8)
    for one in sent:
        one.time += int(one.session[-1]) * 39_600.0
    sent.sort(key=lambda one: one.time)
    return Faulty(sent, sent)


def paused(rng: random.Random) -> Faulty:
    """Turns eight minutes apart: the moving mark ends before the system prompt's hour."""
    mended = agent(rng, turns=7, gap=480.0)
    sent = copy.deepcopy(mended)
    for one, good in zip(sent, mended, strict=True):
        for body in (one.body, good.body):
            body["system"][0].update(copy.deepcopy(HOUR))
        good.body["messages"][-1]["content"][-1].update(copy.deepcopy(HOUR))
    return Faulty(sent, mended, "expired", "cache-expired")


def rare_without_mark(rng: random.Random) -> Faulty:
    """No mark, and requests eight minutes apart: both have to be mended."""
    sent = singles(rng, gap=480.0, mark={})
    mended = copy.deepcopy(sent)
    for one in mended:
        one.body["system"][0].update(copy.deepcopy(HOUR))
    return Faulty(sent, mended, "no-mark", "cache-no-mark")


def asked_again(rng: random.Random) -> Faulty:
    """Three questions about each document, with the mark on the question."""
    sent = singles(rng, n=30, tools=0, system=10, mark={})
    for i, one in enumerate(sent):
        if i % 3 == 0:
            document = text(rng, 3000)
        content = one.body["messages"][0]["content"]
        content.insert(0, {"type": "text", "text": document})
    mended = copy.deepcopy(sent)
    for one, good in zip(sent, mended, strict=True):
        one.body["messages"][0]["content"][-1].update(copy.deepcopy(MARK))
        good.body["messages"][0]["content"][0].update(copy.deepcopy(MARK))
    return Faulty(sent, mended, "mark-late", "cache-mark-late")


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
    # Bursts come a quarter of an hour apart: once they wait, an hour of life is worth its price.
    mended = copy.deepcopy(sent)
    for one in mended:
        one.body["system"][0].update(copy.deepcopy(HOUR))
    return Faulty(sent, mended, "concurrent", "cache-concurrent", wait=True)


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


def repeated(rng: random.Random) -> Faulty:
    """Every question comes again, minutes later."""
    mended = singles(rng, n=30, gap=200.0)
    again = [Sent(one.time + 6100.0, copy.deepcopy(one.body), one.output) for one in mended]
    return Faulty([*mended, *again], mended, "", "duplicate-documents")


def long_answers(rng: random.Random) -> Faulty:
    mended = singles(rng, system=1200, tools=0)
    sent = copy.deepcopy(mended)
    usual = sorted(one.output for one in mended)[len(mended) // 2]
    for one, good in zip(sent[::10], mended[::10], strict=True):
        one.output = 40 * usual
        good.output = 4 * usual
    return Faulty(sent, mended, "", "output-long")


def batchable(rng: random.Random) -> Faulty:
    """Requests at an even pace that no one waits for: half the price in a batch."""
    sent = singles(rng, system=300, tools=0, gap=20.0, mark={})
    return Faulty(sent, sent, "", "agent-batchable", discount=0.5)


FAULTS = {
    "01 clock in system": clock,
    "01b clock at the end of a prompt": lambda rng: clock_behind(rng, apart=False),
    "01c clock in a block of its own": lambda rng: clock_behind(rng, apart=True),
    "02 order of tools": tool_order,
    "03 schema of a tool": tool_schema,
    "04 model switched": model_switch,
    "05 below minimum": lambda rng: below(rng, "claude-sonnet-4-5", 800, 1024),
    "05b below minimum of haiku": lambda rng: below(rng, "claude-haiku-4-5", 3200, 4096),
    "06 expired": expired,
    "06b paused under an hour's prompt": paused,
    "06c rare and without a mark": rare_without_mark,
    "07 hour unearned": hour,
    "08 unique documents": unique_documents,
    "09 agent without marks": no_mark,
    "13 concurrent": concurrent,
    "14 mark late": mark_late,
    "14b mark behind each question": asked_again,
    "15 look-back": look_back,
    "16 thinking removed": thinking_removed,
}
"""Faults of caches."""

HEALTHY = {
    "control": control,
    "agent": healthy_agent,
    "tenants": tenants,
    "bursts": bursts,
    "days apart": days_apart,
}
"""Workloads that no edit makes cheaper."""

AGENT_FAULTS = {
    "10 large result": large_result,
    "11 retries": retries,
    "17 pictures": pictures,
}
"""Faults of agents beside caches."""

WHOLE_AUDIT_FAULTS = {
    "12 questions repeated": repeated,
    "18 long answers": long_answers,
    "19 batchable": batchable,
}
"""Faults that other findings of an audit name."""
