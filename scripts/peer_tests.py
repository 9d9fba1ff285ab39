"""Run another library's own public tests with its name standing for ``jeton.compat``'s.

    python scripts/peer_tests.py tiktoken UNPACKED_SDIST [--markdown] [-- PYTEST_OPTIONS]

The tests are run where they lie, unpacked from the library's own source distribution; nothing of
them is part of this project. They run in a process of their own, in which ``import tiktoken`` gives
``jeton.compat.tiktoken``, submodules included; so do the processes that they start. With
``--itself`` they run against the installed library itself, which shows what fails for another
reason (no network, a file that is not in the distribution).

Tests that need vocabularies find them where Jeton does: ``$JETON_VOCAB_DIR``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Longest time for a library's tests altogether, in seconds.
TIMEOUT_S = 1800

# Python imports `sitecustomize` at start from the first folder of its path that has one.
_SITE = '''
import importlib
import importlib.abc
import importlib.util
import sys

PEER = {peer!r}


class Loader(importlib.abc.Loader):
    """Gives the module that stands in, as it is."""

    def create_module(self, spec):
        self.module = importlib.import_module("jeton.compat." + spec.name)
        self.spec = self.module.__spec__
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == PEER or name.startswith(PEER + "."):
            if importlib.util.find_spec("jeton.compat." + name) is None:
                return None
            return importlib.util.spec_from_loader(name, Loader())
        return None


sys.meta_path.insert(0, Finder())
'''


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one test.

    Attributes:
        test: Its name, with the file's.
        result: ``"passed"``, ``"failed"`` or ``"skipped"``.
        reason: The first line of what it said, empty for those that passed.
    """

    test: str
    result: str
    reason: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print a table, and return 0 if nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Formatter)
    parser.add_argument("peer", help="name of the library, as it is imported")
    parser.add_argument("sdist", type=Path, help="its unpacked source distribution")
    parser.add_argument("--tests", type=Path, help="folder of the tests in it; test or tests")
    parser.add_argument("--itself", action="store_true", help="run the installed library itself")
    parser.add_argument("--markdown", action="store_true", help="a table for the documentation")
    arguments = list(sys.argv[1:] if argv is None else argv)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    outcomes = run(
        options.peer,
        options.sdist,
        tests=options.tests,
        itself=options.itself,
        pytest_options=arguments[split + 1 :],
    )
    print(markdown(outcomes) if options.markdown else table(outcomes))
    return int(any(outcome.result == "failed" for outcome in outcomes))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    pass


def run(
    peer: str,
    sdist: Path,
    *,
    tests: Path | None = None,
    itself: bool = False,
    pytest_options: Iterable[str] = (),
) -> list[Outcome]:
    """Run a library's tests and return what became of each.

    Args:
        peer: Name of the library, as it is imported.
        sdist: Its unpacked source distribution.
        tests: Folder of the tests in it; by default ``test`` or ``tests``.
        itself: Run the installed library instead of what stands in for it.
        pytest_options: Options of pytest, such as ``-k``.

    Raises:
        FileNotFoundError: There is no folder of tests.
        RuntimeError: pytest did not get as far as to write its report.
    """
    candidates = [sdist / tests] if tests else [sdist / "tests", sdist / "test"]
    folder = next((path for path in candidates if path.is_dir()), None)
    if folder is None:
        raise FileNotFoundError(f"no folder of tests in {sdist}")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        # A copy, so that the library's own modules beside the tests are not imported.
        copy = work / "run" / folder.name
        shutil.copytree(folder, copy)
        site = work / "site"
        site.mkdir()
        if not itself:
            code = _SITE.format(peer=peer)
            (site / "sitecustomize.py").write_text(code, encoding="utf-8")
        return run_folder(copy, site=site, pytest_options=pytest_options)


def run_folder(
    folder: Path,
    *,
    site: Path,
    environment: Mapping[str, str] | None = None,
    pytest_options: Iterable[str] = (),
) -> list[Outcome]:
    """Run the tests of a folder in a process of their own.

    Args:
        folder: The folder; the working directory is the one that it lies in.
        site: A folder that comes first on the path of that process, and of those it starts.
        environment: Variables that the process has besides those of this one.
        pytest_options: Options of pytest, such as ``-k``.

    Raises:
        RuntimeError: pytest did not get as far as to write its report.
    """
    paths = [str(site), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    report = site / "report.xml"
    command = [sys.executable, "-m", "pytest", str(folder), "-q", "-p", "no:cacheprovider"]
    command += ["--continue-on-collection-errors"]
    command += ["-c", os.devnull, f"--rootdir={folder.parent}", "-o", "python_files=*test*.py"]
    command += [f"--junitxml={report}", *pytest_options]
    path = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    finished = subprocess.run(
        command,
        env=os.environ | path | dict(environment or {}),
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if not report.is_file():
        raise RuntimeError(finished.stdout[-2000:] + finished.stderr[-2000:])
    return outcomes_of(ET.parse(report).getroot())


def outcomes_of(report: ET.Element) -> list[Outcome]:
    """The outcomes in a JUnit report."""
    outcomes = []
    for case in report.iter("testcase"):
        parts = [*case.get("classname", "").split("."), case.get("name", "")]
        name = "::".join(part for part in parts if part not in ("", "test", "tests"))
        result, reason = "passed", ""
        for child in case:
            if child.tag in ("failure", "error"):
                result = "failed"
            elif child.tag == "skipped":
                result = "skipped"
            else:
                continue
            reason = (child.get("message") or child.text or "").strip().split("\n")[0]
        outcomes.append(Outcome(name, result, reason))
    return outcomes


def counts(outcomes: Iterable[Outcome]) -> str:
    """How many passed, failed, and were skipped, in words."""
    results = [outcome.result for outcome in outcomes]
    told = [f"{results.count(kind)} {kind}" for kind in ("passed", "failed", "skipped")]
    return ", ".join(told)


def table(outcomes: Sequence[Outcome]) -> str:
    """Everything that did not pass, and the counts, for a terminal."""
    rows = [f"{o.result:8}{o.test}: {o.reason}" for o in outcomes if o.result != "passed"]
    return "\n".join([*rows, counts(outcomes)])


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Write the outcomes as a table of Markdown."""
    rows = ["| test | outcome | first line |", "| --- | --- | --- |"]
    for outcome in outcomes:
        if outcome.result != "passed":
            reason = outcome.reason.replace("|", "\\|")
            rows.append(f"| `{outcome.test}` | {outcome.result} | {reason} |")
    return "\n".join([counts(outcomes), "", *rows])


if __name__ == "__main__":
    sys.exit(main())
