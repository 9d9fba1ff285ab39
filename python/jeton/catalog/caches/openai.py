"""Rules of OpenAI's cache, which Azure shares: 1,024 tokens, then steps of 128."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from jeton.catalog.caches.rule import CacheProvider, CacheRule, RuleRow

_PAGE = "developers.openai.com/api/docs/guides/prompt-caching, read 2026-11-21"

_MINUTES = CacheRule(
    "OpenAI",
    min_tokens=1024,
    step_tokens=128,
    write_factor=1.0,
    ttl_seconds=300.0,
    max_break_points=0,
    longest_seconds=3600.0,
    source=f"{_PAGE}: from 1,024 tokens in steps of 128, 5 to 10 minutes without use, no charge "
    "for writing before GPT-5.6",
)
_DAY = replace(
    _MINUTES,
    name="OpenAI, kept up to 24 hours on request",
    longest_seconds=86_400.0,
    source=f"{_MINUTES.source}; prompt_cache_retention 24h from GPT-4.1 and GPT-5 on",
)
_MARKED = CacheRule(
    "OpenAI from GPT-5.6 on",
    min_tokens=1024,
    step_tokens=1,
    write_factor=1.25,
    ttl_seconds=1800.0,
    max_break_points=4,
    source=f"{_PAGE}: writes at 1.25 times the input rate, at least 30 minutes, four break points "
    "a request",
)

OPENAI = CacheProvider(
    is_it=lambda provider, model: (
        provider in ("openai", "azure") or model.startswith(("gpt-", "openai/gpt-", "o3", "o4-"))
    ),
    rows=(
        RuleRow(r"gpt-5\.(?:[6-9]|\d\d)|gpt-[6-9](?!\d)", (_MARKED,)),
        RuleRow(r"gpt-4\.1|gpt-5", (_DAY,), since=date(2025, 11, 13)),
        RuleRow("", (_MINUTES,)),
    ),
)
