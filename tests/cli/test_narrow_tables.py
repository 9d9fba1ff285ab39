"""Tables in a real terminal: at 60, 80 and 120 columns no digit and no row's name is cut."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from jeton.cli.app import app

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="needs pseudo-terminals of POSIX, which CI has"
)

COMMANDS = (
    ["catalog", "gpus"],
    ["catalog", "models", "qwen3"],
    ["catalog", "prices", "gpt-4o"],
    ["catalog", "formats"],
    ["memory", "llama-3.1-8b", "--gpu", "h100-sxm", "--gpu", "l4"],
)
SCRIPT = """
import json, sys
from jeton.cli.app import app
for words in json.loads(sys.argv[1]):
    app.main(words, standalone_mode=False)
"""


def in_terminal(columns: int, commands: Sequence[Sequence[str]]) -> str:
    """Return what commands print in a terminal of that many columns."""
    import fcntl
    import json
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(commands)],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
    )
    os.close(theirs)
    found = bytearray()
    try:
        while data := os.read(ours, 1 << 16):
            found += data
    except OSError:  # Linux: the other end is closed
        pass
    finally:
        os.close(ours)
    assert child.wait(60) in (0, 1)
    return re.sub(r"\x1b\[[\d;]*m", "", found.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_numbers_and_names_stay_whole(columns: int) -> None:
    text = in_terminal(columns, COMMANDS)
    assert "…" not in text
    shown = set(text.split())
    for words in COMMANDS:
        piped = CliRunner().invoke(app, words).stdout.splitlines()
        for line in piped:
            first, *others = re.split(r" {2,}", line.strip())
            if first in ("NAME", "GPUS", "CHARGED"):
                continue  # headings
            assert set(first.split()) <= shown, first
            for cell in others:
                numbers = re.findall(r"\d[\d,.]*", cell)
                assert all(number in text for number in numbers), cell
                if re.fullmatch(r"[\d,.%]+", cell):
                    assert cell in shown, cell
