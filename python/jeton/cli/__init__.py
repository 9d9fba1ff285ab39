"""The command line: parse, call the library, show what it returned.

Data goes to standard output, words and progress to standard error; ``-`` is standard input.
Exit code 0: fine. 1: a finding. 2: an error. 130: interrupted. Each command has its own
file and is imported when it is used, so that ``jeton --help`` is quick.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Here, because a module that wants only ``jeton.cli`` should not pay for click.
    from jeton.cli.app import app
    from jeton.cli.interrupts import prompt_interrupts

    with prompt_interrupts():
        app.main(prog_name="jeton")
