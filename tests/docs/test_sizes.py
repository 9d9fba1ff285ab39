"""Documents stay short enough to be read: each kind has its limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

MAX_BYTES = {
    "ARCHITECTURE.md": 14_500,
    "BENCHMARKS.md": 20_480,
    "CHANGELOG.md": 7_000,
    "docs/concepts/engine.md": 15_000,
}
MAX_README_LINES = 120
MAX_GUIDE_LINES = 200
MAX_CONCEPT_LINES = 300
MAX_CHAPTER_LINES = 200
MAX_DECISION_LINES = 60


@pytest.mark.parametrize("name", MAX_BYTES)
def test_bytes_of_a_document(name: str) -> None:
    assert len((ROOT / name).read_bytes()) <= MAX_BYTES[name]


def n_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_lines_of_the_readme() -> None:
    assert n_lines(ROOT / "README.md") <= MAX_README_LINES


@pytest.mark.parametrize(
    ("folder", "limit"),
    [
        ("guides", MAX_GUIDE_LINES),
        ("concepts", MAX_CONCEPT_LINES),
        ("decisions", MAX_DECISION_LINES),
        ("handbook", MAX_CHAPTER_LINES),
    ],
)
def test_lines_of_the_pages_in_a_folder(folder: str, limit: int) -> None:
    pages = sorted((DOCS / folder).glob("*.md"))
    assert pages
    long = {path.name: n for path in pages if (n := n_lines(path)) > limit}
    assert not long


def test_every_page_is_in_a_folder() -> None:
    folders = {path.relative_to(DOCS).parts[0] for path in DOCS.rglob("*.md")}
    assert folders == {"concepts", "decisions", "guides", "handbook", "log", "reference", "studies"}
