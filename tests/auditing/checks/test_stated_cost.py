"""The cost that a log states is compared with ours, and a difference is a finding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import jeton
from jeton.auditing.checks import CHECKS
from jeton.findings import Finding


def findings(*costs: float) -> list[Finding]:
    records: list[dict[str, Any]] = [
        {
            "model": "gpt-4o",
            "timestamp": 1793869200,
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "cost": cost},
        }
        for cost in costs
    ]
    ledger = jeton.ledger(iter(records))
    evidence: Any = SimpleNamespace(traffic=SimpleNamespace(ledger=ledger))
    return list(CHECKS["stated-cost-differs"](evidence))


@pytest.mark.parametrize("cost", [0.0035, 0.00353, 0.00347])
def test_a_cost_within_a_percent_is_no_finding(cost: float) -> None:
    assert findings(cost, cost) == []


@pytest.mark.parametrize(("cost", "word"), [(0.004, "more"), (0.0, "less")])
def test_another_cost_is_a_finding_with_both_sums(cost: float, word: str) -> None:
    (finding,) = findings(cost, cost)
    assert finding.figure.value == pytest.approx(2 * (cost - 0.0035))
    assert finding.title.endswith(word)
    assert finding.evidence["models"][0]["n_requests"] == 2
    assert finding.saving_usd_per_year is None


def test_a_log_without_costs_has_no_finding() -> None:
    evidence: Any = SimpleNamespace(traffic=SimpleNamespace(ledger=None))
    assert list(CHECKS["stated-cost-differs"](evidence)) == []
