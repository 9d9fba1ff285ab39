"""Output files of a command: what cannot be written is found before the work, not after it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli import streams
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton._core import Tokenizer

__all__ = [
    "check_outputs",
    "command_line",
    "is_rank_file",
    "json_file_option",
    "markdown_option",
    "save_trained",
    "say_written",
    "write_output",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def json_file_option(function: _F) -> _F:
    """``--json F``."""
    return click.option(
        "--json", "json_file", metavar="F", help="Write JSON; - is standard output."
    )(function)


def markdown_option(function: _F) -> _F:
    """``--markdown F``."""
    return click.option("--markdown", metavar="F", help="Write Markdown; - is standard output.")(
        function
    )


def write_output(name: str | None, make: Callable[[], str]) -> None:
    """Write a text where an option says: to standard output, to a file whole, or not at all."""
    if name == "-":
        streams.write_bytes(make().encode())
    elif name is not None:
        from jeton._files import write_whole

        write_whole(name, make())


def say_written(*names: str | None) -> None:
    """Say which files there are now."""
    for name in names:
        if name not in (None, "-"):
            streams.say(f"wrote {name}")


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


def command_line() -> str:
    """The command line, for a card."""
    words = click.get_current_context().find_root().obj
    return shlex.join(["jeton", *words]) if words else ""


def is_rank_file(path: Path) -> bool:
    """Whether a name is that of a rank file, compressed or not."""
    return path.name.lower().removesuffix(".zst").endswith(".tiktoken")


def save_trained(tokenizer: Tokenizer, target: Path) -> tuple[Tokenizer, list[Path]]:
    """Save what was trained; return it as it will be loaded, and the files.

    A card's fingerprint is to match what is in the file. A rank file says less than the tokenizer
    has, so that this one is returned.
    """
    from jeton.formats import load_file, save_file

    written = save_file(tokenizer, target)
    if is_rank_file(written[0]):
        return tokenizer, written
    return load_file(written[0], name=tokenizer.name), written
