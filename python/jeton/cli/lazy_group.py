"""A group whose subcommands are imported when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of commands that live in modules of their own.

    Args:
        package: Package of the modules. A command is the function of its name there, with ``_`` for
            ``-``.
        lines: First line of each command's help. It stands here so that ``--help`` of the group
            imports none of them; a test compares.
        modules: Modules of commands that share one.
    """

    def __init__(
        self,
        *args: Any,
        package: str,
        lines: Mapping[str, str],
        modules: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(*args, **extra)
        self.lines = lines
        self._package, self._modules = package, modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the group."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that the group does not have."""
        if cmd_name not in self.lines:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"{self._package}.{self._modules.get(cmd_name, name)}")
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the words; an error for an unknown name offers the nearest ones."""
        if args and args[0] not in self.lines and not args[0].startswith("-"):
            from jeton._nearest import nearest

            near = nearest(args[0], self.lines)
            offer = f"; the nearest are {', '.join(near)}" if near else ""
            raise click.UsageError(f"unknown command {args[0]!r}{offer}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))
