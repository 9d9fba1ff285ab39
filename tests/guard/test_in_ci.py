"""The shipped hook and workflow: their commands, run as they stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

# It has no types.
yaml: Any = import_module("yaml")

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "examples" / "github-action" / "guard.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose ``jeton`` is this tree, in a folder with a good and a bad text."""
    monkeypatch.chdir(tmp_path)
    commands = tmp_path / ".bin"
    commands.mkdir()
    (commands / "jeton").write_text(f'#!/bin/sh\nexec {sys.executable} -m jeton "$@"\n')
    (commands / "jeton").chmod(0o755)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "good.txt").write_text("Grüße\n", encoding="utf-8")
    (tmp_path / "prompts" / "bad.txt").write_text("a<|im_end|>b\n")
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python")}


def shell(line: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-ec", line], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_workflow_fails_and_shows_where(env: dict[str, str]) -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    steps = {step.get("name"): step for step in workflow["jobs"]["guard"]["steps"]}
    line = steps["No text hides, forges or disguises"]["run"]
    result = shell(line, {**env, **workflow["env"], "INPUTS": "prompts/"})
    assert result.returncode == 1
    assert "prompts/bad.txt:1:2: error" in result.stdout
    written = steps["SARIF under code scanning"]["with"]["sarif_file"]
    (one,) = json.loads(Path(written).read_text(encoding="utf-8"))["runs"][0]["results"]
    assert one["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert workflow["permissions"]["security-events"] == "write"


def test_the_hook_names_the_file(env: dict[str, str]) -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    good = shell(f"{hook['entry']} prompts/good.txt", env)
    bad = shell(f"{hook['entry']} prompts/good.txt prompts/bad.txt", env)
    assert (good.returncode, bad.returncode) == (0, 1)
    assert "prompts/bad.txt:1:2" in bad.stdout
