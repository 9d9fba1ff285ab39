"""Findings and the bill, settled: each saving can be had, and is counted once.

A finding saves its step in the waterfall, which is a replay (`jeton.auditing.replaying`), so the
findings of a report add up to its headline. A finding whose remedy cannot be replayed, or is had by
another one, names the money at stake instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from jeton.auditing.evidence import Evidence
from jeton.auditing.registry import remedy_facts
from jeton.economics.waterfall import Waterfall
from jeton.findings import Figure, Finding, Severity, rank

_ANSWERS = 1.5
"""Room for answers beside the prompts in the sample, whose size is not counted apart."""

_MONTHS = 12
_CENT = Decimal("0.01")

_TOKEN_UNITS = ("tokens on the audited text", "input tokens on the audited text")


def settled(
    findings: Sequence[Finding], bill: Waterfall | None, evidence: Evidence
) -> tuple[Finding, ...]:
    """The findings with what each saves beside the others, ranked anew."""
    steps = {} if bill is None else {step.id: step for step in bill.steps}
    seen: set[str] = set()
    done = []
    for finding in findings:
        facts = remedy_facts(finding.id)
        step = None if finding.id in seen else steps.get(finding.id)
        cannot = facts.needs_own_model and not evidence.is_own_model
        changes: dict[str, Any] = {
            "effort": facts.effort,
            "risk": facts.risk,
            "n_tokens_saved": None if cannot else _tokens_of(finding),
        }
        if step is not None and step.delta_usd_per_month < 0:
            seen.add(finding.id)
            usd = -step.delta_usd_per_month * _MONTHS
            changes |= {
                "saving_usd_per_year": usd.quantize(_CENT),
                "saving_formula": f"{step.formula}; x {_MONTHS} months",
                "saving_basis": step.basis,
            }
        elif evidence.traffic.is_priced and finding.saving_usd_per_year is not None:
            # Not to be had, or had by another remedy: named as money at stake, not as a saving.
            at_stake = finding.saving_usd_per_year
            changes |= {
                "saving_usd_per_year": None,
                "saving_formula": "",
                "evidence": {**finding.evidence, "usd_per_year_at_stake": str(at_stake)},
            }
        if cannot:
            changes |= {"severity": min_severity(finding.severity), "remedy": _compare(finding)}
        if finding.id in _NEEDS_WHOLE and not evidence.sample.is_whole and step is None:
            changes["remedy"] = f"{finding.remedy} {_whole_sample(evidence)}"
        if finding.id == "bill-unexplained" and _is_above_savings(finding, bill, evidence):
            changes["severity"] = Severity.ERROR
        done.append(replace(finding, **changes))
    return tuple(rank(done))


_NEEDS_WHOLE = ("prompt-prefix-cacheable", "prompt-prefix-volatile")
"""Findings whose remedy is replayed on all requests or not at all."""


def _whole_sample(evidence: Evidence) -> str:
    megabytes = math.ceil(evidence.corpus.n_bytes * _ANSWERS / 1_000_000)
    return (
        "No saving is promised from a part of the requests: --deep-sample-mb "
        f"{megabytes} replays the cache on all of them."
    )


def _is_above_savings(finding: Finding, bill: Waterfall | None, evidence: Evidence) -> bool:
    """True if more is billed without a reason than the largest remedy saves in the log's time."""
    ledger = evidence.ledger
    month = None if ledger is None else ledger.per_month()
    if bill is None or ledger is None or not month:
        return True
    largest = max((-step.delta_usd_per_month for step in bill.steps), default=Decimal(0))
    return abs(Decimal(finding.evidence["usd_difference"])) > largest * ledger.usd / month


def min_severity(severity: Severity) -> Severity:
    """A warning about what the reader cannot change is for his information."""
    return Severity.INFO if severity is Severity.WARNING else severity


def _compare(finding: Finding) -> str:
    return (
        "nothing that you can do to a provider's model; it counts when models are compared by "
        "price per document (--price-model A --price-model B). "
        f"{finding.remedy}"
    )


def _tokens_of(finding: Finding) -> int | None:
    """Tokens of the audited text that the finding is about; None where it is about others."""
    said = finding.evidence.get("n_tokens_saved")
    if isinstance(said, int):
        return said
    figure: Figure = finding.figure
    if finding.severity is Severity.GOOD or figure.unit not in _TOKEN_UNITS:
        return None
    return int(figure.value)
