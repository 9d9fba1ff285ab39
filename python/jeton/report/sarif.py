"""The gate's verdict and the audit's findings as SARIF 2.1.0, which code scanning services show.

Part of the format is written (OASIS Standard, "Static Analysis Results Interchange Format (SARIF)
Version 2.1.0", 2020-03-27). It is ``version`` and ``runs`` (section 3.13), in a run its
``tool.driver`` with the rules (3.18, 3.19), ``artifacts`` (3.24) and ``results`` (3.27). Every
result has a rule that is listed, a level, a message and a location in a file of the inputs, because
services that annotate pull requests drop results without one. An exceeded budget has the documents
that moved it as its locations: the first is the one that is shown, the others are related
locations. A finding stands at the document that has most of it, where the gate measured that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jeton._files import write_whole
from jeton._plain import strict_json
from jeton.auditing.gate import BudgetResult, ChangedDocument, GateResult
from jeton.auditing.gate.results import FeaturePlace
from jeton.auditing.result import AuditReport
from jeton.findings import Finding, Severity
from jeton.report.gate import budget_lines, document_line
from jeton.report.sarif_parts import SARIF_SCHEMA, digest, file_uri, is_file, rule_entry, sarif_log
from jeton.report.visible import visible

__all__ = ["SARIF_SCHEMA", "gate_to_sarif", "write_sarif"]

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
    Severity.GOOD: "none",
}
"""Severities as SARIF's levels (section 3.27.10)."""

_HELP_OF_BUDGETS = (
    "Run the same jeton audit without --quiet to see the figures, or add --html report.html for "
    "all of them. A budget that should be another one is changed in --fail-on; a change that is "
    "meant is accepted by saving the baseline anew."
)

_HELP_OF_FINDINGS = (
    "docs/reference/checks.md says how jeton measures this, and from which size on it tells."
)


def gate_to_sarif(result: GateResult, report: AuditReport) -> str:
    """Exceeded budgets and findings as the text of a SARIF file.

    Args:
        result: The verdict.
        report: The audit that it is about.
    """
    fallback = next((s.path for s in report.corpus.sources if is_file(s.path)), None)
    rules: dict[str, dict[str, Any]] = {}
    results = [_budget(item, rules, fallback) for item in result.failures]
    for finding in report.findings:
        if finding.severity is not Severity.GOOD:
            place = result.places.get(finding.id)
            results.append(_finding(finding, rules, fallback, place))
    indices = {rule: index for index, rule in enumerate(rules)}
    for entry in results:
        entry["ruleIndex"] = indices[entry["ruleId"]]
    log = sarif_log(
        "jeton/gate/",
        list(rules.values()),
        results,
        sorted(_uris(results)),
        {
            "tokenizer": result.tokenizer[0],
            "tokenizerFingerprint": result.tokenizer[1],
            "isPassed": result.is_passed,
        },
    )
    return strict_json(log, indent=2, ascii_only=True) + "\n"


def write_sarif(result: GateResult, report: AuditReport, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    write_whole(Path(path), gate_to_sarif(result, report))


def _budget(
    item: BudgetResult, rules: dict[str, dict[str, Any]], fallback: str | None
) -> dict[str, Any]:
    assert item.budget is not None
    rule = f"budget/{item.metric}"
    rules.setdefault(
        rule,
        rule_entry(
            rule,
            f"{item.metric} stays within its budget",
            f"The figure {item.metric} of the audit moved past a limit that --fail-on sets.",
            "error",
            _HELP_OF_BUDGETS,
        ),
    )
    documents = [d for d in item.documents if is_file(d.source) and d.n_tokens_after is not None]
    entry: dict[str, Any] = {
        "ruleId": rule,
        "level": "error",
        "message": {"text": "\n".join(budget_lines(item))},
        # The budget, not its figures: the same failure tomorrow is the same alert.
        "partialFingerprints": {"budget/v1": digest(item.budget.text, item.domain or "")},
        "properties": {
            "before": None if item.before is None else float(item.before),
            "after": float(item.after),
            "causes": {c.part.cause: float(c.part.value) for c in item.causes},
        },
    }
    if documents:
        entry["locations"] = [_location(documents[0].source, documents[0])]
        related = [_location(d.source, d, id_=i) for i, d in enumerate(documents[1:], start=1)]
        if related:
            entry["relatedLocations"] = related
    elif fallback is not None:
        entry["locations"] = [_location(fallback)]
    return entry


def _finding(
    finding: Finding,
    rules: dict[str, dict[str, Any]],
    fallback: str | None,
    place: FeaturePlace | None,
) -> dict[str, Any]:
    rule = f"audit/{finding.id}"
    level = _LEVELS[finding.severity]
    # A rule is the same on every run: figures stand in the result.
    words = finding.id.replace("-", " ").capitalize()
    rules.setdefault(
        rule,
        rule_entry(
            rule,
            words,
            f"{words}: {_sentence(finding.cause)}",
            level,
            f"{_sentence(finding.remedy)} {_HELP_OF_FINDINGS}".strip(),
        ),
    )
    parts = [finding.title, finding.cause, finding.remedy]
    if finding.saving_usd_per_year is not None:
        parts.append(f"saves {finding.saving_usd_per_year:,} USD a year")
    entry: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": "\n".join(visible(part) for part in parts if part)},
        "partialFingerprints": {"finding/v1": digest(finding.id, finding.where)},
    }
    if place is not None and is_file(place.source):
        entry["locations"] = [_location(place.source, line=place.line)]
    elif fallback is not None:
        entry["locations"] = [_location(fallback)]
    return entry


def _sentence(words: str) -> str:
    shown = visible(words).strip()
    return f"{shown[:1].upper()}{shown[1:]}." if shown else ""


def _location(
    source: str,
    document: ChangedDocument | None = None,
    *,
    id_: int | None = None,
    line: int = 0,
) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if id_ is not None:
        location["id"] = id_
    location["physicalLocation"] = {
        "artifactLocation": {"uri": file_uri(source)},
        # A file that is one document, and formats without lines: the first.
        "region": {"startLine": max(1, line if document is None else document.line)},
    }
    if document is not None:
        location["message"] = {"text": document_line(document)}
    return location


def _uris(results: Iterable[dict[str, Any]]) -> set[str]:
    return {
        location["physicalLocation"]["artifactLocation"]["uri"]
        for entry in results
        for name in ("locations", "relatedLocations")
        for location in entry.get(name, ())
    }
