"""Options, each declared once: a parameter of a command, or a field of a set of options.

Names, types and kinds (flag, choice, repeatable) follow from the parameter::

    @command(sections={"Most used": "tokenizer_name", "Rounds": "n_rounds"})
    @click.argument("files", nargs=-1)
    def bench(
        *,
        files: tuple[str, ...],
        tokenizer_name: str = options.TOKENIZER,
        n_rounds: int = option("Rounds of each library.", "N", names="--rounds", default=5),
        strict: bool = options.STRICT,
    ) -> None: ...
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import click

from jeton.cli.json_option import ANY_NAME, json_output, named

_LAST = "Help"
_RANGE = re.compile(r"(?:[-\d.]+<=?)?x(?:[<>]=?[-\d.]+)?")
_SCALARS: Mapping[str, click.ParamType[Any]] = {
    "int": click.INT,
    "float": click.FLOAT,
    "str": click.STRING,
}
_SHOW_ALL = "jeton.show_all_options"


class _Written(click.Option):
    """An option that has old names too, which its help leaves out."""

    old: frozenset[str] = frozenset()

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return names and words."""
        names = self.opts
        self.opts = [name for name in names if name not in self.old]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


@dataclass(frozen=True, slots=True)
class Option:
    """Declaration of an option; `option` makes one."""

    help: str
    metavar: str | None
    names: str
    old_names: str
    type: click.ParamType[Any] | None
    default: Any
    more: Mapping[str, Any]

    def made(self, name: str, annotation: str) -> click.Option:
        """Return the option of a parameter as click knows it.

        Args:
            name: The parameter.
            annotation: Its type, as it is written.
        """
        facts = dict(self.more)
        kind, default = annotation.removesuffix(" | None"), self.default
        written = self.names or f"--{name.replace('_', '-')}"
        if kind == "bool" and "is_flag" not in facts:
            if kind == annotation:
                default = bool(default)
            if default is not False and "/" not in written:
                written += f"/--no-{written.removeprefix('--')}"
            if "/" not in written:
                facts["is_flag"] = True
        elif kind.startswith("tuple[") and "multiple" not in facts:
            facts["multiple"] = True
            kind = kind.removeprefix("tuple[").removesuffix(", ...]")
        if self.type is not None:
            facts["type"] = self.type
        elif kind.startswith("Literal["):
            facts["type"] = click.Choice(ast.literal_eval(kind.removeprefix("Literal")))
        elif kind in _SCALARS:
            facts["type"] = _SCALARS[kind]
        if default is not None or annotation == "bool | None":
            facts["default"] = default
            facts.setdefault("show_default", default is not False and default not in ("", ()))
        words = [name, *written.split(), *self.old_names.split()]
        made = _Written(words, help=self.help, metavar=self.metavar, **facts)
        made.old = frozenset(self.old_names.split())
        return made

    def value(self, annotation: str) -> Any:
        """Return the value without the option, as a command gets it."""
        if self.default is not None:
            return self.default
        return {"bool": False, "tuple": ()}.get(annotation.partition("[")[0])


def option(
    help: str,  # noqa: A002 - click's name
    metavar: str | None = None,
    *,
    names: str = "",
    old_names: str = "",
    type: click.ParamType[Any] | None = None,  # noqa: A002 - click's name
    default: Any = None,
    **more: Any,
) -> Any:
    """Declare an option, as the default of a parameter or as the value of a field.

    Args:
        help: Meaning, with unit.
        metavar: Stands for the value in the help.
        names: As they are written, with blanks between them; by default that of the parameter.
        old_names: Names that go on working, without a place in the help.
        type: Type of click where the annotation does not say enough: a range, a kind of value.
        default: Value without the option; the help shows it.
        more: Other arguments of ``click.Option``.
    """
    return Option(help, metavar, names, old_names, type, default, more)


