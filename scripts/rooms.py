"""Print the rooms of the Rust core or of the Python package: floors, arrows, circles.

A room is a folder (or single file) at the top of the tree. An arrow is an import from one room
into another; tests do not count. The floor of a room is one above the highest room it imports.
``python -m scripts.rooms`` shows the core, ``python -m scripts.rooms python`` the package. Of the
package, circles of modules are printed too, with imports inside of functions. ``--size`` counts
the package's files and lines of code by folder: no blank lines, comments or docstrings.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

__all__ = ["circles", "floors", "main", "module_arrows", "python_arrows", "rust_arrows", "sizes"]

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
        for statement, is_at_the_top in _read(path)[0]:
            if not is_at_the_top:
                continue
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


def module_arrows(top: Path = PACKAGE) -> Arrows:
    """Return the arrows between the modules of the package, imports inside of functions too.

    Imports for type checkers alone do not count: nothing runs them.
    """
    paths = {_module(path, top): path for path in sorted(top.rglob("*.py"))}
    arrows: dict[tuple[str, str], list[str]] = {}
    for here, path in paths.items():
        for statement, _ in _read(path)[0]:
            for there in _imported(statement, paths):
                if there != here:
                    arrows.setdefault((here, there), []).append(path.relative_to(top).as_posix())
    return arrows


def _module(path: Path, top: Path) -> str:
    parts = path.relative_to(top.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _read(path: Path) -> tuple[tuple[tuple[ast.stmt, bool], ...], int]:
    """Return the imports of a file, each with whether it stands at the top level, and its size.

    Imports behind ``if TYPE_CHECKING`` do not count: nothing runs them.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    at_the_top = set(map(id, tree.body))
    imports = tuple(
        (statement, id(statement) in at_the_top)
        for statement in _statements(tree)
        if isinstance(statement, ast.Import | ast.ImportFrom)
    )
    written = {
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    for node in (tree, *_definitions(tree)):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            written.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return imports, len(written)


def _definitions(
    tree: ast.Module,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    yield from (node for node in ast.walk(tree) if isinstance(node, kinds))


def sizes(top: Path = PACKAGE) -> Mapping[str, tuple[int, int]]:
    """Return the lines of code and the files of each room of the package."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(top.rglob("*.py")):
        n_lines, n_files = found.get(_room(path, top), (0, 0))
        found[_room(path, top)] = (n_lines + _read(path)[1], n_files + 1)
    return found


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements below a node, without those behind ``if TYPE_CHECKING``."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(tree, field, ()):
            if isinstance(child, ast.If) and _asks_for_types(child.test):
                continue
            if isinstance(child, ast.stmt):
                yield child
            yield from _statements(child)


def _asks_for_types(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _imported(statement: ast.stmt, modules: Collection[str]) -> Iterator[str]:
    """Yield the modules that a statement imports."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names if alias.name in modules)
    elif isinstance(statement, ast.ImportFrom) and statement.module:
        for alias in statement.names:
            names = (f"{statement.module}.{alias.name}", statement.module)
            yield from (
                name for name in names[: 1 if names[0] in modules else 2] if name in modules
            )


def circles(arrows: Arrows) -> list[list[str]]:
    """Return the groups of rooms that can reach one another, each sorted (Tarjan)."""
    targets: dict[str, list[str]] = {}
    for here, there in arrows:
        targets.setdefault(here, []).append(there)
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_rooms: list[str] = []
    found: list[list[str]] = []

    def visit(room: str) -> None:
        number[room] = lowest[room] = len(number)
        open_rooms.append(room)
        for there in targets.get(room, ()):
            if there not in number:
                visit(there)
            if there in open_rooms:
                lowest[room] = min(lowest[room], lowest[there])
        if lowest[room] == number[room]:
            start = open_rooms.index(room)
            found.append(sorted(open_rooms[start:]))
            del open_rooms[start:]

    for room in sorted(targets):
        if room not in number:
            visit(room)
    return sorted(group for group in found if len(group) > 1)


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
    parser.add_argument("--size", action="store_true", help="print the package's lines and files")
    options = parser.parse_args(arguments)
    if options.size:
        by_room = sizes()
        for room, (n_lines, n_files) in sorted(by_room.items(), key=lambda item: -item[1][0]):
            print(f"{n_lines:8,} {n_files:5,}  {room}")
        n_lines, n_files = (sum(column) for column in zip(*by_room.values(), strict=True))
        print(f"{n_lines:8,} {n_files:5,}  jeton")
        return 0
    arrows = rust_arrows() if options.tree == "rust" else python_arrows()
    level = floors(arrows)
    for floor in sorted(set(level.values()), reverse=True):
        print(f"{floor:3}  {' '.join(sorted(room for room in level if level[room] == floor))}")
    print(f"{len(level)} rooms, {max(level.values()) + 1} floors, {len(arrows)} arrows")
    if options.arrows:
        for (here, there), files in sorted(arrows.items()):
            print(f"{here} -> {there}: {', '.join(files)}")
    found = circles(arrows)
    if options.tree == "python":
        found += circles(module_arrows())
    for circle in found:
        print(f"circle: {' '.join(circle)}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
