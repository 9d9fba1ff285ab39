"""Links of all pages lead to files and headings that exist; so do mentions of pages in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, all_pages
from tests.structure.test_structure import tree_files

PAGES = [*sorted(ROOT.glob("*.md")), *(path for path in all_pages() if path.parent != ROOT)]
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
# The root of the name must not be part of an address or of a longer path.
_MENTION = re.compile(r"(?<![\w./-])docs/[\w/-]+(?:\.md|\.svg|\.json|/)")


def anchor(title: str) -> str:
    """Returns the anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {anchor(title) for title in titles} | set(re.findall(r'<a id="([^"]+)">', text))


def broken(page: Path) -> list[str]:
    """Returns the links of ``page`` that lead nowhere."""
    found = []
    for target in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (
            heading and heading not in anchors(path.read_text(encoding="utf-8"))
        ):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_the_index_lists_every_page() -> None:
    index = DOCS / "reference" / "pages.md"
    targets = _LINK.findall(index.read_text(encoding="utf-8"))
    listed = {(index.parent / target).resolve() for target in targets} | {index}
    folders = ("guides", "concepts", "handbook", "reference", "studies")
    pages = {page for folder in folders for page in (DOCS / folder).glob("*.md")}
    assert pages - listed == set()


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A `title` of [it](x.md)\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# One\n[a](other.md) [b](#one) [c](other.md#a-title-of-it) [d](https://example.org)\n"
        "[e](gone.md) [f](#two) [g](other.md#gone)\n```\n# No heading\n[h](in-code.md)\n```\n"
        "[i](#no-heading)\n",
        encoding="utf-8",
    )
    assert broken(page) == ["gone.md", "#two", "other.md#gone", "#no-heading"]


def is_ours(name: str) -> bool:
    """Tells our pages from those of other projects, such as docs/spec.md of git-lfs."""
    parts = Path(name).parts
    folders = {path.relative_to(DOCS).parts[0] for path in all_pages() if path.parent != ROOT}
    return parts[1] in folders or Path(name).stem in {path.stem for path in all_pages()}


def test_pages_that_the_code_names_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in tree_files()
        if path.suffix in (".md", ".py", ".rs", ".pyi", ".sh", ".toml") or path.name == "Makefile"
        for name in _MENTION.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists() and is_ours(name)
    ]
    assert missing == []
