"""Readers of coding agents under bad input: named, counted, never guessed; the rest is priced."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.corpus import open_requests
from jeton.corpus.requests.agents import AGENTS
from jeton.errors import JetonError

CASES = sorted((Path(__file__).parents[1] / "cases" / "agents").glob("*.json"))
RECORDS: list[Any] = [
    record
    for path in CASES
    for file in json.loads(path.read_text(encoding="utf-8"))["files"]
    if "records" in file
    for record in (file["records"] if isinstance(file["records"], list) else [file["records"]])
]

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=5),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


def kinds(ledger: jeton.Ledger) -> dict[str, str]:
    return {issue.kind: issue.text for issue in ledger.issues}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every value inside a record."""
    inner = (
        list(value.items()) if isinstance(value, dict)
        else list(enumerate(value)) if isinstance(value, list) else []
    )  # fmt: skip
    found = []
    for key, child in inner:
        found.append((*at, key))
        found += places(child, (*at, key))
    return found


@settings(max_examples=200)
@given(st.randoms(use_true_random=False), st.lists(JUNK, min_size=4, max_size=4))
def test_junk_in_any_place_is_read_or_named(random: Random, junk: list[Any]) -> None:
    records = [copy.deepcopy(random.choice(RECORDS)) for _ in junk]
    for record, value in zip(records, junk, strict=True):
        path = random.choice(places(record))
        target = record
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    try:
        ledger = jeton.ledger(iter(records))
    except JetonError:
        return
    assert ledger.usd >= 0
    assert sum((use.usd for use in ledger.by_model), Decimal(0)) == ledger.usd


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.kind)
def test_an_agent_leaves_other_records_alone(agent: Any) -> None:
    stream = open_requests(
        iter([{"prompt": "a", "response": "b", "model": "gpt-4o", "timestamp": 1793869200}])
    )
    list(stream)
    assert stream.summary().shapes == {"plain": 1}
    assert not agent.is_it(frozenset({"prompt", "response", "model", "timestamp"}))


def chat(**usage: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "timestamp": "2026-11-05T09:00:00Z", "usage": usage}


@pytest.mark.parametrize(
    ("usage", "kind", "words"),
    [
        ({"prompt_tokens": 1000, "completion_tokens": 10, "thinking_extra": 777}, "unread_usage",
         "thinking_extra: 1 requests, 777 in all"),
        ({"input": 4299, "output": 631, "total": 58291}, "inconsistent_usage",
         "53,361 tokens are not explained"),
        ({"prompt_tokens": 1000, "completion_tokens": 10, "cached_tokens": -4}, "negative_count",
         "cached_tokens is -4"),
        ({"prompt_tokens": 1000, "completion_tokens": 10, "cached_tokens": 10**12}, "absurd_count",
         "cached_tokens is 1,000,000,000,000"),
        ({"prompt_tokens": 1000, "completion_tokens": 10, "images": [{"n": 3}]}, "unread_usage",
         "images: 1 requests, 3 in all"),
        ({"prompt_tokens": 1000, "completion_tokens": 10, "service_tier": "turbo"},
         "unknown_tariff", "turbo"),
        ({"prompt_tokens": 1000, "completion_tokens": 10, "num_sources_used": 5}, "unread_usage",
         "num_sources_used"),
    ],
)  # fmt: skip
def test_a_price_is_an_estimate_where_usage_is_doubtful(
    usage: dict[str, Any], kind: str, words: str
) -> None:
    whole = jeton.ledger(iter([chat(prompt_tokens=7, completion_tokens=1, total_tokens=8)]))
    assert [str(use.basis) for use in whole.by_model] == ["exact"]
    ledger = jeton.ledger(iter([chat(**usage)]))
    assert [str(use.basis) for use in ledger.by_model] == ["estimated"]
    assert words in kinds(ledger)[kind]
    assert "usage_not_sure" in kinds(ledger)
    assert ledger.usd > 0


