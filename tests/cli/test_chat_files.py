"""Files of chats, GGUF templates, and sizes and names as people type them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.chat import ChatTemplate, common_prefix, encode_chat, encode_chats
from jeton.cli.app import app
from jeton.cli.kinds import VOCAB_SIZE
from tests.doctor import ward

ONE = [{"role": "user", "content": "hello"}]
TWO = [*ONE, {"role": "assistant", "content": "world"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return ward.model_dir(tmp_path / "model")


def run(*words: str, text: str | None = None) -> Any:
    return CliRunner().invoke(app, list(words), input=text)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(json.dumps(chat) for chat in (ONE, TWO)) + "\n",
        "\n".join(json.dumps({"messages": chat}) for chat in (ONE, TWO)),
        json.dumps([ONE, TWO]),
        json.dumps([{"messages": ONE}, {"messages": TWO}]),
    ],
    ids=["lines", "lines of objects", "list", "list of objects"],
)
def test_a_file_of_chats_is_counted(folder: Path, text: str, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(text)
    tok = jeton.load(folder)
    template = ChatTemplate.from_tokenizer(tok)
    expected = sum(
        len(chat.ids) for chat in encode_chats([ONE, TWO], tokenizer=tok, template=template)
    )
    result = run("count", "-t", str(folder), "--chat", str(file), "--json")
    assert result.exit_code == 0, result.output
    total = json.loads(result.stdout)["total"]
    assert (total["n_tokens"], total["n_documents"]) == (expected, 2)
    shown = run("chat", "-t", str(folder), str(file), "--ids")
    assert shown.stdout.count("\n") == 2


def test_a_line_that_is_no_chat_is_named(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps(ONE) + "\n" + '{"text": "no chat"}\n')
    for command in (["count", "--chat"], ["chat"]):
        result = run(*command, "-t", str(folder), str(file))
        assert result.exit_code == 2
        assert "line 2 has no list of messages" in result.stderr
        assert "{'text'" not in result.stderr


def test_the_template_of_a_gguf_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    with pytest.warns(jeton.JetonWarning):
        jeton.load(folder).save(file, lossy=True)
    template = ChatTemplate.from_folder(file)
    assert template.source() == ward.CHATML
    assert template.special_tokens["eos_token"] == "<|im_end|>"
    ours = encode_chat(TWO, tokenizer=jeton.load(file), template=template)
    theirs = encode_chat(
        TWO, tokenizer=jeton.load(folder), template=ChatTemplate.from_folder(folder)
    )
    assert ours.ids.tolist() == theirs.ids.tolist()
    result = run("chat", "-t", str(file), "-", text=json.dumps(ONE))
    assert result.exit_code == 0, result.output


def test_common_prefix_of_chats(folder: Path) -> None:
    tok = jeton.load(folder)
    template = ChatTemplate.from_tokenizer(tok)
    shared = common_prefix(ONE, TWO, tokenizer=tok, template=template)
    assert shared.is_prefix
    other = common_prefix(
        [{"role": "user", "content": "hell"}], TWO, tokenizer=tok, template=template
    )
    assert not other.is_prefix
    assert (
        other.ids.tolist()
        == encode_chat(TWO, tokenizer=tok, template=template).ids[: other.n_tokens].tolist()
    )


def test_a_mask_of_zeros_says_why(folder: Path) -> None:
    tok = jeton.load(folder)
    without = encode_chat(TWO, tokenizer=tok, template=ChatTemplate.from_tokenizer(tok))
    assert not without.rendered.has_generation_block
    source = "{% for m in messages %}{% if m.role == 'tool' %}{% generation %}x{% endgeneration %}"
    block = ChatTemplate.from_source(source + "{% endif %}{{ m.content }}{% endfor %}")
    untaken = encode_chat(TWO, tokenizer=tok, template=block)
    assert untaken.rendered.has_generation_block
    assert not untaken.assistant_mask.any()


@pytest.mark.parametrize(
    ("text", "size"), [("32k", 32_000), ("32000", 32_000), ("32_000", 32_000), ("1.5K", 1500)]
)
def test_sizes(text: str, size: int) -> None:
    assert VOCAB_SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["0", "-5", "many", "1.5", "k"])
def test_what_is_no_size(text: str) -> None:
    result = run("train", "none.txt", "--vocab-size", text, "-o", "x")
    assert result.exit_code == 2
    assert "expected a number such as 32000 or 32k" in result.stderr


def test_names_in_other_spellings() -> None:
    assert jeton.load("Jeton_General-32K") is jeton.load("jeton-general-32k")
