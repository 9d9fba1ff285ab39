"""Rules of Claude's cache, at Anthropic, Bedrock and Vertex: the minimum differs by model."""

from __future__ import annotations

from dataclasses import replace

from jeton.catalog.caches.rule import CacheProvider, CacheRule, RuleRow

_PAGE = "platform.claude.com/docs/en/build-with-claude/prompt-caching"
_MODELS = {
    512: (
        r"(opus|fable|mythos)-5|sonnet-5[-.]5",
        "model registry of cacheeconomics 0.2.1, 2026-07-28, and nine others",
    ),
    2048: (
        r"opus-4[-.]7|mythos-preview|haiku-3|3[-.]5-haiku|3-haiku",
        "the provider's page as quoted in anthropic-sdk-python#1194, and ten model registries",
    ),
    4096: (r"opus-4[-.][56]|haiku-4[-.]5", f"{_PAGE}, read 2026-11-21"),
    1024: ("", f"{_PAGE}, read 2026-11-21"),
}
"""Minimum of the models whose name has the pattern, and its source; the first that fits counts."""


def _choices(min_tokens: int, source: str) -> tuple[CacheRule, ...]:
    minutes = CacheRule(
        "Anthropic, 5 minutes",
        min_tokens=min_tokens,
        step_tokens=1,
        write_factor=1.25,
        ttl_seconds=300.0,
        max_break_points=4,
        source=f"{source}: from {min_tokens:,} tokens; {_PAGE}, read 2026-11-21: four break "
        "points, 20 blocks of look-back, life counted from the last read, readable from the "
        "writer's first token on",
        lifetime="5m",
        look_back_blocks=20,
        first_token_seconds=3.0,
        needs_equal_parameters=True,
    )
    hour = replace(
        minutes, name="Anthropic, 1 hour", write_factor=2.0, ttl_seconds=3600.0, lifetime="1h"
    )
    return minutes, hour


ANTHROPIC = CacheProvider(
    is_it=lambda provider, model: provider == "anthropic" or "claude" in model,
    rows=tuple(
        RuleRow(models, _choices(least, source)) for least, (models, source) in _MODELS.items()
    ),
)
