"""``jeton info`` of files and folders: format, steps, roles, what is not applied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from tests.formats import small

Run = Callable[..., Result]


def good(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_file_says_its_format_and_steps(run: Run) -> None:
    tree = json.loads(small.tokenizer().to_hf_json())
    tree["truncation"] = {
        "direction": "Right",
        "max_length": 5,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    tree["normalizer"] = {"type": "NFC"}
    Path("mine.json").write_text(json.dumps(tree), encoding="utf-8")
    text = good(run("info", "./mine.json"))
    rows = {line[:40].split("  ")[0]: line for line in text.splitlines()}
    assert rows["format"].endswith("tokenizer.json")
    assert rows["pre-tokenizer"].endswith("split (isolated)")
    assert "nfc" in rows["normalizer"]
    assert "max_length 5" in rows["truncation (not applied by encode)"]
    value = json.loads(good(run("info", "./mine.json", "--json")))
    assert value["format"] == "tokenizer.json"
    assert value["steps"]["truncation"]["max_length"] == 5
    assert value["folder"] is None


def test_a_folder_says_roles_and_template(run: Run) -> None:
    folder = Path("model")
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(small.tokenizer().to_hf_json())
    config = {"bos_token": "<|end|>", "add_bos_token": True, "model_max_length": 2048}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "chat_template.jinja").write_text("{{ x }}", encoding="utf-8")
    text = good(run("info", "./model"))
    assert "bos token" in text
    assert "7 characters in chat_template.jinja" in text
    assert "2,048 tokens" in text
    assert "add_bos_token is true, but tokenizer.json does not put '<|end|>' before a text" in text
    about = json.loads(good(run("info", "./model", "--json")))["folder"]
    assert about["roles"] == {"bos": "<|end|>"}
    assert about["chat_template"] == "{{ x }}"
    assert about["chat_template_file"] == "chat_template.jinja"
    assert len(about["warnings"]) == 1


def test_a_word_list(run: Run) -> None:
    Path("vocab.txt").write_bytes(small.vocab_txt())
    text = good(run("info", "./vocab.txt"))
    assert "WordPiece vocab.txt" in text
    assert "bert (clean_text, handle_chinese_chars, strip_accents, lowercase)" in text
