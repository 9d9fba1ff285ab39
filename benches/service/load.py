"""Load by ``wrk``, from another core than the server's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

__all__ = ["answered"]


def answered(url: str, script: Path, *, seconds: float, connections: int) -> tuple[int, float]:
    """Return the requests that were answered, and the seconds that they took.

    Args:
        url: The address.
        script: A script of wrk that makes the requests.
        seconds: Time of the load.
        connections: Connections side by side.

    Raises:
        RuntimeError: A request failed.
    """
    words = ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", "--timeout", "10s"]
    words.append(f"-d{max(1, round(seconds))}s")
    said = subprocess.run(
        [*words, "-s", str(script), url], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"(\d+) requests in ([\d.]+)(m?s)", said)
    if found is None or "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(f"wrk says: {said}")
    seconds_of = {"s": 1.0, "ms": 1e-3}[found[3]]
    return int(found[1]), float(found[2]) * seconds_of
