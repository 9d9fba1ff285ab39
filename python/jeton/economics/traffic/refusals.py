"""Requests that an engine would never admit, told from their lengths alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton.economics.serving.capacity import longest_context
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import changed_plan
from jeton.economics.traffic.outcome import DONE, TOO_LARGE, TOO_LONG
from jeton.economics.traffic.pool import PageBytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts
    from jeton.economics.serving.memory_plan import MemoryPlan


def refused_requests(
    model: ModelFacts,
    gpu: GpuFacts,
    plan: MemoryPlan,
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Return for each request 0, or why an engine with this plan refuses it."""
    budget = memory_budget(model, gpu, plan)
    pages = PageBytes(
        model,
        page_tokens=plan.page or 1,
        plan=changed_plan(plan, n_gpus=budget.tensor_parallel),
    )
    # A request lies on one replica.
    context = plan.context_tokens(model)
    status = refusals(
        prompts,
        outputs,
        pages=pages,
        budget_bytes=budget.group_kv_bytes // budget.n_replicas,
        context_tokens=context,
    )
    # Engines keep layers of several kinds in pages of one size, which hold less than bytes say.
    most = longest_context(model, gpu, plan=changed_plan(plan, n_gpus=budget.tensor_parallel))
    if most < context:
        status[(status == DONE) & (prompts + outputs - (outputs > 0) > most)] = TOO_LARGE
    return status


def refusals(
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    *,
    pages: PageBytes,
    budget_bytes: int,
    context_tokens: int | None = None,
    reserved_tokens: int = 0,
) -> NDArray[np.uint8]:
    """Return for each request 0, or why it is refused: `TOO_LONG` or `TOO_LARGE`.

    Args:
        prompts: Tokens of the prompts.
        outputs: Tokens of the answers.
        pages: Pages of a sequence.
        budget_bytes: Memory for requests.
        context_tokens: The model's context; None: without end.
        reserved_tokens: Tokens reserved for each in one piece; 0: pages, as tokens come.
    """
    import numpy as np

    longest = prompts + outputs
    status = np.zeros(len(longest), dtype=np.uint8)
    if reserved_tokens:
        if pages.of(reserved_tokens) > budget_bytes:
            status[:] = TOO_LARGE
        status[longest > reserved_tokens] = TOO_LONG
    else:
        # The last token that is given is never read again: it needs no place.
        status[longest - (outputs > 0) > pages.most_tokens(budget_bytes)] = TOO_LARGE
    if context_tokens is not None:
        status[longest > context_tokens] = TOO_LONG
    return status
