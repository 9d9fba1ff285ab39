"""The documentation's pages: where each is, and the examples on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_EXAMPLE = re.compile(r"^```python\n(.*?)^```(?:\n\nprints\n\n```text\n(.*?)^```)?", re.S | re.M)


@dataclass(frozen=True)
class Example:
    """A block of Python on a page."""

    code: str
    printed: str | None
    """The output that the page shows below it, if any."""


def all_pages() -> list[Path]:
    """Returns README and every page of docs/."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def path_of(name: str) -> Path:
    """Returns the page ``name.md``, whatever folder of docs/ it is in."""
    (path,) = DOCS.rglob(f"{name}.md")
    return path


def text_of(name: str) -> str:
    """Returns the text of the page ``name.md``."""
    return path_of(name).read_text(encoding="utf-8")


def examples(path: Path) -> list[Example]:
    """Returns the blocks of Python on a page, in order."""
    found = _EXAMPLE.findall(path.read_text(encoding="utf-8"))
    return [Example(code, printed or None) for code, printed in found]
