"""``--json`` of ``jeton adapt``: alone it prints, with a name behind it it writes that file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from jeton._plain import strict_json
from jeton.cli import outputs
from jeton.errors import UsageError

_F = TypeVar("_F", bound=Callable[..., Any])
_OURS = '"schema_version": "jeton.'
"""Each file that these commands write has it near its start."""


def json_place_option(function: _F) -> _F:
    """``--json [F.json]``."""
    return click.option(
        "--json",
        "json_file",
        metavar="[F.json]",
        help="Write JSON to this file; without a name, to standard output instead of text.",
    )(function)


class JsonPlaceCommand(click.Command):
    """A command whose ``--json`` may stand alone, wherever it stands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Gives each lone ``--json`` its value first."""
        return super().parse_args(ctx, with_names(args))


def with_names(words: Sequence[str]) -> list[str]:
    """Returns the words with ``--json=NAME`` for each ``--json``; the name is ``-`` for none.

    A word behind it is its name only if it is ``-`` or ends in ``.json``: other words are inputs.

    Raises:
        UsageError: The name is that of a file that may be an input.
    """
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        if word == "--json":
            is_name = bool(rest) and (rest[0] == "-" or rest[0].lower().endswith(".json"))
            name = rest.pop(0) if is_name else "-"
            _check_own(name)
            word = f"--json={name}"
        found.append(word)
    return found


def check_json_place(json_file: str | None, output: str | None = None) -> None:
    """Refuses a place for JSON where it cannot be written, before the work.

    Raises:
        UsageError: The place is a folder, or the output of the command.
        OSError: Its folder does not exist.
    """
    outputs.check_outputs(json_file=json_file)
    if None in (json_file, output) or "-" in (json_file, output):
        return
    if Path(str(json_file)).resolve() == Path(str(output)).resolve():
        raise UsageError(f"--json and --output both name {output}\nhint: give one another name")


def write_json(json_file: str | None, value: Callable[[], dict[str, Any]]) -> bool:
    """Writes JSON where it is wanted; returns True if standard output now has it."""
    if json_file is None:
        return False
    outputs.write_output(json_file, lambda: strict_json(value(), indent=2) + "\n")
    outputs.say_written(json_file)
    return json_file == "-"


def _check_own(name: str) -> None:
    path = Path(name)
    if name == "-" or not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(200).decode("utf-8", "replace")
    if _OURS not in start:
        raise UsageError(
            f"--json {name} would overwrite a file that jeton adapt did not write\n"
            f"hint: --json={name} overwrites it; for JSON on standard output say --json last"
        )
