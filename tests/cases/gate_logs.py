"""Chats of our own words, and ways in which what they cost can change: one, or two at once.

``python -m tests.cases.gate_logs`` writes ``gate_logs.json``: for each case its changes and the
main cause. Of two changes, the main one alone moves the dollars of a request most.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jeton
from jeton._core import Tokenizer

__all__ = ["CASES", "CHANGES", "Chat", "changed", "chats", "records"]

CASES = Path(__file__).with_name("gate_logs.json")
SEED = 20261129
N_CHATS = 20
STEP_S = 86_400.0
FIRST_S = 1_793_664_000
FRAME_TOKENS = 11
LEAST_LEAD = 1.5
"""The main of two changes moves the dollars so much more than the other: no toss-up."""

_RULES = (
    "Answer from the passages alone and name their numbers.",
    "If no passage answers the question, say so in one sentence.",
    "Never promise a date of delivery that no passage states.",
    "Write amounts with their currency and weights in kilograms.",
    "Ask for the order number where it is missing, and for nothing else.",
    "Keep the customer's language, and do not translate names of places.",
    "Offer the duty officer only where someone may be hurt.",
    "Quote at most one sentence of a passage, and shorten the rest.",
)
_EXAMPLE = (
    "Question: when is the office closed? Answer: between the holidays [2].",
    "Question: may I send glass? Answer: yes, in double cartons and marked as fragile [1].",
    "Question: who pays for the way back? Answer: the sender, unless the goods are broken [3].",
    "Question: how heavy may a parcel be? Answer: the passages do not say.",
    "Question: can I change the street? Answer: until the evening before delivery [1].",
    "Question: the seal was open, and now? Answer: send a photograph within two days [2].",
    "Question: do you deliver to islands? Answer: twice a week, by the first ferry [3].",
)
_GERMAN = (
    "Bitte prüfen Sie, ob die Sendung schon im Lager angekommen ist und wer sie abholt.",
    "Die Rechnung enthält dreißig Positionen, von denen zwölf bereits bezahlt worden sind.",
    "Wir haben den beschädigten Karton fotografiert und warten seit Dienstag auf eine Antwort.",
    "Können Sie die Lieferung an die Nachbarin übergeben, wenn niemand zu Hause sein sollte?",
)


@dataclass
class Chat:
    """One request with its answer, and what its provider billed beside the text."""

    system: str
    tools: list[dict[str, Any]]
    earlier: list[str]
    passages: list[str]
    question: str
    answer_tokens: int
    model: str = "gpt-4o"
    tariff: str = "default"
    reasoning_tokens: int = 0
    unlogged_tokens: int = 0
    cached_share: float = 0.9
    time_s: float = FIRST_S
    counted_by: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


_WHO = (
    "The courier",
    "A neighbour",
    "Our depot",
    "The customs office",
    "Her landlord",
    "The buyer",
)
_DID = ("returned", "weighed", "photographed", "relabelled", "refused", "collected", "insured")
_WHAT = ("the blue crate", "two envelopes", "a cracked vase", "the spare wheel", "nine candles")
_WHY = ("because the street was closed", "after a long call", "without asking anyone",
        "before the storm", "for the second time", "as the contract demands")  # fmt: skip


def _sentences(draw: random.Random, n: int) -> str:
    return " ".join(
        f"{draw.choice(_WHO)} {draw.choice(_DID)} {draw.choice(_WHAT)} {draw.choice(_WHY)} on day "
        f"{draw.randint(1, 9999)}."
        for _ in range(max(1, n))
    )


def _tool(name: str, n_words: int) -> dict[str, Any]:
    text = _sentences(random.Random(f"{name} {n_words}"), n_words // 8)
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Looks up the {text}.",
            "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
        },
    }


def chats(seed: int = SEED) -> list[Chat]:
    """The chats as they were, drawn with a seed."""
    draw = random.Random(seed)
    system = "You answer for a parcel service.\n" + "\n".join(_RULES)
    found = []
    for number in range(N_CHATS):
        record = {"order": 4000 + 37 * number, "items": [{"sku": f"P{number}", "n": 2}] * 6}
        found.append(
            Chat(
                system=system,
                tools=[_tool("find_order", 12)],
                earlier=[_sentences(draw, 3) for _ in range(2)],
                passages=[_sentences(draw, 4) for _ in range(3)],
                question=f"{json.dumps(record, separators=(',', ':'))}\n{_sentences(draw, 4)}",
                answer_tokens=draw.randint(40, 80),
                time_s=FIRST_S + STEP_S * number,
            )
        )
    return found


def records(chats: list[Chat], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Records of a log as OpenAI's chats are logged; usage is counted by the tokenizer."""
    return [_record(number, chat, tokenizer) for number, chat in enumerate(chats)]


