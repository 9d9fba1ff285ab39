"""Servers that an engine refuses when they start, and shares that follow its version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jeton.catalog import gpu, model
from jeton.economics import MemoryPlan, fit_on, memory_budget
from jeton.economics.serving.memory_budget import DoesNotFitError, check_served, refusal
from jeton.economics.serving.memory_fit import plan_summary

CASES = json.loads(
    (Path(__file__).parents[2] / "cases/memory/engine-starts.json").read_text(encoding="utf-8")
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['model']}-{case['refused'][:24]}")
def test_starts(case: dict[str, Any]) -> None:
    facts, card, plan = model(case["model"]), gpu(case["gpu"]), MemoryPlan(**case["plan"])
    words = refusal(facts, card, plan)
    assert case["refused"] in words
    assert bool(case["refused"]) == bool(words), words
    assert memory_budget(facts, card, plan).fits == (not words)
    if words:
        with pytest.raises(DoesNotFitError, match="hint: ") as found:
            check_served(facts, card, plan)
        assert found.value.exit_code == 1


@pytest.mark.parametrize(
    ("version", "share"),
    [("", 0.92), ("0.30", 0.92), ("0.21", 0.92), ("0.20.2", 0.9), ("0.6", 0.9)],
)
def test_share_of_a_version(version: str, share: float) -> None:
    plan = MemoryPlan(engine_version=version)
    assert plan.share_on(gpu("l4")) == share


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 32_768),
        ("Qwen/Qwen2.5-14B-Instruct-AWQ", 32_768),
        ("qwen2.5-72b-instruct", 32_768),
        ("Qwen/Qwen2.5-14B", 131_072),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 131_072),
        ("Qwen/QwQ-32B", 40_960),
        ("Qwen/Qwen3-8B", 40_960),
        ("Qwen/Qwen3-8B-Base", 32_768),
        ("moonshotai/Kimi-K2-Instruct-0905", 262_144),
    ],
)
def test_context_of_a_tuned_model(name: str, context: int) -> None:
    assert model(name).context_tokens == context


def test_a_context_that_is_not_stated_is_said() -> None:
    fit = fit_on(model("llama-3.1-8b"), gpu("l4"), MemoryPlan(), request_tokens=1000)
    longest = f"--max-model-len {fit.longest_context_tokens:,} or less"
    assert any(longest in note for note in fit.notes)


def test_replicas_are_not_called_too_small() -> None:
    plan = MemoryPlan(data_parallel=2)
    fit = fit_on(model("llama-3.1-8b"), gpu("h100"), plan, request_tokens=1000)
    assert not any("does not fit" in note for note in fit.notes)


def test_llama_cpp_copies_no_heads() -> None:
    plan = MemoryPlan(engine="llama.cpp", n_gpus=3)
    fit = fit_on(model("llama-3.1-8b"), gpu("l4"), plan, request_tokens=1000)
    assert fit.budget.kv_copies == 1
    assert not any("held" in note for note in fit.notes)


def test_a_guess_of_nvfp4_says_its_margin() -> None:
    fit = fit_on(model("qwen3.8-27b-nvfp4"), gpu("b200"), MemoryPlan(), request_tokens=1000)
    assert any("4% heavier" in note for note in fit.notes)
    assert fit.budget.weight_bytes > 24.04 * 2**30  # vllm-project/recipes#810


@pytest.mark.parametrize("n", [0, 1])
def test_parts_sum_to_what_is_loaded(n: int) -> None:
    told = plan_summary(model("qwen3.8-27b"), MemoryPlan(draft_tokens=n))
    assert sum(told["weights_by_part"].values()) == told["weights_bytes"]
    assert bool(told["weights_not_loaded_bytes"]) == (not n)