class OptionSet:
    """Options that belong together, as fields; an instance holds what was given.

    A subclass names its heading in the help by ``title=``.
    """

    heading: ClassVar[str] = ""

    def __init_subclass__(cls, *, title: str = "") -> None:
        cls.heading = title

    def __init__(self, **given: Any) -> None:
        for name, default in self._defaults().items():
            setattr(self, name, given.pop(name, default))
        if given:
            raise TypeError(f"{type(self).__name__} has no option {next(iter(given))!r}")

    @classmethod
    def options(cls) -> dict[str, click.Option]:
        """Return the options by field, those of base classes first."""
        return {
            name: declared.made(name, kind) for name, (declared, kind) in cls._declared().items()
        }

    @classmethod
    def _declared(cls) -> dict[str, tuple[Option, str]]:
        return {
            name: (declared, kind.__annotations__[name])
            for kind in reversed(cls.__mro__)
            for name, declared in vars(kind).items()
            if isinstance(declared, Option)
        }

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Values without options, as a command gets them."""
        return {name: declared.value(kind) for name, (declared, kind) in cls._declared().items()}

    def values(self) -> dict[str, Any]:
        """Return the values by field."""
        return {name: getattr(self, name) for name in self._declared()}

    def first_given(self, *, but: Sequence[str] = ()) -> str | None:
        """Return how the first option with another value than its default is written.

        Args:
            but: Fields that do not count.
        """
        defaults = self._defaults()
        for name, made in self.options().items():
            if name not in but and getattr(self, name) != defaults[name]:
                return max(made.opts, key=len)
        return None


class DeclaredCommand(click.Command):
    """A command whose options stand under headings, and may reach it in sets."""

    sets: Mapping[str, type[OptionSet]]
    sections: Sequence[tuple[str, Sequence[click.Parameter]]]
    rare: frozenset[str]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each lone ``--json`` its value first."""
        json = next((p for p in self.params if "--json" in p.opts), None)
        if json is not None and not getattr(json, "is_flag", False):
            args = named(args, takes_file=json.metavar == ANY_NAME)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function with one value a set."""
        with json_output(ctx.params):
            for name, kind in self.sets.items():
                given = {field: ctx.params.pop(field) for field in kind.options()}
                ctx.params[name] = kind(**given)
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options a section; those under no heading come last."""
        if not self.sections:
            super().format_options(ctx, formatter)
            return
        rare = frozenset[str]() if ctx.meta.get(_SHOW_ALL) else self.rare
        shown = {id(parameter) for _, listed in self.sections for parameter in listed}
        others: list[click.Parameter] = [
            p for p in self.get_params(ctx) if isinstance(p, click.Option) and id(p) not in shown
        ]
        for title, listed in (*self.sections, (_LAST, others)):
            records = [_help_record(p, ctx) for p in listed if p.name not in rare]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if rare:
            formatter.write_paragraph()
            formatter.write_text(
                f"{len(rare)} more options are rarely needed: --help-all lists them. Each option "
                "may stand in a file that --config names."
            )


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value and not ctx.resilient_parsing:
        ctx.meta[_SHOW_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _read_config(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    if path is not None:
        from jeton.cli.config_files import read_config

        ctx.default_map = read_config(path, ctx)


HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit.",
)
CONFIG = click.Option(
    ["--config"],
    metavar="F",
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    help="TOML file with options by their names, such as price-model = ['gpt-4o']; those of the "
    "command line win.",
)


def command(
    name: str | None = None,
    *,
    sections: Mapping[str, str] | None = None,
    shown: str = "",
    group: click.Group | None = None,
) -> Callable[[Callable[..., Any]], DeclaredCommand]:
    """Make a command of a function whose parameters declare its options.

    A parameter without a default that is no argument is a set of options: its type says which.

    Args:
        name: By default that of the function.
        sections: Headings of the help. Behind each stand parameters with blanks between them; a
            single one begins a section that ends where another begins. A set with a title is a
            section of its own.
        shown: Options of the short help, with blanks between them; by default all. The others work
            too: ``--help-all`` lists them, and a file that ``--config`` names may hold any.
        group: Group that the command is added to.
    """

    def decorate(function: Callable[..., Any]) -> DeclaredCommand:
        arguments = {a.name for a in getattr(function, "__click_params__", ())}
        sets: dict[str, type[OptionSet]] = {}
        by_name: dict[str, click.Parameter] = {}
        titled: list[tuple[str, list[click.Parameter]]] = []
        for parameter in inspect.signature(function).parameters.values():
            if isinstance(parameter.default, Option):
                declared = parameter.default
                by_name[parameter.name] = declared.made(parameter.name, parameter.annotation)
            elif parameter.name not in arguments and parameter.kind is parameter.KEYWORD_ONLY:
                kind = eval(parameter.annotation, function.__globals__)
                sets[parameter.name] = kind
                made_here = kind.options()
                by_name.update(made_here)
                if kind.heading:
                    titled.append((kind.heading, list(made_here.values())))
        made: DeclaredCommand = click.command(name, cls=DeclaredCommand)(function)
        made.params += by_name.values()
        made.sets = sets
        made.rare = frozenset(by_name) - set(shown.split()) if shown else frozenset()
        if shown:
            made.params += [CONFIG, HELP_ALL]
        made.sections = _sections(by_name, sections or {}, titled)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def _sections(
    by_name: Mapping[str, click.Parameter],
    headings: Mapping[str, str],
    titled: Sequence[tuple[str, Sequence[click.Parameter]]],
) -> list[tuple[str, list[click.Parameter]]]:
    """Options under the headings of a command, then under those of its sets."""
    listed = {title: words.split() for title, words in headings.items()}
    starts = {words[0]: title for title, words in listed.items() if len(words) == 1}
    found = {title: [by_name[n] for n in words] for title, words in listed.items()}
    taken = {id(p) for ps in [*found.values(), *(ps for _, ps in titled)] for p in ps}
    title: str | None = None
    for name, parameter in by_name.items():
        title = starts.get(name, title)
        if title is not None and id(parameter) not in taken:
            found[title].append(parameter)
    chosen = {id(p) for ps in found.values() for p in ps}
    own = [(title, [p for p in ps if id(p) not in chosen]) for title, ps in titled]
    return [*found.items(), *own]


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


def is_given(parameter: str) -> bool:
    """True if the command line, or a file of settings, has it."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source in (
        click.core.ParameterSource.COMMANDLINE,
        click.core.ParameterSource.DEFAULT_MAP,
    )
