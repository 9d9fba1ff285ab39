"""``jeton convert``: exit codes, what it says, what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import jeton
from tests.formats import small

Run = Callable[..., Result]


def test_an_exact_conversion_exits_with_0(run: Run) -> None:
    result = run("convert", "small", "small.json")
    assert result.exit_code == 0, result.output
    assert "tokenizer.json" in result.stdout
    assert "equal, and decoded texts too" in result.stdout
    assert jeton.load("./small.json").encode("hello world") == [259, 264]


def test_a_refusal_exits_with_1_and_lists_what_would_be_lost(run: Run) -> None:
    result = run("convert", "small", "claude.json")
    assert result.exit_code == 1
    assert "normalizer" in result.stdout
    assert "--lossy" in result.stderr
    assert not Path("claude.json").exists()
    value = json.loads(run("convert", "small", "claude.json", "--json").stdout)
    assert value["losses"][0]["component"] == "normalizer"
    assert value["files"] == []


def test_lossy_converts_and_says_what_is_lost(run: Run) -> None:
    result = run("convert", "small", "claude.json", "--lossy")
    assert result.exit_code == 0, result.output
    assert "normalizer" in result.stdout
    assert Path("claude.json").exists()
    value = json.loads(run("convert", "small", "claude.json", "--lossy", "--json").stdout)
    assert value["ids_equal"] is False
    assert value["files"] == ["claude.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("small", "x.model"), "cannot be written as sentencepiece"),
        (("small", "x.zip"), "cannot tell the format"),
        (("small", "x.json", "--to", "nonsense"), "unknown format 'nonsense'"),
        (("nobody", "x.json"), "unknown tokenizer 'nobody'"),
        (("./missing.json", "x.json"), "missing.json"),
    ],
)
def test_errors_exit_with_2(run: Run, words: tuple[str, ...], message: str) -> None:
    result = run("convert", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(Path().iterdir())


def test_to_names_the_format(run: Run) -> None:
    result = run("convert", "small", "folder", "--to", "jeton", "--json", "--samples")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert value["format"] == "jeton"
    assert value["fingerprint_preserved"] is True
    saved = json.loads(Path("folder/tokenizer.jeton.json").read_bytes())
    assert saved["samples"]


def test_what_to_say_when_loading_is_told(run: Run) -> None:
    result = run("convert", "small", "x.tiktoken")
    assert result.exit_code == 0, result.output
    assert "to load it, say pattern" in result.stdout
    assert "<|end|>=265" in result.stdout


def test_a_rank_file_with_options(run: Run) -> None:
    Path("mine.tiktoken").write_bytes(small.ranks())
    result = run(
        "convert", "./mine.tiktoken", "m.json", "--pattern", "gpt2", "--special-token", "<e>=265"
    )
    assert result.exit_code == 0, result.output
    assert jeton.load("./m.json").special_tokens == {"<e>": 265}


def test_info_says_which_formats_hold_it(run: Run) -> None:
    text = run("info", "small", "--formats").stdout
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    assert lines["as tiktoken"].endswith("exactly")
    assert "no: " in lines["as sentencepiece"]
    assert "with losses: normalizer" in lines["as claude"]
    value = json.loads(run("info", "small", "--formats", "--json").stdout)
    assert value["writable"]["gguf"]["as"] in ("exact", "lossy")
    assert json.loads(run("info", "small", "--json").stdout)["writable"] is None
