"""Options in groups: each has a heading in ``--help``, and reaches the command as one value.

A command with many options has one file a group: the options as they are written, and a dataclass
that holds what was given and turns it into arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import click

OptionDecorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Decorator of ``click.option(...)``, or a function of `options` that applies one."""

_FIRST = "Most used"
_LAST = "Help"
_RANGE = re.compile(r"(?:[-\d.]+<=?)?x(?:[<>]=?[-\d.]+)?")


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options under one heading.

    Attributes:
        title: The heading.
        name: Parameter of the command's function that gets ``settings(...)``.
        settings: Dataclass with one field for each option; fields that begin with ``_`` are its
            own.
        options: The options in the order of the help.
    """

    title: str
    name: str
    settings: type[Any]
    options: tuple[OptionDecorator, ...]

    def parameters(self) -> list[click.Parameter]:
        """Return the options as click knows them."""

        def holder() -> None:
            """Only holds the options."""

        decorated: Callable[..., Any] = holder
        for option in reversed(self.options):
            decorated = option(decorated)
        found: list[click.Parameter] = getattr(decorated, "__click_params__", [])
        return list(reversed(found))

    def take(self, given: dict[str, Any]) -> Any:
        """Move the options of this group out of ``given`` into its settings."""
        names = [item.name for item in fields(self.settings) if not item.name.startswith("_")]
        return self.settings(**{name: given.pop(name) for name in names})


class GroupedCommand(click.Command):
    """A command whose options come in groups.

    Args:
        groups: In the order of the help.
        first: Names of the parameters that the help shows before all groups.
    """

    def __init__(
        self,
        *args: Any,
        groups: Sequence[OptionGroup],
        first: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._groups = tuple(groups)
        by_group = [(group.title, group.parameters()) for group in groups]
        self.params.extend(parameter for _, found in by_group for parameter in found)
        of_name = {str(parameter.name): parameter for parameter in self.params}
        ahead = [of_name[name] for name in first]
        self._sections: list[tuple[str, list[click.Parameter]]] = [
            (_FIRST, ahead),
            *((title, [p for p in found if p not in ahead]) for title, found in by_group),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function with one value a group."""
        for group in self._groups:
            ctx.params[group.name] = group.take(ctx.params)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options a group."""
        _write_sections(self, ctx, formatter, self._sections)


class SectionedCommand(click.Command):
    """A command whose options reach it one by one, and stand under headings in its help.

    Args:
        sections: Headings with the names of the parameters under each, in the order of the help.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        of_name = {str(parameter.name): parameter for parameter in self.params}
        self._sections = [
            (title, [of_name[name] for name in names]) for title, names in sections.items()
        ]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options a section."""
        _write_sections(self, ctx, formatter, self._sections)


def _write_sections(
    command: click.Command,
    ctx: click.Context,
    formatter: click.HelpFormatter,
    sections: Sequence[tuple[str, Sequence[click.Parameter]]],
) -> None:
    """Options under their headings; those under none come last."""
    shown = {id(parameter) for _, found in sections for parameter in found}
    others: list[click.Parameter] = [
        p for p in command.get_params(ctx) if isinstance(p, click.Option) and id(p) not in shown
    ]
    for title, found in (*sections, (_LAST, others)):
        records = [_help_record(parameter, ctx) for parameter in found]
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _help_record(parameter: click.Parameter, ctx: click.Context) -> tuple[str, str]:
    """Names and words of an option; none of ours is hidden."""
    record = parameter.get_help_record(ctx)
    if record is None:
        raise ValueError(f"the option {parameter.name} has no help")
    return record[0], _without_range(record[1])


def _without_range(words: str) -> str:
    """Drop the range of a number that click adds; an error says it to whoever leaves it."""
    text, bracket, added = words.rpartition("  [")
    if not bracket or not added.endswith("]"):
        return words
    kept = [part for part in added[:-1].split("; ") if not _RANGE.fullmatch(part)]
    return f"{text}  [{'; '.join(kept)}]" if kept else text
