"""The handbook: chapters have their parts, commands run as printed, pictures are up to date."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from scripts.handbook_pictures import FOLDER, PICTURES
from tests.docs.pages import DOCS, examples

HANDBOOK = DOCS / "handbook"
CHAPTERS = sorted(HANDBOOK.glob("[0-9]*.md"))
ROW = re.compile(r"^\| [^|]+ \| `(jeton [^`]*)` \|$", re.MULTILINE)
COMMAND = re.compile(r"^jeton .*$", re.MULTILINE)
FENCE = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_its_parts(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    idea = text.split("![")[0].split("\n", 2)[2]
    assert len(re.findall(r"[.?!](?:\s|$)", idea)) >= 4
    assert f"](pictures/{chapter.stem}.svg)" in text
    assert "## The popular error" in text
    questions, answers = text.split("## Exercises")[1].split("<details>")
    assert len(re.findall(r"^\d\. ", questions, re.MULTILINE)) == 2
    assert "assert " in answers
    assert "Further:" in answers
    assert any(example.printed for example in examples(chapter))


def test_there_is_a_picture_for_each_chapter() -> None:
    assert [path.stem for path in CHAPTERS] == list(PICTURES)
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(PICTURES)


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_what_the_script_draws(name: str) -> None:
    drawn = PICTURES[name]()
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn
    sizes = [int(size) for size in re.findall(r"font:(\d+)px", drawn)]
    assert min(sizes) >= 12


def test_thirty_questions_each_with_code_and_the_usual_error() -> None:
    pages = [HANDBOOK / f"questions-{part}.md" for part in ("basics", "training", "production")]
    texts = [
        re.split(r"^## (\d+)\. ", path.read_text("utf-8"), flags=re.MULTILINE)[1:] for path in pages
    ]
    parts = [part for text in texts for part in text]
    assert [int(number) for number in parts[::2]] == list(range(1, 31))
    index = (HANDBOOK / "questions.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\d+\. \[.*\]\(questions-", index, re.MULTILINE)) == 30
    for part in parts[1::2]:
        assert "```python" in part
        assert "*The usual answer*" in part


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first-hour")
    result = CliRunner().invoke(app, ["demo", str(folder / "jeton-demo")])
    assert result.exit_code == 0, result.output
    return folder


def run(command: str) -> None:
    words = shlex.split(command)[1:]
    result = CliRunner().invoke(app, words)
    expected = {"explain": 1}.get(words[0], 0)
    assert result.exit_code == expected, f"{command}\n{result.output}"


ROWS = ROW.findall((HANDBOOK / "i-want-to.md").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
@pytest.mark.parametrize("command", ROWS)
def test_commands_run_as_printed(
    command: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    run(command)


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_the_examples_of_the_help_run(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)
    commands = re.findall(r"^ {2,}(jeton .*)$", CliRunner().invoke(app, ["--help"]).output, re.M)
    assert len(commands) >= 4
    for command in commands:
        if command != "jeton demo":
            run(command)


def test_thirty_tasks() -> None:
    assert len(ROWS) == 30
    assert len({tuple(command.split()[:2]) for command in ROWS}) >= 20


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
@pytest.mark.parametrize("page", ["legal-and-medical", "three-am"])
def test_commands_of_the_walk_throughs(
    page: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    text = (HANDBOOK / f"{page}.md").read_text(encoding="utf-8")
    commands = [c for block in FENCE.findall(text) for c in COMMAND.findall(block)]
    assert commands
    for command in commands:
        if command != "jeton demo":
            run(command)
