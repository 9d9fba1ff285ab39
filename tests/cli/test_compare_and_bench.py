"""``jeton compare``, ``jeton bench`` and several tokenizers in ``jeton show``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import jeton
from jeton._core import from_tiktoken
from jeton.cli.token_rows import Token, aligned_lines
from jeton.formats import save_file
from tests.formats import small

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def other(vocab_dir: Path) -> None:
    """A second tokenizer by the name ``bytes``: no merges at all."""
    lines = "\n".join(small.rank_lines()[:256]) + "\n"
    tokenizer = from_tiktoken(lines.encode(), pattern=small.PATTERN, name="bytes")
    save_file(tokenizer, vocab_dir / "bytes.jeton.json")


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr
    return result.stdout


class TestCompare:
    def test_the_table_has_both(self, run: Run) -> None:
        Path("notes.txt").write_text("hello world\n" * 3, encoding="utf-8")
        said = good(run("compare", "notes.txt", "-t", "small", "-t", "bytes", "--no-speed"))
        assert "> small" in said
        assert "bytes" in said
        (line,) = [line for line in said.splitlines() if line.startswith(" Tokens   ")]
        assert line.split() == ["Tokens", "9", "★", "36"]
        assert "Bytes a second" not in said

    def test_json_on_standard_output_is_alone_there(self, run: Run) -> None:
        words = ["compare", "-t", "small", "-t", "bytes", "--text", "hello", "--json", "-"]
        result = run(*words, "--no-quality")
        data = json.loads(good(result))
        assert [item["n_tokens"] for item in data["tokenizers"]] == [1, 5]
        assert data["tokenizers"][1]["tokens_change"] == 4.0

    def test_files_are_written(self, run: Run) -> None:
        words = ["compare", "-t", "small", "--text", "hello world", "--no-quality", "--no-speed"]
        result = run(*words, "-q", "--html", "c.html", "--markdown", "c.md", "--json", "c.json")
        assert good(result) == ""
        assert "Token" in Path("c.html").read_text(encoding="utf-8")
        assert Path("c.md").read_text(encoding="utf-8").startswith("# Tokenizers side by side")
        assert json.loads(Path("c.json").read_text(encoding="utf-8"))["schema_version"]

    def test_domains_by_field(self, run: Run) -> None:
        rows = [{"text": "hello", "kind": "a"}, {"text": "world", "kind": "b"}]
        Path("x.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        words = ["compare", "x.jsonl", "-t", "small", "--domain-field", "kind", "--json", "-"]
        data = json.loads(good(run(*words, "--no-quality", "--no-speed")))
        assert [row["name"] for row in data["groups"][0]["rows"]] == ["a", "b"]

    @pytest.mark.parametrize(
        ("words", "complaint"),
        [
            (["x.txt", "-t", "small", "--html", "-"], "--html wants a file"),
            (["x.txt", "-t", "small", "--json", "no/such"], "does not exist"),
            (["x.txt", "-t", "small", "--text", "x"], "not both"),
            (["x.txt", "-t", "smal"], "small"),
            (["x.txt"], "--tokenizer"),
            (["nothing.txt", "-t", "small"], "there is no file"),
            (["x.txt", "-t", "small", "-t", "small"], "given twice"),
        ],
    )
    def test_bad_input(self, run: Run, words: list[str], complaint: str) -> None:
        Path("x.txt").write_text("x", encoding="utf-8")
        result = run("compare", *words)
        assert result.exit_code == 2
        assert complaint in result.stderr


class TestBench:
    def test_alone_it_gives_a_hint(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("jeton.benchmarking.run._is_installed", lambda name: name == "jeton")
        result = run("bench", "-t", "small", "--text", "hello world", "--rounds", "1")
        said = good(result)
        assert said.splitlines()[1].split()[:3] == ["jeton", jeton.__version__, "equal"]
        assert "hint: no other library could be timed; pip install" in result.stderr

    def test_json_and_markdown(self, run: Run) -> None:
        words = ["bench", "-t", "small", "--text", "hello", "--rounds", "1", "--library", "jeton"]
        data = json.loads(good(run(*words, "--json", "-", "--markdown", "b.md")))
        assert [item["name"] for item in data["libraries"]] == ["jeton"]
        assert data["libraries"][0]["n_different_texts"] == 0
        assert "| jeton |" in Path("b.md").read_text(encoding="utf-8")

    def test_unknown_library_names_the_known(self, run: Run) -> None:
        result = run("bench", "-t", "small", "--text", "hello", "--library", "tiktokn")
        assert result.exit_code == 2
        assert "'tiktokn' is not known; expected one of jeton, tiktoken" in result.stderr


class TestShowSeveral:
    def test_the_same_stretch_under_each_other(self, run: Run) -> None:
        words = ["show", "-t", "small", "-t", "bytes", "--no-ids", "--text", "hello\nhe"]
        result = run(*words)
        assert good(result).splitlines() == [
            "small  hello│↵",
            "bytes  h│e│l│l│o│↵",
            "",
            "small  he",
            "bytes  h│e",
        ]
        assert "small: 3 tokens" in result.stderr
        assert "bytes: 8 tokens" in result.stderr

    def test_bytes_and_ranks_below(self, run: Run) -> None:
        words = ["show", "-t", "small", "--bytes", "--ranks", "--text", "hello a"]
        assert good(run(*words)).splitlines() == [
            "hello     │· │a",
            "259       │32│97",
            "68656c6c6f│20│61",
            "259       │32│97",
        ]

    def test_json_has_a_line_for_each_and_ranks_on_demand(self, run: Run) -> None:
        words = ["show", "-t", "small", "-t", "bytes", "--json", "--text", "é"]
        first, second = map(json.loads, good(run(*words)).splitlines())
        assert [first["tokenizer"], second["tokenizer"]] == ["small", "bytes"]
        assert "rank" not in first["tokens"][0]
        places = [(t["start_byte"], t["end_byte"]) for t in first["tokens"]]
        assert places == [(0, 1), (1, 2)]
        ranked = json.loads(good(run(*words[:3], "--json", "--ranks", "--text", "é")))
        assert ranked["rank_kind"] == "merge"
        assert [t["rank"] for t in ranked["tokens"]] == [0xC3, 0xA9]

    def test_a_page(self, run: Run) -> None:
        result = run("show", "-t", "small", "-t", "bytes", "--text", "hello", "--html", "t.html")
        assert good(result) == ""
        assert "wrote t.html: 1 of 1 documents" in result.stderr
        assert "Token inspector" in Path("t.html").read_text(encoding="utf-8")

    def test_page_and_json_exclude_each_other(self, run: Run) -> None:
        result = run("show", "-t", "small", "--text", "x", "--html", "t.html", "--json")
        assert result.exit_code == 2
        assert "expected one of them" in result.stderr

    def test_no_line_is_wider_than_the_terminal(self) -> None:
        text = "abcdefghij" * 9
        one = [Token(i, c, c.encode().hex(), i, i + 1, False) for i, c in enumerate(text)]
        two = [Token(i, text[i : i + 5], "", i, i + 5, False) for i in range(0, len(text), 5)]
        cuts = [("one", one), ("two", two)]
        lines = list(aligned_lines(cuts, colour=False, width=50))
        assert max(map(len, lines)) <= 50
        for name in ("one", "two"):
            rows = [line[5:] for line in lines if line.startswith(name)]
            assert "".join(rows).replace("│", "") == text
        # Each stretch has the same text under both.
        for first, second in zip(lines[::3], lines[1::3], strict=True):
            assert first[5:].replace("│", "") == second[5:].replace("│", "")
