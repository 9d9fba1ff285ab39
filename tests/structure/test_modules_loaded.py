"""A command imports what it uses: the modules that two commands load, a number that only falls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import runpy, sys
try:
    runpy.run_module("jeton", run_name="__main__")
finally:
    loaded = [name for name in sys.modules if name.split(".")[0] == "jeton"]
    open({places!r}, "w").write("\\n".join(loaded))
"""
LIMITS = {"encode": 54, "audit": 480}
"""Modules of the package, those that read the bundled tokenizer among them. Lower a limit where a
change loads fewer; never raise one."""


@pytest.mark.parametrize("command", LIMITS)
def test_a_command_loads_no_more_modules_than_before(command: str, tmp_path: Path) -> None:
    given, places = tmp_path / "given.txt", tmp_path / "loaded"
    given.write_text('{"prompt": "What is BPE?", "response": "A merge list.", "model": "gpt-4o"}\n')
    options = ["--tokenizer", "jeton-general-32k", *(["--logs"] if command == "audit" else [])]
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(places=str(places)), command, str(given), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    loaded = places.read_text(encoding="utf-8").split()
    assert len(loaded) <= LIMITS[command]
    # Text files need none of the readers of logs.
    assert command == "audit" or not [name for name in loaded if ".requests" in name]
