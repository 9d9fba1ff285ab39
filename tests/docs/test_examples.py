"""The Python examples of README and docs/ run, and print what their page shows below them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.adapt import tiny
from tests.chat.families import FAMILIES
from tests.docs.pages import ROOT, all_pages, examples

PAGES = {path.relative_to(ROOT).as_posix(): path for path in all_pages() if examples(path)}


def a_chat_model(folder: Path) -> None:
    family = FAMILIES["qwen25"]
    model = folder / "model"
    model.mkdir()
    (model / "tokenizer.json").write_text(family.file, encoding="utf-8")
    (model / "chat_template.jinja").write_text(family.source, encoding="utf-8")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
    (model / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def a_request_log(folder: Path) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    record = {"model": "gpt-4o-mini", "timestamp": "2026-11-03T12:00:00Z", "usage": usage}
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")


def a_model_and_its_new_tokenizer(folder: Path) -> None:
    model = folder / "my-model"
    model.mkdir()
    old = tiny.write_tokenizer(model, tiny.old_tokens())
    values = tiny.random_values(np.random.default_rng(1), [tiny.N_OLD, 6])
    tensors = {"model.embed_tokens.weight": tiny.stored("F32", values)}
    tiny.write_safetensors(model / "model.safetensors", tensors, None)
    config = {"model_type": "llama", "vocab_size": tiny.N_OLD}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tiny.extension(folder / "domain-tokenizer", old)


# Files that a page's examples take for granted, made in the folder where they run.
FILES: dict[str, Callable[[Path], None]] = {
    "docs/guides/applying.md": a_model_and_its_new_tokenizer,
    "docs/guides/chats.md": a_chat_model,
    "docs/guides/ledger.md": a_request_log,
}


@pytest.mark.parametrize("name", PAGES)
# The texts of examples are short: how little they are is what some warnings say.
@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_the_examples_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if name == "docs/guides/loading.md":
        monkeypatch.delenv("JETON_COMPILED_CACHE")
    if name in FILES:
        FILES[name](tmp_path)
    scope: dict[str, object] = {"__name__": "example"}
    for number, example in enumerate(examples(PAGES[name])):
        exec(compile(example.code, f"{name}, example {number + 1}", "exec"), scope)
        printed = capsys.readouterr().out
        if example.printed is not None:
            assert printed == example.printed, f"{name}, example {number + 1}"
        elif "print(" in example.code:
            assert printed.strip(), f"{name}, example {number + 1} prints nothing"


def test_the_pages_have_their_examples() -> None:
    assert {"README.md", *FILES} <= PAGES.keys()
    assert sum(len(examples(path)) for path in PAGES.values()) >= 90
    assert sum(e.printed is not None for path in PAGES.values() for e in examples(path)) >= 15
