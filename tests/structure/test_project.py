"""The files around the code agree with one another: versions, requirements, locks, make targets."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from scripts import check_skips, module_map

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def listed(path: Path) -> set[str]:
    """The requirements of a ``.in`` file, as written."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def bare(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return found.group().lower().replace("_", "-").replace(".", "-")


def locked(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    return {bare(line) for line in text.splitlines() if re.match(r"[A-Za-z0-9]", line)}


def test_the_version_stands_in_one_place() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert pyproject()["project"]["dynamic"] == ["version"]
    version = cargo["workspace"]["package"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == version  # type: ignore[index]


@pytest.mark.parametrize("name", ["dev", "bench"])
def test_runtime_dependencies_are_in_every_environment(name: str) -> None:
    runtime = set(pyproject()["project"]["dependencies"])
    assert runtime <= listed(REQUIREMENTS / f"{name}.in")


@pytest.mark.parametrize("name", ["dev", "bench"])
def test_extras_list_what_the_environment_lists(name: str) -> None:
    project = pyproject()["project"]
    both = set(project["dependencies"]) | set(project["optional-dependencies"][name])
    assert {bare(r) for r in listed(REQUIREMENTS / f"{name}.in")} == {bare(r) for r in both}


def test_the_lock_of_the_fuzz_targets_has_what_the_crates_need() -> None:
    # Else `make fuzz` stops before it has built anything: it may not change the lock.
    lock = tomllib.loads((ROOT / "fuzz" / "Cargo.lock").read_text(encoding="utf-8"))
    locked_crates = {package["name"]: package for package in lock["package"]}
    ours = [name for name in locked_crates if (ROOT / "crates" / name).is_dir()]
    assert "jeton-core" in ours
    for name in ours:
        manifest = (ROOT / "crates" / name / "Cargo.toml").read_text(encoding="utf-8")
        crate = tomllib.loads(manifest)
        tables = [crate, *crate.get("target", {}).values()]
        needed = {
            dependency
            for table in tables
            for dependency, how in table.get("dependencies", {}).items()
            if not (isinstance(how, dict) and how.get("optional"))
        }
        # A crate of which there are several versions is followed by its version.
        found = {entry.split()[0] for entry in locked_crates[name].get("dependencies", ())}
        assert needed <= found, name


def test_no_packages_are_committed() -> None:
    finished = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        pytest.skip("not a git checkout")
    packed = (".whl", ".so", ".pyd", ".egg")
    assert [path for path in finished.stdout.splitlines() if path.endswith(packed)] == []


@pytest.mark.parametrize("name", ["dev", "bench"])
def test_locks_are_complete_and_hashed(name: str) -> None:
    lock = REQUIREMENTS / f"{name}.lock"
    assert {bare(r) for r in listed(REQUIREMENTS / f"{name}.in")} <= locked(lock)
    text = lock.read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text)
    assert not [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block]
    assert "://" not in text, "a lock names no host: the installer's own index serves it"


def test_every_make_target_says_what_it_does() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    internal = {"static", "static-python", "static-rust", "bench-setup", "toolchain"}
    documented = set(re.findall(r"^([a-z][a-z-]*):.*## \S", text, flags=re.MULTILINE))
    assert set(phony.split()) - internal == documented


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").glob("*.sh")), ids=lambda p: p.name)
def test_shell_scripts_parse(path: Path) -> None:
    shell = "bash" if "bash" in path.read_text(encoding="utf-8").splitlines()[0] else "sh"
    subprocess.run([shell, "-n", str(path)], check=True, capture_output=True)


def junit(tmp_path: Path, *reasons: str, kind: str = "pytest.skip") -> Path:
    cases = "".join(
        f'<testcase classname="tests.x" name="test_{index}">'
        f'<skipped type="{kind}" message="{reason}">tests/x.py:3: {reason}</skipped></testcase>'
        for index, reason in enumerate(reasons)
    )
    path = tmp_path / "junit.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("reason", "shared_exists", "ci", "forbidden"),
    [
        ("needs the shared data folder", True, False, True),
        ("needs the shared data folder", False, True, False),
        ("Chromium was not found", False, True, True),
        ("Chromium was not found", True, False, False),
        ("could not import 'pyarrow': No module named 'pyarrow'", True, True, True),
        ("could not import 'pyarrow': No module named 'pyarrow'", True, False, False),
        ("needs Windows", True, True, False),
    ],
)
def test_skips_without_excuse_are_found(
    tmp_path: Path, reason: str, shared_exists: bool, ci: bool, forbidden: bool
) -> None:
    path = junit(tmp_path, reason)
    found = check_skips.forbidden_skips(
        path, shared_exists=shared_exists, continuous_integration=ci
    )
    assert bool(found) is forbidden


def test_expected_failures_and_file_names_are_no_skips(tmp_path: Path) -> None:
    path = junit(tmp_path, "shared", kind="pytest.xfail")
    assert not list(check_skips.skips(path))
    path = junit(tmp_path, "see tests/browser/test_shared.py")
    assert not check_skips.forbidden_skips(path, shared_exists=True, continuous_integration=True)


def test_check_skips_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    arguments = ["--shared", str(tmp_path / "absent")]
    assert check_skips.main([str(junit(tmp_path, "needs Windows")), *arguments]) == 0
    assert capsys.readouterr() == ("", "")
    assert check_skips.main([str(junit(tmp_path, "no browser here")), *arguments]) == 1
    assert "test_0" in capsys.readouterr().err
    assert check_skips.main([str(tmp_path / "none.xml"), *arguments]) == 2


def test_the_module_map_reads_first_lines(tmp_path: Path) -> None:
    package = tmp_path / "python" / "jeton"
    package.mkdir(parents=True)
    (package / "room").mkdir()
    (package / "room" / "__init__.py").write_text('"""A.\n\nMore."""\n', encoding="utf-8")
    (package / "a.py").write_text('"""A file."""\n', encoding="utf-8")
    source = tmp_path / "crates" / "jeton-core" / "src"
    source.mkdir(parents=True)
    (source / "lib.rs").write_text("//! What the crate is\n//! More.\n", encoding="utf-8")
    (source / "bare.rs").write_text("fn f() {}\n//! too late\n", encoding="utf-8")
    (source / "room").mkdir()
    (source / "room" / "mod.rs").write_text("//! A room.\n", encoding="utf-8")
    (source / "room" / "file.rs").write_text("//! A file of it.\n", encoding="utf-8")
    text = module_map.render(tmp_path)
    assert "- `python/jeton/room/`: A.\n" in text
    assert "a.py" not in text
    assert "- `crates/jeton-core/src/`: What the crate is\n" in text
    assert "- `crates/jeton-core/src/room/`: A room.\n" in text
    assert "A file of it" not in text
    assert "bare.rs" not in text
