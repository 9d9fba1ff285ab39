"""``jeton chunk`` from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import Result

Run = Callable[..., Result]
TEXT = "# Tea\n\nGreen tea is mild. Black tea is strong.\n\n# Rum\n\nRum is made of cane sugar."
OPTIONS = ("--tokenizer", "jeton-general-32k", "--max-tokens")


@pytest.fixture
def notes() -> Path:
    path = Path("notes.md")
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_chunks_go_to_standard_output_as_json_lines(run: Run, notes: Path) -> None:
    result = run("chunk", str(notes), *OPTIONS, "14")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert "".join(row["text"] for row in rows) == TEXT
    assert all(row["n_tokens"] <= 14 for row in rows)
    assert all(TEXT[row["start"] : row["end"]] == row["text"] for row in rows)
    assert [row["chunk"] for row in rows] == list(range(len(rows)))


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_chunks_go_to_a_file(run: Run, notes: Path, name: str) -> None:
    result = run("chunk", str(notes), *OPTIONS, "20", "--context", "-o", name, "--json")
    summary = json.loads(result.stdout)
    rows = (
        pq.read_table(name).to_pylist()
        if name.endswith("parquet")
        else [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
    )
    assert len(rows) == summary["n_chunks"]
    assert sum(row["n_tokens"] for row in rows) == summary["n_tokens"]
    assert max(row["n_tokens"] for row in rows) == summary["largest_chunk_tokens"] <= 20
    assert "".join(row["text"] for row in rows) == TEXT


def test_evaluation_measures_references(run: Run, notes: Path) -> None:
    start = TEXT.index("Rum is")
    record = {"question": "What is rum made of?", "references": [[start, len(TEXT)]]}
    Path("q.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    words = ("chunk", str(notes), *OPTIONS, "20", "--evaluate", "q.jsonl", "-k", "1", "--json")
    measured = json.loads(run(*words).stdout)
    assert measured["whole_share"]["mean"] == 1.0
    assert measured["recall"]["mean"] == 1.0
    assert 0 < measured["precision"]["mean"] <= 1


def test_evaluation_reads_the_field_that_was_named(run: Run) -> None:
    Path("notes.jsonl").write_text(
        json.dumps({"text": "wrong", "body": {"en": TEXT}}) + "\n", encoding="utf-8"
    )
    start = TEXT.index("Rum is")
    record = {"question": "What is rum made of?", "references": [[start, len(TEXT)]]}
    Path("q.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    words = ("--field", "body.en", "--evaluate", "q.jsonl", "-k", "1", "--json")
    measured = json.loads(run("chunk", "notes.jsonl", *OPTIONS, "20", *words).stdout)
    assert measured["whole_share"]["mean"] == 1.0


def test_a_command_summarises_what_does_not_fit(run: Run) -> None:
    table = "| a | b |\n| - | - |\n" + "| one | two |\n" * 30
    Path("t.md").write_text(f"Text.\n\n{table}", encoding="utf-8")
    command = f"'{sys.executable}' -c 'print(\"thirty rows\", end=\"\")'"
    result = run("chunk", "t.md", *OPTIONS, "24", "--summarize", command)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["summary"] for row in rows] == [None, "thirty rows"]
    assert rows[1]["sent"] == "thirty rows"
    assert rows[1]["text"] == table
    failed = run("chunk", "t.md", *OPTIONS, "24", "--summarize", "no-such-program", "--json")
    assert failed.exit_code == 2
    assert "no-such-program" in failed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("0",), "max_tokens is 0; expected at least 1"),
        (("3", "--prefix", "a prefix of far too many words"), "nothing is left for the text"),
        (("8", "--overlap", "8"), "expected a smaller overlap"),
        (("8", "-o", "out.csv"), "expected a name that ends with .jsonl or .parquet"),
        (("8", "-o", "no-folder/out.jsonl"), "-o no-folder/out.jsonl: the folder no-folder does"),
        (("8", "--model2vec", "folder"), "--model2vec needs --by semantic"),
        (("8", "--template", "nothing"), "places for the text"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    result = run("chunk", "missing.md", *OPTIONS, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "missing.md" not in result.stderr


def test_bad_questions_are_named(run: Run, notes: Path) -> None:
    Path("q.jsonl").write_text('{"question": "?", "references": [[5, 999]]}\n', encoding="utf-8")
    result = run("chunk", str(notes), *OPTIONS, "20", "--evaluate", "q.jsonl")
    assert result.exit_code == 2
    assert "q.jsonl:1: the reference 5..999 lies outside" in result.stderr


def test_an_empty_document_has_no_chunk(run: Run) -> None:
    Path("empty.md").write_text("", encoding="utf-8")
    result = run("chunk", "empty.md", *OPTIONS, "20", "--json")
    assert json.loads(result.stdout)["n_chunks"] == 0
