"""Dollars, parts and minutes of a drift: decomposition of the gate, ledger, rules of the engine."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import jeton
from jeton.catalog import gpu, model, price
from jeton.economics.ledger import LedgerBuilder
from jeton.economics.ledger.rows import usage_rows
from jeton.economics.serving.memory_budget import DoesNotFitError
from jeton.economics.serving.memory_plan import MeasuredMemory, MemoryPlan
from jeton.findings import Basis
from jeton.watch import Alert, Monitor, ServedBy, WatchedRequest, WatchHistory, WatchSettings
from jeton.watch.billed import RecentRequest, repriced, watched_side
from jeton.watch.causes import CauseShare, explain_drift
from jeton.watch.outlook import outlook
from jeton.watch.run import requests_of
from tests.watch.streams import TOKENIZER, history, requests, texts

SYSTEM = "You answer questions about parcels. Be short, and name the order in each answer. "
MODEL = "gpt-4o"
PER_DAY = 1000.0
EXACT = Basis.EXACT


def chats(
    n: int, seed: int, *, system: str = SYSTEM, cached: bool = True, answer: int = 40
) -> list[dict[str, Any]]:
    draw, tokenizer = random.Random(seed), jeton.load(TOKENIZER)
    records = []
    for i in range(n):
        question = draw.choice(texts().by_source["mail"])
        n_input = tokenizer.count(system) + tokenizer.count(question) + 12
        records.append(
            {
                "model": MODEL, "timestamp": 1_800_000_000 + 60 * i,
                "messages": [
                    {"role": "system", "content": system}, {"role": "user", "content": question}
                ],
                "usage": {
                    "prompt_tokens": n_input, "completion_tokens": answer + draw.randrange(9),
                    "prompt_tokens_details": {
                        "cached_tokens": tokenizer.count(system) if cached else 0
                    },
                },
            }
        )  # fmt: skip
    return records


def taken(records: list[dict[str, Any]]) -> list[RecentRequest]:
    monitor = Monitor(tokenizer=TOKENIZER)
    monitor.observe(*requests_of(records))
    return monitor._recent.since(0)


def test_a_bill_that_leaves_the_log_is_found_with_a_tokenizer_too() -> None:
    """The text stays, and the provider counts three times as much."""
    first, later = chats(200, 1), chats(60, 2)
    for record in later:
        record["usage"]["prompt_tokens"] *= 3
    settings = WatchSettings(learn_requests=150)
    before = Monitor(tokenizer=TOKENIZER, settings=settings)
    assert before.observe(*requests_of(first)) == ()
    for monitor in (before, Monitor(before.make_history(), settings=settings)):
        alerts = monitor.observe(*requests_of(later))
        (alert,) = [one for one in alerts if one.signal == "estimate_ratio"]
        assert alert.after / alert.before == pytest.approx(1 / 3, rel=0.1)
        assert alert.cause == "unlogged"


def test_dollars_stand_beside_their_cause() -> None:
    shares = (
        CauseShare("preprocessing", "preprocessing", "letter case", 1.04, (), 1.56, EXACT, ""),
        CauseShare("answer", "length of the answers", "answer", 0.0, (), -1.89, EXACT, ""),
    )
    alert = Alert("drift", "tokens_per_byte", "", 9, 3, None, 1.0, 2.0, 9.0, 0.01, shares)
    assert "preprocessing (letter case), 104%, +1.56 USD a day; whole bill -0.33" in alert.line


def usd_of(records: list[dict[str, Any]]) -> float:
    """Dollars of a request by the ledger, without any watch."""
    builder = LedgerBuilder()
    builder.add(
        usage_rows(
            {
                "model": record["model"],
                "time_s": record["timestamp"],
                "input_tokens": record["usage"]["prompt_tokens"],
                "cache_read_tokens": record["usage"]["prompt_tokens_details"]["cached_tokens"],
                "output_tokens": record["usage"]["completion_tokens"],
            }
            for record in records
        )
    )
    return float(builder.build().usd) / len(records)


def explained(
    before: list[dict[str, Any]], after: list[dict[str, Any]], **options: Any
) -> dict[str, CauseShare]:
    tokenizer = jeton.load(TOKENIZER)
    side = watched_side(taken(before), tokenizer).side
    found = explain_drift(
        "tokens_per_document", side, taken(after), tokenizer=tokenizer,
        requests_per_day=PER_DAY, **options,
    )  # fmt: skip
    assert sum(one.share for one in found) == pytest.approx(1)
    return {one.cause: one for one in found}


def test_dollars_are_the_ledger_s_by_part_and_kind() -> None:
    before, after = chats(150, 1), chats(120, 2, system=SYSTEM * 3, cached=False, answer=90)
    found = explained(before, after)
    usd = sum(one.usd_per_day or 0.0 for one in found.values())
    assert usd == pytest.approx((usd_of(after) - usd_of(before)) * PER_DAY, rel=1e-9)
    # The prompt grew threefold, its cache was lost, and answers are twice as long.
    main = max(found.values(), key=lambda one: one.share)
    assert "system prompt" in main.detail
    for cause in ("price", "answer"):
        assert (found[cause].usd_per_day or 0.0) > 0
        assert found[cause].share == 0
    assert "cache" in found["price"].detail


def test_a_price_of_one_s_own_holds_for_both_sides() -> None:
    before, after = chats(60, 3), chats(60, 4, system=SYSTEM * 2)
    own = price("usd:3/9")
    found = explained(before, after, price=own)
    usd = sum(one.usd_per_day or 0.0 for one in found.values())

    def spent(records: list[dict[str, Any]]) -> float:
        tokens = [(r["usage"]["prompt_tokens"], r["usage"]["completion_tokens"]) for r in records]
        return float(sum(3 * n + 9 * m for n, m in tokens)) / 1e6 / len(records)

    assert usd == pytest.approx((spent(after) - spent(before)) * PER_DAY, rel=1e-9)


def test_a_history_keeps_what_was_billed() -> None:
    monitor = Monitor(tokenizer=TOKENIZER)
    monitor.observe(*requests_of(chats(80, 5)))
    made = monitor.make_history()
    read = WatchHistory.from_bytes(made.to_bytes())
    assert made.side is not None
    assert read.side is not None
    assert read.side.to_plain() == made.side.to_plain()
    assert read.side.billed.cell("system", "cached") > 0
    assert read.side.usd == made.side.usd > 0
    # Texts without a bill are priced as if they were sent once each.
    bare = repriced(
        replace(made.side, billed=type(made.side.billed)(), prices={}), price("usd:2/8")
    )
    assert float(bare.usd) == pytest.approx(2 * bare.text.total().n_tokens[0] / 1e6)


def test_an_alert_names_dollars_of_models_that_the_log_names() -> None:
    good = Monitor(tokenizer=TOKENIZER)
    good.observe(*requests_of(chats(300, 6)))
    watch = Monitor(good.make_history())
    found = watch.observe(*requests_of(chats(120, 7, system=SYSTEM * 4, cached=False)))
    assert found
    assert " USD a day" in found[0].line
    assert "system prompt" in found[0].line


TRAFFIC = [(i * 0.5, 900 if i < 600 else 2700, 300) for i in range(1200)]


def capacity(plan: MemoryPlan | None) -> int:
    served_by = ServedBy(model("llama-3.1-8b"), gpu("l4"), plan, seconds_per_token=0.03)
    found = outlook(served_by, TRAFFIC, since_seconds=300.0)
    assert found is not None
    return found.capacity_bytes


def test_minutes_left_follow_the_engine_s_rules_and_its_log() -> None:
    vllm, sglang = (capacity(MemoryPlan(engine=engine)) for engine in ("vllm", "sglang"))
    assert vllm != sglang
    assert capacity(None) == vllm
    printed = MeasuredMemory("log", "vllm", 1, 17 << 30, 1 << 30)
    assert capacity(MemoryPlan(measured=printed)) != vllm


def test_a_group_that_the_engine_refuses_is_refused_at_the_start() -> None:
    with pytest.raises(DoesNotFitError, match="refuses it"):
        ServedBy(model("llama-3.1-8b"), gpu("l4"), MemoryPlan(n_gpus=3))
    with pytest.raises(DoesNotFitError, match="hint"):
        ServedBy(model("llama-3.1-70b"), gpu("l4"), MemoryPlan(n_gpus=1))


def test_counts_without_text_raise_alerts_without_causes() -> None:
    past = [WatchedRequest(n_tokens=r.n_tokens or 100) for r in requests(600, seed=8)]
    watch = Monitor()
    watch.observe(*past)
    found = watch.observe(*(WatchedRequest(n_tokens=400) for _ in range(200)))
    assert found
    assert found[0].causes == ()
    assert history().side is not None
