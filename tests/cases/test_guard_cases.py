"""Texts that the guard judges, and runs of its commands on files, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jeton.guard import GuardLevel, enforce, scan

HERE = Path(__file__).parent / "guard"
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", TEXTS, ids=[case["name"] for case in TEXTS])
def test_text(case: dict[str, Any]) -> None:
    text = "".join(part * n for part, n in case["parts"])
    verdict = scan(text)
    assert verdict.worst == (case["worst"] and GuardLevel(case["worst"]))
    if "kind" in case:
        grave = [f for f in verdict.findings if f.severity is verdict.worst]
        assert case["kind"] in {finding.kind for finding in grave}
        wanted = case.get("payload", "")
        assert any(wanted.strip() in (finding.payload or "") for finding in grave)
    fixed = enforce(text).text
    assert enforce(fixed).changes == ()
    if not case["worst"]:
        assert fixed == text
