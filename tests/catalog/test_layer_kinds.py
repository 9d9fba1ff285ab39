"""Models as lists of layers: counts as transformers builds them, bytes as published."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from jeton.catalog import model, models
from jeton.catalog.layers import LAYER_KINDS
from jeton.catalog.model_config import facts_of
from jeton.economics import kv_bytes_per_token
from jeton.economics.serving.memory import kv_bytes, state_bytes
from jeton.economics.serving.parameters import count_parameters

# Made once with transformers 5.24: the classes built on no device, their parameters counted.
BUILT = json.loads(
    Path(__file__).with_name("transformers-parameters.json").read_text(encoding="utf-8")
)
DAY = datetime.date(2026, 11, 29)
KIB = 1024


@pytest.mark.parametrize("kind", LAYER_KINDS.values(), ids=LAYER_KINDS.keys())
def test_each_kind_says_its_formula_and_source(kind: Any) -> None:
    assert kind.formula
    assert kind.source


@pytest.mark.parametrize("kind", BUILT)
def test_parameters_are_those_of_transformers(kind: str) -> None:
    built = BUILT[kind]
    facts = facts_of(dict(built["config"]), name=kind, where=kind, day=DAY)
    found = count_parameters(facts).total
    if not built["head"] and not facts.tied_embeddings:
        found -= facts.vocab_size * facts.hidden_size
    # The rest is buffers of routers that published files hold and classes do not count.
    assert found == pytest.approx(built["n"], rel=1e-3)


def test_all_but_two_are_within_a_millionth() -> None:
    exact = 0
    for kind, built in BUILT.items():
        facts = facts_of(dict(built["config"]), name=kind, where=kind, day=DAY)
        found = count_parameters(facts).total
        if not built["head"] and not facts.tied_embeddings:
            found -= facts.vocab_size * facts.hidden_size
        exact += abs(found / built["n"] - 1) < 1e-6
    assert exact >= len(BUILT) - 2


# Bytes of a token that vLLM, SGLang and llama.cpp logs show, or the papers.
PUBLISHED = (
    ("llama-3.1-8b", 128 * KIB),  # vllm-project/vllm#10517: 3.81 GiB for 31,232 tokens
    ("deepseek-v3", 61 * 576 * 2),  # arXiv:2405.04434: 576 elements of each layer
    ("qwen3.5-27b", 64 * KIB),  # unslothai/unsloth#9525: 16.15 GiB at 262,144 tokens
    ("gpt-oss-120b", 72 * KIB),  # ollama/ollama#16480
    ("kimi-linear-48b-a3b", 7 * 576 * 2),  # arXiv:2510.26692: one of four layers caches
    ("nemotron-3-nano-30b-a3b", 6 * 2 * 2 * 128 * 2),  # 6 of 52 layers attend, 2 heads of 128
)


@pytest.mark.parametrize(("name", "n"), PUBLISHED, ids=[name for name, _ in PUBLISHED])
def test_bytes_of_a_token(name: str, n: int) -> None:
    assert kv_bytes_per_token(model(name)) == n


def test_states_do_not_grow() -> None:
    facts = model("qwen3.5-27b")
    # unslothai/unsloth#9525: 0.40 GiB at 4,096 tokens, of which the cache is 0.25.
    assert state_bytes(facts) / 2**30 == pytest.approx(0.15, abs=0.01)
    assert kv_bytes(facts, 4096) == 4096 * 64 * KIB


def test_each_model_of_the_catalog_has_as_many_parameters_as_published() -> None:
    for facts in models():
        if facts.n_parameters:
            found = count_parameters(facts).total
            assert found == pytest.approx(facts.n_parameters, rel=0.01), facts.name
