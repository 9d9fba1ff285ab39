"""One answer to "does it fit" and "is it refused", whichever command asks: 500 drawn cases."""

from __future__ import annotations

import random

import numpy as np
import pytest

from jeton.catalog import GpuFacts, ModelFacts, gpus, models
from jeton.economics import MemoryPlan, fit_on, memory_budget
from jeton.economics.prediction.memory_forecast import KvMemory
from jeton.economics.serving.capacity import longest_context
from jeton.economics.serving.engine_rules import ENGINES
from jeton.economics.serving.memory_budget import DoesNotFitError, refusal
from jeton.economics.traffic.engine import refused_requests
from jeton.economics.traffic.simulate import Server
from jeton.errors import UsageError
from jeton.planning.routing import Endpoint, EndpointGpu
from jeton.planning.routing.lanes import lane_of

CASES = 500


def drawn() -> list[tuple[ModelFacts, GpuFacts, MemoryPlan]]:
    draw = random.Random(60)
    every, cards = list(models()), [card for card in gpus() if card.low_price is not None]
    return [
        (
            draw.choice(every),
            draw.choice(cards),
            MemoryPlan(
                n_gpus=draw.choice([None, 1, 2, 3, 4, 8]),
                engine=draw.choice(list(ENGINES)),
                kv_dtype=draw.choice(["auto", "fp8"]),
            ),
        )
        for _ in range(CASES)
    ]


@pytest.mark.parametrize("part", range(10))
def test_commands_agree_on_what_fits(part: int) -> None:
    for facts, card, plan in drawn()[part::10]:
        words = refusal(facts, card, plan)
        case = (facts.name, card.name, plan, words)
        assert fit_on(facts, card, plan, request_tokens=1).budget.fits == (not words), case
        server = Server(facts, card, plan=plan)
        if words:
            with pytest.raises(DoesNotFitError, match="hint: "):
                server.check_fits()
            with pytest.raises(DoesNotFitError, match="hint: "):
                KvMemory.of(facts, card, plan=plan)
        else:
            server.check_fits()
            if any(layer.rows for layer in facts.layers):
                KvMemory.of(facts, card, plan=plan, seconds_per_token=0.02)


@pytest.mark.parametrize("part", range(5))
def test_commands_agree_on_which_requests_are_refused(part: int) -> None:
    draw = np.random.default_rng(60 + part)
    n = 0
    for facts, card, plan in drawn()[part::5]:
        if refusal(facts, card, plan) or not any(layer.rows for layer in facts.layers):
            continue
        longest = plan.context_tokens(facts)
        prompts = draw.integers(1, 2 * longest, 8)
        answers = draw.integers(1, 100, 8)
        status = refused_requests(facts, card, plan, prompts, answers)
        assert all(status[prompts + answers > longest] > 0)
        budget = memory_budget(facts, card, plan)
        assert budget.group_kv_bytes > 0
        alone = longest_context(facts, card, plan=MemoryPlan(n_gpus=budget.tensor_parallel))
        assert alone <= facts.context_tokens
        n += 1
    assert n > CASES // 25


def test_an_endpoint_on_a_gpu_is_refused_alike() -> None:
    for facts, card, plan in drawn()[:60]:
        own = EndpointGpu(card.name, n_gpus=plan.n_gpus, engine=plan.engine)
        endpoint = Endpoint("own", facts.name, tokenizer="jeton-general-32k", gpu=own)
        words = refusal(facts, card, own.plan)
        if words:
            with pytest.raises(UsageError, match="endpoint 'own'"):
                lane_of(endpoint, 0)
