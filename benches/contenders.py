"""The libraries as processes: asked in turn, with time limits, and reported when they fail."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

__all__ = ["TIMEOUT_S", "Closing", "Contender", "Failed", "Missing", "one_core"]

ROOT = Path(__file__).resolve().parent.parent
OWN_ENVIRONMENT = {
    "JETON_CACHE_DIR": str(ROOT / "build" / "bench" / "cache"),
    "JETON_COMPILED_CACHE": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
}
"""Jeton reads vocabularies from their files, and nothing of the user's own cache. Modules have
bytecode, as pip makes it for users: loading would be compiling them otherwise. The linear algebra
of numpy, which every worker imports, begins no threads: they turn in circles for 25 ms and more on
cores that some libraries load with."""
TIMEOUT_S = 120.0
"""The slowest peer takes 4 s for the largest text that is not hostile."""


class Failed(Exception):
    """The library failed, or did not answer in time."""


class Missing(Exception):
    """The library cannot do this, and says why."""


def one_core() -> list[int]:
    """The core of the runs with one thread: the last that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return [max(os.sched_getaffinity(0))]


class Closing(ABC):
    """Closed at the end of a ``with``."""

    @abstractmethod
    def close(self) -> None:
        """End what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Contender(Closing):
    """One library in one process.

    Args:
        library: its name among ``benches.peers.ENCODERS``.
        cpus: the cores that it may use; None for all.
        environment: variables for this process alone.
    """

    def __init__(
        self,
        library: str,
        *,
        cpus: Sequence[int] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        settings = json.dumps({"library": library, "cpus": list(cpus or [])})
        self._errors = (ROOT / "build" / "bench" / f"errors-{os.getpid()}-{id(self)}.txt").resolve()
        self._errors.parent.mkdir(parents=True, exist_ok=True)
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benches.worker", settings],
                cwd=ROOT,
                env={**os.environ, **OWN_ENVIRONMENT, **(environment or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def ask(self, do: str, *, timeout_s: float = TIMEOUT_S, **request: Any) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises:
            Missing: the library cannot do this.
            Failed: it raised, crashed, or took longer than ``timeout_s``.
        """
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise Failed("no channel")
        try:
            process.stdin.write(json.dumps({"do": do, **request}).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            raise Failed(self._ended()) from None
        # One request, one line: nothing can be left in a buffer when the answer begins.
        ready, _, _ = select.select([process.stdout], [], [], timeout_s)
        if not ready:
            self.close()
            raise Failed(f"no result after {timeout_s:g} s")
        line = process.stdout.readline()
        if not line:
            raise Failed(self._ended())
        answer: dict[str, Any] = json.loads(line)
        if "unsupported" in answer:
            raise Missing(answer["unsupported"])
        if "failed" in answer:
            raise Failed(answer["failed"])
        return answer

    def _ended(self) -> str:
        code = self._process.wait(timeout=10)
        words = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        ended = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"{ended}: {words[-1]}" if words else ended

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.unlink(missing_ok=True)