def _record(number: int, chat: Chat, tokenizer: Tokenizer) -> dict[str, Any]:
    tokenizer = jeton.load(chat.counted_by) if chat.counted_by else tokenizer
    listed = "\n\n".join(f"[{i}] {text}" for i, text in enumerate(chat.passages, start=1))
    last = f"{listed}\n\nQuestion: {chat.question}" if listed else chat.question
    messages = [{"role": "system", "content": chat.system}]
    for place, text in enumerate(chat.earlier):
        messages.append({"role": ("user", "assistant")[place % 2], "content": text})
    messages.append({"role": "user", "content": last})
    head = tokenizer.count(chat.system) + sum(
        tokenizer.count(json.dumps(tool)) for tool in chat.tools
    )
    n_input = (
        head
        + sum(tokenizer.count(text) for text in (*chat.earlier, last))
        + FRAME_TOKENS
        + chat.unlogged_tokens
    )
    usage: dict[str, Any] = {
        "prompt_tokens": n_input,
        "completion_tokens": chat.answer_tokens + chat.reasoning_tokens,
        "prompt_tokens_details": {"cached_tokens": int(head * chat.cached_share)},
        "completion_tokens_details": {"reasoning_tokens": chat.reasoning_tokens},
    }
    request: dict[str, Any] = {"model": chat.model, "messages": messages}
    if chat.tools:
        request["tools"] = chat.tools
    return {
        "id": f"r{number}",
        "created": chat.time_s,
        "request": request,
        "response": {
            "model": chat.model,
            "service_tier": chat.tariff,
            "choices": [{"message": {"role": "assistant", "content": "word " * 20}}],
            "usage": usage,
        },
    }


Change = Callable[[list[Chat]], list[Chat]]


def _each(change: Callable[[Chat], Chat]) -> Change:
    return lambda found: [change(replace(chat)) for chat in found]


def _texts(rewrite: Callable[[str], str], *parts: str) -> Change:
    def apply(chat: Chat) -> Chat:
        for part in parts:
            old = getattr(chat, part)
            new = rewrite(old) if isinstance(old, str) else [rewrite(text) for text in old]
            setattr(chat, part, new)
        return chat

    return _each(apply)


def _set(**values: Any) -> Change:
    return _each(lambda chat: replace(chat, **values))


def _indented(text: str) -> str:
    head, _, rest = text.partition("\n")
    return json.dumps(json.loads(head), indent=4) + "\n" + rest


def _passages(n: int, found: list[Chat]) -> list[Chat]:
    pool = [text for chat in found for text in chat.passages]
    return [
        replace(
            chat,
            passages=[
                *chat.passages,
                *(pool[(place * 5 + i * 7) % len(pool)] for i in range(n)),
            ][:n],
        )
        for place, chat in enumerate(found)
    ]


def _history(n: int, found: list[Chat]) -> list[Chat]:
    pool = [text for chat in found for text in chat.earlier]
    return [
        replace(
            chat,
            earlier=[
                *chat.earlier,
                *(pool[(place * 3 + i * 11) % len(pool)] for i in range(n)),
            ][:n],
        )
        for place, chat in enumerate(found)
    ]


def _stamped(found: list[Chat]) -> list[Chat]:
    return [
        replace(chat, system=f"Now: {chat.time_s:.0f}.\n{chat.system}", cached_share=0.0)
        for chat in found
    ]


def _attached(chat: Chat) -> Chat:
    data = base64.b64encode(f"{chat.question}{chat.answer_tokens}".encode() * 3).decode()
    return replace(chat, question=f"{chat.question}\n{data}")


def _mixed(found: list[Chat]) -> list[Chat]:
    return [replace(chat, model="gpt-4o-mini") if i % 2 else chat for i, chat in enumerate(found)]


