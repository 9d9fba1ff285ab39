"""A folder of a model says which tokenizer counts its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton
from jeton.auditing import audit
from jeton.errors import UsageError

CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 32_000,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
}
TEXTS = ("The ferry leaves at noon.\n", "Tickets are sold on board.\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "harbour-7b"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["", "config.json"])
def test_the_tokenizer_in_the_folder_counts(folder: Path, name: str) -> None:
    jeton.load("jeton-general-32k").save(folder)
    report = audit(iter(TEXTS), model=str(folder / name), gpu="l4", quality=False)
    expected = jeton.load(folder)
    assert report.tokenizers[0].fingerprint == expected.fingerprint
    assert not [words for words in report.notices if "What if" in words]


def test_another_vocabulary_is_a_what_if(folder: Path) -> None:
    jeton.load("jeton-general-32k").save(folder)
    report = audit(
        iter(TEXTS), tokenizers="jeton-code-32k", model=str(folder), gpu="l4", quality=False
    )
    assert "What if: harbour-7b" in report.notices[0]


def test_a_folder_without_a_tokenizer_asks_for_one(folder: Path) -> None:
    with pytest.raises(UsageError, match="the tokenizer of harbour-7b is not known"):
        audit(iter(TEXTS), model=str(folder), gpu="l4", quality=False)
