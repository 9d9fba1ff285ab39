"""Rules for the whole tree: sizes, layers, names, documentation, no machine's own paths."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.module_map import describe_python, describe_rust

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "jeton"
MAX_LINES = 600
# Size says nothing of a stub, which lists what one module of the core has.
NO_LIMIT = frozenset({"python/jeton/_core.pyi"})
# Importing jeton must stay cheap: these are imported where they are used.
HEAVY = ("genai_prices", "jinja2", "pyarrow", "rich")
# Built from pieces, so that this file does not hold what it forbids.
FORBIDDEN = ("/" + "work/", "/tmp/" + "jeton", "/" + "root/")
MAY_IMPORT_THE_ROOT = re.compile(r"^\s*(?:from\s+jeton\s+import|import\s.*\bjeton\b)", re.M)
# Only these may use the public names of the root: everything else would import upwards.
ABOVE_THE_ROOT = ("cli", "service", "__init__.py", "__main__.py")


def tree_files() -> list[Path]:
    """The files that are, or would be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: the list of files is not known")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def sources(*suffixes: str) -> list[Path]:
    return [path for path in tree_files() if path.suffix in suffixes]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_longer_than_the_limit() -> None:
    long = {
        relative(path): n_lines
        for path in sources(".py", ".pyi", ".rs")
        if relative(path) not in NO_LIMIT
        and (n_lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long, f"over {MAX_LINES} lines"


def test_data_tables_exist() -> None:
    assert not [name for name in NO_LIMIT if not (ROOT / name).is_file()]


def test_no_path_of_a_developers_machine() -> None:
    found = []
    for path in tree_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{relative(path)}: {word}" for word in FORBIDDEN if word in text]
    assert not found


def test_every_python_module_says_what_it_is() -> None:
    # Tests are exempt: their names and those of their folders say what they are.
    silent = [
        relative(path)
        for path in sources(".py")
        if not path.is_relative_to(ROOT / "tests") and not describe_python(path)
    ]
    assert not silent


def test_every_rust_file_says_what_it_is() -> None:
    silent = [
        relative(path)
        for path in sources(".rs")
        if path.is_relative_to(ROOT / "crates") and "src" in path.parts and not describe_rust(path)
    ]
    assert not silent


def module_names() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] != "__main__":
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", list(module_names()))
def test_module_imports_and_its_public_names_are_real(name: str) -> None:
    module = importlib.import_module(name)
    public = getattr(module, "__all__", [])
    assert len(public) == len(set(public))
    assert not [member for member in public if not hasattr(module, member)]


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert not [relative(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_no_public_name_is_shadowed_by_a_module() -> None:
    jeton = importlib.import_module("jeton")
    for module in pkgutil.walk_packages(jeton.__path__, "jeton."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    shadowed = [n for n in jeton.__all__ if isinstance(getattr(jeton, n), types.ModuleType)]
    assert not shadowed


def test_public_names_are_sorted() -> None:
    public = list(importlib.import_module("jeton").__all__)

    def key(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert public == sorted(public, key=key)


def test_importing_jeton_imports_nothing_heavy() -> None:
    program = (
        "import sys, jeton\n"
        f"heavy = {HEAVY!r}\n"
        "print(' '.join(name for name in heavy if name in sys.modules))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert finished.stdout.split() == []


def imports_of_the_root(path: Path) -> Iterator[str]:
    """Public names that a module takes from ``jeton`` itself, submodules left out."""
    submodules = {entry.stem for entry in PACKAGE.iterdir() if entry.suffix != ".pyi"}
    source = path.read_text(encoding="utf-8")
    if not MAY_IMPORT_THE_ROOT.search(source):
        return  # parsing takes most of the time
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "jeton" and node.level == 0:
            yield from (alias.name for alias in node.names if alias.name not in submodules)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name == "jeton")


def test_no_layer_imports_the_root() -> None:
    upwards = {
        relative(path): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in ABOVE_THE_ROOT
        and path.relative_to(PACKAGE).parts[0] not in ABOVE_THE_ROOT
        and (names := list(imports_of_the_root(path)))
    }
    assert not upwards


def test_the_check_for_upward_imports_sees_them(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("import jeton\nfrom jeton import load, errors, _core\n", encoding="utf-8")
    assert list(imports_of_the_root(path)) == ["jeton", "load", "_core"]
