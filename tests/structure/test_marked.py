"""scripts/marked.py: what stands between two markers of a page, and only that, is written anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.marked import Part

PART = Part("table", "python -m scripts.table")
PAGE = f"# Title\n\n{PART.begin}\n\nold\n\n{PART.end}\n\nAfter.\n"


def test_only_the_part_is_replaced() -> None:
    assert PART.begin == "<!-- table: begin (written by `python -m scripts.table`) -->"
    assert Part("table").begin == "<!-- table: begin -->"
    assert PART.of(PAGE) == "old"
    new = PART.replaced(PAGE, "\nnew\n\n")
    assert new == PAGE.replace("old", "new")
    assert PART.replaced(new, "old") == PAGE


@pytest.mark.parametrize(
    "page",
    [
        "",
        PART.begin,
        PART.end,
        f"{PART.end}\n{PART.begin}",
        f"{PAGE}{PART.begin}",
        f"{PAGE}{PART.end}",
        f"{PAGE}{PAGE}",
        f"{PART.end}{PAGE}",
        PAGE.replace("scripts.table", "scripts.other"),
    ],
)
def test_a_page_without_the_markers_once_each_is_refused(page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    for run in (
        lambda: PART.of(page),
        lambda: PART.rewrite(path, "new"),
        lambda: PART.update(path, "new", check=False),
    ):
        with pytest.raises(ValueError, match="expected one '<!-- table: begin"):
            run()
    assert path.read_text(encoding="utf-8") == page


def test_a_check_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    assert PART.update(path, "old", check=True) == 0
    assert capsys.readouterr().err == ""
    assert PART.update(path, "new", check=True) == 1
    expected = "error: page.md is stale: table\nhint: python -m scripts.table\n"
    assert capsys.readouterr().err == expected
    assert path.read_text(encoding="utf-8") == PAGE
    assert PART.update(path, "new", check=False) == 0
    assert PART.of(path.read_text(encoding="utf-8")) == "new"
