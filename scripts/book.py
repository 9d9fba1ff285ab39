"""Make the site of all pages from their Markdown: no network, links checked, search included.

    python -m scripts.book            # writes build/book, opened by its index.html
    python -m scripts.book --check    # looks at a site that is there

Zensical was tried (0.0.40, 2026-11-29): its pages load scripts from unpkg.com, and later versions
need a package that cannot be had. This site is plain files that work from a disk.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

__all__ = ["Page", "faults", "main", "write_site"]

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "book"
LOOKS = Path(__file__).parent / "book"
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md")
FOLDERS = {
    "handbook": "Handbook",
    "guides": "Guides",
    "concepts": "Concepts",
    "reference": "Reference",
    "studies": "Studies",
    "decisions": "Decisions",
    "log": "Log",
}
FIRST = ("README", "i-want-to", "tutorial")
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


def _slug(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _pages() -> dict[str, list[Path]]:
    """The pages of each part of the site, in the order of the contents."""
    parts: dict[str, list[Path]] = {}
    for folder, title in FOLDERS.items():
        found = sorted((ROOT / "docs" / folder).rglob("*.md"))
        first = [path for name in FIRST for path in found if path.stem == name]
        parts[title] = [*first, *(path for path in found if path not in first)]
    parts["Project"] = [ROOT / name for name in ROOT_PAGES]
    return parts


def _place(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix(".html").as_posix()


def _title(page: Path) -> str:
    first = page.read_text(encoding="utf-8").split("\n", 1)[0]
    return re.sub(r"[`*#]", "", first).strip()


def _link(target: str, page: Path, known: set[Path]) -> str:
    """A link of a page as the site has it."""
    parts = urlsplit(target)
    if parts.scheme or not parts.path:
        return target
    path = (page.parent / unquote(parts.path)).resolve()
    if path.is_dir():
        below = sorted(other for other in known if other.is_relative_to(path))
        whole = path / "README.md"
        path = whole if whole in known else below[0] if below else ROOT / "ARCHITECTURE.md"
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    ups = "../" * (len(page.relative_to(ROOT).parts) - 1)
    if path in known:
        return f"{ups}{_place(path)}{fragment}"
    return f"{ups}{path.relative_to(ROOT).as_posix()}"


def _body(page: Path, known: set[Path]) -> tuple[str, list[dict[str, str]]]:
    """A page as HTML, and its sections for the search."""
    tokens = _MARKDOWN.parse(page.read_text(encoding="utf-8"))
    place = _place(page)
    sections = [{"u": place, "t": _title(page), "x": ""}]
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            inline = tokens[number + 1]
            title = "".join(part.content for part in inline.children or [])
            token.attrSet("id", _slug(title))
            if token.tag != "h1":
                url = f"{place}#{_slug(title)}"
                sections.append({"u": url, "t": f"{_title(page)}: {title}", "x": ""})
        elif token.type in ("inline", "fence"):
            sections[-1]["x"] += token.content + " "
        for part in token.children or []:
            for name in ("href", "src"):
                value = part.attrGet(name)
                if isinstance(value, str):
                    part.attrSet(name, _link(value, page, known))
    return _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), sections


def _contents(parts: dict[str, list[Path]], page: Path) -> Iterator[str]:
    ups = "../" * (len(page.relative_to(ROOT).parts) - 1)
    for title, pages in parts.items():
        is_open = " open" if page in pages else ""
        yield f"<details{is_open}><summary>{title}</summary><ul>"
        for other in pages:
            here = ' aria-current="page"' if other == page else ""
            name = html.escape(_title(other))
            yield f'<li><a href="{ups}{_place(other)}"{here}>{name}</a></li>'
        yield "</ul></details>"


def write_site(site: Path) -> int:
    """Write all pages, their pictures, the index of the search; return the number of pages."""
    shutil.rmtree(site, ignore_errors=True)
    parts = _pages()
    known = {page for pages in parts.values() for page in pages}
    frame = (LOOKS / "page.html").read_text(encoding="utf-8")
    index: list[dict[str, str]] = []
    opening = ROOT / "docs" / "handbook" / "i-want-to.md"
    for page in sorted(known):
        body, sections = _body(page, known)
        index += sections
        place = site / _place(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        ups = "../" * (len(page.relative_to(ROOT).parts) - 1)
        values = {
            "title": html.escape(_title(page)),
            "root": ups,
            "contents": "\n".join(_contents(parts, page)),
            "body": body,
        }
        place.write_text(_filled(frame, values), encoding="utf-8")
    for path, built in [(site / _place(page), Page(site / _place(page))) for page in known]:
        for link in [*built.links, *built.loaded]:
            parts_of = urlsplit(link)
            target = (path.parent / unquote(parts_of.path)).resolve()
            inside = not parts_of.scheme and target.is_relative_to(site.resolve())
            file = ROOT / target.relative_to(site.resolve()) if inside else ROOT
            if inside and not target.exists() and file.is_file():
                # Pictures, figures and sources that pages name.
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
    for name in ("book.css", "book.js"):
        shutil.copy(LOOKS / name, site / name)
    plain = json.dumps(index, ensure_ascii=False).replace("</", "<\\/")
    (site / "search.js").write_text(f"window.PAGES = {plain};\n", encoding="utf-8")
    first = f'<!doctype html><meta http-equiv="refresh" content="0; url={_place(opening)}">'
    link = f'<title>Jeton</title><a href="{_place(opening)}">I want to ...</a>\n'
    (site / "index.html").write_text(first + link, encoding="utf-8")
    return len(known)


def _filled(frame: str, values: dict[str, str]) -> str:
    """The frame of a page with its values in it."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], frame)


class Page(HTMLParser):
    """The links of a built page, the files that it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of a tag."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link":
            self.loaded.append(values.get("href", ""))
        elif "src" in values:
            self.loaded.append(values["src"])


def faults(site: Path) -> list[str]:
    """Links that lead nowhere, and files that a page would fetch from the network."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded:
                    found.append(f"{name} would fetch {target}")
                continue
            where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not where.exists():
                found.append(f"{name}: {target} is missing")
            elif (
                parts.fragment
                and where in pages
                and unquote(parts.fragment) not in pages[where].anchors
            ):
                found.append(f"{name}: {target} has no such heading")
    return found


def main(arguments: Sequence[str]) -> int:
    """Make the site and look at it; return 1 for a fault."""
    if "--check" not in arguments:
        write_site(SITE)
    found = faults(SITE)
    for fault in found:
        print(fault, file=sys.stderr)
    n_pages = len(list(SITE.rglob("*.html")))
    print(f"{SITE.relative_to(ROOT)}/index.html: {n_pages} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
