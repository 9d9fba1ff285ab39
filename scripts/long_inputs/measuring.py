"""One tokenizer on one text: every way of using it, in a process with limits of its own.

The process is a fork of one that has loaded the tokenizer, so that loading is neither timed nor
repeated. Linux only: the peak of resident memory is read from ``/proc``.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from typing import Any, NoReturn

from jeton import Tokenizer
from jeton.errors import JetonError
from scripts.long_inputs.texts import Text

__all__ = ["MEMORY_LIMIT_BYTES", "TIME_LIMIT_S", "Measured", "measure"]

TIME_LIMIT_S = 60.0
"""CPU time of one operation, which the kernel watches."""
MEMORY_LIMIT_BYTES = 8 * 2**30
"""Address space of the measuring process."""
_PATIENCE_S = 600.0
"""Wall-clock time of all operations together: for a process that waits instead of working."""
_SAMPLE_BYTES = 100_000
"""Bytes of a sample, from which the growth by normalization is estimated."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One use of a tokenizer on one text.

    Attributes:
        operation: ``encode``, ``count``, ``offsets``, ``decode``, or ``encode, special``.
        seconds: CPU seconds of one thread; None when it did not finish.
        peak_bytes: most resident memory above that before it; None when it did not finish.
        made_bytes: bytes of the text after normalization, where it becomes longer.
        refused: the error that the tokenizer answered with, which is an answer too.
        failed: why there is no result.
    """

    operation: str
    seconds: float | None = None
    peak_bytes: int | None = None
    made_bytes: int = 0
    refused: str | None = None
    failed: str | None = None


def measure(
    tokenizer: Tokenizer, text: Text, n_bytes: int, *, limit_s: float = TIME_LIMIT_S
) -> list[Measured]:
    """Measure every operation in a child; after one that fails the others are left out."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(tokenizer, text, n_bytes, limit_s, writing)
    os.close(writing)
    received, in_time = _read(reading, until=monotonic() + _PATIENCE_S)
    os.close(reading)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    # A line that says no more than its operation announces it; the next says what came of it.
    done: dict[str, Measured] = {}
    for line in received.decode().splitlines():
        measured = Measured(**json.loads(line))
        done[measured.operation] = measured
    if status != 0:
        operation = next(reversed(done), "start")
        done[operation] = Measured(operation, failed=_ending(status, limit_s))
    return list(done.values())


def _read(descriptor: int, *, until: float) -> tuple[bytes, bool]:
    received = b""
    while (left := until - monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            part = os.read(descriptor, 65_536)
            if not part:
                return received, True
            received += part
    return received, False


def _ending(status: int, limit_s: float) -> str:
    if not os.WIFSIGNALED(status):
        return "crashed"
    number = os.WTERMSIG(status)
    if number in (signal.SIGXCPU, signal.SIGKILL):
        return f"more than {limit_s:g} s"
    return f"signal {number}"


def _run_child(
    tokenizer: Tokenizer, text: Text, n_bytes: int, limit_s: float, descriptor: int
) -> NoReturn:
    """The child's side: never returns."""
    code = 1
    try:
        # No core files; memory is limited, and time anew before each operation.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        _run(tokenizer, text, n_bytes, limit_s, descriptor)
        code = 0
    finally:
        os._exit(code)


def _run(tokenizer: Tokenizer, kind: Text, n_bytes: int, limit_s: float, descriptor: int) -> None:
    def say(measured: Measured) -> None:
        os.write(descriptor, json.dumps(asdict(measured)).encode() + b"\n")

    def timed(operation: str, call: Callable[[], Any]) -> Any:
        say(Measured(operation))
        used = int(process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + math.ceil(limit_s) + 1, -1))
        before = _start_peak_bytes()
        start = process_time()
        try:
            result = call()
        except (JetonError, MemoryError) as error:
            seconds = process_time() - start
            refused = type(error).__name__
            peak_bytes = _status_bytes("VmHWM") - before
            say(Measured(operation, seconds, peak_bytes, made_bytes, refused=refused))
            return None
        seconds = process_time() - start
        say(Measured(operation, seconds, _status_bytes("VmHWM") - before, made_bytes))
        return result

    text = kind.build(n_bytes)
    made_bytes = _normalized_bytes(tokenizer, kind.build(min(n_bytes, _SAMPLE_BYTES)))
    made_bytes = made_bytes * n_bytes // min(n_bytes, _SAMPLE_BYTES)
    ids = timed("encode", lambda: tokenizer.encode_array(text))
    if ids is not None:
        timed("decode", partial(tokenizer.decode, ids))
    ids = None
    timed("count", lambda: tokenizer.count(text))
    timed("offsets", lambda: tokenizer.encode_with_offsets(text))
    if kind.allow_special:
        timed("encode, special", lambda: tokenizer.encode_array(text, allow_special="all"))
        timed("offsets, special", lambda: tokenizer.encode_with_offsets(text, allow_special="all"))


def _normalized_bytes(tokenizer: Tokenizer, text: str) -> int:
    try:
        return len(tokenizer.normalize(text).encode())
    except JetonError:
        return len(text.encode())


def _status_bytes(field: str) -> int:
    """One memory figure of this process."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024  # the kernel says kB and means 1024 bytes
    return 0


def _start_peak_bytes() -> int:
    """Forget the peak so far; return the resident bytes now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # 5: reset the peak
    return _status_bytes("VmRSS")
