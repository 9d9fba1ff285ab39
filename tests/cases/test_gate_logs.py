"""The gate names the main cause of what requests cost: one case a line in ``gate_logs.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import jeton
from jeton.auditing import audit, reporting
from jeton.auditing.gate import Baseline, BudgetResult, Collector, judge, read_budgets
from tests.cases import gate_logs

CASES: list[dict[str, Any]] = json.loads(gate_logs.CASES.read_text(encoding="utf-8"))
LEAST_RIGHT = 0.95
"""Share of the cases whose main cause must be right."""


@pytest.fixture(scope="module", autouse=True)
def _no_checks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporting, "run_checks", lambda evidence: ())
        yield


@cache
def seen(changes: str, seed: int) -> tuple[Baseline, Collector]:
    """An audit of the chats after changes."""
    tokenizer = jeton.load("jeton-general-32k")
    made = gate_logs.records(gate_logs.changed(changes, gate_logs.chats(seed)), tokenizer)
    collector = Collector()
    report = audit(
        iter(made), logs=True, tokenizers=tokenizer, observers=[collector], quality=False
    )
    return Baseline.build(report, collector), collector


def judged(case: dict[str, Any], seed: int = gate_logs.SEED) -> BudgetResult:
    before, (after, collector) = seen(case["before"], seed)[0], seen(case["after"], seed)
    budget = read_budgets([f"{case['figure']}>+-0%"])
    return judge(after, collector, before, budget).results[0]


def name(case: dict[str, Any]) -> str:
    return f"{case['before']}>{case['after']}"


@pytest.fixture(scope="module")
def results() -> dict[str, BudgetResult]:
    return {name(case): judged(case) for case in CASES}


def wrong(cases: list[dict[str, Any]], results: dict[str, BudgetResult]) -> list[Any]:
    """The cases whose main cause is another one, with that one."""
    found: list[Any] = []
    for case in cases:
        main = results[name(case)].main_cause
        named = ("", "") if main is None else (main.part.where, main.part.cause)
        if named[0] != case["part"] or named[1] not in case["causes"]:
            found.append((name(case), named))
    return found


def test_the_main_cause_is_right(results: dict[str, BudgetResult]) -> None:
    missed = wrong(CASES, results)
    assert len(missed) <= (1 - LEAST_RIGHT) * len(CASES), missed


@pytest.mark.conformance
@pytest.mark.parametrize("seed", range(10))
def test_the_main_cause_is_right_in_other_chats(seed: int) -> None:
    cases = gate_logs.cases(seed)
    results = {name(case): judged(case, seed) for case in cases}
    missed = wrong(cases, results)
    print(f"seed {seed}: {len(cases) - len(missed)} of {len(cases)} right; {missed}")
    assert len(missed) <= (1 - LEAST_RIGHT) * len(cases), missed
    _no_wrong_price(cases, results)


def test_every_sum_is_exact_and_no_share_is_beyond_the_whole(
    results: dict[str, BudgetResult],
) -> None:
    for item in results.values():
        assert item.is_exceeded
        assert sum(cause.part.value for cause in item.causes) == item.difference
        assert sum(move.value for move in item.by_part) == item.difference
        assert sum(abs(cause.share) for cause in item.causes) == pytest.approx(1)
        assert all(cause.part.value for cause in item.causes)


PRICES = ("cache", "model", "provider", "region", "tariff", "list_price", "fees")


def test_no_price_is_named_that_did_not_move(results: dict[str, BudgetResult]) -> None:
    _no_wrong_price(CASES, results)


def _no_wrong_price(cases: list[dict[str, Any]], results: dict[str, BudgetResult]) -> None:
    of_price = ("priority", "turbo", "mini", "o3", "claude", "flex", "cache", "time stamp")
    for case in cases:
        if not any(word in name(case) for word in of_price):
            item = results[name(case)]
            assert item.main_cause is not None
            assert item.main_cause.part.cause not in PRICES, name(case)
            named = {c.part.cause for c in item.causes if abs(c.share) > 0.01}
            assert not named & {*PRICES} - {"cache"}, name(case)


def test_no_tokenizer_is_named_that_did_not_change(results: dict[str, BudgetResult]) -> None:
    for case in CASES:
        if not any(word in name(case) for word in ("turbo", "claude", "tokenizer")):
            causes = {cause.part.cause for cause in results[name(case)].causes}
            assert "tokenizer" not in causes, name(case)


def test_another_tokenizer_is_named(results: dict[str, BudgetResult]) -> None:
    named = results["german rules>german rules,another tokenizer"].main_cause
    assert named is not None
    assert named.part.cause == "tokenizer"
    assert named.share == 1


def test_unlogged_tokens_do_not_take_the_cache_from_the_text() -> None:
    item = judged({"before": "", "after": "hidden prompt", "figure": "usd_per_request"})
    assert [(cause.part.where, cause.part.cause) for cause in item.causes] == [
        ("unlogged", "unlogged")
    ]


def test_the_cases_are_those_of_the_script() -> None:
    assert [name(case) for case in CASES] == [name(case) for case in gate_logs.cases()]
