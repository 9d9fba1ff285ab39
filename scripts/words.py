"""Find doc comments and docstrings that begin with a riddle instead of the thing.

``python -m scripts.words`` lists them: those that begin with "What", "Who", "Whether", "Those",
"The same", "So many" or "Of". A doc begins with the noun or a verb: "Returns the ids", not "What
the ids are". Tests are read too, names of tests are not. At last it prints how many sentences
inside pages, help, messages and docs are riddles or too long; `scripts.sentences` lists those.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts import sentences

__all__ = ["WIDTH", "Riddle", "main", "python_riddles", "rust_riddles", "wide_comments"]

ROOT = Path(__file__).resolve().parent.parent
_RIDDLE = re.compile(r"(?:What|Who|Whose|Whether|Those|That of|The same|So many|Of)\b")
_QUOTED_RIDDLE = re.compile(r"[\"']\s*" + _RIDDLE.pattern)
_PYTHON_FOLDERS = ("python/jeton", "scripts", "benches", "tests")

WIDTH = 100
"""Columns of a comment."""

Riddle = tuple[str, int, str]
"""File, line, first line of the text."""


def rust_riddles(root: Path = ROOT) -> Iterator[Riddle]:
    """Yield the doc comments of all crates that begin with a riddle."""
    for path in sorted((root / "crates").rglob("src/**/*.rs")):
        before = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            mark = text[:3]
            if mark in ("///", "//!") and before != mark and _RIDDLE.match(text[3:].strip()):
                yield path.relative_to(root).as_posix(), number, text[3:].strip()
            before = mark if text.startswith(("///", "//!")) else ""


def wide_comments(root: Path = ROOT) -> Iterator[Riddle]:
    """Yield the comment lines of all crates that are wider than `WIDTH` columns."""
    for path in sorted((root / "crates").rglob("src/**/*.rs")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > WIDTH and line.lstrip().startswith("//"):
                yield path.relative_to(root).as_posix(), number, line.strip()


def python_riddles(root: Path = ROOT) -> Iterator[Riddle]:
    """Yield the docstrings of the package, scripts, benchmarks and tests that begin with one."""
    for folder in _PYTHON_FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            # Parsing takes most of the time, and few files have such a word behind quotes.
            if not _QUOTED_RIDDLE.search(source):
                continue
            for node in ast.walk(ast.parse(source)):
                value = node.value if isinstance(node, ast.Expr) else None
                if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                    continue
                first = value.value.strip().split("\n")[0]
                if _RIDDLE.match(first):
                    yield path.relative_to(root).as_posix(), value.lineno, first


def main() -> int:
    """Print every riddle and how many there are; return 1 if there are some."""
    found = [*rust_riddles(), *python_riddles()]
    for path, line, text in found:
        print(f"{path}:{line}: {text}")
    print(f"{len(found)} doc comments and docstrings begin with a riddle")
    for name, count in sentences.counts(list(sentences.faults())).items():
        print(f"{count:6} {name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
