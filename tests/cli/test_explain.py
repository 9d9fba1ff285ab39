"""``jeton explain`` and the digests of ``jeton info``: output, exit codes, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import jeton
from jeton.cli import streams
from jeton.formats import save_file
from tests.explaining import variants
from tests.formats import small

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def others(vocab_dir: Path) -> None:
    """Beside ``small``: the same as tokenizer.json, one without a token, one with a template."""
    save_file(small.tokenizer(), vocab_dir / "same.json")
    save_file(variants.ranks(merges=small.MERGES[:-1]), vocab_dir / "fewer.jeton.json")
    save_file(variants.with_template(small.tokenizer()), vocab_dir / "template.jeton.json")
    save_file(variants.without_byte(ord("q"), missing="fail"), vocab_dir / "noq.jeton.json")


def test_a_difference(run: Run) -> None:
    result = run("explain", "small", "fewer", "--cases", "200")
    assert result.exit_code == 1, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("a smallest text on which they differ (")
    assert "A  small" in lines
    assert "B  fewer" in lines
    facts = dict(line.strip().split("  ", 1) for line in lines if line.startswith(("comp", "caus")))
    assert "model" in facts["component"]
    assert facts["cause"]


def test_rows_of_tokens(run: Run) -> None:
    result = run("explain", "small", "fewer", "--text", "say world", "--cases", "0")
    assert result.exit_code == 1
    assert "  · world" not in result.stdout
    assert "  ·world\n  264\n" in result.stdout
    assert "  ·worl│d\n  263  │100\n" in result.stdout
    assert "the given texts; 1 text compared" in result.stdout


def test_rows_are_coloured_in_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "colour_wanted", lambda: True)
    result = run("explain", "small", "fewer", "--text", " world")
    assert "\x1b[38;5;16;48;5;" in result.stdout


def test_the_same_tokenizer(run: Run) -> None:
    result = run("explain", "small", "small")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("the same tokenizer: equal fingerprints\n")
    assert small.tokenizer().fingerprint in result.stdout


def test_no_difference_is_not_called_equality(run: Run) -> None:
    result = run("explain", "small", "same", "--cases", "100")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("no difference found in ")
    assert "equal" not in result.stdout
    assert jeton.probe_digest(small.tokenizer()) in result.stdout
    assert "\n  model" in result.stdout


def test_special_tokens_that_are_put_around(run: Run) -> None:
    result = run("explain", "same", "template", "--cases", "100")
    assert result.exit_code == 1, result.output
    assert "(the empty text)" in result.stdout
    assert "special tokens were added and allowed" in result.stdout
    assert "component" in result.stdout
    assert "template" in result.stdout


def test_a_text_that_one_cannot_encode(run: Run) -> None:
    result = run("explain", "small", "noq", "--text", "a quick one", "--cases", "0")
    assert result.exit_code == 1, result.output
    assert "\n  q\n" in result.stdout
    assert "  error: " in result.stdout


def test_json(run: Run) -> None:
    words = ["explain", "small", "fewer", "--cases", "50", "--seed", "3", "--json"]
    result = run(*words)
    assert result.exit_code == 1
    value = json.loads(result.stdout)
    assert value["schema_version"] == "jeton.explain/1"
    assert (value["verdict"], value["n_cases"], value["seed"]) == ("different", 50, 3)
    assert value["names"] == ["small", "fewer"]
    difference = value["difference"]
    a = jeton.load("small").encode(difference["text"])
    assert difference["a"]["ids"] == a
    assert bytes.fromhex("".join(difference["a"]["tokens"])).decode() == difference["text"]


def test_inputs_are_searched_first(run: Run) -> None:
    Path("x.jsonl").write_text('{"m": "nothing"}\n{"m": "the whole world"}\n')
    words = ["explain", "small", "fewer", "x.jsonl", "--field", "m", "--cases", "0", "--json"]
    value = json.loads(run(*words).stdout)
    assert value["difference"]["source"] == "texts"
    assert value["difference"]["text"] == " world"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["small"], "B"),
        (["small", "smal"], "'smal'"),
        (["small", "fewer", "a.txt", "--text", "a"], "--text, not both"),
        (["small", "fewer", "missing.txt"], "missing.txt"),
        (["small", "fewer", "--cases", "-1"], "--cases"),
        (["small", "fewer", "--by", "names"], "'names'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(run: Run, words: list[str], part: str) -> None:
    result = run("explain", *words)
    assert result.exit_code == 2
    assert result.stdout == ""
    errors = [line for line in result.stderr.splitlines() if not line.startswith("hint:")]
    assert len(errors) == 1
    assert part in errors[0]


class TestInfo:
    def test_both_digests(self, run: Run) -> None:
        tokenizer = small.tokenizer()
        text = run("info", "small").stdout
        value = json.loads(run("info", "small", "--json").stdout)
        for digest in (tokenizer.fingerprint, jeton.probe_digest(tokenizer)):
            assert digest in text
        assert value["fingerprint"] == tokenizer.fingerprint
        assert value["probe_digest"] == jeton.probe_digest(tokenizer)

    def test_the_canonical_form_goes_into_a_file(self, run: Run) -> None:
        result = run("info", "small", "--canonical", "-o", "x.jeton.json")
        assert result.exit_code == 0, result.output
        assert result.stdout == ""
        data = Path("x.jeton.json").read_bytes()
        assert data == small.tokenizer().to_canonical()
        assert run("info", "small", "--canonical").stdout_bytes == data
        assert run("info", "small", "--canonical", "-o", "-").stdout_bytes == data
        assert jeton.load("./x.jeton.json").fingerprint == small.tokenizer().fingerprint

    @pytest.mark.parametrize(
        ("words", "part"),
        [
            (["-o", "x"], "--canonical is missing"),
            (["--canonical", "--json"], "not both"),
            (["--canonical", "-o", "no/folder/x"], "no/folder/x"),
        ],
    )
    def test_bad_input(self, run: Run, words: list[str], part: str) -> None:
        result = run("info", "small", *words)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert part in result.stderr
