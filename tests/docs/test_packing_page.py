"""packing.md: its table is what the methods do today."""

from __future__ import annotations

from scripts import packing_page


def test_the_table_of_methods_is_up_to_date() -> None:
    page = packing_page.PAGE.read_text(encoding="utf-8")
    assert packing_page.PART.of(page) == packing_page.table(), (
        "python -m scripts.packing_page rewrites it"
    )
