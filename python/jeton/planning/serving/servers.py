"""A server by names, with its engine's default settings."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.economics.serving.capacity import cached_tokens
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.simulate import Server
from jeton.errors import UsageError

if TYPE_CHECKING:
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
