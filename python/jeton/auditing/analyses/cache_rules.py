"""Prompt caches of providers: published rules, each with its source and date."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["RULES", "CacheRule", "rule_for", "rules_for"]


@dataclass(frozen=True, slots=True)
class CacheRule:
    """The rules of one provider's prompt cache.

    Attributes:
        name: Whose rules.
        min_tokens: Shorter prefixes are not cached.
        step_tokens: Cached lengths are multiples of this.
        write_factor: Cost of writing a token, in uncached input tokens; 1: no surcharge.
        ttl_seconds: How long a prefix lives after its last use, where a range is published its
            lower end.
        max_break_points: Break points of a request that the caller sets; 0: the provider finds
            shared prefixes by itself.
        source: Where the rules are published, with the day they were read.
        lifetime: The caller's request for this lifetime; empty: nothing is asked.
    """

    name: str
    min_tokens: int
    step_tokens: int
    write_factor: float
    ttl_seconds: float
    max_break_points: int
    source: str

    lifetime: str = ""

    @property
    def is_automatic(self) -> bool:
        """True if nothing has to be done for it but to keep beginnings equal."""
        return self.max_break_points == 0


RULES: dict[str, CacheRule] = {
    "openai": CacheRule(
        "OpenAI",
        min_tokens=1024,
        step_tokens=128,
        write_factor=1.0,
        ttl_seconds=300.0,
        max_break_points=0,
        source="developers.openai.com/api/docs/guides/prompt-caching, read 2026-11-21: from 1,024 "
        "tokens in steps of 128, 5 to 10 minutes without use, no charge for writing before GPT-5.6",
    ),
    "openai-5.6": CacheRule(
        "OpenAI from GPT-5.6 on",
        min_tokens=1024,
        step_tokens=1,
        write_factor=1.25,
        ttl_seconds=1800.0,
        max_break_points=4,
        source="developers.openai.com/api/docs/guides/prompt-caching, read 2026-11-21: writes at "
        "1.25 times the input rate, at least 30 minutes, four break points a request",
    ),
    "anthropic": CacheRule(
        "Anthropic, 5 minutes",
        min_tokens=1024,
        step_tokens=1,
        write_factor=1.25,
        ttl_seconds=300.0,
        max_break_points=4,
        source="platform.claude.com/docs/en/build-with-claude/prompt-caching, read 2026-11-21: "
        "from 1,024 tokens for most models, writes at 1.25 times, four break points",
        lifetime="5m",
    ),
    "anthropic-4096": CacheRule(
        "Anthropic, 5 minutes (Opus 4.5 and 4.6, Haiku 4.5)",
        min_tokens=4096,
        step_tokens=1,
        write_factor=1.25,
        ttl_seconds=300.0,
        max_break_points=4,
        source="platform.claude.com/docs/en/build-with-claude/prompt-caching, read 2026-11-21: "
        "from 4,096 tokens for Opus 4.5, Opus 4.6 and Haiku 4.5",
        lifetime="5m",
    ),
    "google": CacheRule(
        "Gemini, implicit",
        min_tokens=1024,
        step_tokens=1,
        write_factor=1.0,
        ttl_seconds=300.0,
        max_break_points=0,
        source="ai.google.dev/gemini-api/docs/caching, read 2026-11-21: from 1,024 tokens for "
        "Flash; the lifetime is not published, taken as 5 minutes",
    ),
    "google-pro": CacheRule(
        "Gemini Pro, implicit",
        min_tokens=4096,
        step_tokens=1,
        write_factor=1.0,
        ttl_seconds=300.0,
        max_break_points=0,
        source="ai.google.dev/gemini-api/docs/caching, read 2026-11-21: from 4,096 tokens for "
        "2.5 Pro and 3 Pro; the lifetime is not published, taken as 5 minutes",
    ),
    "other": CacheRule(
        "an automatic cache with OpenAI's rules",
        min_tokens=1024,
        step_tokens=128,
        write_factor=1.0,
        ttl_seconds=300.0,
        max_break_points=0,
        source="the provider's rules are not known here: from 1,024 tokens in steps of 128, 5 "
        "minutes without use, as OpenAI publishes them (read 2026-11-21)",
    ),
}
"""Rules by provider (the ids of `genai-prices`) and, where they differ, by family of models."""


def rule_for(provider: str, model: str) -> CacheRule:
    """The rules that hold for a model; those of `RULES["other"]` where none are known."""
    name = model.lower()
    if provider == "anthropic" or "claude" in name:
        large = ("opus-4-5", "opus-4-6", "haiku-4-5", "opus-4.5", "opus-4.6", "haiku-4.5")
        return RULES["anthropic-4096" if any(part in name for part in large) else "anthropic"]
    if provider in ("openai", "azure") or name.startswith("gpt-"):
        return RULES["openai-5.6" if _gpt_version(name) >= (5, 6) else "openai"]
    if provider.startswith("google") or "gemini" in name:
        return RULES["google-pro" if "pro" in name.split("-") else "google"]
    return RULES["other"]


def rules_for(provider: str, model: str) -> tuple[CacheRule, ...]:
    """The rules among which a caller may choose, the usual lifetime first."""
    rule = rule_for(provider, model)
    if not rule.lifetime:
        return (rule,)
    # platform.claude.com, read 2026-11-21: an hour at twice the input rate for a write.
    hour = replace(
        rule,
        name=rule.name.replace("5 minutes", "1 hour"),
        write_factor=2.0,
        ttl_seconds=3600.0,
        lifetime="1h",
        source=f"{rule.source}; for an hour writes at 2 times",
    )
    return (rule, hour)


def _gpt_version(name: str) -> tuple[int, int]:
    """``(5, 6)`` of ``gpt-5.6-mini``; (0, 0) where there is none."""
    version = name.removeprefix("gpt-").split("-")[0] if name.startswith("gpt-") else ""
    major, _, minor = version.partition(".")
    if not major.isdecimal() or (minor and not minor.isdecimal()):
        return (0, 0)
    return int(major), int(minor or 0)
