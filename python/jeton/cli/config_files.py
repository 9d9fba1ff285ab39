"""``--config F.toml``: the options of a command in a file, by their names."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from jeton._foreign import toml_of
from jeton._nearest import nearest
from jeton.errors import UsageError

_MAX_BYTES = 1 << 20


def read_config(path: str, ctx: click.Context) -> dict[str, Any]:
    """Read the options of a command from a TOML file, as values by parameter.

    A name is that of the option without its hyphens in front; underscores count as hyphens. A
    switch is true or false, an option that may be repeated takes a list.

    Raises:
        UsageError: The file is not TOML, or a name or value is not known.
        OSError: The file cannot be read.
    """
    file = Path(path)
    with file.open("rb") as stream:
        stored = stream.read(_MAX_BYTES + 1)
    if len(stored) > _MAX_BYTES:
        raise UsageError(f"{file}: expected a file of settings of at most {_MAX_BYTES:,} bytes")
    try:
        settings = toml_of(stored.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}\nhint: correct that place") from error
    by_name = {
        written.removeprefix("--"): parameter
        for parameter in ctx.command.params
        if isinstance(parameter, click.Option) and parameter.expose_value
        for written in parameter.opts
        if written.startswith("--")
    }
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name = key.replace("_", "-")
        parameter = by_name.get(name)
        if parameter is None:
            near = nearest(name, by_name)
            hint = f"\nhint: did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"{file}: {key!r} is no option of {ctx.command_path}{hint}")
        assert parameter.name is not None
        found[parameter.name] = _checked(file, key, value, parameter, ctx)
    return found


def _checked(file: Path, key: str, value: Any, parameter: click.Option, ctx: click.Context) -> Any:
    """A value of the file as the command line would give it."""
    if isinstance(value, bool) != bool(parameter.is_flag) or isinstance(value, dict):
        wanted = "true or false" if parameter.is_flag else "a value as on the command line"
        raise UsageError(f"{file}: {key} is {value!r}; expected {wanted}")
    if parameter.multiple:
        value = value if isinstance(value, list) else [value]
    elif isinstance(value, list):
        raise UsageError(f"{file}: {key} is a list; expected one value")
    try:
        return parameter.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise UsageError(f"{file}: {key}: {error.message}\nhint: correct that entry") from error
