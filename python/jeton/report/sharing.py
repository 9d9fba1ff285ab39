"""A report that may be handed on: with a name, and without the text that it was made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jeton.auditing.result import AuditReport
from jeton.findings import Finding

_PLACE = re.compile(r"^.*?\bline \d+")
"""File and line at the beginning of an example of a log's issue; what follows may quote."""

_NAMES = frozenset(
    {
        "applies_to", "basis", "best", "best_of_no_larger_vocabulary", "candidates", "day",
        "domain", "domains", "effort", "gpu", "hour", "id", "kind", "level", "model", "models",
        "name", "provider", "risk", "rule", "rule_source", "source", "tariff", "tokenizer",
        "tokenizers", "unit", "usd_per_year_at_stake",
    }
)  # fmt: skip
"""Keys of a finding's evidence whose strings are names of ours, of files or of settings. A string
under any other key may quote the text."""


def titled(report: AuditReport, title: str) -> AuditReport:
    """Return the report with a name for its workload.

    Args:
        report: The report.
        title: The name; empty names it after its inputs.
    """
    return replace(report, title=title)


def without_samples(report: AuditReport) -> AuditReport:
    """Return the report without anything that quotes the audited text.

    Samples, examples of findings, shared beginnings, words found in the text and details of
    unreadable records are dropped. Counts, money, names of files, models and domains stay, and so
    do the terms of a list that the user gave.
    """
    requests = report.requests
    if requests is not None:
        requests = replace(
            requests,
            issues=tuple(
                replace(issue, examples=tuple(_places(issue.examples))) for issue in requests.issues
            ),
        )
    return replace(
        report,
        samples=(),
        findings=tuple(_without_quotes(finding) for finding in report.findings),
        requests=requests,
    )


def _places(examples: tuple[str, ...]) -> list[str]:
    found = (_PLACE.match(example) for example in examples)
    return [match.group() for match in found if match is not None]


def _without_quotes(finding: Finding) -> Finding:
    return replace(finding, evidence=_plain(finding.evidence))


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Keep numbers everywhere, and strings under known names."""
    kept: dict[str, Any] = {}
    for key, value in facts.items():
        if isinstance(value, Mapping):
            kept[key] = _plain(value)
        elif isinstance(value, list | tuple):
            items = [_plain(item) if isinstance(item, Mapping) else item for item in value]
            items = [item for item in items if key in _NAMES or not isinstance(item, str)]
            if items or not value:
                kept[key] = items
        elif key in _NAMES or not isinstance(value, str):
            kept[key] = value
    return kept
