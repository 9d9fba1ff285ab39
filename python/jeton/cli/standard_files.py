"""Standard input, output and error, also where a program was started without one of them.

Python leaves the object of a closed one out, and the next file that is opened would get its number:
words would go into somebody's data.
"""

from __future__ import annotations

import io
import os
import sys


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
