"""Routes as the configuration of LiteLLM's proxy: the closest it expresses, and what it cannot.

One group of deployments, chosen by the sum of both prices. Fields:
``litellm/router_strategy/lowest_cost.py`` and docs.litellm.ai, read 2026-11-28.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from jeton._plain import strict_json
from jeton.catalog.model_names import find_listed
from jeton.errors import UsageError
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingPolicy
from jeton.planning.routing.router import Router

EXPORT_PRODUCTS: Final = ("litellm",)
"""Products whose configuration can be written."""

_PREFIXES: Final = {
    "google": "gemini", "x-ai": "xai", "aws": "bedrock", "together": "together_ai",
    "fireworks": "fireworks_ai",
}  # fmt: skip
_ENVIRONMENT: Final = {ord(mark): "_" for mark in "-. /:"}

_GROUP = "jeton-route"
"""Name by which clients ask for the route."""


@dataclass(frozen=True, slots=True)
class RouteExport:
    """A configuration.

    Attributes:
        product: The product.
        text: The file, with the losses as comments.
        losses: Parts of the routing that it does not express, in words.
    """

    product: str
    text: str
    losses: tuple[str, ...]


def export_route(
    router: Router, product: str, shares: Mapping[str, float] | None = None
) -> RouteExport:
    """Return the configuration of a product that comes closest to a router.

    Args:
        router: The router.
        product: One of ``EXPORT_PRODUCTS``.
        shares: Share of the requests that each endpoint had in a replay; None: equal shares.

    Raises:
        UsageError: The product is not known.
    """
    if product not in EXPORT_PRODUCTS:
        raise UsageError(f"cannot export to {product!r}; expected {', '.join(EXPORT_PRODUCTS)}")
    lanes = router.lanes
    given = dict.fromkeys((lane.endpoint.name for lane in lanes), 1.0) if shares is None else shares
    return _litellm(lanes, router.policy, given)


def _litellm(
    lanes: tuple[Lane, ...], policy: RoutingPolicy, shares: Mapping[str, float]
) -> RouteExport:
    """Return a ``config.yaml``."""
    weights = _whole_percents(lanes, shares)
    is_by_weight = policy.rule == "weighted"
    deployments = []
    fallbacks = policy.fallbacks
    for lane, weight in zip(lanes, weights, strict=True):
        deployments.append(_deployment(lane, _GROUP, weight if is_by_weight else None))
    for name in fallbacks:
        lane = next(one for one in lanes if one.endpoint.name == name)
        deployments.append(_deployment(lane, f"{_GROUP}-{name}", None))
    settings: dict[str, Any] = {
        "routing_strategy": "simple-shuffle" if is_by_weight else "cost-based-routing",
        "enable_pre_call_checks": True,
    }
    if policy.max_seconds is not None:
        settings["timeout"] = policy.max_seconds
    if fallbacks:
        settings["fallbacks"] = [{_GROUP: [f"{_GROUP}-{name}" for name in fallbacks]}]
    losses = _common_losses(lanes, policy)
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
    text = _comment_lines(
        [
            "Written by jeton route. Clients ask for the model " + _GROUP + ".",
            "It does not express:",
            *(f"- {loss}" for loss in losses),
        ]
    ) + _yaml_text({"model_list": deployments, "router_settings": settings})
    return RouteExport("litellm", text + "\n", tuple(losses))


def _deployment(lane: Lane, group: str, weight: int | None) -> dict[str, Any]:
    provider, model = _provider_and_model(lane)
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
    info: dict[str, Any] = {"id": endpoint.name if group == _GROUP else f"{endpoint.name}-fallback"}
    if not math.isinf(lane.context_tokens):
        info["max_input_tokens"] = int(lane.context_tokens)
    if not math.isinf(lane.output_tokens):
        info["max_output_tokens"] = int(lane.output_tokens)
    return {"model_name": group, "litellm_params": params, "model_info": info}


def _rate(value: float) -> Decimal:
    return Decimal(repr(value)).normalize()


def _provider_and_model(lane: Lane) -> tuple[str, str]:
    """Return the provider and the model's name there; the provider is empty where not known."""
    endpoint = lane.endpoint
    if endpoint.gpu is not None:
        return "", endpoint.model
    listed = find_listed(endpoint.model, endpoint.provider or None)
    head, colon, rest = endpoint.model.partition(":")
    if listed is not None:
        return listed.provider.id, rest if colon and head == listed.provider.id else endpoint.model
    return (endpoint.provider or (head if colon else "")), rest if colon else endpoint.model


def _common_losses(lanes: Sequence[Lane], policy: RoutingPolicy) -> list[str]:
    """Return the parts of a policy that LiteLLM does not express, whatever its rule."""
    found = [
        "prompt tokens by each endpoint's own tokenizer: a rule or the order of prices stands in",
        "the length of the answer, foreseen from history",
    ]
    if policy.min_quality is not None or any(lane.endpoint.quality for lane in lanes):
        found.append("scores by task: an endpoint is in the route or not, whatever the task")
    if policy.rule == "weighted":
        found.append("the weighted sum of cost, latency and quality")
    if policy.max_ttft_seconds is not None:
        found.append(f"the limit of {policy.max_ttft_seconds:g} s to the first token, as a limit")
    if policy.sticky != "never" and any(lane.keeps_cache for lane in lanes):
        found.append("the price of a conversation's prompt cache when it moves")
    if any(lane.endpoint.output_ratio != 1.0 for lane in lanes):
        found.append("models whose answers are longer than others'")
    if any(not math.isinf(lane.output_tokens) for lane in lanes):
        found.append("the limit of an answer's length, where no limit is asked for")
    return found


def _whole_percents(lanes: Sequence[Lane], shares: Mapping[str, float]) -> list[int]:
    """Return whole weights that add up to 100; what is left goes to the largest remainders."""
    total = sum(shares.get(lane.endpoint.name, 0.0) for lane in lanes)
    exact = [
        100 * shares.get(lane.endpoint.name, 0.0) / total if total else 100 / len(lanes)
        for lane in lanes
    ]
    found = [math.floor(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda i: (found[i] - exact[i], i))
    for place in order[: 100 - sum(found)]:
        found[place] += 1
    return found


def _yaml_text(value: Any, *, indent: int = 0) -> str:
    """Return mappings, lists and scalars as YAML; a text in JSON's quotes is one in YAML too."""
    pad = "  " * indent
    lines: list[str] = []
    if isinstance(value, dict):
        for key, own in value.items():
            if isinstance(own, dict | list) and own:
                lines += [f"{pad}{_key(key)}:", _yaml_text(own, indent=indent + 1)]
            else:
                lines.append(f"{pad}{_key(key)}: {_scalar(own)}")
    else:
        for own in value:
            if isinstance(own, dict | list) and own:
                inner = _yaml_text(own, indent=indent + 1)
                lines.append(f"{pad}- {inner[2 * (indent + 1) :]}")
            else:
                lines.append(f"{pad}- {_scalar(own)}")
    return "\n".join(lines)


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if plain and not key.isdigit() else strict_json(key)


def _scalar(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return strict_json(value, ascii_only=True)


def _comment_lines(lines: Iterable[str]) -> str:
    """Return lines as comments."""
    return "".join(f"# {line}\n" for text in lines for line in text.splitlines())
