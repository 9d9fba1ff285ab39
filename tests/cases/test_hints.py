"""Files that are broken, given to every command that reads them: the place and a hint are told.

A case has files and runs; the error of each run names what the case says. Files are text, JSON
(``$json``), bytes (``$hex``) or texts repeated (``$parts``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from tests.cases.places import load_cases


@pytest.mark.parametrize("case", load_cases("hints"))
@pytest.mark.filterwarnings("ignore::jeton.JetonWarning")
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in case["files"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(_data(value))
    for run in case["runs"]:
        result = CliRunner().invoke(app, run["words"])
        told = result.stderr
        assert result.exit_code == 2, (run["words"], result.output)
        assert told.count("jeton: error: ") == 1
        assert told.count("hint: ") == 1, (run["words"], told)
        assert "internal error" not in told
        assert len(told) < 2_000, "a message quotes little of a file"
        for part in run["stderr"]:
            assert part in told, (run["words"], told)


def _data(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    [(kind, content)] = value.items()
    if kind == "$hex":
        return bytes.fromhex(content)
    if kind == "$parts":
        return "".join(text * times for text, times in content).encode("utf-8")
    return json.dumps(content).encode("utf-8")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_without_its_other_end_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ids.txt")
    (tmp_path / "v.txt").write_text("[UNK]\noak\nelm\n")
    words = ["decode", "-t", "v.txt", "--json", "ids.txt"]
    with subprocess.Popen(
        [sys.executable, "-m", "jeton", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert child.stdout is not None
        assert "ids.txt is a pipe" in child.stderr.readline()
        (tmp_path / "ids.txt").write_text("1 2\n")
        assert json.loads(child.stdout.read()) == {"text": "oak elm"}
    assert child.returncode == 0
