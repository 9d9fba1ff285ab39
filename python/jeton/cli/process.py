"""The process of a command: its standard files, pipes among them, and Ctrl-C at any time.

A signal interrupts a read that is waiting, but only if it waits already. One that arrives just
before leaves a note for Python, which cannot look at it until the core returns, and that may be
never where standard input stays silent. So a thread watches: a Ctrl-C that Python has not seen
for a moment is sent again, to the main thread, whose read it then interrupts.
"""

from __future__ import annotations

import io
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_PATIENCE_SECONDS = 0.2
"""Long enough that busy work looks for signals by itself (the core does every 50 ms), short enough
that nobody presses twice."""


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """Make sure that Ctrl-C becomes KeyboardInterrupt soon; for the main thread of a process.

    Where SIGINT is ignored (a background job of a shell without job control) it stays so.
    """
    if not hasattr(signal, "pthread_kill") or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    seen = threading.Event()
    main = threading.get_ident()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        seen.set()
        signal.default_int_handler(number, frame)

    def is_ours() -> bool:
        return signal.getsignal(signal.SIGINT) is on_interrupt

    def watch() -> None:
        # Every signal writes its number here; end of file: the work is done.
        while number := os.read(reader, 1):
            # A caller with a handler of its own (a run that writes its checkpoint first) looks for
            # signals by itself. A signal that came to it must not come to ours after.
            if number[0] != signal.SIGINT or not is_ours():
                continue
            while not seen.wait(_PATIENCE_SECONDS) and is_ours():
                signal.pthread_kill(main, signal.SIGINT)

    signal.signal(signal.SIGINT, on_interrupt)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="jeton-interrupts", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        seen.set()
        signal.set_wakeup_fd(previous)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(writer)
        watcher.join()
        os.close(reader)


def open_standard_files() -> None:
    """Fill the numbers of closed ones, so that using one is an error of the system (EBADF)."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # Opened the wrong way round: reading the first and writing the second fails.
            wrong_way = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            opened = os.open(os.devnull, wrong_way)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, _stream(number, is_input=name == "stdin"))


def _stream(number: int, *, is_input: bool) -> io.TextIOWrapper:
    raw = io.FileIO(number, "rb" if is_input else "wb", closefd=False)
    buffer = io.BufferedReader(raw) if is_input else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace")


WAIT_SECONDS = 2.0
"""Seconds that a pipe may stay unopened before a message."""

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
