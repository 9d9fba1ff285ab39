"""Bad input: one clear line, exit code 2, no traceback, no half-written output."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from jeton.formats import save_file
from tests.formats import small

Run = Callable[..., Result]


def check(result: Result, *parts: str) -> str:
    """The one line of an error, which has these parts in it."""
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("hint:")]
    errors = [line for line in lines if line.startswith("jeton: error: ")]
    assert len(errors) == 1, result.stderr
    assert lines == errors
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr
    return errors[0]


@pytest.mark.parametrize("command", ["encode", "decode", "show", "count"])
def test_a_missing_file(run: Run, command: str) -> None:
    message = check(run(command, "-t", "small", "nothing.txt"), "nothing.txt")
    assert "no such file" in message or "there is no file" in message


def test_a_missing_file_for_an_audit(run: Run) -> None:
    check(run("audit", "nothing.txt", "-t", "small"), "nothing.txt")


def test_an_empty_corpus(run: Run) -> None:
    Path("empty.txt").write_text("")
    check(run("audit", "empty.txt", "-t", "small"), "no text", "hint:")


@pytest.mark.parametrize("command", ["encode", "show", "count", "audit"])
def test_a_line_of_jsonl_that_does_not_parse(run: Run, command: str) -> None:
    Path("x.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n{"text": \n')
    check(run(command, "x.jsonl", "-t", "small"), "x.jsonl", "line 3")


def test_a_field_that_is_not_there(run: Run) -> None:
    Path("x.jsonl").write_text('{"txt": "a"}\n')
    check(run("count", "x.jsonl", "-t", "small"), "x.jsonl", "line 1", "text")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["count", "-t", "smal", "a.txt"], ["'smal'", "small", "jeton vocab list"]),
        (["info", "cl100_base"], ["'cl100_base'", "cl100k_base"]),
        (["info", "llama3"], ["'llama3'", "jeton vocab add FILE --name llama3"]),
        (["vocab", "fetch", "o200k_bas"], ["o200k_base"]),
        (["audit", "a.txt", "-t", "smal"], ["'smal'", "small"]),
        (["audit", "a.txt", "-t", "small", "--model", "llama-3-8"], ["llama-3-8b", "catalog"]),
        (["audit", "a.txt", "-t", "small", "--gpu", "h10"], ["H100-SXM", "jeton catalog gpus"]),
        (["audit", "a.txt", "-t", "small", "--price-model", "gpt-4oo"], ["gpt-4o", "catalog"]),
        (["cuont", "a.txt"], ["unknown command 'cuont'", "count", "hint: jeton --help"]),
        (
            ["gate", "a"],
            ["unknown command 'gate'", "hint: jeton audit LOG --against", "--baseline"],
        ),
        (["ledger", "a"], ["unknown command 'ledger'", "jeton audit LOG", "jeton.ledger(LOG)"]),
        (["count", "a.txt"], ["--tokenizer", "hint: jeton count --help"]),
        (["count", "-t", "small", "--threads", "0", "a.txt"], ["--threads", "hint:"]),
        (["count", "-t", "small", "--documents", "word", "a.txt"], ["'word'", "hint:"]),
        (["count", "-t", "small", "--text", "a", "a.txt"], ["--text, not both"]),
        (["encode", "-t", "small", "--text", "a", "a.txt"], ["--text, not both"]),
        (["audit", "a.txt"], ["--tokenizer"]),
        (["audit", "a.txt", "-t", "small", "--json", "-", "--markdown", "-"], ["both want"]),
        (["audit", "a.txt", "-t", "small", "--html", "no/folder/x.html"], ["no/folder"]),
        (["encode", "-t", "small", "--allow-special", "<|x|>", "a.txt"], ["<|x|>"]),
        (["vocab", "add", "a.txt"], ["a.txt", "not a tokenizer", "hint:"]),
        (["info", "./a.txt", "--special-token", "x"], ["--special-token", "TEXT=ID"]),
        (["train", "a.txt", "--vocab-size", "300", "-o", "x.bin"], ["x.bin", "hint:"]),
        (["train", "a.txt", "--vocab-size", "many", "-o", "x"], ["'many'", "hint:"]),
        (["train", "a.txt", "--vocab-size", "300", "-o", "no/folder/x.json"], ["no/folder"]),
    ],
    ids=lambda value: " ".join(value[:6]) if isinstance(value, list) else None,
)
def test_what_was_wrong_and_what_to_do(run: Run, words: list[str], parts: list[str]) -> None:
    Path("a.txt").write_text("hello world")
    before = set(Path().iterdir())
    check(run(*words), *parts)
    assert set(Path().iterdir()) == before


def test_an_empty_corpus_to_train_on(run: Run) -> None:
    Path("empty.txt").write_text("")
    check(run("train", "empty.txt", "--vocab-size", "300", "-o", "x"), "no text")
    assert not Path("x").exists()


class TestVocabularies:
    @pytest.mark.parametrize("suffix", ["json", "jeton.json", "jeton.json.zst", "json.zst"])
    def test_cut_short(self, run: Run, suffix: str) -> None:
        path = Path(f"x.{suffix}")
        save_file(small.tokenizer(), path)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) * 2 // 3])
        check(run("count", "-t", str(path), "--text", "a"), path.name)

    def test_a_rank_twice(self, run: Run) -> None:
        lines = small.rank_lines()
        lines[100] = lines[100].split()[0] + " 99"
        Path("x.tiktoken").write_text("\n".join(lines) + "\n")
        words = ["count", "-t", "x.tiktoken", "--pattern", "gpt2", "--text", "a"]
        check(run(*words), "x.tiktoken", "line 101", "99")

    def test_a_token_twice(self, run: Run) -> None:
        lines = small.rank_lines()
        lines[100] = lines[99].split()[0] + " 100"
        Path("x.tiktoken").write_text("\n".join(lines) + "\n")
        words = ["count", "-t", "x.tiktoken", "--pattern", "gpt2", "--text", "a"]
        check(run(*words), "x.tiktoken", "line 101")

    def test_a_line_that_is_no_rank(self, run: Run) -> None:
        lines = small.rank_lines()
        lines[7] = "!!! what"
        Path("x.tiktoken").write_text("\n".join(lines) + "\n")
        words = ["count", "-t", "x.tiktoken", "--pattern", "gpt2", "--text", "a"]
        check(run(*words), "x.tiktoken", "line 8")

    def test_a_pattern_that_cannot_be_compiled(self, run: Run) -> None:
        Path("x.tiktoken").write_bytes(small.ranks())
        check(run("count", "-t", "x.tiktoken", "--pattern", "(a", "--text", "a"), "(a")


class TestIds:
    @pytest.mark.parametrize(
        ("ids", "parts"),
        [
            ("1 2 99999", ["id 99999 is out of range", "0 to 265", "line 1"]),
            ("1\n-1", ["id -1 is out of range", "line 2"]),
            ("99999999999999999999999", ["out of range"]),
            ("1 two 3", ["'two' is not a token id", "line 1"]),
            ("1\n[1, 2", ["line 2", "not valid JSON"]),
            ('[1, "2"]', ["line 1", "list of whole numbers"]),
            ('{"tokens": [1]}', ["line 1", '"ids"']),
            ("[1.0]", ["line 1", "list of whole numbers"]),
        ],
    )
    def test_ids_that_cannot_be_decoded(self, run: Run, ids: str, parts: list[str]) -> None:
        Path("ids").write_text(ids)
        check(run("decode", "-t", "small", "ids"), "ids", *parts)

    def test_bytes_that_are_no_text(self, run: Run) -> None:
        Path("ids").write_text("195")
        tokenizer = small.tokenizer()
        assert tokenizer.id_to_bytes(195) == b"\xc3"
        check(run("decode", "-t", "small", "ids", "--errors", "strict"), "ids, line 1")
        assert run("decode", "-t", "small", "ids").stdout_bytes == b"\xc3"


class TestText:
    def test_bytes_that_are_not_utf8_are_replaced_and_said(self, run: Run) -> None:
        Path("x.txt").write_bytes(b"hello \xff world")
        result = run("encode", "-t", "small", "x.txt")
        assert result.exit_code == 0
        assert "x.txt" in result.stderr
        assert "--strict" in result.stderr
        assert run("decode", "-t", "small", "-", input=result.stdout).stdout == "hello � world"

    @pytest.mark.parametrize("command", ["encode", "count", "show", "audit"])
    def test_strict_makes_them_an_error(self, run: Run, command: str) -> None:
        Path("x.txt").write_bytes(b"hello \xff world")
        check(run(command, "-t", "small", "x.txt", "--strict"), "x.txt")

    def test_lone_surrogates_in_jsonl(self, run: Run) -> None:
        Path("x.jsonl").write_text('{"text": "a\\ud800b"}\n')
        strict = run("count", "-t", "small", "x.jsonl", "--strict")
        check(strict, "x.jsonl")
        assert run("count", "-t", "small", "x.jsonl").exit_code == 0

    @pytest.mark.parametrize("command", ["encode", "count", "show"])
    def test_lone_surrogates_in_an_argument(self, run: Run, command: str) -> None:
        check(run(command, "-t", "small", "--text", "a\udcffb"), "--text", "offset 1")


class TestFetch:
    def test_no_network(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise urllib.error.URLError("network is unreachable")

        monkeypatch.setattr("urllib.request.urlopen", fail)
        words = run("vocab", "fetch", "cl100k_base")
        check(words, "cannot download cl100k_base from https://", "network is unreachable")

    def test_no_public_address(self, run: Run) -> None:
        check(run("vocab", "fetch", "llama3"), "jeton vocab add FILE --name llama3")


class TestJsonOutput:
    def test_an_error_writes_no_json(self, run: Run) -> None:
        result = run("count", "-t", "small", "nothing.txt", "--json")
        assert result.stdout == ""

    def test_a_file_that_exists_survives_an_error(self, run: Run) -> None:
        Path("x.jsonl").write_text('{"text": "a"}\nnonsense\n')
        Path("report.json").write_text(json.dumps({"old": True}))
        check(run("audit", "x.jsonl", "-t", "small", "--json", "report.json"), "line 2")
        assert json.loads(Path("report.json").read_text()) == {"old": True}
        assert sorted(p.name for p in Path().iterdir()) == ["report.json", "x.jsonl"]


def test_an_internal_error_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("jeton.registry.load", fail)
    check(run("info", "small"), "internal error: ZeroDivisionError: oh", "JETON_DEBUG=1")
    monkeypatch.setenv("JETON_DEBUG", "1")
    assert isinstance(run("info", "small").exception, ZeroDivisionError)
