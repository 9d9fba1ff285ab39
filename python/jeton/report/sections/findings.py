"""Findings: the first in full, the others in short."""

from __future__ import annotations

from jeton.report.numbers import Numbers
from jeton.report.summary import N_FINDINGS, findings_of, n_open_findings
from jeton.report.tree import Findings, Section


def findings(numbers: Numbers) -> Section:
    """All findings in the order of the report: ranked, the first matter most."""
    views, n_open = findings_of(numbers), n_open_findings(numbers.data)
    is_first_five = n_open == N_FINDINGS < len(views)
    title = "The five findings that matter most" if is_first_five else "Findings"
    return Section("findings", title, "Findings", (Findings(views, n_open),))
