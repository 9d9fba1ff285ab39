"""Healthy things are not blamed: published vocabularies, chat formats, packed rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.doctor import diagnose
from jeton.formats.reading import read
from tests.chat.families import FAMILIES, Family
from tests.doctor import ward


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_published_chat_formats(family: Family, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(family.file)
    roles = {f"{role}_token": text for role, text in family.special.items()}
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({**roles, "chat_template": family.source})
    )
    found = diagnose(tmp_path)
    assert "generation-prompt-differs" in found.looked_for
    bad = [f for f in found.findings if f.severity != "info" and "chat" in f.id]
    bad += [f for f in found.findings if f.id == "generation-prompt-differs"]
    assert not bad, [(f.id, f.title) for f in bad]


TEXT = (
    "The quick brown fox doesn't jump over 12,345 lazy dogs; it walks (slowly).\n"
    "def f(x):\n\treturn x ** 2  # squared\n\n  Café, naïve, Übergröße - 東京へ行く。 Привет, мир! "
) * 6


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bert_base_uncased.json.zst",
        "cl100k_base.tiktoken.zst",
        "gpt2.json.zst",
        "llama2.json.zst",
        "llama2.model",
        "mistral03.json.zst",
        "o200k_base.tiktoken.zst",
        "t5-small.json.zst",
        "xlnet_base_cased.json.zst",
    ],
)
def test_rows_of_the_own_tokenizer_are_its_own(shared: Path, name: str) -> None:
    tokenizer = jeton.load(shared / "data" / "vocab" / name)
    ids = tokenizer.encode(TEXT)
    # Windows as a data loader cuts them: anywhere.
    rows = [ids[start : start + 64] for start in range(0, len(ids) - 64, 13)]
    found = diagnose(tokenizer, batches=[{"input_ids": np.asarray(rows)}])
    assert "batch-of-another-tokenizer" in found.looked_for
    assert not [f for f in found.findings if f.id == "batch-of-another-tokenizer"]
    # And of another tokenizer they are not.
    other = jeton.load("jeton-general-32k-v1")
    alien = np.asarray(rows) % other.vocab_size
    found = diagnose(other, batches=[{"input_ids": alien}])
    assert [f for f in found.findings if f.id == "batch-of-another-tokenizer"]


def test_chats_are_canonical_on_both_sides_of_special_tokens() -> None:
    tokenizer = ward.tokenizer()
    # "he" and "llo" would merge if the token between them were taken out.
    turn = [
        *tokenizer.encode("why he"),
        ward.TURN_END,
        *tokenizer.encode("llo or hell"),
        ward.TURN_END,
    ]
    found = diagnose(tokenizer, batches=[{"input_ids": np.asarray([turn * 4, turn * 4])}])
    assert not [f for f in found.findings if f.id == "batch-of-another-tokenizer"]


PUBLISHED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    # What the models' own config.json and tokenizer_config.json have, as far as it is looked at.
    "gpt2": (
        "gpt2.json.zst",
        {
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadModel"],
            "vocab_size": 50257,
            "n_positions": 1024,
            "bos_token_id": 50256,
            "eos_token_id": 50256,
        },
        {"model_max_length": 1024},
    ),
    "bert": (
        "bert_base_uncased.json.zst",
        {
            "model_type": "bert",
            "architectures": ["BertForMaskedLM"],
            "vocab_size": 30522,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "pad_token_id": 0,
        },
        {"model_max_length": 512, "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    ),
    "roberta": (
        "roberta-base.json.zst",
        {
            "model_type": "roberta",
            "architectures": ["RobertaForMaskedLM"],
            "vocab_size": 50265,
            "max_position_embeddings": 514,
            "bos_token_id": 0,
            "pad_token_id": 1,
            "eos_token_id": 2,
        },
        {"model_max_length": 512, "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
    ),
    "t5": (
        "t5-small.json.zst",
        {
            "model_type": "t5",
            "architectures": ["T5ForConditionalGeneration"],
            "is_encoder_decoder": True,
            "vocab_size": 32128,
            "decoder_start_token_id": 0,
            "pad_token_id": 0,
            "eos_token_id": 1,
        },
        {"model_max_length": 512, "eos_token": "</s>", "pad_token": "<pad>"},
    ),
    "phi-3": (
        "phi-3-mini.json.zst",
        {
            "model_type": "phi3",
            "architectures": ["Phi3ForCausalLM"],
            "vocab_size": 32064,
            "max_position_embeddings": 4096,
            "bos_token_id": 1,
            "eos_token_id": 32000,
            "pad_token_id": 32000,
        },
        {
            "tokenizer_class": "LlamaTokenizer",
            "bos_token": "<s>",
            "eos_token": "<|endoftext|>",
            "pad_token": "<|endoftext|>",
            "padding_side": "left",
            "model_max_length": 4096,
        },
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models(shared: Path, tmp_path: Path, name: str) -> None:
    vocabulary, config, tokenizer_config = PUBLISHED[name]
    (tmp_path / "tokenizer.json").write_bytes(read(shared / "data" / "vocab" / vocabulary))
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    found = diagnose(tmp_path)
    assert found.is_healthy, [(f.id, f.title) for f in found.findings]
    assert len(found.looked_for) > 20


def test_batches_as_they_should_be(tmp_path: Path) -> None:
    """Rows that jeton itself lays out have nothing wrong, on either side."""
    folder = ward.model_dir(tmp_path / "m", tokens={"bos": True})
    tokenizer = jeton.load(folder)
    for side, task in (("left", "generate"), ("right", "train")):
        inputs = tokenizer.model_inputs(
            ["hello world", "hell", "the world or hello"],
            padding="longest",
            padding_side=side,  # type: ignore[arg-type]
            pad_token="<pad>",
        )
        batch = {
            "input_ids": inputs.input_ids,
            "attention_mask": inputs.attention_mask,
            "position_ids": inputs.position_ids,
        }
        if task == "train":
            labels = inputs.input_ids.copy()
            labels[inputs.attention_mask == 0] = -100
            ends = (inputs.attention_mask.sum(axis=1) - 1)[:, None]
            np.put_along_axis(labels, ends, ward.TURN_END, axis=1)
            np.put_along_axis(batch["input_ids"], ends, ward.TURN_END, axis=1)
            batch["labels"] = labels
        found = diagnose(folder, batches=[batch], task=task)  # type: ignore[arg-type]
        assert found.is_healthy, [(f.id, f.title) for f in found.findings]


def test_packed_rows_are_no_fault() -> None:
    tokenizer = ward.tokenizer()
    document = [ward.BOS, *tokenizer.encode("hello world, hello"), ward.EOS]
    packed = np.asarray([(document * 20)[:64], (document * 20)[5:69]])
    for labels in ({}, {"labels": packed}):
        found = diagnose(tokenizer, batches=[{"input_ids": packed, **labels}])
        assert found.is_healthy, [(f.id, f.title) for f in found.findings]


def test_no_case_of_a_single_healthy_row() -> None:
    found = diagnose(ward.tokenizer(), batches=[{"input_ids": [ward.tokenizer().encode("hello")]}])
    assert found.is_healthy
    found = diagnose(ward.tokenizer(), batches=[{"input_ids": np.zeros((0, 4), dtype=np.int64)}])
    assert found.is_healthy
    found = diagnose(ward.tokenizer(), batches=[{"input_ids": np.zeros((2, 0), dtype=np.int64)}])
    assert [f.id for f in found.findings if f.severity != "info"] == ["row-of-padding-only"]
