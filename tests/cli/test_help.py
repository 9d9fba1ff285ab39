"""Every command explains itself, and the documentation knows every command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

from jeton.cli.app import COMMANDS, app
from jeton.cli.kinds import FiniteRange
from jeton.cli.lazy_group import LazyGroup

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its words, groups and the root included."""
    yield "", app
    for name in COMMANDS:
        command = app.get_command(click.Context(app), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for child in command.list_commands(context):
                subcommand = command.get_command(context, child)
                assert subcommand is not None
                yield f"{name} {child}", subcommand


LEAVES = [words for words, command in commands() if not isinstance(command, click.Group)]


@pytest.mark.parametrize("words", [words for words, _ in commands()])
def test_help_has_an_example(run: Callable[..., Result], words: str) -> None:
    result = run(*words.split(), "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert re.search(rf"^ +(\S.*\| )?jeton {words}", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("words", [words for words, _ in commands()])
def test_every_option_says_what_it_does(words: str) -> None:
    command = dict(commands())[words]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{words} {parameter.opts}"


@pytest.mark.parametrize("words", LEAVES)
def test_no_number_of_an_option_is_nan_or_endless(words: str) -> None:
    command = dict(commands())[words]
    for parameter in command.params:
        if parameter.type.name in ("float", "float range"):
            assert isinstance(parameter.type, FiniteRange), f"{words} {parameter.opts}"


@pytest.mark.parametrize("words", LEAVES)
def test_every_command_has_json(words: str) -> None:
    assert "--json" in options(dict(commands())[words])


@pytest.mark.parametrize("words", [words for words, _ in commands() if words])
def test_the_overview_says_what_the_command_says(words: str) -> None:
    command = dict(commands())[words]
    parent = dict(commands())[words.rpartition(" ")[0]]
    assert command.help is not None
    if isinstance(parent, LazyGroup):
        assert command.help.startswith(parent.lines[words.split()[-1]])


def options(command: click.Command) -> set[str]:
    """All its options as they are written, ``--no-`` forms included."""
    return {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}


def test_the_page_has_a_section_for_each_command_and_no_other() -> None:
    sections = re.findall(r"^## `jeton (.+)`$", DOCS.read_text(), re.MULTILINE)
    assert sorted(sections) == sorted(LEAVES)


def test_the_page_names_only_options_that_exist() -> None:
    known = set().union(*(options(command) for _, command in commands()))
    for option in re.findall(r"--[a-z][a-z-]+", DOCS.read_text()):
        assert option in known, option


def test_examples_of_help_and_page_name_only_options_of_their_command(
    run: Callable[..., Result],
) -> None:
    text = DOCS.read_text() + "".join(run(*w.split(), "--help").stdout for w, _ in commands())
    by_words = dict(commands())
    checked = 0
    for example in re.findall(r"\bjeton ([a-z][a-z-]*(?: [a-z]+)?)((?:[^|\n`]|\\\n)*)", text):
        words = example[0] if example[0] in by_words else example[0].split()[0]
        if words not in by_words or isinstance(by_words[words], click.Group):
            continue
        known = options(by_words[words])
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", example[1]):
            assert option in known, f"jeton {words} {option}"
            checked += 1
    assert checked > 20


def test_the_overview_lists_all_commands(run: Callable[..., Result]) -> None:
    result = run("--help")
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", result.stdout, re.MULTILINE)


def test_version(run: Callable[..., Result]) -> None:
    result = run("--version")
    assert re.fullmatch(r"jeton \d+\.\d+\.\d+\S*\n", result.stdout)
