"""The page of the ledger: its tables are those of the code, and what it shows works."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

import jeton
from scripts import ledger_page

PAGE = ledger_page.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_code() -> None:
    assert ledger_page.DIMENSIONS_PART.of(PAGE) == ledger_page.dimensions_table()
    assert ledger_page.ISSUES_PART.of(PAGE) == ledger_page.issues_table()


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 200


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    record = {"model": "gpt-4o-mini", "timestamp": "2026-11-03T12:00:00Z", "usage": usage}
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    found: dict[str, object] = {}
    exec(example[1], found)
    ledger = found["ledger"]
    assert isinstance(ledger, type(jeton.ledger(["logs/"])))
    assert ledger.usd == Decimal("0.00021")
    (tmp_path / "map.txt").write_text(
        "chat-prod-eu = azure:gpt-4o-mini\nsummaries    = usd:0.40/1.60\n", encoding="utf-8"
    )
    assert jeton.ledger(["logs/"], model_map="map.txt").usd == ledger.usd
