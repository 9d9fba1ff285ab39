"""LiteLLM's proxy: one group of deployments, chosen by the sum of both prices.

Fields: ``litellm/router_strategy/lowest_cost.py`` and docs.litellm.ai, read 2026-11-28.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from jeton.planning.routing.exporting.exported import (
    GROUP,
    RouteExport,
    common_losses,
    provider_and_model,
    whole_percents,
)
from jeton.planning.routing.exporting.yaml_text import comment_lines, yaml_text
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingPolicy

_PREFIXES: Final = {
    "google": "gemini", "x-ai": "xai", "aws": "bedrock", "together": "together_ai",
    "fireworks": "fireworks_ai",
}  # fmt: skip


def litellm_route(
    lanes: tuple[Lane, ...], policy: RoutingPolicy, shares: Mapping[str, float]
) -> RouteExport:
    """Return a ``config.yaml``."""
    weights = whole_percents(lanes, shares)
    is_by_weight = policy.rule == "weighted"
    deployments = []
    fallbacks = [name for name in policy.fallbacks]
    for lane, weight in zip(lanes, weights, strict=True):
        deployments.append(_deployment(lane, GROUP, weight if is_by_weight else None))
    for name in fallbacks:
        lane = next(one for one in lanes if one.endpoint.name == name)
        deployments.append(_deployment(lane, f"{GROUP}-{name}", None))
    settings: dict[str, Any] = {
        "routing_strategy": "simple-shuffle" if is_by_weight else "cost-based-routing",
        "enable_pre_call_checks": True,
    }
    if policy.max_seconds is not None:
        settings["timeout"] = policy.max_seconds
    if fallbacks:
        settings["fallbacks"] = [{GROUP: [f"{GROUP}-{name}" for name in fallbacks]}]
    losses = common_losses(lanes, policy)
    if is_by_weight:
        losses.append(
            "a choice by the request: deployments are drawn by their shares in the replay"
        )
    else:
        losses.append(
            "the mix of prompt and answer: the least sum of input and output price takes all "
            "requests, whatever their lengths"
        )
    if policy.max_seconds is not None:
        losses.append("the limit of time before a request is sent: a timeout ends it afterwards")
    if policy.sticky == "always":
        losses.append("conversations that stay where they are")
    text = comment_lines(
        [
            "Written by jeton route. Clients ask for the model " + GROUP + ".",
            "It does not express:",
            *(f"- {loss}" for loss in losses),
        ]
    ) + yaml_text({"model_list": deployments, "router_settings": settings})
    return RouteExport("litellm", text + "\n", tuple(losses))


def _deployment(lane: Lane, group: str, weight: int | None) -> dict[str, Any]:
    provider, model = provider_and_model(lane)
    endpoint = lane.endpoint
    base = lane.rates(0, math.nan)
    name = endpoint.name.upper().translate(_ENVIRONMENT)
    if provider:
        params: dict[str, Any] = {
            "model": f"{_PREFIXES.get(provider, provider)}/{model}",
            "api_key": f"os.environ/{provider.upper().translate(_ENVIRONMENT)}_API_KEY",
        }
    else:
        kind = "hosted_vllm" if endpoint.gpu is not None else "openai"
        params = {
            "model": f"{kind}/{model}",
            "api_base": f"os.environ/{name}_API_BASE",
            "api_key": f"os.environ/{name}_API_KEY",
        }
    params["input_cost_per_token"] = _rate(base.fresh)
    params["output_cost_per_token"] = _rate(base.output)
    limits = endpoint.limits
    if limits.requests_per_minute:
        params["rpm"] = limits.requests_per_minute
    if limits.tokens_per_minute:
        params["tpm"] = limits.tokens_per_minute
    if weight is not None:
        params["weight"] = weight
    info: dict[str, Any] = {"id": endpoint.name if group == GROUP else f"{endpoint.name}-fallback"}
    if not math.isinf(lane.context_tokens):
        info["max_input_tokens"] = int(lane.context_tokens)
    if not math.isinf(lane.output_tokens):
        info["max_output_tokens"] = int(lane.output_tokens)
    return {"model_name": group, "litellm_params": params, "model_info": info}


_ENVIRONMENT: Final = {ord(mark): "_" for mark in "-. /:"}


def _rate(value: float) -> Decimal:
    return Decimal(repr(value)).normalize()
