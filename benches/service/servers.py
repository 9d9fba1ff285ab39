"""Server processes of a benchmark: started, watched by the kernel's own figures, and stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "free_port", "server"]

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """A server that runs."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """Return processor time of all its threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def peak_bytes(self) -> int:
        """Return the most memory that it had."""
        return self._status("VmHWM")

    def memory_bytes(self) -> int:
        """Return the memory that it has."""
        return self._status("VmRSS")

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise LookupError(name)


def free_port() -> int:
    """Return a port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


@contextmanager
def server(
    words: list[str], *, port: int, cores: str | None = None, environment: Mapping[str, str] = {}
) -> Iterator[Process]:
    """Run ``python -m WORDS`` until it answers, and stop it at the end.

    ``$BENCH_NICENESS`` (below 0: as root) sets it apart from others on a machine that is shared.
    """
    niceness = os.environ.get("BENCH_NICENESS", "0")
    command = ["nice", "-n", niceness, sys.executable, "-m", *words]
    if cores is not None:
        command = ["taskset", "-c", cores, *command]
    with subprocess.Popen(command, env={**os.environ, **environment}) as running:
        try:
            deadline = time.monotonic() + 120
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > deadline or running.poll() is not None:
                        raise
                    time.sleep(0.05)
            yield Process(port, running.pid)
        finally:
            running.terminate()
            running.wait(60)
