"""Envoy AI Gateway: a route whose backends have weights, and fallbacks by priority.

Fields: ``api/`` and ``examples/`` of github.com/envoyproxy/ai-gateway (v1beta1), read 2026-11-28.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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

_API: Final = "aigateway.envoyproxy.io/v1beta1"
_SCHEMAS: Final = {
    "anthropic": ({"name": "Anthropic"}, "api.anthropic.com"),
    "google": (
        {"name": "GoogleAIStudio", "version": "v1beta"},
        "generativelanguage.googleapis.com",
    ),
    "aws": ({"name": "AWSBedrock"}, "bedrock-runtime.us-east-1.amazonaws.com"),
    "openai": ({"name": "OpenAI"}, "api.openai.com"),
}
_NO_HOST: Final = "replace-me.example.com"


def envoy_route(
    lanes: tuple[Lane, ...], policy: RoutingPolicy, shares: Mapping[str, float]
) -> RouteExport:
    """Return the resources of a gateway, as YAML."""
    names = _resource_names(lanes)
    weights = whole_percents(lanes, shares)
    backends: list[dict[str, Any]] = []
    last = {name: rank for rank, name in enumerate(policy.fallbacks, start=1)}
    for lane, weight in zip(lanes, weights, strict=True):
        rank = last.get(lane.endpoint.name, 0)
        if not weight and not rank:
            continue
        one: dict[str, Any] = {
            "name": names[lane.place],
            "modelNameOverride": provider_and_model(lane)[1],
            "weight": weight or 1,
        }
        if last:
            one["priority"] = 0 if weight else rank
        backends.append(one)
    losses = common_losses(lanes, policy)
    losses.append("the choice by request: backends are drawn by their shares in the replay")
    if policy.max_seconds is not None:
        losses.append("the limit of time before a request is sent; a timeout ends it afterwards")
    if any(
        lane.endpoint.limits.requests_per_minute or lane.endpoint.limits.tokens_per_minute
        for lane in lanes
    ):
        losses.append(
            "limits a minute by endpoint: a BackendTrafficPolicy limits clients of the gateway, "
            "and counts tokens after the answer"
        )
    losses.append("limits of context: no rule may look at the number of tokens")
    losses += [
        f"the endpoint {lane.endpoint.name!r}: no request of the replay went there"
        for lane, weight in zip(lanes, weights, strict=True)
        if not weight and lane.endpoint.name not in last
    ]
    route: dict[str, Any] = {
        "matches": [{"headers": [{"type": "Exact", "name": "x-ai-eg-model", "value": GROUP}]}],
        "backendRefs": backends,
    }
    if policy.max_seconds is not None:
        route["timeouts"] = {"request": f"{policy.max_seconds:g}s"}
    documents: list[dict[str, Any]] = [
        _resource(
            "AIGatewayRoute",
            GROUP,
            {
                "parentRefs": [
                    {"name": GROUP, "kind": "Gateway", "group": "gateway.networking.k8s.io"}
                ],
                "rules": [route],
                "llmRequestCosts": [
                    {"metadataKey": "llm_input_token", "type": "InputToken"},
                    {"metadataKey": "llm_output_token", "type": "OutputToken"},
                ],
            },
        )
    ]
    used = {one["name"] for one in backends}
    for lane in lanes:
        if names[lane.place] in used:
            documents += _backend(lane, names[lane.place])
    head = comment_lines(
        [
            f"Written by jeton route. Clients ask for the model {GROUP}. The Gateway {GROUP}, keys",
            f"(BackendSecurityPolicy) and TLS are yours to add; so is each host {_NO_HOST}.",
            "It does not express:",
            *(f"- {loss}" for loss in losses),
        ]
    )
    return RouteExport(
        "envoy", head + "---\n".join(yaml_text(one) + "\n" for one in documents), tuple(losses)
    )


def _resource(kind: str, name: str, spec: Mapping[str, Any], api: str = _API) -> dict[str, Any]:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": dict(spec),
    }


def _backend(lane: Lane, name: str) -> list[dict[str, Any]]:
    provider, _ = provider_and_model(lane)
    schema, host = _SCHEMAS.get(provider, ({"name": "OpenAI"}, _NO_HOST))
    group = "gateway.envoyproxy.io"
    return [
        _resource(
            "AIServiceBackend",
            name,
            {"schema": schema, "backendRef": {"name": name, "kind": "Backend", "group": group}},
        ),
        _resource(
            "Backend",
            name,
            {"endpoints": [{"fqdn": {"hostname": host, "port": 443}}]},
            "gateway.envoyproxy.io/v1alpha1",
        ),
    ]


def _resource_names(lanes: tuple[Lane, ...]) -> list[str]:
    """Return names that Kubernetes takes, each once: small letters, digits and hyphens."""
    found: list[str] = []
    for lane in lanes:
        plain = re.sub(r"[^a-z0-9]+", "-", lane.endpoint.name.lower()).strip("-")[:50].strip("-")
        plain = plain or "endpoint"
        name, number = plain, 2
        while name in found:
            name, number = f"{plain}-{number}", number + 1
        found.append(name)
    return found
