"""One task in a fresh process: for first passes, peak memory, and subjects that may crash or hang.

Parent: ``run_task("module:function", arguments, timeout_s=...)``. The child imports the function,
calls it with the arguments and writes its result as JSON to the file it was given.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["main", "peak_memory_bytes", "resident_bytes", "run_task", "start_peak_memory"]

ROOT = Path(__file__).resolve().parent.parent


def _status_bytes(field: str) -> int | None:
    """One memory figure of this process as Linux has it; None elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024  # the kernel says kB and means 1024 bytes
    return None


def start_peak_memory() -> int | None:
    """Forget the peak so far and return the resident bytes now; None where that cannot be done.

    Not ``getrusage``: its peak survives exec, so a child would begin with that of its parent.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # 5: reset the peak
    except OSError:
        return None
    return _status_bytes("VmRSS")


def resident_bytes() -> int | None:
    """Return the resident bytes of this process now; None where that is not known."""
    return _status_bytes("VmRSS")


def peak_memory_bytes() -> int | None:
    """Return the most resident bytes since the process, or ``start_peak_memory``, began."""
    return _status_bytes("VmHWM")


def run_task(task: str, arguments: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
    """Run ``module:function`` in a child; return its result, or ``{"failed": why}``."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        try:
            finished = subprocess.run(
                [sys.executable, "-m", "benches.isolated", task, json.dumps(arguments), answer],
                cwd=ROOT,
                timeout=timeout_s,
                capture_output=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"no result after {timeout_s:g} s"}
        if finished.returncode != 0 or not answer.is_file():
            words = finished.stderr.decode(errors="replace").strip().splitlines()
            ended = f"signal {-finished.returncode}" if finished.returncode < 0 else "error"
            return {"failed": f"{ended}: {words[-1] if words else 'no message'}"}
        result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return result


def main(arguments: list[str]) -> int:
    """The child's side."""
    task, encoded, answer = arguments
    module, function = task.split(":")
    result = getattr(import_module(module), function)(**json.loads(encoded))
    if not isinstance(result, dict):
        raise TypeError(f"{task} returned {type(result).__name__}, expected a dict")
    Path(answer).write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
