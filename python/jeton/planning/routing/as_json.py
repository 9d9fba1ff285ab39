"""A replay of routes as plain values."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jeton.planning.routing.results import RouteReplay


def replay_json(found: RouteReplay) -> dict[str, Any]:
    """Return a replay as plain values; money as decimal strings."""
    data: dict[str, Any] = {
        "schema": "jeton.route/1",
        "jeton_version": found.jeton_version,
        "n_requests": found.n_requests,
        "n_conversations": found.n_conversations,
        "policy": dict(found.policy),
        "endpoints": [asdict(one) for one in found.endpoints],
        "as_logged": _plain(asdict(found.as_logged)),
        "saved_share": found.saved_share,
        "outcomes": [_plain(asdict(one)) for one in found.outcomes],
        "left_out": dict(found.left_out),
        "assumptions": dict(found.assumptions),
        "issues": [asdict(one) for one in found.issues],
    }
    return data


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: f"{value:f}" if isinstance(value, Decimal) else value
        for name, value in values.items()
    }
