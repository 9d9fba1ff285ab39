"""Properties of every finding, and money counted the long way."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np

from jeton.auditing.checks import CHECKS
from jeton.auditing.evidence import Evidence
from jeton.findings import Finding
from jeton.workload.inputs.requests import RequestEvidence

PRICED: dict[str, Any] = {"price_model": "usd:10/40", "requests_per_day": 1000}


def found(evidence: Evidence, check: str) -> list[Finding]:
    """The findings of one check, each complete."""
    findings = list(CHECKS[check](evidence))
    for finding in findings:
        assert finding.id == check
        assert finding.title
        assert finding.cause
        assert finding.remedy
        assert finding.figure.formula
        assert finding.figure.unit
        # Plain values only: a report is JSON.
        json.dumps(finding.evidence)
        if finding.saving_usd_per_year is not None:
            assert finding.saving_formula
    return findings


def only(evidence: Evidence, check: str) -> Finding:
    """The one finding that there must be."""
    findings = found(evidence, check)
    assert len(findings) == 1, f"{check} gave {len(findings)} findings"
    return findings[0]


def yearly_usd(n_tokens: int, n_documents: int, rate: int = 10) -> Decimal:
    """1000 requests a day at $10 per million tokens, counted the long way."""
    usd = Decimal(n_tokens) / n_documents * 1000 * 365 * Decimal(rate) / 1_000_000
    return usd.quantize(Decimal("0.01"))


def requests_of(n: int, **columns: Any) -> RequestEvidence:
    """Request logs with the given columns; the others are not known."""
    summary: Any = None
    values: dict[str, Any] = {
        "domain": np.full(n, -1, dtype=np.int32),
        "model": np.full(n, -1, dtype=np.int32),
        "time_s": np.full(n, np.nan),
    }
    values["has_text"] = np.zeros(0, dtype=np.bool_)
    for name in ("input", "cache_read", "cache_write", "output", "reasoning"):
        values[f"{name}_tokens"] = np.full(n, -1, dtype=np.int64)
    for name, given in columns.items():
        values[name] = np.asarray(given, dtype=values[name].dtype)
    return RequestEvidence(summary=summary, domains=(), models=(), is_complete=True, **values)
