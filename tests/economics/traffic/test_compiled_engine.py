"""The compiled engine equals its twin in Python to the last bit, and so do its forecasts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from jeton.catalog import gpu, model
from jeton.economics.admission import ADMISSION_POLICIES, ORDERS, Policy, PolicyName
from jeton.economics.prediction import OutputLengths
from jeton.economics.traffic import EngineSettings
from jeton.economics.traffic.engine import PageBytes, PromptBlocks, run_engine
from jeton.economics.traffic.step_times import StepTimes
from tests.economics.serving_reference.engine import Engine
from tests.economics.serving_reference.output_lengths import OutputLengths as Reference
from tests.economics.serving_reference.prefixes import PrefixCache
from tests.economics.serving_reference.recording import Recorder
from tests.economics.shapes import with_mixers

LLAMA = model("llama-3-8b")
MODELS = (
    LLAMA,
    # Layers that look back 24 tokens, 50, and all.
    with_mixers(with_mixers(LLAMA, 20, window=24), 8, window=50),
    model("mixtral-8x7b"),
    # An index bounds what is read, and not what is kept.
    with_mixers(model("deepseek-v3.2"), top_tokens=24),
)
H100 = gpu("h100-sxm")
GROUPS: list[tuple[str, ...]] = [(), ("chat",), ("chat", "llama"), ("code",)]
SEEDS = 9


@dataclasses.dataclass
class Case:
    """Traffic in bursts, on little memory, under settings of every kind."""

    arrivals: Any
    prompts: Any
    outputs: Any
    group_of: Any
    options: dict[str, Any]
    blocks: list[list[int]] | None
    block_tokens: int


def case_of(seed: int, policy: Policy) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 160))
    page = int(rng.choice([1, 4, 16]))
    facts = MODELS[seed % len(MODELS)]
    pages = PageBytes(facts, page_tokens=page)
    settings = EngineSettings(
        page_tokens=page,
        max_requests=int(rng.integers(1, 40)),
        step_tokens=int(rng.integers(41, 160)),
        prefill="chunked" if rng.random() < 0.6 else "whole",
        watermark_share=float(rng.choice([0.0, 0.01, 0.2])),
        clients=(None, None, None, 3)[rng.integers(4)],
        step_overhead_seconds=float(rng.choice([0.0, 0.002])),
    )
    has_blocks = facts is LLAMA and rng.random() < 0.8
    numbers = [rng.integers(0, 3, rng.integers(0, 13)).tolist() for _ in range(n)]
    options = {
        "times": StepTimes.of(facts, H100, overhead_seconds=settings.step_overhead_seconds),
        "pages": pages,
        "budget_bytes": pages.of(int(rng.integers(60, 900))),
        "policy": policy,
        "settings": settings,
        "context_tokens": (None, 140)[rng.integers(2)],
    }
    return Case(
        np.cumsum(np.where(rng.random(n) < 0.5, rng.exponential(0.05, n), 0.0)),
        rng.integers(1, 91, n),
        rng.integers(0, 60, n) if seed % 2 else rng.geometric(1 / 25, n),
        rng.integers(0, len(GROUPS), n),
        options,
        # Blocks with equal numbers begin alike only after equal blocks.
        [[7 * i + k for k, i in enumerate(np.cumsum(one))] for one in numbers]
        if has_blocks
        else None,
        page * int(rng.integers(1, 4)),
    )


@pytest.mark.parametrize("name", ADMISSION_POLICIES)
def test_equals_its_twin(name: PolicyName) -> None:
    n_preempted = n_cached = n_predicted = 0
    for seed in range(SEEDS):
        for order in ORDERS:
            policy = Policy(name, order=order, ageing_tokens_per_second=20.0, seed=seed)
            case = case_of(seed, policy)
            shared: dict[str, Any] = {"fast": None, "slow": None}
            if case.blocks is not None:
                of = {
                    "block_tokens": case.block_tokens,
                    "block_bytes": case.block_tokens
                    // case.options["settings"].page_tokens
                    * case.options["pages"].full,
                }
                shared["fast"] = PromptBlocks.made_of(case.blocks, **of)
                shared["slow"] = PrefixCache(case.blocks, **of)
            fast = run_engine(
                case.arrivals,
                case.prompts,
                case.outputs,
                bin_seconds=0.05,
                blocks=shared["fast"],
                group_of=case.group_of,
                groups=GROUPS,
                **case.options,
            )
            recorder = Recorder(0.05)
            slow = Engine(
                case.arrivals.tolist(),
                case.prompts.tolist(),
                case.outputs.tolist(),
                recorder=recorder,
                prefixes=shared["slow"],
                groups=[GROUPS[number] for number in case.group_of],
                **case.options,
            ).run()
            for field in dataclasses.fields(slow):
                mine, theirs = getattr(fast, field.name), getattr(slow, field.name)
                if field.name in ("waits", "runs"):
                    mine, theirs = np.concatenate(mine), [*theirs[0], *theirs[1]]
                if field.name == "status":
                    theirs = list(theirs)
                np.testing.assert_array_equal(mine, theirs, field.name)
            for part in ("width", "allocated", "peak", "held", "seconds"):
                assert getattr(fast.memory, part) == getattr(recorder, part), part
            n_preempted += len(fast.memory_out)
            n_cached += fast.cached_tokens
            n_predicted += len(fast.predicted)
    # The cases are of the kind that matters.
    assert n_preempted or name in ("static", "maximum")
    assert n_cached or name == "static"
    assert n_predicted or name in ("static", "maximum", "dynamic")


def test_output_lengths_equal_their_twin() -> None:
    rng = np.random.default_rng(5)
    for coverage in (0.5, 0.9, 0.98):
        fast, slow = OutputLengths(coverage=coverage), Reference(coverage=coverage)
        for row in range(3000):
            group = GROUPS[rng.integers(len(GROUPS))]
            prompt = int(rng.integers(0, 5000))
            # The lengths drift, and many are equal.
            scale = 4 + row / 1000
            output = 1 if rng.random() < 0.2 else int(np.ceil(rng.lognormal(scale, 1)))
            if row % 7 == 0:
                mine, theirs = fast.interval(prompt, group), slow.interval(prompt, group)
                assert (mine is None) == (theirs is None)
                if mine is not None and theirs is not None:
                    assert dataclasses.astuple(mine) == dataclasses.astuple(theirs)
                assert fast.upper(prompt, group) == slow.upper(prompt, group)
            fast.learn(prompt, output, group)
            slow.learn(prompt, output, group)
        mine_drifts = [dataclasses.astuple(one) for one in fast.drifts()]
        assert mine_drifts == [dataclasses.astuple(one) for one in slow.drifts()]
        assert fast.n_groups == slow.n_groups


def test_a_copy_learns_for_itself() -> None:
    lengths = OutputLengths()
    for _ in range(40):
        lengths.learn(10, 5)
    frozen = lengths.copy()
    for _ in range(4000):
        lengths.learn(10, 500)
    assert frozen.upper(10) == 5
    assert lengths.upper(10) == 512
