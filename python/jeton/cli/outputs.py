"""Output files of a command: what cannot be written is found before the work, not after it."""

from __future__ import annotations

from pathlib import Path

from jeton.errors import UsageError

__all__ = ["check_outputs"]


def check_outputs(
    *, html: str | None = None, json_file: str | None = None, markdown: str | None = None
) -> None:
    """Refuse outputs that cannot be.

    Raises:
        UsageError: Two outputs want standard output, a page wants it, or a name is a folder.
        FileNotFoundError: The folder of an output does not exist.
    """
    if json_file == "-" and markdown == "-":
        raise UsageError("--json - and --markdown - both want standard output; give one a file")
    if html == "-":
        raise UsageError("--html wants a file; a page on standard output helps nobody")
    for option, name in (("--html", html), ("--json", json_file), ("--markdown", markdown)):
        if name in (None, "-"):
            continue
        path = Path(str(name))
        if path.is_dir():
            raise UsageError(f"{option} {name} is a folder; expected a file")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{option} {name}: the folder {path.parent} does not exist")
