"""Prompt caches of providers: published rules by provider, model and date, each with its source.

A provider is one file, or a part of one, and one line here.
"""

from __future__ import annotations

from datetime import date

from jeton.catalog.caches.anthropic import ANTHROPIC
from jeton.catalog.caches.openai import OPENAI
from jeton.catalog.caches.others import (
    DEEPSEEK,
    GOOGLE,
    MISTRAL,
    NOVA,
    OWN_SERVER,
    QWEN,
    UNKNOWN,
    XAI,
)
from jeton.catalog.caches.rule import CacheProvider, CacheRule

__all__ = ["CACHE_PROVIDERS", "CacheRule", "cache_rules_for"]

CACHE_PROVIDERS: tuple[CacheProvider, ...] = (
    OWN_SERVER,
    ANTHROPIC,
    OPENAI,
    GOOGLE,
    NOVA,
    DEEPSEEK,
    XAI,
    QWEN,
    MISTRAL,
    UNKNOWN,
)
"""Every provider; the first that says a model is its own counts, the last takes any."""


def cache_rules_for(provider: str, model: str, on: date | None = None) -> tuple[CacheRule, ...]:
    """Return the rules among which a caller may choose, the usual lifetime first.

    Args:
        provider: Id of the provider as in the price list; empty: not known.
        model: The model's name.
        on: Day of the requests; None: today.

    Example:
        >>> cache_rules_for("anthropic", "claude-opus-4-7")[0].min_tokens
        2048
    """
    provider, model = provider.lower(), model.lower()
    for own in CACHE_PROVIDERS:
        if own.is_it(provider, model):
            for row in own.rows:
                if row.holds(model, on):
                    return row.choices
    return UNKNOWN.rows[0].choices
