"""OpenRouter: the routing part of a request's body.

Fields: openrouter.ai/docs/guides/routing (provider selection, model fallbacks), read 2026-11-28.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from jeton._plain import strict_json
from jeton.errors import UsageError
from jeton.planning.routing.exporting.exported import (
    RouteExport,
    common_losses,
    provider_and_model,
)
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingPolicy

_MAKERS: Final = {
    "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic",
    "gemini": "google", "grok": "x-ai", "mistral": "mistralai", "deepseek": "deepseek",
}  # fmt: skip


def openrouter_route(
    lanes: tuple[Lane, ...], policy: RoutingPolicy, shares: Mapping[str, float]
) -> RouteExport:
    """Return the fields of a request's body, as JSON.

    Raises:
        UsageError: None of the endpoints is a model that a provider offers.
    """
    taken: list[tuple[float, int, str, Lane]] = []
    losses = common_losses(lanes, policy)
    for lane in lanes:
        slug = _slug(lane)
        if slug:
            taken.append((-shares.get(lane.endpoint.name, 0.0), lane.place, slug, lane))
        else:
            losses.append(
                f"the endpoint {lane.endpoint.name!r}: it is no model that OpenRouter's providers "
                "are known to offer"
            )
    if not taken:
        raise UsageError(
            "none of the endpoints is a model that OpenRouter's providers are known to offer\n"
            'hint: an endpoint\'s model is written model = "PROVIDER:MODEL"'
        )
    taken.sort(key=lambda one: one[:2])
    models = list(dict.fromkeys(slug for _, _, slug, _ in taken))
    rates = [lane.rates(0, math.nan) for *_, lane in taken]
    provider: dict[str, Any] = {
        "sort": "latency" if policy.weights.latency > policy.weights.cost else "price",
        "allow_fallbacks": True,
        "max_price": {
            "prompt": float(f"{max(rate.fresh for rate in rates) * 1e6:.9g}"),
            "completion": float(f"{max(rate.output for rate in rates) * 1e6:.9g}"),
        },
    }
    if policy.max_ttft_seconds is not None:
        provider["preferred_max_latency"] = {"p90": policy.max_ttft_seconds}
    losses.append(
        "the choice between models by price: the models are tried in the order of their shares, "
        "the next one only where one fails"
    )
    if policy.max_seconds is not None:
        losses.append(f"the limit of {policy.max_seconds:g} s to the last token")
    if any(
        lane.endpoint.limits.requests_per_minute or lane.endpoint.limits.tokens_per_minute
        for lane in lanes
    ):
        losses.append("limits of requests and tokens a minute of one's own")
    if policy.fallbacks:
        losses.append("fallbacks of one's own: the order of the models stands in")
    body = {"models": models, "provider": provider}
    return RouteExport("openrouter", strict_json(body, indent=2) + "\n", tuple(losses))


def _slug(lane: Lane) -> str:
    """Return ``MAKER/MODEL``; empty where the provider is not known."""
    provider, model = provider_and_model(lane)
    if not provider:
        return ""
    if provider == "openrouter" or "/" in model:
        return model
    maker = next((own for start, own in _MAKERS.items() if model.startswith(start)), provider)
    return f"{maker}/{model}"
