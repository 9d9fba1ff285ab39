"""The page on admission shows the figures that are kept."""

from __future__ import annotations

from studies import admission_page


def test_the_tables_are_those_of_the_figures() -> None:
    assert admission_page.main(["--check"]) == 0