CHANGES: dict[str, Change] = {
    # Where: eight parts of a request.
    "tools added": _each(
        lambda c: replace(c, tools=[*c.tools, *(_tool(f"tool_{i}", 20) for i in range(4))])
    ),
    "tools described": _each(lambda c: replace(c, tools=[_tool("find_order", 160)])),
    "no tools": _set(tools=[]),
    "rules added": _texts(
        lambda t: f"{t}\n" + "\n".join(f"In case {i}: {r}" for i, r in enumerate(_RULES)), "system"
    ),
    "few-shot": _texts(lambda t: "\n".join((t, *_EXAMPLE)), "system"),
    "history 8": partial(_history, 8),
    "history 0": partial(_history, 0),
    "long turns": _texts(lambda t: f"{t} {_sentences(random.Random(t), 4)}", "earlier"),
    "k 6": partial(_passages, 6),
    "k 1": partial(_passages, 1),
    "long passages": _texts(lambda t: f"{t} {_sentences(random.Random(t), 5)}", "passages"),
    "long question": _texts(lambda t: f"{t} {_sentences(random.Random(t), 8)}", "question"),
    "image detail": _each(lambda c: replace(c, unlogged_tokens=680)),
    "hidden prompt": _each(lambda c: replace(c, unlogged_tokens=300)),
    "long answers": _each(lambda c: replace(c, answer_tokens=c.answer_tokens * 4)),
    "reasoning": _each(lambda c: replace(c, reasoning_tokens=400)),
    # What: inside a part.
    "json indented": _texts(_indented, "question"),
    "base64": _each(_attached),
    "white space": _texts(lambda t: t.replace(" ", "   "), "passages"),
    "escapes": _texts(
        lambda t: "".join(f"\\u{ord(c):04x}" if c in "aeiou" else c for c in t), "passages"
    ),
    "system twice": _texts(lambda t: f"{t}\n{t}", "system"),
    "german": lambda found: [
        replace(chat, passages=[_GERMAN[(i + j) % 4] * 2 for j in range(3)])
        for i, chat in enumerate(found)
    ],
    "html": _texts(
        lambda t: "".join(f"<p class='t'><b>{s}</b></p>" for s in t.split(". ")), "passages"
    ),
    "upper case": _texts(str.upper, "earlier"),
    # Price: the same tokens for other dollars.
    "time stamp": _stamped,
    "cache lost": _set(cached_share=0.0),
    "priority": _set(tariff="priority"),
    "flex": _set(tariff="flex"),
    "gpt-4-turbo": _set(model="gpt-4-turbo"),
    "half mini": _mixed,
    # German rules are the same in all chats: their tokens look like a frame.
    "german rules": _texts(lambda t: "\n".join((t, *_GERMAN * 4)), "system"),
    "another tokenizer": _set(model="gpt-4-turbo", counted_by="jeton-code-32k"),
    "o3 in May 2025": _set(model="o3", time_s=1_748_600_000.0),
    "o3 in July 2025": _set(model="o3", time_s=1_751_600_000.0),
    "o3": _set(model="o3"),
    "claude": _set(model="global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "claude in us": _set(model="us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "traffic": lambda found: [
        replace(chat, time_s=FIRST_S + (chat.time_s - FIRST_S) / 2) for chat in found
    ],
}
"""Ways in which chats change, by name."""

_INPUT, _OUTPUT, _USD = (
    "input_tokens_per_request", "output_tokens_per_request", "usd_per_request",
)  # fmt: skip

SINGLES: dict[str, tuple[str, str, str]] = {
    # Change: figure, part, causes that name it.
    "tools added": (_INPUT, "tools", "number"),
    "tools described": (_INPUT, "tools", "length wording"),
    "no tools": (_INPUT, "tools", "number"),
    "rules added": (_INPUT, "system", "length wording repeated_passages"),
    "few-shot": (_INPUT, "system", "length wording repeated_passages"),
    "history 8": (_INPUT, "earlier", "number"),
    "history 0": (_INPUT, "earlier", "number"),
    "long turns": (_INPUT, "earlier", "length wording"),
    "k 6": (_INPUT, "passages", "number"),
    "k 1": (_INPUT, "passages", "number"),
    "long passages": (_INPUT, "passages", "length"),
    "long question": (_INPUT, "question", "length"),
    "image detail": (_INPUT, "unlogged", "unlogged"),
    "hidden prompt": (_INPUT, "unlogged", "unlogged"),
    "long answers": (_OUTPUT, "answer", "answer"),
    "reasoning": (_OUTPUT, "reasoning", "reasoning"),
    "json indented": (_INPUT, "question", "json_layout"),
    "base64": (_INPUT, "question", "encoded_data"),
    "white space": (_INPUT, "passages", "white_space"),
    "escapes": (_INPUT, "passages", "escaped_characters"),
    "system twice": (_INPUT, "system", "repeated_passages"),
    "german": (_INPUT, "passages", "language_mix"),
    "html": (_INPUT, "passages", "markup"),
    "upper case": (_INPUT, "earlier", "letter_case"),
    "time stamp": (_USD, "", "cache"),
    "cache lost": (_USD, "", "cache"),
    "priority": (_USD, "", "tariff"),
    "gpt-4-turbo": (_USD, "", "model"),
    "half mini": (_USD, "", "model"),
    "traffic": ("usd_per_month", "", "traffic"),
}
"""One change each: the figure, the part of the request and the causes that name it."""

PAIRS: tuple[tuple[str, str, str, str, str], ...] = (
    # Before, after, figure, part, cause.
    ("o3 in May 2025", "o3 in July 2025", _USD, "", "list_price"),
    ("o3", "o3,flex", _USD, "", "tariff"),
    ("claude", "claude in us", _USD, "", "region"),
    # Tokens that the log does not show stay as they are: they are no price.
    ("image detail", "image detail,json indented", _USD, "question", "json_layout"),
    ("german rules", "german rules,another tokenizer", _INPUT, "", "tokenizer"),
)

DOUBLES = (
    ("k 6", "priority"), ("k 6", "cache lost"), ("history 8", "tools described"),
    ("history 8", "reasoning"),
    ("image detail", "history 8"), ("image detail", "half mini"), ("json indented", "k 6"),
    ("json indented", "hidden prompt"), ("system twice", "k 6"), ("tools added", "reasoning"),
    ("tools described", "long answers"), ("base64", "gpt-4-turbo"), ("escapes", "reasoning"),
    ("white space", "history 8"), ("reasoning", "gpt-4-turbo"), ("long answers", "half mini"),
    ("no tools", "k 6"), ("history 0", "long passages"), ("few-shot", "image detail"),
    ("time stamp", "long question"), ("german", "priority"), ("html", "history 8"),
)  # fmt: skip
"""Two changes at once."""


def changed(names: str, found: list[Chat]) -> list[Chat]:
    """Chats after changes, whose names have commas between them."""
    for name in names.split(","):
        found = CHANGES[name](found) if name else found
    return found


def cases(seed: int = SEED) -> list[dict[str, Any]]:
    """All cases, with what is expected of them; of two changes alike in dollars none is the main.

    Args:
        seed: Of the chats.
    """
    made: list[dict[str, Any]] = []

    def add(before: str, after: str, figure: str, part: str, causes: str) -> None:
        made.append(
            {
                "before": before,
                "after": after,
                "figure": figure,
                "part": part,
                "causes": causes.split(),
            }
        )

    for name, (figure, part, causes) in SINGLES.items():
        add("", name, figure, part, causes)
    for pair in PAIRS:
        add(*pair)
    base = _usd(chats(seed))
    for names in DOUBLES:
        after = ",".join(names)
        total = _usd(changed(after, chats(seed))) - base
        alone = {name: (_usd(changed(name, chats(seed))) - base) * total for name in names}
        least, most = sorted(abs(value) for value in alone.values())
        if most < LEAST_LEAD * least:
            assert seed != SEED, (names, alone)
            continue
        main = max(alone, key=lambda name: alone[name])
        add("", after, _USD, *SINGLES[main][1:])
    return made


def _usd(found: list[Chat]) -> float:
    """Dollars of a request by the ledger, without any gate."""
    made = records(found, jeton.load("jeton-general-32k"))
    return float(jeton.ledger(made).usd) / len(made)


if __name__ == "__main__":
    rows = ",\n".join(json.dumps(case) for case in cases())
    CASES.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
