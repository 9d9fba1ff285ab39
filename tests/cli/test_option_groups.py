"""Options under headings: ``jeton audit --help`` and what the command gets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields

import click
import pytest
from click.testing import CliRunner, Result

from jeton.cli.app import app
from jeton.cli.audit import audit
from jeton.cli.audit_options import FIRST, GROUPS
from jeton.cli.option_groups import GroupedCommand, OptionGroup

Run = Callable[..., Result]


def _sections(help_text: str) -> dict[str, str]:
    parts = re.split(r"^(\S.*):$", help_text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_ten_most_used_options_come_first_and_each_option_once(run: Run) -> None:
    text = run("audit", "--help").stdout
    sections = _sections(text)
    assert next(iter(sections)) == "Most used"
    assert len(re.findall(r"^  -", sections["Most used"], re.MULTILINE)) == len(FIRST) == 10
    for parameter in audit.params:
        if isinstance(parameter, click.Option):
            name = max(parameter.opts, key=len)
            listed = re.findall(rf"^  (?:-\w, )?{name}(?=[ /]|$)", text, re.MULTILINE)
            assert len(listed) == 1, name


def test_headings_are_those_of_the_groups(run: Run) -> None:
    sections = _sections(run("audit", "--help").stdout)
    for group in GROUPS:
        left = [p for p in group.parameters() if p.name not in FIRST]
        assert (group.title in sections) == bool(left)
    assert {"Input", "Price", "Logs", "Gate", "Trace", "Training", "Output"} <= set(sections)


def test_ranges_of_numbers_are_not_in_the_help(run: Run) -> None:
    text = run("audit", "--help").stdout
    assert not re.search(r"x[<>]=?\d", text)
    assert "[default: 1.0]" in text


def test_settings_have_the_options_and_their_defaults() -> None:
    for group in GROUPS:
        own = {f.name: f for f in fields(group.settings) if not f.name.startswith("_")}
        parameters = {str(p.name): p for p in group.parameters()}
        assert set(own) == set(parameters), group.title
        for name, parameter in parameters.items():
            default = own[name].default
            assert default is not MISSING
            given = parameter.to_info_dict()["default"]
            assert given == default or (given is None and not default), name


def test_a_command_gets_one_value_a_group() -> None:
    @dataclass
    class Settings:
        loud: bool = False
        n: int = 1

    group = OptionGroup(
        "Voice",
        "voice",
        Settings,
        (click.option("--loud", is_flag=True, help="Loud."), click.option("--n", default=1)),
    )

    @click.command(cls=GroupedCommand, groups=(group,), first=("n",))
    @click.argument("word")
    def say(*, word: str, voice: Settings) -> None:
        click.echo(f"{word} {voice.loud} {voice.n}")

    result = CliRunner().invoke(say, ["a", "--loud", "--n", "3"])
    assert result.output == "a True 3\n"


@pytest.mark.parametrize(
    "name",
    [
        "audit",
        "bench",
        "compare",
        "count-pretokens",
        "doctor",
        "encode",
        "recommend",
        "sweep",
        "train",
    ],
)
def test_long_lists_of_options_stand_under_headings(name: str) -> None:
    text = CliRunner().invoke(app, [name, "--help"], terminal_width=80).output
    headings = re.findall(r"^([A-Z][\w ]+):$", text, re.MULTILINE)
    assert len(headings) >= 4
    assert headings[-1] == "Help"
    # No option was forgotten: those under no heading come last.
    assert text.split("\nHelp:\n")[1].strip() == "-h, --help  Show this message and exit."


def test_only_short_lists_have_no_headings() -> None:
    context = click.Context(app)
    flat = [
        name
        for name in app.list_commands(context)
        if type(command := app.get_command(context, name)) is click.Command
        and sum(isinstance(p, click.Option) for p in command.params) > 13
    ]
    assert flat == []
