"""The command line: parse, call the library, show what it returned.

Data goes to standard output, words and progress to standard error; ``-`` is standard input.
Exit code 0: fine. 1: a finding. 2: an error. 130: interrupted. Each command has its own
file and is imported when it is used, so that ``jeton --help`` is quick.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Nothing of click yet: a module that wants only ``jeton.cli`` should not pay for it, and its
    # import takes a while, in which Ctrl-C ends as at any time.
    import os
    import sys

    try:
        from jeton.cli.process import open_standard_files

        open_standard_files()
        from jeton.cli.app import app
        from jeton.cli.process import prompt_interrupts

        with prompt_interrupts():
            app.main(prog_name="jeton")
    except KeyboardInterrupt:
        if os.environ.get("JETON_DEBUG") == "1":
            raise
        sys.stderr.write("jeton: interrupted\n")
        sys.exit(130)
