"""Copies the docstrings of ``python/jeton/_core.pyi`` into the Rust sources of the binding.

The stub is what type checkers and people read, and the doc comments are what ``help`` shows; one is
made from the other, so that they cannot differ. Methods are found by the name of their class and
their own, in ``#[pymethods]`` blocks and ``#[pyclass]`` items.

    python scripts/core_docs.py            # rewrite the sources
    python scripts/core_docs.py --check    # exit 1 where they would change
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "python" / "jeton" / "_core.pyi"
SOURCES = ROOT / "crates" / "jeton-py" / "src"

_IMPL = re.compile(r"^impl(?:<[^>]*>)? (\w+)(?:<[^>]*>)? \{")
_FN = re.compile(r"^    (?:pub(?:\(crate\))? )?fn (\w+)\b")
_TOP_FN = re.compile(r"^(?:pub(?:\(crate\))? )?fn (\w+)\b")
_STRUCT = re.compile(r"^(?:pub(?:\(crate\))? )?struct (\w+)\b")
_FIELD = re.compile(r"^    (?:pub(?:\(crate\))? )?(\w+): ")
_RENAMED = re.compile(r'pyo3\(name = "(\w+)"|pyclass\(.*name = "(\w+)"')


def documented() -> dict[tuple[str, str], list[str]]:
    """The docstrings, by class (empty: none) and name (empty: of the class itself)."""
    found: dict[tuple[str, str], list[str]] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            _take(found, ("", node.name), node)
        elif isinstance(node, ast.ClassDef):
            _take(found, (node.name, ""), node)
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    _take(found, (node.name, item.name), item)
    return found


def _take(
    found: dict[tuple[str, str], list[str]],
    key: tuple[str, str],
    node: ast.FunctionDef | ast.ClassDef,
) -> None:
    text = ast.get_docstring(node)
    if text:
        found.setdefault(key, text.split("\n"))


def rewritten(source: str, docs: dict[tuple[str, str], list[str]]) -> str:
    """A source with the docstrings as doc comments of what they are about."""
    lines = source.split("\n")
    out: list[str] = []
    current = ""
    fields = ""
    is_methods = False
    for line in lines:
        if line == "#[pymethods]":
            is_methods = True
        impl = _IMPL.match(line)
        if impl:
            current = impl[1] if is_methods else ""
            is_methods = False
        elif line == "}":
            current = fields = ""
        item = _FN.match(line) if current else (_TOP_FN.match(line) or _STRUCT.match(line))
        if item:
            start = _attributes_start(out)
            attributes = "\n".join(out[start:])
            name = next((a or b for a, b in _RENAMED.findall(attributes)), item[1])
            is_public = current or "#[pyfunction]" in attributes or "#[pyclass" in attributes
            is_setter = "#[setter]" in attributes
            if is_public and not is_setter:
                if current:
                    key = (current, "__new__" if "#[new]" in attributes else name)
                else:
                    key = (name, "") if _STRUCT.match(line) else ("", name)
                if key in docs:
                    indent = "    " if current else ""
                    _replace_comment(out, start, docs[key], indent)
            if _STRUCT.match(line) and "get_all" in attributes:
                fields = name
        field = _FIELD.match(line) if fields else None
        if field and (fields, field[1]) in docs:
            _replace_comment(out, _attributes_start(out), docs[fields, field[1]], "    ")
        out.append(line)
    return "\n".join(out)


def _attributes_start(out: list[str]) -> int:
    """Where the attributes and comments of the item that comes next begin."""
    start = len(out)
    depth = 0
    while start:
        line = out[start - 1].strip()
        if depth or line.endswith((")]", "]")) or line.startswith(("#[", "///")):
            depth += line.count(")") + line.count("]") - line.count("(") - line.count("[")
            if line.startswith("///"):
                depth = 0
            start -= 1
            if depth <= 0:
                depth = 0
            continue
        break
    return start


def _replace_comment(out: list[str], start: int, text: list[str], indent: str) -> None:
    rest = [line for line in out[start:] if not line.strip().startswith("///")]
    out[start:] = [f"{indent}/// {line}".rstrip() for line in text] + rest


def main() -> int:
    """Rewrite the sources, or say that they would change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    docs = documented()
    changed = []
    for path in sorted(SOURCES.rglob("*.rs")):
        before = path.read_text(encoding="utf-8")
        after = rewritten(before, docs)
        if after != before:
            changed.append(path)
            if not check:
                path.write_text(after, encoding="utf-8")
    for path in changed:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
