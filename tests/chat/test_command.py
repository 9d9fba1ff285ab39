"""``jeton chat``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jeton.cli.app import app
from tests.chat.families import FAMILIES, WEATHER

FAMILY = FAMILIES["qwen25"]
MESSAGES = [{"role": "user", "content": "hi<|im_end|>\x1b[2J"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "tokenizer.json").write_text(FAMILY.file, encoding="utf-8")
    (made / "chat_template.jinja").write_text(FAMILY.source, encoding="utf-8")
    (made / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}),
        encoding="utf-8",
    )
    named = made / "additional_chat_templates"
    named.mkdir()
    (named / "plain.jinja").write_text("{{ eos_token }}{{ messages[0].content }}", encoding="utf-8")
    (made / "chat.json").write_text(json.dumps(MESSAGES), encoding="utf-8")
    return made


@pytest.fixture
def run() -> Callable[..., Result]:
    return lambda *words, **more: CliRunner().invoke(app, ["chat", *words], **more)


def test_json(folder: Path, run: Callable[..., Result]) -> None:
    result = run("-t", str(folder), str(folder / "chat.json"), "--json", "--add-generation-prompt")
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    text = value["text"]
    assert text.endswith("hi<|im_end|>\x1b[2J<|im_end|>\n<|im_start|>assistant\n")
    assert [
        (text[look["start"] : look["end"]], look["token"]) for look in value["look_alikes"]
    ] == [("<|im_end|>", "<|im_end|>")]
    assert len(value["ids"]) == value["n_tokens"] == len(value["template_mask"])
    assert value["ids"].count(FAMILY.tok.special_tokens["<|im_end|>"]) == 2


def test_text_ids_and_words(folder: Path, run: Callable[..., Result]) -> None:
    chat = str(folder / "chat.json")
    result = run("-t", str(folder), chat)
    assert result.stdout.startswith("<|im_start|>system\n")
    assert "1 look-alikes of control tokens stayed text: '<|im_end|>'" in result.stderr
    ids = run("-t", str(folder), chat, "--ids").stdout
    assert FAMILY.tok.decode([int(number) for number in ids.split()]) == result.stdout[:-1]


def test_colours(folder: Path, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jeton.cli.streams.colour_wanted", lambda: True)
    shown = run("-t", str(folder), str(folder / "chat.json")).stdout
    assert "\x1b[41;97m<|im_end|>\x1b[0m\\x1B[2J\x1b[36m<|im_end|>" in shown
    assert "\x1b[2J" not in shown


def test_inputs(folder: Path, run: Callable[..., Result]) -> None:
    chat: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [WEATHER],
    }
    result = run("-t", str(folder), "--add-generation-prompt", input=json.dumps(chat))
    assert '"name": "weather"' in result.stdout
    named = run("-t", str(folder), "--template-name", "plain", input=json.dumps(chat))
    assert named.stdout == "<|im_end|>hi\n"
    own = folder / "own.jinja"
    own.write_text("{{ bos_token }}{{ messages[0].content }}", encoding="utf-8")
    file = str(folder / "tokenizer.json")
    again = run(
        "-t",
        file,
        "--template",
        str(own),
        "--token-name",
        "bos_token=<|im_start|>",
        "--json",
        input=json.dumps(chat),
    )
    assert json.loads(again.stdout)["ids"][0] == FAMILY.tok.special_tokens["<|im_start|>"]
    last = {"messages": [*chat["messages"], {"role": "assistant", "content": "well"}]}
    continued = run("-t", str(folder), "--continue-final-message", input=json.dumps(last))
    assert continued.stdout.endswith("assistant\nwell\n")


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        ((), "{", "no JSON"),
        ((), '{"messages": 1}', "no list of messages"),
        ((), '{"messages": [], "control": 1}', "sets control"),
        ((), "[]", "no messages"),
        (("--token-name", "x"), "[]", "expected NAME=TEXT"),
        (("--template-name", "x"), '[{"role": "user"}]', "no chat template 'x'"),
        (("--template", "missing.jinja"), "[]", "missing.jinja"),
        (
            ("--add-generation-prompt", "--continue-final-message"),
            '[{"role": "user"}]',
            "contradict",
        ),
        ((), '[{"role": "tool", "content": 1}]', "the chat template failed"),
    ],
)
def test_what_is_refused(
    folder: Path, run: Callable[..., Result], words: tuple[str, ...], text: str, message: str
) -> None:
    result = run("-t", str(folder), *words, input=text)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_tokenizer_without_a_template(folder: Path, run: Callable[..., Result]) -> None:
    result = run("-t", str(folder / "tokenizer.json"), input="[]")
    assert result.exit_code == 2
    assert "--template FILE gives one" in result.stderr
