"""Routing: each request to the endpoint that takes it at the least cost, and what that would save.

An endpoint is a tokenizer, a model, prices, limits, times and scores. A `Router` chooses between
them in constant time; `route_logs` replays logs, against fixed choices and an oracle.
"""

from __future__ import annotations

from jeton.planning.routing.endpoint_files import EndpointFile, parse_endpoints, read_endpoints
from jeton.planning.routing.endpoints import (
    Endpoint,
    EndpointFailures,
    EndpointGpu,
    EndpointLimits,
    LatencyProfile,
    PromptCache,
)
from jeton.planning.routing.policy import RoutingPolicy, RoutingWeights
from jeton.planning.routing.replaying import route_logs
from jeton.planning.routing.requests import (
    RoutingCandidate,
    RoutingChoice,
    RoutingExplanation,
    RoutingRequest,
)
from jeton.planning.routing.results import ReplayedEndpoint, RouteOutcome, RouteReplay
from jeton.planning.routing.router import Router

__all__ = [
    "Endpoint",
    "EndpointFailures",
    "EndpointFile",
    "EndpointGpu",
    "EndpointLimits",
    "LatencyProfile",
    "PromptCache",
    "ReplayedEndpoint",
    "RouteOutcome",
    "RouteReplay",
    "Router",
    "RoutingCandidate",
    "RoutingChoice",
    "RoutingExplanation",
    "RoutingPolicy",
    "RoutingRequest",
    "RoutingWeights",
    "parse_endpoints",
    "read_endpoints",
    "route_logs",
]
