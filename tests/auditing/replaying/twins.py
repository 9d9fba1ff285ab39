"""Logs with known waste, and their twins without it: the second way of reckoning for replays.

A log is drawn from a seed. Prompts are billed here by a few lines that share no code with the
package but its tokenizer: tokens of each message, a slope, a frame, and a cache that holds the
beginning of a prompt. A twin is the same log with a remedy carried out where the text is made.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jeton import Tokenizer

__all__ = ["FINDINGS", "Drawn", "draw", "records"]

MODELS = {
    "gpt-4o": ("openai", 1.0),
    "gpt-4o-mini": ("openai", 1.0),
    "claude-sonnet-4-5": ("anthropic", 1.17),
    "claude-opus-4-6": ("anthropic", 1.2),
}
STEP, LEAST = 128, {"openai": 1024, "anthropic": 4096}

FINDINGS = {"json": "json-layout", "blanks": "whitespace-runs", "escapes": "escaped-characters"}
"""Wastes that a log may have, and the finding of each."""

WORDS = (  # noqa: SIM905
    "order invoice parcel refund customer delivery address warehouse receipt payment account "
    "ticket shipment return exchange discount voucher product stock supplier contract"
).split()


@dataclass(frozen=True)
class Drawn:
    """A log that was drawn.

    Attributes:
        seed: Of what its text is drawn.
        model: The model of all requests.
        n: Requests.
        frame: Tokens in front of the text that the log does not show.
        wastes: Names of its wastes.
        is_cached: True if the system prompt is read from a cache.
        instructions: Words of the system prompt.
    """

    seed: int
    model: str
    n: int
    frame: int
    wastes: frozenset[str]
    is_cached: bool
    instructions: int


def draw(seed: int) -> Drawn:
    rng = random.Random(seed)
    model = rng.choice(sorted(MODELS))
    wastes = frozenset(name for name in FINDINGS if rng.random() < 0.6) or frozenset({"json"})
    return Drawn(
        seed=seed,
        model=model,
        n=rng.choice([40, 80, 120]),
        frame=rng.choice([0, 0, 300, 3000]),
        wastes=wastes,
        is_cached=rng.random() < 0.5,
        instructions=rng.choice([20, 1500, 6000]),
    )


def _prose(rng: random.Random, n: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(n))


def _question(rng: random.Random, wastes: frozenset[str]) -> str:
    rows = [
        {"id": rng.randrange(10**6), "note": rng.choice(WORDS), "amount": rng.randrange(1000)}
        for _ in range(rng.randrange(3, 12))
    ]
    data = {"batch": rng.randrange(10**9), "first": rows[0], "rest": [row["id"] for row in rows]}
    layout: Mapping[str, Any] = {"indent": 4} if "json" in wastes else {"separators": (",", ":")}
    gap = "     \n\n\n\n" if "blanks" in wastes else "\n"
    said = "Größe geändert für Empfänger"
    if "escapes" in wastes:
        said = said.encode("ascii", "backslashreplace").decode()
        said = said.replace("\\xf6", "\\u00f6").replace("\\xdf", "\\u00df")
        said = said.replace("\\xe4", "\\u00e4").replace("\\xfc", "\\u00fc")
    return gap.join([_prose(rng, 30), said * 3, _prose(rng, 25), json.dumps(data, **layout)])


def records(log: Drawn, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """The records of a log, as OpenAI and Anthropic return them."""
    rng = random.Random(log.seed)
    provider, slope = MODELS[log.model]
    system = "You answer for a shop. " + _prose(rng, log.instructions)
    found = []
    for i in range(log.n):
        question = _question(rng, log.wastes)
        n_system = log.frame + round(slope * tokenizer.count(system))
        n_all = log.frame + round(slope * (tokenizer.count(system) + tokenizer.count(question)))
        read = 0
        if log.is_cached and i and n_system >= LEAST[provider]:
            read = n_system // STEP * STEP if provider == "openai" else n_system
        time = f"2026-11-05T{i // 60:02d}:{i % 60:02d}:00Z"
        make = _openai if provider == "openai" else _anthropic
        found.append(make(log.model, time, i, system, question, n_all, read))
    return found


def _openai(
    model: str, time: str, i: int, system: str, question: str, n_all: int, read: int
) -> dict[str, Any]:
    usage = {
        "prompt_tokens": n_all,
        "completion_tokens": 20,
        "total_tokens": n_all + 20,
        "prompt_tokens_details": {"cached_tokens": read},
    }
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    choice = {"message": {"role": "assistant", "content": "It is on its way."}}
    return {
        "timestamp": time,
        "request": {"model": model, "messages": messages},
        "response": {"id": f"c{i}", "object": "chat.completion", "model": model,
                     "choices": [choice], "usage": usage},
    }  # fmt: skip


def _anthropic(
    model: str, time: str, i: int, system: str, question: str, n_all: int, read: int
) -> dict[str, Any]:
    usage = {
        "input_tokens": n_all - read,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0,
        "output_tokens": 20,
    }
    return {
        "timestamp": time,
        "request": {"model": model, "system": system,
                    "messages": [{"role": "user", "content": question}]},
        "response": {"id": f"m{i}", "type": "message", "role": "assistant", "model": model,
                     "content": [{"type": "text", "text": "It is on its way."}], "usage": usage},
    }  # fmt: skip
