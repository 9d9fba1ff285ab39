from __future__ import annotations

import dataclasses
import json
from datetime import date
from importlib.resources import files
from typing import Any

import pytest

from jeton.catalog import AttentionKind, ModelFacts, model, models
from jeton.catalog._files import index_by_name
from jeton.errors import CatalogError, UnknownModelError

TODAY_AT_WRITING = date(2026, 11, 21)


def raw_file() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(files("jeton.catalog").joinpath("models.json").read_text())
    return data


def test_there_are_enough_models_of_every_attention_kind() -> None:
    assert len(models()) >= 40
    assert {m.attention for m in models()} >= set(AttentionKind) - {AttentionKind.NONE}
    assert any(m.experts for m in models())
    assert {kind for m in models() for kind in m.layer_kinds} >= {"mamba", "gated-delta", "latent"}
    assert {m.tied_embeddings for m in models()} == {True, False}


@pytest.mark.parametrize("facts", models(), ids=lambda m: m.name)
def test_every_entry_is_complete_and_consistent(facts: ModelFacts) -> None:
    assert facts.source.startswith(("https://huggingface.co/", "arXiv:"))
    assert date(2026, 1, 1) <= facts.date
    assert facts.license
    assert facts.tokenizer
    for name in ("hidden_size", "n_layers", "n_heads", "n_kv_heads", "vocab_size"):
        # CANINE hashes characters: it has no table.
        assert getattr(facts, name) > 0 or facts.tokenizer.startswith("none"), name
    assert facts.context_tokens >= 512
    assert facts.n_active_parameters <= facts.n_parameters
    assert (facts.experts is None) == (facts.n_active_parameters == facts.n_parameters)
    assert (facts.sliding_window_tokens is None) == (facts.n_sliding_layers == 0)
    assert facts.n_sliding_layers <= facts.n_layers
    expected = {
        AttentionKind.MULTI_HEAD: facts.n_kv_heads == facts.n_heads,
        AttentionKind.GROUPED_QUERY: 1 < facts.n_kv_heads < facts.n_heads,
        AttentionKind.MULTI_QUERY: facts.n_kv_heads == 1,
        AttentionKind.LATENT: True,
    }
    assert expected[facts.attention]
    assert facts.n_heads % facts.n_kv_heads == 0
    assert 0 < facts.n_attention_layers <= facts.n_layers


def test_every_number_has_a_unit_in_the_file() -> None:
    data = raw_file()
    numeric = {k for one in data["models"] for k, v in one.items() if isinstance(v, int)}
    assert numeric | {"config", "date"} <= set(data["units"])


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("llama-3-8b", "llama-3-8b"),
        ("LLAMA-3-8B", "llama-3-8b"),
        ("Llama 3 8B", "llama-3-8b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("GPT2", "gpt2"),
        ("openai-community/gpt2", "gpt2"),
        ("Qwen/Qwen2.5-7B", "qwen2.5-7b"),
        ("mistral_7b", "mistral-7b-v0.1"),
    ],
)
def test_names_resolve_by_alias_and_without_case(asked: str, name: str) -> None:
    assert model(asked).name == name


@pytest.mark.parametrize(
    ("asked", "offered"),
    [("llama-3-8", "llama-3-8b"), ("qwen2.5-7", "qwen2.5-7b"), ("Qwen/Qwen3-8C", "qwen3-8b")],
)
def test_an_unknown_name_offers_the_nearest(asked: str, offered: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        model(asked)
    assert isinstance(caught.value, CatalogError)
    assert caught.value.nearest[0] == offered
    assert offered in str(caught.value)


def test_one_name_for_two_entries_is_refused() -> None:
    twin = dataclasses.replace(model("gpt2"), name="other")
    with pytest.raises(ValueError, match="twice"):
        index_by_name([model("gpt2"), twin])
