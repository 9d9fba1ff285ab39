"""``--json [F]``, the same in every command: alone it prints JSON, with a name it writes that file.

A command takes the place (``json_file``), or only learns that JSON is wanted (``as_json``): then
its standard output goes to the file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click

from jeton._files import written_whole
from jeton.errors import UsageError

ANY_NAME, JSON_NAME = "[F]", "[F.json]"
"""How the help writes the name: any word behind ``--json`` is it, or ``-`` and names in ``.json``
alone, where other words are inputs."""

_OURS = b'"schema_version"'
"""JSON that these commands write has it near its start."""


def named(words: Sequence[str], *, takes_file: bool) -> list[str]:
    """Return the words with ``--json=NAME`` for each ``--json``; the name is ``-`` for none.

    Args:
        words: The command line.
        takes_file: True if any word behind it is its name; else only ``-`` or one that ends in
            ``.json``.

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
            name = "-"
            if rest and (
                rest[0] == "-"
                or rest[0].lower().endswith(".json")
                or (takes_file and not rest[0].startswith("-"))
            ):
                name = rest.pop(0)
                if not takes_file:
                    _check_own(name)
            word = f"--json={name}"
        found.append(word)
    return found


@contextmanager
def json_output(params: dict[str, Any]) -> Iterator[None]:
    """Send what a command prints to the file of its ``--json``; the command learns only that."""
    name = params.get("as_json")
    if not isinstance(name, str):
        yield
        return
    params["as_json"] = True
    if name == "-":
        yield
        return
    from jeton.cli.outputs import check_outputs

    check_outputs(json_file=name)
    with written_whole(name) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=True)
        with redirect_stdout(text):
            yield
        text.flush()
        text.detach()
    click.echo(f"wrote {name}", err=True)


def _check_own(name: str) -> None:
    path = Path(name)
    if name == "-" or not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(400)
    if start and _OURS not in start:
        raise UsageError(
            f"--json {name} would overwrite a file that jeton did not write\n"
            f"hint: --json={name} overwrites it; for JSON on standard output say --json last"
        )
