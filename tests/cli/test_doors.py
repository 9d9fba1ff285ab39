"""Commands in a hostile shell: closed files, odd names, foreign text, Ctrl-C, forks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jeton.cli import streams
from jeton.cli.app import app
from jeton.cli.hints import in_options

JETON = [sys.executable, "-m", "jeton"]
BUNDLED = "jeton-general-32k"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors of POSIX")


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = line.replace("jeton", " ".join(JETON), 1)
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "line",
    [
        "jeton --version >&-",
        f"jeton count -t {BUNDLED} - <&-",
        f"jeton count -t {BUNDLED} a.txt >&-",
    ],
)
def test_a_closed_standard_file_is_an_error(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    done = shell(line, tmp_path)
    assert done.returncode == 2
    assert "standard input or output is closed" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_are_files_and_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("hello world\n")
    (tmp_path / "x\x1b[31m\n::error::y.txt").write_text("a\n")
    (tmp_path / os.fsdecode(b"b\xff.txt")).write_text("b\n")
    done = CliRunner().invoke(app, ["count", "-t", BUNDLED, "."], input="one two three four\n")
    assert done.exit_code == 0
    rows = done.stdout.splitlines()
    assert [row.split(" ", 1)[1] for row in map(str.strip, rows)] == [
        "./-", "x\\x1b[31m\\n::error::y.txt", "total"
    ]  # fmt: skip
    assert "b\\udcff.txt was skipped: its name is not UTF-8" in done.stderr
    one = CliRunner().invoke(app, ["count", "-t", BUNDLED, "./-"], input="one two three four\n")
    assert one.stdout.strip() == rows[0].strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b]0;t\x07b", "a\\x1b]0;t\\x07b"),
        ("a\u202eb", "a\\u202eb"),
        ("f\n::error::x", "f\n\\::error::x"),
        ("  ::set-output name=a::b", "  \\::set-output name=a::b"),
        ("##vso[task.x]", "\\##vso[task.x]"),
        ("std::io and ## head", "std::io and ## head"),
    ],
)
def test_foreign_text_commands_neither_terminal_nor_log(text: str, shown: str) -> None:
    assert streams.shown(text) == shown
    assert "\n" not in streams.shown_name(text)


def test_hints_speak_the_language_of_the_shell() -> None:
    options = {"--pattern", "--field"}
    for said, wanted in (
        ("name one with field= (--field)", "name one with --field"),
        ("then --resume (resume=True) goes on", "then --resume goes on"),
        ("(documents='line', --documents line)", "(--documents line)"),
        ("pattern='gpt2' loads it", "--pattern gpt2 loads it"),
        ("ask for vocab_size=300", "ask for vocab_size=300"),
    ):
        assert in_options(said, options) == wanted


def test_help_without_the_word_error() -> None:
    bare = CliRunner().invoke(app, [])
    assert (bare.exit_code, bare.stderr) == (0, "")
    assert bare.stdout == CliRunner().invoke(app, ["--help"]).stdout
    group = CliRunner().invoke(app, ["adapt"])
    assert (group.exit_code, group.stderr) == (0, "")
    assert group.stdout == CliRunner().invoke(app, ["help", "adapt"]).stdout
    assert CliRunner().invoke(app, ["help", "count"]).stdout.startswith("Usage: ")
    for words in (["help", "adapt", "extend"], ["adapt", "extend", "--help"]):
        assert "jeton adapt extend" in CliRunner().invoke(app, words).stdout.splitlines()[0]
    assert CliRunner().invoke(app, ["help", "count", "more"]).exit_code == 2
    option = CliRunner().invoke(app, ["predict", "tokens", "--inputs", "a"])
    assert "INPUTS is an argument" in option.stderr


FORK = """
import jeton, os, threading, time
tok = jeton.load("jeton-general-32k")
work = lambda: list(tok.encode_batch(["a"] * 50).to_lists()), tok.encode_with_offsets("a").starts
threading.Thread(target=lambda: tok.encode_batch(["a"] * 50).ids, daemon=True).start()
time.sleep(0.004)
child = os.fork()
if not child:
    tok.encode_batch(["a"] * 50).ids
    os._exit(0)
for _ in range(200):
    if os.waitpid(child, os.WNOHANG)[0]:
        print("ended")
        break
    time.sleep(0.05)
else:
    os.kill(child, 9)
"""


def test_a_child_of_a_fork_in_the_first_array_goes_on() -> None:
    """From a fresh process: in a warm one NumPy is imported, and nothing can hang."""
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "ended\n", done.stderr
