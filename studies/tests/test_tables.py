"""Tables of the studies are what their scripts give again."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import measured_page, traffic_page
from studies.better_vocabularies_page import PAGE, TABLES, articles


def test_published_measurements_are_compared_anew() -> None:
    assert measured_page.main(["--check"]) == 0


@pytest.mark.conformance
def test_the_figures_of_real_traffic_are_those_of_the_code(shared: Path) -> None:
    assert traffic_page.main([str(shared / "data" / "traces"), "--check"]) == 0


def test_the_tables_of_better_vocabularies_are_filled() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in TABLES:
        begin, end = text.index(f"<!-- {name}: begin"), text.index(f"<!-- {name}: end")
        assert text[begin:end].count("\n|") > 2


def test_articles_are_told_apart_by_their_numbers() -> None:
    body = "\n".join(f"Article {n}\nEveryone has {n + 40} rights." for n in range(1, 31))
    found = articles(f"Declaration\nPreamble\n{body}")
    assert found is not None
    assert len(found) == 31
    assert found[0] == "Declaration\nPreamble"
    assert found[30] == "Everyone has 70 rights."
    assert articles("Article 1\nEveryone.") is None
