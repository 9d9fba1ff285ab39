"""Options declared once: parameters and sets, headings, the short help and ``--config``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner, Result

from jeton.cli.app import app
from jeton.cli.audit import audit
from jeton.cli.declaring import OptionSet, command, is_given, option

Run = Callable[..., Result]
MOST_USED = 10


def _sections(help_text: str) -> dict[str, str]:
    parts = re.split(r"^(\S.*):$", help_text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_ten_most_used_options_come_first_and_each_option_once(run: Run) -> None:
    text = run("audit", "--help-all").stdout
    sections = _sections(text)
    assert next(iter(sections)) == "Most used"
    assert len(re.findall(r"^  -", sections["Most used"], re.MULTILINE)) == MOST_USED
    for parameter in audit.params:
        if isinstance(parameter, click.Option):
            name = max(parameter.opts, key=len)
            listed = re.findall(rf"^  (?:-\w, )?{name}(?=[ /]|$)", text, re.MULTILINE)
            assert len(listed) == 1, name


def test_the_short_help_has_at_most_thirty_options_and_says_where_the_others_are(run: Run) -> None:
    text = run("audit", "--help").stdout
    assert 20 <= len(re.findall(r"^  (?:-\w, )?--", text, re.MULTILINE)) <= 31
    assert "--help-all" in text
    assert "--trace-policy" not in text
    assert _sections(text)["Most used"] == _sections(run("audit", "--help-all").stdout)["Most used"]


def test_headings_are_those_of_the_sets(run: Run) -> None:
    sections = _sections(run("audit", "--help-all").stdout)
    assert {kind.heading for kind in audit.sets.values()} <= set(sections)
    assert {"Input", "Price", "Logs", "Gate", "Trace", "Training", "Output"} <= set(sections)


def test_ranges_of_numbers_are_not_in_the_help(run: Run) -> None:
    text = run("audit", "--help-all").stdout
    assert not re.search(r"x[<>]=?\d", text)
    assert "[default: 1.0]" in text


def test_sets_have_the_values_that_click_gives_without_options(run: Run) -> None:
    context = click.Context(audit)
    _, params = {}, {}
    for parameter in audit.params:
        if parameter.expose_value and isinstance(parameter, click.Option):
            value = parameter.process_value(context, parameter.consume_value(context, {})[0])
            params[parameter.name] = value
    for kind in audit.sets.values():
        for name, value in kind().values().items():
            assert value == params[name] or (not value and not isinstance(params[name], str)), name


class Voice(OptionSet, title="Voice"):
    """Options of the test."""

    loud: bool = option("Loud.")
    song: bool = option("Sing.", default=True)
    key: Literal["a", "b"] = option("Key.", default="a")
    words: tuple[str, ...] = option("Words.", "W", names="-w --word")
    echo: bool | None = option("Echo, or not.")


@command(sections={"Most used": "n"}, shown="n")
@click.argument("name")
def say(
    *, name: str, n: int = option("Times.", "N", default=1, old_names="--times"), voice: Voice
) -> None:
    """Say a name."""
    first = voice.first_given()
    words = ",".join(voice.words)
    click.echo(f"{name} {n} {voice.loud} {voice.song} {voice.key} {words} {voice.echo} {first}")
    assert is_given("n") == (n != 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x"], "x 1 False True a  None None"),
        (["x", "--loud", "--n", "3"], "x 3 True True a  None --loud"),
        (["x", "--no-song", "--key", "b"], "x 1 False False b  None --song"),
        (["x", "-w", "1", "--word", "2", "--no-echo"], "x 1 False True a 1,2 False --word"),
    ],
)
def test_parameters_and_sets_declare_options(words: list[str], said: str) -> None:
    result = CliRunner().invoke(say, words, catch_exceptions=False)
    assert result.output == said + "\n"


def test_old_names_work_and_the_help_is_silent_about_them(run: Run) -> None:
    assert CliRunner().invoke(say, ["x", "--times", "4"]).output.startswith("x 4 ")
    assert "--times" not in CliRunner().invoke(say, ["--help-all"]).output
    for words in ("route", "plan fleet", "predict memory"):
        text = run(*words.split(), "--help").stdout
        assert re.search(r"^  --html F", text, re.MULTILINE)
        assert not re.search(r"^  -o", text, re.MULTILINE)


def test_a_file_holds_options_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text("n = 4\nsong = false\nword = ['p', 'q']\nkey = 'b'\n", "utf-8")
    said = CliRunner().invoke(say, ["x", "--config", str(file)], catch_exceptions=False).output
    assert said == "x 4 False False b p,q None --song\n"
    more = ["x", "--config", str(file), "--n", "2", "--song", "-w", "r"]
    said = CliRunner().invoke(say, more, catch_exceptions=False).output
    assert said == "x 2 False True b r None --key\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("requests-per-dya = 4", "did you mean requests-per-day"),
        ("requests-per-day = 'many'", "requests-per-day: 'many' is not a valid float"),
        ("quality = 'yes'", "expected true or false"),
        ("gpu = ['l4']", "expected one value"),
        ("padding = 'round'", "padding: 'round' is not one of"),
        ("gpu = ", "not valid TOML"),
        ("inputs = ['x']", "is no option"),
    ],
)
def test_a_file_that_cannot_be_meant_is_one_line_and_exit_2(run: Run, text: str, said: str) -> None:
    Path("f.toml").write_text(text, "utf-8")
    result = run("audit", "x", "--config", "f.toml")
    assert result.exit_code == 2
    assert "f.toml" in result.stderr
    assert said in result.stderr


def test_an_audit_reads_its_settings_from_a_file(run: Run) -> None:
    Path("a.txt").write_text("the value of the statement\n" * 20, encoding="utf-8")
    Path("f.toml").write_text("tokenizer = 'small'\nquality = false\nseed = 7\n", "utf-8")
    result = run("audit", "a.txt", "--config", "f.toml", "--json")
    assert result.exit_code == 0, result.output
    assert '"seed": 7' in result.stdout


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
    listed = re.findall(r"^  (\S+)", text.split("\nHelp:\n")[1], re.MULTILINE)
    assert set(listed) - {"--config", "--help-all"} == {"-h,"}


def test_only_short_lists_have_no_headings() -> None:
    context = click.Context(app)
    flat = [
        name
        for name in app.list_commands(context)
        if (command := app.get_command(context, name)) is not None
        and not getattr(command, "sections", ())
        and sum(isinstance(p, click.Option) for p in command.params) > 13
    ]
    assert flat == []