def test_amounts_that_say_nothing_new_leave_a_price_exact() -> None:
    usage = {
        "prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
        "queue_time": 0.1, "completion_tokens_per_sec": 80.5, "time_to_first_token": 0.2,
        "prompt_tokens_details": {"text_tokens": 1000}, "cost_details": {"input_cost": 0.1},
        "completion_tokens_details": {"accepted_prediction_tokens": 3},
    }  # fmt: skip
    assert [str(use.basis) for use in jeton.ledger(iter([chat(**usage)])).by_model] == ["exact"]


@pytest.mark.parametrize("cost", [-1, "NaN", "12,x", 10**9, float("inf")])
def test_a_cost_that_is_none_is_named_and_not_compared(cost: Any) -> None:
    ledger = jeton.ledger(iter([chat(prompt_tokens=7, completion_tokens=1, cost=cost)]))
    assert ledger.stated == ()
    if not isinstance(cost, str) or cost[:1].isdigit():
        assert "bad_cost" in kinds(ledger)


def test_two_payers_stand_apart() -> None:
    own = {"cost": 0.0008, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.0159}}
    counts = {"prompt_tokens": 4000, "completion_tokens": 260}
    ours = {"cost": 0.0132, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.0132}}
    records = [
        {"model": "anthropic/claude-sonnet-4.5", "timestamp": 1793869200, "usage": counts | paid}
        for paid in (own, ours)
    ]
    byok, log = jeton.ledger(iter(records)).stated
    assert (byok.payer, str(byok.stated_usd), str(byok.gateway_usd)) == (
        "own key", "0.0159", "0.0008",
    )  # fmt: skip
    assert not byok.differs
    assert (log.payer, str(log.stated_usd), str(log.usd), log.differs) == (
        "log", "0.0132", "0.0159", True,
    )  # fmt: skip
    assert log.difference_usd == Decimal("-0.0027")


def test_a_file_that_grows_is_read_as_far_as_it_is_written(tmp_path: Path) -> None:
    lines = [json.dumps(chat(prompt_tokens=100 + i, completion_tokens=1)) for i in range(50)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + "\n" + lines[0][:40], encoding="utf-8")
    ledger = jeton.ledger([path])
    assert (ledger.n_requests, "not_json" in kinds(ledger)) == (50, True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stream = open_requests([path], batch_bytes=1)
    n = len(next(stream))
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    n += sum(len(batch) for batch in stream)
    assert 50 <= n <= 100


def test_times_that_go_back_and_names_that_are_not_known_are_counted() -> None:
    late, early = (
        chat(prompt_tokens=10, completion_tokens=1),
        chat(prompt_tokens=10, completion_tokens=1),
    )
    early["timestamp"] = "2026-11-04T09:00:00Z"
    unknown = {**late, "model": "gpt-99-ultra"}
    ledger = jeton.ledger(iter([late, early, unknown]))
    assert "time_backwards" in kinds(ledger)
    assert [(entry.model, entry.kind) for entry in ledger.not_priced] == [
        ("gpt-99-ultra", "unknown_model")
    ]
    assert ledger.usd == 2 * Decimal("0.000035")


def test_steps_of_an_unknown_kind_are_added_and_named() -> None:
    usage = {
        "input_tokens": 100, "output_tokens": 10,
        "iterations": [
            {"type": "message", "input_tokens": 100, "output_tokens": 10},
            {"type": "dream", "input_tokens": 40, "output_tokens": 4},
        ],
    }  # fmt: skip
    answer = {"type": "message", "model": "claude-opus-4-8", "content": [], "usage": usage}
    ledger = jeton.ledger(iter([{"timestamp": 1793869200, "response": answer}]))
    assert ledger.usd == (140 * 5 + 14 * 25) / Decimal(1_000_000)
    assert [str(use.basis) for use in ledger.by_model] == ["estimated"]
    assert "iterations of type dream: 1 requests, 44 in all" in kinds(ledger)["unread_usage"]
