"""gate.md and lock.md: what they say of options and figures is so."""

from __future__ import annotations

import re

from jeton.auditing.gate import CAUSES, Budget
from jeton.auditing.gate.documents import MAX_DOCUMENTS
from jeton.auditing.gate.rewriting import STEPS
from jeton.cli.audit_options.gate import AuditGate
from jeton.cli.lock import lock
from jeton.corpus.languages import LANGUAGES
from tests.docs.pages import text_of

GATE = text_of("gate") + text_of("languages") + text_of("text-features")
LOCK = text_of("lock")


def test_the_budgets_of_the_table_are_budgets() -> None:
    table = GATE.split("## Budgets")[1].split("A number with a sign")[0]
    budgets = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(budgets) == 11
    assert [Budget.parse(text).text for text in budgets] == budgets


def test_what_the_pages_name_exists() -> None:
    for option in ("save_baseline", "baseline", "fail_on", "junit", "sarif", "gate_json"):
        assert hasattr(AuditGate(), option)
        assert f"--{option.replace('_', '-')}" in GATE
    for step in STEPS:
        assert f"| {CAUSES[step]} |" in GATE
    assert f"function words of {len(LANGUAGES)}" in " ".join(GATE.split())
    assert f"{MAX_DOCUMENTS:,} documents" in " ".join(GATE.split())
    options = {name for option in lock.params for name in option.opts if name.startswith("--")}
    named = set(re.findall(r"(--[a-z][a-z-]*)", LOCK.replace("jeton audit", "")))
    assert named <= options
