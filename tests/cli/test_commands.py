"""Output of the commands when all is well."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import jeton
from jeton.cli.show import visible
from tests.formats import small

Run = Callable[..., Result]
HELLO = "hello world"
TRICKY = "naïve\tcafé\r\n\n  日本語 👩‍👩‍👧 <|end|> \x00 end"


def good(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


class TestEncodeDecode:
    def test_a_file_comes_back_byte_for_byte(self, run: Run) -> None:
        Path("x.txt").write_bytes(TRICKY.encode())
        Path("ids").write_text(good(run("encode", "-t", "small", "x.txt")))
        assert run("decode", "-t", "small", "ids").stdout_bytes == TRICKY.encode()
        Path("ids").write_text(good(run("encode", "-t", "small", "x.txt", "--json")))
        assert run("decode", "-t", "small", "ids").stdout_bytes == TRICKY.encode()
        value = json.loads(good(run("decode", "-t", "small", "ids", "--json")))
        assert value == {"text": TRICKY}

    def test_one_document_a_line(self, run: Run) -> None:
        Path("x.txt").write_text("hello\n world\nhello world")
        assert good(run("encode", "-t", "small", "x.txt", "--documents", "line")) == (
            "259\n264\n259 264\n"
        )

    def test_ids_with_commas_and_lists(self, run: Run) -> None:
        Path("ids").write_text('259,264\n[259, 264]\n{"ids": [264]}\n')
        assert good(run("decode", "-t", "small", "ids")) == "hello world\nhello world\n world"

    def test_special_tokens_are_text_unless_allowed(self, run: Run) -> None:
        end = small.SPECIAL["<|end|>"]
        plain = good(run("encode", "-t", "small", "--text", "hello<|end|>"))
        assert str(end) not in plain.split()
        for allow in ("<|end|>", "all"):
            words = ["encode", "-t", "small", "--text", "hello<|end|>", "--allow-special", allow]
            assert good(run(*words)) == f"259 {end}\n"
        Path("ids").write_text(f"259 {end}")
        assert good(run("decode", "-t", "small", "ids")) == "hello<|end|>"
        assert good(run("decode", "-t", "small", "ids", "--skip-special-tokens")) == "hello"

    def test_jsonl_by_suffix_and_field(self, run: Run) -> None:
        Path("x.jsonl").write_text('{"a": {"b": "hello"}}\n\n{"a": {"b": " world"}}\n')
        assert good(run("encode", "-t", "small", "x.jsonl", "--field", "a.b")) == "259\n264\n"

    def test_files_of_ranks_with_a_pattern(self, run: Run) -> None:
        Path("x.tiktoken").write_bytes(small.ranks())
        words = ["encode", "-t", "x.tiktoken", "--pattern", "gpt2", "--text", HELLO]
        assert good(run(*words)) == "259 264\n"


class TestCount:
    def test_files_and_total(self, run: Run) -> None:
        Path("a.txt").write_text(HELLO)
        Path("b.txt").write_text("hello hello ")
        Path("c.txt").write_text("")
        n_b = len(small.tokenizer().encode("hello hello "))
        assert good(run("count", "-t", "small", "a.txt", "b.txt", "c.txt")) == (
            f"2 a.txt\n{n_b} b.txt\n0 c.txt\n{2 + n_b} total\n"
        )

    def test_one_file_has_no_total(self, run: Run) -> None:
        Path("a.txt").write_text(HELLO)
        assert good(run("count", "-t", "small", "a.txt")) == "2 a.txt\n"

    def test_json(self, run: Run) -> None:
        Path("x.txt").write_text("hello\n world\n")
        words = ["count", "-t", "small", "x.txt", "--documents", "line", "--json"]
        value = json.loads(good(run(*words)))
        assert value["tokenizer"] == "small"
        assert value["files"][0]["n_documents"] == 2
        assert value["total"]["n_tokens"] == 2
        assert value["total"]["n_bytes"] == len("hello world")

    def test_folders_and_globs(self, run: Run) -> None:
        Path("d").mkdir()
        Path("d/a.txt").write_text(HELLO)
        Path("d/b.md").write_text(HELLO)
        assert good(run("count", "-t", "small", "d")).splitlines()[-1] == "4 total"
        assert good(run("count", "-t", "small", "d/*.md")) == "2 d/b.md\n"

    def test_the_number_of_threads_changes_nothing(self, run: Run) -> None:
        Path("x.txt").write_text("hello world\n" * 500)
        outputs = {
            good(run("count", "-t", "small", "x.txt", "--documents", "line", "--threads", n))
            for n in ("1", "2", "7")
        }
        assert outputs == {"1000 x.txt\n"}


class TestShow:
    def test_separators_and_ids_without_colours(self, run: Run) -> None:
        result = run("show", "-t", "small", "--text", "hello world\n")
        assert good(result) == "hello│·world│↵\n259  │264   │10\n"
        assert "3 tokens, 12 characters, 12 bytes, 4.00 bytes per token" in result.stderr

    def test_no_ids(self, run: Run) -> None:
        assert good(run("show", "-t", "small", "--text", "a b", "--no-ids")) == "a│·│b\n"

    def test_colours_in_a_terminal_and_none_under_no_color(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from jeton.cli import streams

        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(streams, "colour_wanted", lambda: True)
        assert "\x1b[38;5;16;48;5;" in good(run("show", "-t", "small", "--text", HELLO))

    def test_no_color(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from jeton.cli import streams

        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert streams.colour_wanted()
        monkeypatch.setenv("NO_COLOR", "1")
        assert not streams.colour_wanted()

    def test_json_has_offsets_in_code_points(self, run: Run) -> None:
        words = ["show", "-t", "small", "--text", "é<|end|>", "--json", "--allow-special", "all"]
        value = json.loads(good(run(*words)))
        assert value["text"] == "é<|end|>"
        assert [t["bytes"] for t in value["tokens"]] == ["c3", "a9", b"<|end|>".hex()]
        assert [t["text"] for t in value["tokens"]] == ["\\xc3", "\\xa9", "<|end|>"]
        assert [(t["start"], t["end"]) for t in value["tokens"]] == [(0, 1), (0, 1), (1, 8)]
        assert [t["special"] for t in value["tokens"]] == [False, False, True]

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b" a", "·a"),
            (b"\t\r\n", "→␍↵"),
            (b"\xe2\x80", "\\xe2\\x80"),
            (b"\x1b]0;evil\x07", "\\x1b]0;evil\\x07"),
            ("a\u202eb".encode(), "a\\u202eb"),
            ("日本".encode(), "日本"),
        ],
    )
    def test_nothing_reaches_the_terminal_that_could_command_it(
        self, data: bytes, expected: str
    ) -> None:
        assert visible(data) == expected


class TestInfo:
    def test_canonical_form_is_what_the_fingerprint_is_of(self, run: Run) -> None:
        result = run("info", "small", "--canonical")
        tokenizer = jeton.load("small")
        assert hashlib.sha256(result.stdout_bytes).hexdigest() == tokenizer.fingerprint

    def test_facts(self, run: Run) -> None:
        text = good(run("info", "small"))
        assert "266" in text
        assert "<|end|>" in text
        value = json.loads(good(run("info", "small", "--json")))
        assert value["vocab_size"] == 266
        assert value["special_tokens"] == small.SPECIAL
        assert value["longest_token_bytes"] == len("<|end|>")


class TestVocab:
    def test_list(self, run: Run, vocab_dir: Path) -> None:
        text = good(run("vocab", "list"))
        row = next(line for line in text.splitlines() if line.startswith("small "))
        assert "vocab-dir" in row
        assert row.endswith(str(vocab_dir / "small.jeton.json"))
        entries = json.loads(good(run("vocab", "list", "--json")))["vocabularies"]
        assert {"small", "cl100k_base"} <= {e["name"] for e in entries}
        at_hand = json.loads(good(run("vocab", "list", "--json", "--at-hand")))["vocabularies"]
        assert all(e["available"] for e in at_hand)

    def test_add_then_use(self, run: Run) -> None:
        Path("r.tiktoken").write_bytes(small.ranks())
        words = ["vocab", "add", "r.tiktoken", "--name", "mine", "--pattern", "gpt2"]
        result = run(*words, "--special-token", "<|a=b|>=265")
        assert Path(good(result).strip()).is_file()
        assert good(run("encode", "-t", "mine", "--text", HELLO)) == "259 264\n"
        value = json.loads(good(run("info", "mine", "--json")))
        assert value["special_tokens"] == {"<|a=b|>": 265}


class TestCatalog:
    @pytest.mark.parametrize("kind", ["models", "gpus"])
    def test_json_and_table_have_the_same_names(self, run: Run, kind: str) -> None:
        words = ["catalog", kind]
        rows = json.loads(good(run(*words, "--json")))[kind]
        table = good(run(*words)).splitlines()[1:]
        assert [row["name"] for row in rows] == [line.split()[0] for line in table]
        assert rows
        assert all(row["source"] for row in rows)

    def test_words_narrow_the_models(self, run: Run) -> None:
        rows = json.loads(good(run("catalog", "models", "qwen3", "next", "--json")))["models"]
        assert [row["name"] for row in rows] == ["qwen3-next-80b-a3b"]
        assert rows[0]["layer_kinds"] == {"gated-delta": 36, "full": 12}
        result = run("catalog", "models", "qwen4")
        assert result.exit_code == 2
        assert "unknown model 'qwen4'" in result.stderr

    def test_tariffs(self, run: Run) -> None:
        words = ["catalog", "prices", "openai:gpt-4o", "--tariff", "batch", "--json"]
        rows = json.loads(good(run(*words)))["prices"]
        assert rows
        assert {row["tariff"] for row in rows} == {"batch"}
        assert all(row["name"].endswith("@batch") for row in rows)

    def test_gpus_of_this_machine(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\necho '0, NVIDIA L4, 23034, 512, 16.5, 3'\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert "NVIDIA L4" in good(run("catalog", "gpus", "--live"))
        (row,) = json.loads(good(run("catalog", "gpus", "--live", "--json")))["gpus"]
        assert row["memory_used_bytes"] == 512 * 2**20
        assert row["facts"]["name"] == "L4"
        monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
        assert good(run("catalog", "gpus", "--live")) == ""

    def test_prices_are_decimal_strings(self, run: Run) -> None:
        rows = json.loads(good(run("catalog", "prices", "openai:gpt-4o", "--json")))["prices"]
        assert all(isinstance(row["usd_per_mtok_input"], str) for row in rows)


class TestAudit:
    def test_json_on_standard_output_is_the_whole_of_it(self, run: Run) -> None:
        Path("a.txt").write_text(HELLO * 20)
        value = json.loads(good(run("audit", "a.txt", "-t", "small", "--json", "-")))
        assert value["schema_version"] == "jeton.audit/2"
        assert value["tokenizers"][0]["n_tokens"] == len(small.tokenizer().encode(HELLO * 20))

    def test_all_files_are_written(self, run: Run) -> None:
        Path("a.txt").write_text(HELLO * 20)
        Path("terms").write_text("hello\nworld\n")
        words = ["audit", "a.txt", "-t", "small", "--terms", "terms", "--quiet"]
        result = run(*words, "--html", "r.html", "--json", "r.json", "--markdown", "r.md")
        assert good(result) == ""
        assert json.loads(Path("r.json").read_text())["n_terms_given"] == 2
        assert "<html" in Path("r.html").read_text()
        assert "small" in Path("r.md").read_text()

    def test_the_table(self, run: Run) -> None:
        Path("a.txt").write_text(HELLO * 20)
        result = run("audit", "a.txt", "-t", "small", "--json", "r.json")
        assert "small" in good(result)
        assert "wrote r.json" in result.stderr


class TestTrain:
    def test_a_folder_with_its_card(self, run: Run) -> None:
        Path("a.txt").write_text("hello world, hello there. " * 50)
        words = ["train", "a.txt", "--vocab-size", "270", "-o", "mine", "--special-token", "<|e|>"]
        written = good(run(*words)).split()
        names = ("tokenizer", "tokenizer_config", "special_tokens_map", "training_card")
        assert written == [f"mine/{name}.json" for name in names]
        card = json.loads(Path("mine/training_card.json").read_text())
        tokenizer = jeton.load("./mine")
        assert card["fingerprint"] == tokenizer.fingerprint
        assert card["name"] == tokenizer.name == "mine"
        assert card["command"].startswith("jeton train a.txt --vocab-size 270 -o mine")
        assert tokenizer.vocab_size == 270
        assert "<|e|>" in tokenizer.special_tokens
        assert tokenizer.decode(tokenizer.encode("hello world")) == "hello world"

    @pytest.mark.parametrize("suffix", ["json", "tiktoken.zst", "jeton.json"])
    def test_a_file_without_a_card(self, run: Run, suffix: str) -> None:
        Path("a.txt").write_text("hello world, hello there. " * 50)
        words = ["train", "a.txt", "--vocab-size", "260", "-o", f"x.{suffix}", "--no-card"]
        result = run(*words, "--json")
        assert json.loads(good(result))["vocab_size"] == 260
        assert sorted(p.name for p in Path().iterdir()) == ["a.txt", f"x.{suffix}"]
        assert ("--pattern " in result.stderr) == ("tiktoken" in suffix)
