"""The discrete-event simulation of one serving group: continuous batching over a paged KV cache.

Requests wait in the order of the policy. A step gives each decoding request one token and reads
prompt tokens of those that were admitted; memory is handed out by the policy; where it runs out,
the request that the policy names loses its cache, waits at the head of the queue and reads
everything again (vLLM's recompute, arXiv:2309.06180). Between two events - a request ends, one
comes, memory runs out - the batch stays as it is, and its steps are one sum in closed form.

The loop is compiled (``crates/jeton-serving``), with the policies that `Admission` asks too. Its
twin in Python is the tests' (``tests/economics/serving_reference``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jeton._core import simulate_traffic
from jeton.economics.admission.policies import Policy
from jeton.economics.traffic.outcome import MemoryRecord, Outcome
from jeton.economics.traffic.pool import PageBytes
from jeton.economics.traffic.prefixes import PromptBlocks
from jeton.economics.traffic.refusals import refusals
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.step_times import StepTimes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def run_engine(
    arrivals: NDArray[np.float64],
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    *,
    times: StepTimes,
    pages: PageBytes,
    budget_bytes: int,
    policy: Policy,
    settings: EngineSettings,
    bin_seconds: float,
    context_tokens: int | None = None,
    blocks: PromptBlocks | None = None,
    group_of: NDArray[np.int64] | None = None,
    groups: Sequence[tuple[str, ...]] = ((),),
) -> Outcome:
    """Run until every request has ended.

    Args:
        arrivals: When each request comes, seconds, ascending.
        prompts: Tokens of its prompt.
        outputs: Tokens of its answer.
        times: Time of a step.
        pages: Memory of a sequence.
        budget_bytes: Memory of all sequences.
        policy: Policy of admission; lengths that it lacks are the longest here.
        settings: The engine's other settings.
        bin_seconds: Stretches of the memory over time.
        context_tokens: The model's context; None: without end.
        blocks: Blocks of prompts that share memory; None: none do.
        group_of: Which of ``groups`` each request belongs to; None: the first.
        groups: Names that like requests share.
    """
    import numpy as np

    policy = replace(
        policy,
        reserved_tokens=policy.reserved_tokens or max(1, int((prompts + outputs).max(initial=1))),
        max_output_tokens=policy.max_output_tokens or max(1, int(outputs.max(initial=1))),
    )
    reserved = policy.reserved_tokens if policy.name == "static" else None
    status = refusals(
        prompts,
        outputs,
        pages=pages,
        budget_bytes=budget_bytes,
        context_tokens=context_tokens,
        reserved_tokens=reserved or 0,
    )
    found = simulate_traffic(
        arrivals,
        prompts,
        outputs,
        status > 0,
        np.zeros(len(arrivals), dtype=np.int64) if group_of is None else group_of,
        [list(group) for group in groups],
        times=times,
        pages=pages,
        budget_bytes=budget_bytes,
        policy=policy,
        settings=settings,
        bin_seconds=bin_seconds,
        context_tokens=context_tokens,
        blocks=blocks,
    )
    memory = MemoryRecord(**found.pop("memory"))
    return Outcome(status=status, memory=memory, **found)
