"""Rendering untrusted templates in child processes that can be killed.

A process serves many renderings, one at a time; idle ones wait for the next. A rendering that takes
too long costs its process: it is killed, and the next rendering starts a new one. The answer of a
child is checked like any other foreign input.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any, BinaryIO, cast

from jeton.chat.limits import TemplateLimits, stopped
from jeton.chat.text import Run
from jeton.chat.worker import encode_value, write_frame
from jeton.errors import TemplateError

_MAX_IDLE = 4
"""Processes that wait for work; further ones end with their rendering."""
_START_SECONDS = 30.0
"""How long a new process may take until it renders: a loaded machine imports slowly."""
_BYTES_PER_CHAR = 12
"""Bytes of a character in the JSON of an answer, at most (two escapes of six)."""
_RUNS_BYTES = 16 << 20
"""Room for the runs in an answer."""

_ENVIRONMENT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TZ")
_CPU_TIME_SIGNALS = (-24, -30)
"""SIGXCPU on Linux and on BSD: the limit of CPU time was met before ours."""
_START = "import sys; sys.path[:] = {path!r}; from jeton.chat.worker import main; main()"


class _Child:
    """One process and its pipes."""

    def __init__(self, limits: TemplateLimits) -> None:
        path = [str(Path(entry).absolute()) for entry in sys.path]
        self.limits = limits
        self.owner = os.getpid()
        self.timed_out = False
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Secrets of the environment are nothing for templates.
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        self.stdin: BinaryIO = cast("BinaryIO", self.process.stdin)
        self.stdout: BinaryIO = cast("BinaryIO", self.process.stdout)
        self.is_ready = False

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One question and its answer."""
        limits = self.limits
        if not self.is_ready:
            self._exchange({"memory_bytes": limits.memory_bytes}, _START_SECONDS)
            self.is_ready = True
        settings = {
            "seconds": limits.seconds,
            "max_chars": limits.output_chars,
            "memory": f"{limits.memory_bytes >> 20} MB",
        }
        return self._exchange({**request, **settings}, limits.seconds)

    def _exchange(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        timer = Timer(seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            write_frame(self.stdin, question)
            head = self.stdout.read(8)
            size = int.from_bytes(head, "big")
            if size > self.limits.output_chars * _BYTES_PER_CHAR + _RUNS_BYTES:
                raise _crashed("its answer is too long")
            answer = self.stdout.read(size)
        except OSError:
            raise self._ended() from None
        finally:
            timer.cancel()
        if self.timed_out or len(head) < 8 or len(answer) < size:
            raise self._ended()
        try:
            value = json.loads(answer)
        except (RecursionError, ValueError):
            value = None
        if not isinstance(value, dict):
            raise _crashed("its answer cannot be read")
        return value

    def _stop(self) -> None:
        self.timed_out = True
        with suppress(OSError):
            self.process.kill()

    def _ended(self) -> TemplateError:
        """Why the process ended before it answered."""
        limit = f"{self.limits.seconds:g} seconds"
        if self.timed_out and self.is_ready:
            return stopped("time", limit=limit)
        with suppress(OSError):
            self.process.kill()
        code = self.process.wait(timeout=_START_SECONDS)
        if not self.is_ready:
            return _crashed(f"the process does not start (status {code})")
        if code in _CPU_TIME_SIGNALS:
            return stopped("time", limit=limit)
        return _crashed(f"it ended with status {code}")

    def is_alive(self) -> bool:
        """True if it can be asked."""
        return self.process.poll() is None

    def end(self) -> None:
        """Kill the process and forget it. In a forked process only the pipes are ours to close."""
        if self.owner == os.getpid():
            with suppress(OSError):
                self.process.kill()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=_START_SECONDS)
        else:
            # Not our child: say that it is done with, so that nobody waits for it.
            self.process.returncode = 0
        for stream in (self.stdin, self.stdout):
            with suppress(OSError):
                stream.close()


_idle: list[_Child] = []
_lock = Lock()


def _after_fork() -> None:
    global _lock
    # Another thread may have held the lock; the children belong to the parent.
    _lock = Lock()
    for child in _idle:
        child.end()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _end_all() -> None:
    with _lock:
        while _idle:
            _idle.pop().end()


def _take(limits: TemplateLimits) -> _Child:
    with _lock:
        found = [child for child in _idle if child.limits == limits]
        if found:
            _idle.remove(found[-1])
    if not found:
        return _Child(limits)
    if found[-1].is_alive():
        return found[-1]
    found[-1].end()
    return _take(limits)


def _ask(request: dict[str, Any], limits: TemplateLimits) -> dict[str, Any]:
    child = _take(limits)
    try:
        answer = child.ask(request)
    except BaseException:
        child.end()
        raise
    with _lock:
        _idle.append(child)
        spare = _idle.pop(0) if len(_idle) > _MAX_IDLE else None
    if spare is not None:
        spare.end()
    if "error" in answer:
        raise _failure(answer)
    return answer


def _failure(answer: Mapping[str, Any]) -> TemplateError:
    message, reason, line = (str(answer.get(k)) for k in ("error", "reason", "line"))
    number = int(line) if line.isdecimal() and len(line) < 10 else None
    limit = answer.get("limit")
    if isinstance(limit, str):
        return stopped(reason, limit=limit, line=number)
    kind, said = (str(answer.get(key) or "") for key in ("kind", "said"))
    return TemplateError(message, reason=reason, line=number, kind=kind, said=said)


def render_in_child(
    source: str, variables: Mapping[str, Any], limits: TemplateLimits
) -> tuple[str, tuple[Run, ...]]:
    """The text of a template and its runs, as ``Compiled.render`` gives them.

    Raises:
        TemplateError: The template failed or refused, or its process died.
        TemplateLimitError: It took too much of something.
    """
    answer = _ask({"source": source, "variables": encode_value(dict(variables))}, limits)
    text, runs = answer.get("text"), answer.get("runs")
    if not isinstance(text, str) or not isinstance(runs, list):
        raise _crashed("its answer cannot be read")
    checked: list[Run] = []
    at = 0
    for run in runs:
        if not isinstance(run, list) or [type(number) for number in run] != [int, int, int]:
            raise _crashed("its answer cannot be read")
        start, end, flags = run
        if not (at <= start < end <= len(text) and 0 < flags < 8):
            raise _crashed("its answer cannot be read")
        checked.append((start, end, flags))
        at = end
    return text, tuple(checked)


def literals_in_child(source: str, limits: TemplateLimits) -> tuple[str, ...]:
    """The text that a template writes, and its string constants: ``Compiled.literals``."""
    found = _ask({"source": source}, limits).get("literals")
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise _crashed("its answer cannot be read")
    return tuple(found)


def _crashed(what: str) -> TemplateError:
    return TemplateError(
        f"the chat template broke its process: {what}\n"
        "hint: it nests too deeply, or attacks; do not use it",
        reason="crashed",
    )
