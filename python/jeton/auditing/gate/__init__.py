"""The gate: an audit against a baseline and against budgets, with the causes of what moved.

::

    collector = Collector(other=baseline.tokenizer.tokenizer())
    report = audit(inputs, tokenizers=..., observers=[collector])
    today = Baseline.build(report, collector)
    result = judge(today, collector, baseline, read_budgets(["tokens_per_document>+2%"]))
"""

from __future__ import annotations

from jeton.auditing.gate.baseline import BASELINE_SCHEMA, Baseline, TokenizerIdentity
from jeton.auditing.gate.budgets import Budget, read_budgets
from jeton.auditing.gate.causes import CAUSES, DOCUMENT_LABELS, CauseEffect
from jeton.auditing.gate.changes import ChangedDocument, Status
from jeton.auditing.gate.collector import Collector
from jeton.auditing.gate.judging import judge
from jeton.auditing.gate.levels import FIGURES, ChangeEffect, Levels, explain
from jeton.auditing.gate.results import GATE_SCHEMA, BudgetResult, Cause, GateResult
from jeton.auditing.gate.side import (
    COMPARED_FIGURES,
    BilledSide,
    GatePriceCell,
    GatePriceKey,
    in_order,
    look_like_two_states,
    price_cells,
)
from jeton.auditing.gate.values import ChangeInterval, IntervalKind

__all__ = [
    "BASELINE_SCHEMA",
    "CAUSES",
    "COMPARED_FIGURES",
    "DOCUMENT_LABELS",
    "FIGURES",
    "GATE_SCHEMA",
    "Baseline",
    "BilledSide",
    "Budget",
    "BudgetResult",
    "Cause",
    "CauseEffect",
    "ChangeEffect",
    "ChangeInterval",
    "ChangedDocument",
    "Collector",
    "GatePriceCell",
    "GatePriceKey",
    "GateResult",
    "IntervalKind",
    "Levels",
    "Status",
    "TokenizerIdentity",
    "explain",
    "in_order",
    "judge",
    "look_like_two_states",
    "price_cells",
    "read_budgets",
]
