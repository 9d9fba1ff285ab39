"""The one type in which every feature reports what it found.

A finding says what is wrong, where, the figure that shows it, why it is so, what to do, and
what doing it saves. Findings rank by money first (``rank``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

__all__ = ["Basis", "Figure", "Finding", "Severity", "rank"]


class Basis(StrEnum):
    """How a figure came about; every figure of a report says which."""

    EXACT = "exact"
    """Counted or computed from counted values and published constants."""
    CALIBRATED = "calibrated"
    """Computed with a factor that was measured on this or a like workload."""
    ESTIMATED = "estimated"
    """Computed with an assumption that was not measured here; the formula names it."""


class Severity(StrEnum):
    """How a finding wants to be read, where money does not tell."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit, how it was made, and from what.

    Attributes:
        value: The number. Money is ``Decimal``.
        unit: The unit in plain words (``"tokens"``, ``"bytes"``, ``"USD per day"``).
        basis: Exact, calibrated or estimated.
        formula: How it was computed, with the numbers put in.
        source: Where constants come from (paper, document, price list with its date).
    """

    value: float | int | Decimal
    unit: str
    basis: Basis
    formula: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth knowing about a workload, with what to do about it.

    Attributes:
        id: Stable identifier of the check (``"tokenizer-foreign"``).
        severity: Used to rank where no money is at stake.
        title: One plain sentence with the figure in it.
        where: The place where it was found (a tokenizer, a file, a term ...).
        figure: The number that shows it.
        cause: Why it is so.
        remedy: The remedy.
        saving_usd_per_year: Saving of the remedy; None where money is not known or not at stake.
        saving_formula: How the saving was computed, with the numbers put in.
        saving_basis: Exact, calibrated or estimated.
        evidence: Small table-like facts for the report (already plain JSON values).
        n_tokens_saved: Tokens that are at stake; ranks findings without money. None: not tokens.
        effort: Effort of the remedy, in words.
        risk: Risk of it.
    """

    id: str
    severity: Severity
    title: str
    where: str
    figure: Figure
    cause: str
    remedy: str
    saving_usd_per_year: Decimal | None = None
    saving_formula: str = ""
    saving_basis: Basis = Basis.ESTIMATED
    evidence: dict[str, Any] = field(default_factory=dict)
    n_tokens_saved: int | None = None
    effort: str = ""
    risk: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values; ``Decimal`` is left for the writer."""
        return asdict(self)


_SEVERITY_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2, Severity.GOOD: 3}


def rank(findings: Iterable[Finding]) -> list[Finding]:
    """Order findings: errors, then by yearly saving, by tokens, by severity, and by id.

    Errors come before money because a wrong result (text lost, context overflow) makes
    every saving meaningless.
    """
    return sorted(
        findings,
        key=lambda f: (
            f.severity is not Severity.ERROR,
            -(f.saving_usd_per_year or Decimal(0)),
            -(f.n_tokens_saved or 0),
            _SEVERITY_ORDER[f.severity],
            f.id,
        ),
    )
