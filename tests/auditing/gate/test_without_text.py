"""A gate on logs that show usage alone: agents' sessions, exports, spend logs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jeton.auditing import audit
from jeton.auditing.gate import Baseline, Collector, judge, read_budgets


def _records(n_output: int) -> list[dict[str, Any]]:
    usage = {"prompt_tokens": 1000, "completion_tokens": n_output, "total_tokens": 1000 + n_output}
    return [
        {"timestamp": f"2026-11-05T08:0{i}:00Z", "model": "gpt-4o", "usage": usage}
        for i in range(5)
    ]


def _seen(n_output: int) -> tuple[Baseline, Collector]:
    collector = Collector()
    report = audit(
        _records(n_output), logs=True, tokenizers=["jeton-general-32k"], observers=[collector]
    )
    return Baseline.build(report, collector), collector


def test_dollars_and_tokens_are_judged_without_text() -> None:
    before, _ = _seen(100)
    after, collector = _seen(200)
    again = Baseline.from_bytes(before.to_bytes())
    assert again.values["usd_per_request"] == Fraction("0.0035")
    budgets = read_budgets(["usd_per_request>+5%", "input_tokens_per_request>+1%"])
    dollars, tokens = judge(after, collector, again, budgets).results
    assert dollars.is_exceeded
    assert dollars.main_cause is not None
    assert dollars.main_cause.part.where == "answer"
    assert not tokens.is_exceeded
