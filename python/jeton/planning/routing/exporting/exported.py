"""An exported configuration, and what all of them have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jeton.catalog.model_names import find_listed
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingPolicy

GROUP = "jeton-route"
"""Name by which clients ask for the route."""


@dataclass(frozen=True, slots=True)
class RouteExport:
    """A configuration.

    Attributes:
        product: The product.
        text: The file, with the losses as comments where its format has any.
        losses: Parts of the routing that it does not express, in words.
    """

    product: str
    text: str
    losses: tuple[str, ...]


def provider_and_model(lane: Lane) -> tuple[str, str]:
    """Return the provider and the model's name there; the provider is empty where not known."""
    endpoint = lane.endpoint
    if endpoint.gpu is not None:
        return "", endpoint.model
    listed = find_listed(endpoint.model, endpoint.provider or None)
    head, colon, rest = endpoint.model.partition(":")
    if listed is not None:
        return listed.provider.id, rest if colon and head == listed.provider.id else endpoint.model
    return (endpoint.provider or (head if colon else "")), rest if colon else endpoint.model


def common_losses(lanes: Sequence[Lane], policy: RoutingPolicy) -> list[str]:
    """Return the parts of a policy that none of the products expresses."""
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


def whole_percents(lanes: Sequence[Lane], shares: Mapping[str, float]) -> list[int]:
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
