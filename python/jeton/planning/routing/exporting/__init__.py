"""Routes as the configuration of other products: the closest they express, and what they cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from jeton.errors import UsageError
from jeton.planning.routing.exporting.envoy import envoy_route
from jeton.planning.routing.exporting.exported import RouteExport
from jeton.planning.routing.exporting.litellm import litellm_route
from jeton.planning.routing.exporting.openrouter import openrouter_route
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingPolicy
from jeton.planning.routing.router import Router

__all__ = ["EXPORT_PRODUCTS", "RouteExport", "export_route"]

_WRITERS: Final[
    dict[str, Callable[[tuple[Lane, ...], RoutingPolicy, Mapping[str, float]], RouteExport]]
] = {"litellm": litellm_route, "openrouter": openrouter_route, "envoy": envoy_route}

EXPORT_PRODUCTS: Final = tuple(_WRITERS)
"""Products whose configuration can be written."""


def export_route(
    router: Router, product: str, shares: Mapping[str, float] | None = None
) -> RouteExport:
    """Return the configuration of a product that comes closest to a router.

    Args:
        router: The router.
        product: One of ``EXPORT_PRODUCTS``.
        shares: Share of the requests that each endpoint had in a replay; None: equal shares.

    Raises:
        UsageError: The product is not known, or takes none of the endpoints.
    """
    writer = _WRITERS.get(product)
    if writer is None:
        raise UsageError(f"cannot export to {product!r}; expected {', '.join(EXPORT_PRODUCTS)}")
    names = [endpoint.name for endpoint in router.endpoints]
    given = dict.fromkeys(names, 1 / len(names)) if shares is None else shares
    return writer(router.lanes, router.policy, given)
