"""Ctrl-C that arrives whatever the core is doing.

A signal interrupts a read that is waiting, but only if it waits already. One that arrives just
before leaves a note for Python, which cannot look at it until the core returns, and that may be
never where standard input stays silent. So a thread watches: a Ctrl-C that Python has not seen
for a moment is sent again, to the main thread, whose read it then interrupts.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
