"""``jeton encode`` with the options that make rows for a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app

TOKENIZER = "jeton-general-32k"
END = "<|endoftext|>"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["encode", "--tokenizer", TOKENIZER, *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_windows(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("one two three four five six seven\neight\n", encoding="utf-8")
    options = ["--documents", "line", "--max-length", "4", "--windows", "--stride", "1"]
    written = [json.loads(line) for line in run(str(file), *options, "--json").splitlines()]
    tokenizer = jeton.load(TOKENIZER)
    expected = tokenizer.model_inputs(
        ["one two three four five six seven", "eight"],
        truncation=True,
        max_length=4,
        overflow=True,
        stride=1,
    )
    assert [row["ids"] for row in written] == [row.tolist() for row in expected]
    assert [row["document"] for row in written] == expected.overflow_to_sample.tolist()
    assert {len(row["ids"]) - sum(row["attention_mask"]) for row in written} == {0}
    plain = run(str(file), *options).splitlines()
    assert [[int(id) for id in line.split()] for line in plain] == [row["ids"] for row in written]


def test_padding_and_pairs() -> None:
    options = ["--pad", "--pad-token", END, "--padding-side", "left", "--max-length", "8"]
    (line,) = run("--text", "one", "--pair", "two", *options, "--json").splitlines()
    row = json.loads(line)
    tokenizer = jeton.load(TOKENIZER)
    ids = [*tokenizer.encode("one"), *tokenizer.encode("two")]
    assert row["ids"] == [tokenizer.special_tokens[END]] * (8 - len(ids)) + ids
    assert sum(row["attention_mask"]) == len(ids)
    assert row["token_type_ids"][-1] == 1


@pytest.mark.parametrize("options", [["--windows"], ["--pad"], ["--truncation-side", "left"]])
def test_max_length_is_needed(options: list[str]) -> None:
    result = CliRunner().invoke(
        app, ["encode", "--tokenizer", TOKENIZER, "--text", "one", *options]
    )
    assert result.exit_code != 0
    assert "--max-length is not given" in str(result.output) + str(result.exception)
