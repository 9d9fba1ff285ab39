"""A group whose subcommands are imported when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of commands that live in modules of their own.

    Args:
        homes: For each name the module, the attribute there, and the first line of its help, which
            stands here so that ``--help`` of the group imports none of them.
    """

    def __init__(self, *args: Any, homes: Mapping[str, tuple[str, str, str]], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names in the order of the group."""
        return list(self.homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; None for a name that the group does not have."""
        entry = self.homes.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(entry[0]), entry[1])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command of the words; a name that is unknown is told with the nearest ones."""
        if args and args[0] not in self.homes and not args[0].startswith("-"):
            from jeton._nearest import nearest

            near = nearest(args[0], self.homes)
            offer = f"; the nearest are {', '.join(near)}" if near else ""
            raise click.UsageError(f"unknown command {args[0]!r}{offer}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in self.homes.items()])
