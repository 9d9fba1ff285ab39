"""Print the rooms of the Rust core or of the Python package: floors, arrows, circles.

A room is a folder (or single file) at the top of the tree. An arrow is an import from one room
into another; tests do not count. The floor of a room is one above the highest room it imports.
``python -m scripts.rooms`` shows the core, ``python -m scripts.rooms python`` the package.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["circles", "floors", "main", "python_arrows", "rust_arrows"]

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "crates" / "jeton-core" / "src"
PACKAGE = ROOT / "python" / "jeton"

_TEST_BLOCK = re.compile(
    r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub\(\w+\) )?mod \w+ \{.*", re.M | re.S
)
_TEST_USE = re.compile(r"#\[cfg\(test\)\]\n\s*(?:pub(?:\(\w+\))? )?use [^;]*;")
_COMMENT = re.compile(r"//[^\n]*")
_PATH = re.compile(r"\bcrate::(\w+)")

Arrows = Mapping[tuple[str, str], list[str]]
"""For each pair of rooms, the files of the first that import the second."""


def _is_test(path: Path) -> bool:
    return path.stem.endswith("tests") or path.stem == "naive" or "tests" in path.parts


def _room(path: Path, top: Path) -> str:
    return path.relative_to(top).parts[0].removesuffix(".rs").removesuffix(".py")


def rust_arrows(top: Path = CORE) -> Arrows:
    """Return the arrows between the rooms of a crate, read from its ``crate::`` paths."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for path in sorted(top.rglob("*.rs")):
        if _is_test(path) or path.name == "lib.rs":
            continue
        text = _TEST_BLOCK.sub("", path.read_text(encoding="utf-8"))
        text = _COMMENT.sub("", _TEST_USE.sub("", text))
        here = _room(path, top)
        for there in sorted(set(_PATH.findall(text)) - {here}):
            arrows.setdefault((here, there), []).append(path.relative_to(top).as_posix())
    return arrows


def python_arrows(top: Path = PACKAGE) -> Arrows:
    """Return the arrows between the rooms of the package, read from its top-level imports."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for path in sorted(top.rglob("*.py")):
        here = _room(path, top)
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            names: Iterable[str] = ()
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom) and statement.module:
                names = [statement.module]
                if statement.module == top.name:
                    names = [f"{top.name}.{alias.name}" for alias in statement.names]
            for name in names:
                parts = name.split(".")
                if parts[0] == top.name and len(parts) > 1 and parts[1] != here:
                    arrows.setdefault((here, parts[1]), []).append(path.name)
    return arrows


def circles(arrows: Arrows) -> list[list[str]]:
    """Return the groups of rooms that can reach one another, each sorted."""
    rooms = sorted({room for pair in arrows for room in pair})
    reached = {room: {there for here, there in arrows if here == room} for room in rooms}
    for middle in rooms:
        for room in rooms:
            if middle in reached[room]:
                reached[room] |= reached[middle]
    groups = {
        tuple(sorted({room} | {o for o in reached[room] if room in reached[o]})) for room in rooms
    }
    return [list(group) for group in sorted(groups) if len(group) > 1]


def floors(arrows: Arrows) -> dict[str, int]:
    """Return the floor of each room, from 0; rooms of one circle share a floor."""
    group = {room: tuple(circle) for circle in circles(arrows) for room in circle}
    level: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in level:
            mine = group.get(room, (room,))
            below = {there for here, there in arrows if here in mine and there not in mine}
            value = max((of(there) + 1 for there in below), default=0)
            level.update(dict.fromkeys(mine, value))
        return level[room]

    for room in sorted({room for pair in arrows for room in pair}):
        of(room)
    return level


def main(arguments: list[str] | None = None) -> int:
    """Print the rooms; return 1 if some of them form a circle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", nargs="?", choices=("rust", "python"), default="rust")
    parser.add_argument("--arrows", action="store_true", help="print each arrow with its files")
    options = parser.parse_args(arguments)
    arrows = rust_arrows() if options.tree == "rust" else python_arrows()
    level = floors(arrows)
    for floor in sorted(set(level.values()), reverse=True):
        print(f"{floor:3}  {' '.join(sorted(room for room in level if level[room] == floor))}")
    print(f"{len(level)} rooms, {max(level.values()) + 1} floors, {len(arrows)} arrows")
    if options.arrows:
        for (here, there), files in sorted(arrows.items()):
            print(f"{here} -> {there}: {', '.join(files)}")
    found = circles(arrows)
    for circle in found:
        print(f"circle: {' '.join(circle)}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
