"""Requests priced: one file a case, with the right amount, its arithmetic and its source."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jeton.economics import Ledger
from jeton.economics.ledger import LedgerBuilder, usage_rows
from jeton.findings import Basis

CASES = sorted((Path(__file__).parent / "pricing").glob("*.json"))


def row_of(record: dict[str, Any]) -> dict[str, Any]:
    """A row to be priced; times are written as people read them."""
    row = {key: value for key, value in record.items() if key != "time" and value is not None}
    if record.get("time"):
        row["time_s"] = datetime.fromisoformat(record["time"]).timestamp()
    return row


def priced(case: dict[str, Any]) -> Ledger:
    builder = LedgerBuilder(model_map=case.get("model_map"), on=date(2026, 11, 3))
    builder.add(usage_rows(row_of(record) for record in case["rows"]))
    return builder.build()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_costs_what_it_costs(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    expected = case["expected"]
    ledger = priced(case)
    miss = abs(ledger.usd - Decimal(expected["usd"]))
    assert miss <= Decimal(expected.get("tolerance", "0")), (ledger.usd, case["arithmetic"])
    assert [entry.model for entry in ledger.not_priced] == expected.get("not_priced", [])
    kinds = {issue.kind for issue in ledger.issues}
    assert kinds == set(expected.get("issues", []))
    assert ledger.n_half_known == expected.get("n_half_known", 0)
    assert ledger.n_from_gateway_cache == expected.get("n_from_gateway_cache", 0)
    if "basis" in expected:
        assert {use.basis for use in ledger.by_model} == {Basis(expected["basis"])}
    n_requests = sum(record.get("n_requests", 1) for record in case["rows"])
    assert ledger.n_requests == n_requests
    for entries in (ledger.by_model, ledger.by_day, ledger.by_hour, ledger.by_domain):
        assert sum((entry.usd for entry in entries), Decimal(0)) == ledger.usd
    assert sum((entry.usd for entry in ledger.dimensions), Decimal(0)) == ledger.usd


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_hundred_times_a_case_costs_a_hundred_times(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    one = priced(case)
    assert priced({**case, "rows": 100 * case["rows"]}).usd == 100 * one.usd
