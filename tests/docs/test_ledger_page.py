"""The page of the ledger: its tables are those of the code, and what it shows works."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

import jeton
from scripts import ledger_page
from tests.docs.test_examples import a_request_log

PAGE = ledger_page.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_code() -> None:
    page = ledger_page.DIMENSIONS_PAGE.read_text(encoding="utf-8")
    assert ledger_page.DIMENSIONS_PART.of(page) == ledger_page.dimensions_table()
    assert ledger_page.ISSUES_PART.of(PAGE) == ledger_page.issues_table()


def test_the_example_has_the_price_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a_request_log(tmp_path)
    # 1,000 tokens at 0.15 and 100 at 0.60 dollars a million.
    assert jeton.ledger(["logs/"]).usd == Decimal("0.00021")
    (model_map,) = re.findall(r"^chat-prod-eu = .*\n.*\n", PAGE, re.MULTILINE)
    Path("map.txt").write_text(model_map, encoding="utf-8")
    assert jeton.ledger(["logs/"], model_map="map.txt").usd == Decimal("0.00021")
