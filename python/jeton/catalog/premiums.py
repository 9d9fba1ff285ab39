"""Premiums on a list price for the part of the world in which an answer has to be computed.

The price list has no such variants; they are published as one factor on all rates of tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Premium:
    """A factor on the rates of tokens: input, output, cache reads and cache writes.

    Attributes:
        factor: The factor.
        from_s: Moment from which it holds, seconds since 1970-01-01 UTC.
        source: Where it is published, and when that was read.
    """

    factor: Decimal
    from_s: float
    source: str


_US_INFERENCE = Premium(
    Decimal("1.1"),
    datetime(2026, 2, 5, tzinfo=UTC).timestamp(),
    "platform.claude.com/docs/en/about-claude/pricing, data residency pricing, 2026-11",
)
"""``inference_geo: us`` of Claude Opus 4.6 (released 2026-02-05) and of all later models."""

_WITHOUT_GEO = (
    "claude-v1", "claude-2", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5",
    "claude-sonnet-4-0", "claude-sonnet-4-5", "claude-haiku-4-5",
)  # fmt: skip
"""Models before them: their API refuses the parameter."""


def premium_of(provider: str, model: str, context: Mapping[str, str]) -> Premium | None:
    """The premium of a request; None: none is published for it.

    Args:
        provider: Id in the price list.
        model: Id in the price list.
        context: The request's tariff, by the names of the list.
    """
    if provider != "anthropic" or context.get("inference_geo") != "us":
        return None
    return None if model.startswith(_WITHOUT_GEO) else _US_INFERENCE
