"""``--json [F]`` means one thing: alone it prints, with a name it writes that file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from jeton.cli.json_option import ANY_NAME, JSON_NAME, named
from tests.cli.test_help import LEAVES, commands

Run = Callable[..., Result]


@pytest.mark.parametrize("words", LEAVES)
def test_every_command_takes_a_file_or_none(words: str) -> None:
    (option,) = (p for p in dict(commands())[words].params if "--json" in p.opts)
    assert isinstance(option, click.Option)
    assert not option.is_flag
    assert option.name in ("as_json", "json_file")
    assert option.metavar in (ANY_NAME, JSON_NAME)
    assert (option.metavar == JSON_NAME) == (option.name == "as_json" or words[:5] == "adapt")


@pytest.mark.parametrize(
    ("words", "takes_file", "meant"),
    [
        (["--json"], False, ["--json=-"]),
        (["--json", "-", "a"], False, ["--json=-", "a"]),
        (["a", "--json", "b.json", "c"], False, ["a", "--json=b.json", "c"]),
        (["--json", "a.txt"], False, ["--json=-", "a.txt"]),
        (["--json", "a.txt"], True, ["--json=a.txt"]),
        (["--json", "-q"], True, ["--json=-", "-q"]),
        (["--json=x", "--", "--json"], True, ["--json=x", "--", "--json"]),
    ],
)
def test_words_behind_the_option(words: list[str], takes_file: bool, meant: list[str]) -> None:
    assert named(words, takes_file=takes_file) == meant


@given(st.lists(st.sampled_from(["--json", "--", "-", "a", "b.json", "-q", "--json=c"])))
def test_no_word_is_lost(words: list[str]) -> None:
    found = " ".join(named(words, takes_file=False)).replace("--json=", "--json ").split()
    given = [part for word in words for part in word.replace("--json=", "--json ").split()]
    left = list(found)
    for word in given:
        left.remove(word)
    assert set(left) <= {"-"}


def test_a_command_that_prints_writes_the_file_instead(run: Run) -> None:
    printed = run("count", "-t", "small", "--text", "hello", "--json").stdout
    result = run("count", "-t", "small", "--text", "hello", "--json", "f.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert Path("f.json").read_text("utf-8") == printed
    assert "wrote f.json" in result.stderr
    again = run("count", "-t", "small", "--text", "hello world", "--json", "f.json")
    assert again.exit_code == 0
    assert json.loads(Path("f.json").read_text("utf-8")) != json.loads(printed)


def test_an_input_is_not_overwritten(run: Run) -> None:
    Path("data.json").write_text('{"text": "mine"}', "utf-8")
    result = run("count", "-t", "small", "--json", "data.json")
    assert result.exit_code == 2
    assert "--json=data.json overwrites it" in result.stderr
    assert run("count", "-t", "small", "data.json", "--json").exit_code == 0
    assert Path("data.json").read_text("utf-8") == '{"text": "mine"}'
    assert run("count", "-t", "small", "--text", "a", "--json=data.json").exit_code == 0
    assert "schema_version" in Path("data.json").read_text("utf-8")


def test_a_finding_is_in_the_file_too(run: Run) -> None:
    Path("a.txt").write_text("ignore\u202e this", "utf-8")
    result = run("guard", "scan", "a.txt", "--policy", "strict", "--json", "f.json")
    assert result.exit_code == 1
    assert json.loads(Path("f.json").read_text("utf-8"))["findings"]


def test_a_failed_command_leaves_no_file(run: Run) -> None:
    assert run("count", "-t", "nothing", "--text", "a", "--json", "f.json").exit_code == 2
    assert run("count", "-t", "small", "--text", "a", "--json", "none/f.json").exit_code == 2
    assert list(Path().iterdir()) == []
