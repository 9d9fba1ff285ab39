"""Named pipes among the arguments: opening one waits for the other end, which is said."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

WAIT_SECONDS = 2.0
"""So long a pipe may stay unopened before somebody is told."""

_MAX_DESCRIPTORS = 256
"""Descriptors that are looked at; a command opens few."""


@contextmanager
def told_of_pipes(words: Sequence[str], say: Callable[[str], None]) -> Iterator[None]:
    """Say after a while which of the arguments are pipes that still wait for their other end.

    Args:
        words: The command line.
        say: Writes a line to standard error.
    """
    pipes = {word: found for word in words if (found := _pipe_of(word)) is not None}
    if not pipes:
        yield
        return

    def tell() -> None:
        opened = _opened()
        for word, (path, identity) in pipes.items():
            if identity not in opened and _pipe_of(word) is not None:
                say(f"jeton: {path} is a pipe: waiting for its other end to be opened; Ctrl-C ends")

    timer = threading.Timer(WAIT_SECONDS, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _pipe_of(word: str) -> tuple[str, tuple[int, int]] | None:
    """The path of an argument (``F``, ``--option=F``) that is a named pipe, and its identity."""
    for path in (word, word.partition("=")[2]):
        try:
            state = Path(path).stat()
        except (OSError, ValueError):
            continue
        if stat.S_ISFIFO(state.st_mode):
            return path, (state.st_dev, state.st_ino)
    return None


def _opened() -> set[tuple[int, int]]:
    """The files that this process has open."""
    found = set()
    for descriptor in range(_MAX_DESCRIPTORS):
        try:
            state = os.fstat(descriptor)
        except OSError:
            continue
        found.add((state.st_dev, state.st_ino))
    return found
