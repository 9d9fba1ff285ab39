"""The shipped workflow: its steps, run as they stand, on one file, three and three hundred."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.auditing.tiny import documentation

# It has no types.
yaml: Any = import_module("yaml")

ROOT = Path(__file__).resolve().parents[3]
WORKFLOW = ROOT / "examples" / "github-action" / "token-budget.yml"
TEXTS = documentation()


def lines_of(texts: list[str] | tuple[str, ...]) -> str:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts)


CORPORA = {
    "one file": {"requests.jsonl": lines_of(TEXTS[:12])},
    "three files": {f"{name}.jsonl": lines_of(TEXTS[i : i + 6]) for i, name in enumerate("abc")},
    "300 files": {f"prompts/{i:03}.txt": f"Prompt {i}. {TEXTS[i % 20][:200]}" for i in range(300)},
}


class Runner:
    """Runs the steps of the workflow as the service does, without what needs the network."""

    def __init__(self, folder: Path, inputs: str) -> None:
        self.folder = folder
        self.steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["gate"]["steps"]
        workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
        commands = folder / ".bin"
        commands.mkdir()
        for name, script in {
            # Building the package takes minutes: it has to be there, and is.
            "pip": f'test "$1" = install && test -f {ROOT}/pyproject.toml',
            "gh": 'test -s "$5"',
            "jeton": f'exec {sys.executable} -m jeton "$@"',
        }.items():
            (commands / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (commands / name).chmod(0o755)
        self.env = {
            **os.environ,
            **workflow["env"],
            "INPUTS": inputs,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "PULL_REQUEST": "7",
        }

    def run(self, script: str) -> int:
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            check=False,
            text=True,
        )
        self.said = done.stderr
        return done.returncode

    def head(self, begins: str) -> str:
        """A command that the head of the file tells to run once."""
        head = WORKFLOW.read_text(encoding="utf-8").split("name: token budget")[0]
        return head[head.index(begins) :].splitlines()[0]

    def all_steps(self, *, since: str = "Install") -> dict[str, int]:
        """The exit codes of the steps that run a command."""
        names = [step.get("name", "") for step in self.steps]
        steps = self.steps[names.index(since) :]
        return {step["name"]: self.run(step["run"]) for step in steps if "run" in step}


@pytest.mark.parametrize(
    "name",
    [
        "three files",
        pytest.param("one file", marks=pytest.mark.conformance),
        pytest.param("300 files", marks=pytest.mark.conformance),
    ],
)
@pytest.mark.timeout(300)
def test_the_steps_run(name: str, tmp_path: Path) -> None:
    files = CORPORA[name]
    for place, content in files.items():
        (tmp_path / "corpus" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "corpus" / place).write_text(content, encoding="utf-8")
    runner = Runner(tmp_path, "corpus/")
    (tmp_path / ".jeton").mkdir()
    assert runner.run(runner.head("jeton audit")) == 0, runner.said
    assert runner.run(runner.head("jeton lock")) == 0, runner.said
    assert set(runner.all_steps().values()) == {0}, runner.said
    for path in (tmp_path / "corpus").rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            path.write_text(
                lines_of([json.loads(line)["text"].upper() for line in text.splitlines()])
            )
        else:
            path.write_text(text.upper(), encoding="utf-8")
    # The gate, and what comes behind it whether or not it failed.
    codes = runner.all_steps(since="Tokens stay within their budget")
    assert codes.pop("Tokens stay within their budget") == 1
    assert set(codes.values()) == {0}
    assert "letter case" in (tmp_path / "token-gate.md").read_text(encoding="utf-8")
    page = (tmp_path / "token-report.html").read_text(encoding="utf-8")
    assert "The gate failed" in page
    assert "Main cause: <strong><bdi" in page
    for output in ("token-gate.xml", "token-gate.sarif", "summary.md"):
        assert (tmp_path / output).stat().st_size > 0


def test_it_may_write_what_it_writes() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {
        "contents": "read",
        "pull-requests": "write",
        "security-events": "write",
    }
