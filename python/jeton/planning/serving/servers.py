"""A server by names with its engine's defaults, and requests dealt out to a fleet of them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.economics.serving.capacity import cached_tokens
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.simulate import Server
from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace
    from jeton.economics.serving.memory_plan import MemoryPlan


def server_of(
    model: str,
    gpu: str,
    *,
    plan: MemoryPlan | None = None,
    usd_per_hour: Decimal | None = None,
) -> Server:
    """Return a server, once it is known to hold its model and to have a price.

    Raises:
        UsageError: The model does not fit, or the GPU has no price.
        UnknownModelError: The catalog has no such model.
        UnknownGpuError: The catalog has no such GPU.
    """
    found = Server(find_model(model), find_gpu(gpu), plan=plan, usd_per_hour=usd_per_hour)
    price = found.gpu.price_low.usd_per_hour if usd_per_hour is None else usd_per_hour
    if not price.is_finite() or price <= 0:
        raise UsageError(
            f"{found.gpu.name} has a price of {price} USD an hour; expected a price above 0\n"
            "hint: give what you pay for one GPU and hour (--usd-per-hour)"
        )
    found.check_fits()
    return found


def engine_defaults(
    server: Server, *, prefix_cache: bool = False, step_overhead_seconds: float = 0.0
) -> EngineSettings:
    """Return the settings of vLLM's server on this GPU, where the plan does not say others.

    Its second engine keeps no part of the cache free (`jeton.economics.traffic.settings`).

    Raises:
        UsageError: A step has no more tokens than requests.
    """
    plan = server.plan
    return EngineSettings(
        page_tokens=plan.page or 1,
        max_requests=plan.requests(server.gpu),
        step_tokens=plan.batched_tokens(server.gpu),
        watermark_share=0.0,
        prefix_cache=prefix_cache,
        step_overhead_seconds=step_overhead_seconds,
    )


def capacity_tokens(server: Server, settings: EngineSettings) -> int:
    """Return the tokens that the cache holds, as the engine prints them."""
    plan = changed_plan(server.group_plan, page_tokens=settings.page_tokens)
    return cached_tokens(server.model, server.gpu, server.budget, plan)


Spread = Literal["turns", "prefix"]

SPREADS: tuple[Spread, ...] = ("turns", "prefix")
"""Round robin; or the server that read most of the prompt before, unless it is too busy."""

_BUSY = 1.5
"""Load over the mean from which a server gets no request for its cache's sake: SGLang's router
has this ratio (``--balance-rel-threshold``, sgl-router/README.md)."""

_LOAD_SECONDS = 30.0
"""Time in which the load of a request fades to 1/e. A judgement: a request takes some seconds."""


def dealt_out(trace: Trace, n: int, spread: Spread) -> list[NDArray[np.int64]]:
    """Return the places of the requests that each of ``n`` servers gets.

    A balancer sees lengths and prefixes of prompts, and nothing of the future. Servers that are as
    good get requests in their order. O(requests x servers).

    Example:
        >>> from jeton.corpus.traces import Trace
        >>> trace = Trace.of([0, 1, 2, 3], [10] * 4, [5] * 4)
        >>> [part.tolist() for part in dealt_out(trace, 2, "turns")]
        [[0, 2], [1, 3]]
    """
    import numpy as np

    if spread == "turns" or trace.blocks is None or n == 1:
        return [np.arange(first, len(trace), n) for first in range(n)]
    places: list[list[int]] = [[] for _ in range(n)]
    load = np.zeros(n)
    owner: dict[int, int] = {}
    last = 0.0
    tokens = trace.prompt_tokens.tolist()
    for i, blocks in enumerate(trace.prompt_blocks()):
        now = float(trace.arrival_seconds[i])
        load *= math.exp((last - now) / _LOAD_SECONDS)
        last = now
        # A number stands for a block and all before it: the deepest known one is the longest match.
        depth = next((k for k in range(len(blocks), 0, -1) if blocks[k - 1] in owner), 0)
        server = owner[blocks[depth - 1]] if depth else -1
        if server < 0 or load[server] > _BUSY * (float(load.mean()) + tokens[i]):
            server, depth = int(load.argmin()), 0
        load[server] += max(tokens[i] - depth * trace.block_tokens, 0) + 1
        places[server].append(i)
        owner.update(dict.fromkeys(blocks, server))
    return [np.array(part, dtype=np.int64) for part in places]
