"""docs/chats.md: its examples run, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jeton.chat import KNOWN_ROLES
from tests.chat.families import FAMILIES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chats.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [part.split("```")[0] for part in TEXT.split("```python\n")[1:]]


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES["qwen25"]
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(family.file, encoding="utf-8")
    (folder / "chat_template.jinja").write_text(family.source, encoding="utf-8")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name} block {number}", "exec"), names)
    assert len(BLOCKS) == 8


def test_what_the_page_says_of_roles() -> None:
    assert "`jeton.chat.KNOWN_ROLES`" in TEXT
    assert {"user", "assistant", "system", "tool"} <= KNOWN_ROLES
