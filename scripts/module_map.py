"""Write the list of folders in ARCHITECTURE.md from the modules' own first lines.

``module_map.py`` rewrites the part between the two markers; ``--check`` only says whether it is
up to date (exit code 1 when it is not). Python: the first line of the docstring; Rust: the first
line of the ``//!`` comment.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

__all__ = ["describe_python", "describe_rust", "main", "render"]

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- modules: begin (written by `make docs`) -->"
END = "<!-- modules: end -->"


_DOCSTRING = re.compile(r'(?:#[^\n]*\n|\s)*r?"""(?:[^"\\]|\\.|"(?!""))*"""', re.DOTALL)
"""Beginning of a file up to the end of its docstring."""


def describe_python(path: Path) -> str:
    """Return the first line of a module's docstring, or an empty string."""
    source = path.read_text(encoding="utf-8")
    # Parsing a whole file takes a hundred times as long as its docstring.
    found = _DOCSTRING.match(source)
    docstring = ast.get_docstring(ast.parse(found[0] if found else source))
    return docstring.strip().splitlines()[0] if docstring else ""


def describe_rust(path: Path) -> str:
    """Return the first line of a Rust file's ``//!`` comment, or an empty string."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("//!"):
            return line[3:].strip()
        if line.strip() and not line.startswith(("//", "#!")):
            break
    return ""


def render(root: Path) -> str:
    """Return the folders below ``root`` as Markdown, sorted by path."""
    rust = [crate / "src" for crate in sorted((root / "crates").glob("*"))]
    python = [root / "python" / "jeton"]
    lines: list[str] = []
    for title, tops, first, describe in (
        ("Rust", rust, ("lib.rs", "mod.rs"), describe_rust),
        ("Python", python, ("__init__.py",), describe_python),
    ):
        rows = []
        for top in tops:
            for path in [top, *sorted(path for path in top.glob("*") if path.is_dir())]:
                sources = [path / one for one in first if (path / one).is_file()]
                name = f"{path.relative_to(root).as_posix()}/"
                text = describe(sources[0]) if sources else ""
                if text:
                    rows.append(f"- `{name}`: {text}")
        if rows:
            lines += [f"### {title}", "", *rows, ""]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check ARCHITECTURE.md; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    path = ROOT / "ARCHITECTURE.md"
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"error: {path.name} lacks the markers of the list", file=sys.stderr)
        return 2
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = f"{before}{BEGIN}\n\n{render(ROOT)}\n{END}{after}"
    if wanted == text:
        return 0
    if options.check:
        print(
            f"error: the list of folders in {path.name} is stale\nhint: make docs", file=sys.stderr
        )
        return 1
    path.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
