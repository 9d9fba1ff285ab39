"""A command that summarises texts, as a function."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable

from jeton._plain import counted
from jeton.errors import UsageError

_SHOWN_CHARS = 300


def summarizer(command: str) -> Callable[[str, int], str]:
    """A function from a text and the tokens that its summary may have to the summary.

    Raises:
        UsageError: The command cannot be split into words, or is empty. The function raises it,
            too, where the command is not found, fails, or writes no UTF-8.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--summarize {command!r}: {error}\nhint: close the quotes") from None
    if not words:
        raise UsageError("--summarize is empty; expected a command that reads a text")

    def summarize(text: str, max_tokens: int) -> str:
        environment = {**os.environ, "JETON_MAX_TOKENS": str(max_tokens)}
        try:
            done = subprocess.run(
                words, input=text.encode(), capture_output=True, env=environment, check=False
            )
            if done.returncode == 0:
                return done.stdout.decode()
        except OSError as error:
            raise UsageError(
                f"--summarize {command!r}: {error.strerror or error}\n"
                "hint: name a program that is on the path"
            ) from None
        except UnicodeDecodeError as error:
            raise UsageError(f"--summarize {command!r} wrote no UTF-8: {error}") from None
        said = done.stderr.decode(errors="replace").strip()[-_SHOWN_CHARS:]
        raise UsageError(
            f"--summarize {command!r} ended with {done.returncode} on a block of "
            f"{counted(len(text), 'character')}{f': {said}' if said else ''}"
        )

    return summarize
