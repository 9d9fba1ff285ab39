"""The gate's verdict as JUnit XML, which every CI system shows as test results.

One ``testsuite`` with one ``testcase`` for each budget (and domain): a failed budget is a
``failure`` whose text has the causes and the documents. The elements and attributes are those that
the JUnit schema of Jenkins and the parsers of GitLab, Azure Pipelines and GitHub's reporters have
in common. No time is written: a gate has none that would be the same twice.
"""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

from jeton._files import write_whole
from jeton.auditing.gate import BudgetResult, GateResult
from jeton.report.gate import budget_lines, main_cause_lines
from jeton.report.visible import visible

_SUITE = "jeton gate"


def gate_to_junit(result: GateResult) -> str:
    """The verdict as the text of an XML file."""
    judged = [item for item in result.results if item.budget is not None]
    counts = {
        "tests": str(len(judged)),
        "failures": str(sum(item.is_exceeded for item in judged)),
        "errors": "0",
        "skipped": "0",
    }
    root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(result):
        ElementTree.SubElement(properties, "property", {"name": name, "value": value})
    for item in judged:
        _add_case(suite, item)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def write_junit(result: GateResult, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    write_whole(Path(path), gate_to_junit(result))


def _add_case(suite: ElementTree.Element, item: BudgetResult) -> None:
    assert item.budget is not None
    name = item.budget.text
    if item.domain is not None and item.domain != item.budget.domain:
        # One budget on every domain: each is a case of its own.
        name = f"{name} ({item.domain})"
    case = ElementTree.SubElement(
        suite, "testcase", {"classname": f"jeton.gate.{item.metric}", "name": visible(name)}
    )
    # Text that no reader of XML could read was made visible by `budget_lines` already.
    lines = budget_lines(item)
    if item.is_exceeded:
        main = main_cause_lines(item)[:1]
        failure = ElementTree.SubElement(
            case, "failure", {"type": "budget-exceeded", "message": "; ".join(lines[:1] + main)}
        )
        failure.text = "\n".join(lines)
    else:
        ElementTree.SubElement(case, "system-out").text = "\n".join(lines)


def _properties(result: GateResult) -> list[tuple[str, str]]:
    found = [
        ("tokenizer", visible(result.tokenizer[0])),
        ("tokenizer.fingerprint", result.tokenizer[1]),
    ]
    if result.baseline_tokenizer is not None:
        found += [
            ("baseline.tokenizer", visible(result.baseline_tokenizer[0])),
            ("baseline.tokenizer.fingerprint", result.baseline_tokenizer[1]),
        ]
    return found
