"""Rules of the providers' prompt caches: one table, each row with its source."""

from __future__ import annotations

from datetime import date

import pytest

from jeton.catalog.caches import CACHE_PROVIDERS, cache_rules_for


@pytest.mark.parametrize(
    ("provider", "model", "min_tokens", "step_tokens", "n_break_points"),
    [
        ("openai", "gpt-4o-mini", 1024, 128, 0),
        ("azure", "gpt-5", 1024, 128, 0),
        ("openai", "gpt-5.6-mini", 1024, 1, 4),
        ("openai", "gpt-5.10", 1024, 1, 4),
        ("openai", "gpt-5.1", 1024, 128, 0),
        ("anthropic", "claude-sonnet-4-5", 1024, 1, 4),
        ("anthropic", "claude-opus-4-5", 4096, 1, 4),
        ("anthropic", "claude-opus-4-7", 2048, 1, 4),
        ("anthropic", "claude-3-5-haiku-20241022", 2048, 1, 4),
        ("anthropic", "claude-opus-5-5", 512, 1, 4),
        ("aws", "anthropic.claude-haiku-4-5-v1:0", 4096, 1, 4),
        ("google-vertex", "claude-opus-4-6@20260101", 4096, 1, 4),
        ("google", "gemini-2.5-flash", 1024, 1, 0),
        ("google", "gemini-2.5-pro", 4096, 1, 0),
        ("aws", "amazon.nova-pro-v1:0", 1000, 1, 4),
        ("deepseek", "deepseek-chat", 64, 64, 0),
        ("x-ai", "grok-4", 1024, 1, 0),
        ("alibaba", "qwen3-max", 256, 1, 0),
        ("mistral", "mistral-large", 1024, 64, 0),
        ("vllm", "claude-like", 16, 16, 0),
        ("user", "usd:1", 1024, 128, 0),
    ],
)
def test_rules_by_provider_and_model(
    provider: str, model: str, min_tokens: int, step_tokens: int, n_break_points: int
) -> None:
    rule = cache_rules_for(provider, model)[0]
    found = (rule.min_tokens, rule.step_tokens, rule.max_break_points)
    assert found == (min_tokens, step_tokens, n_break_points)


def test_a_row_holds_from_its_day_on() -> None:
    before, after = (
        cache_rules_for("openai", "gpt-4.1", day)[0] for day in (date(2025, 6, 1), date(2026, 6, 1))
    )
    assert before.longest_seconds < after.longest_seconds == 86_400


def test_claude_may_be_cached_for_an_hour_at_its_own_price() -> None:
    minutes, hour = cache_rules_for("anthropic", "claude-sonnet-4-5")
    assert (minutes.lifetime, minutes.ttl_seconds, minutes.write_factor) == ("5m", 300, 1.25)
    assert (hour.lifetime, hour.ttl_seconds, hour.write_factor) == ("1h", 3600, 2.0)


def test_every_rule_is_whole_and_says_where_it_comes_from() -> None:
    for provider in CACHE_PROVIDERS:
        assert provider.rows[-1].models == ""
        assert provider.rows[-1].since is None
        for row in provider.rows:
            for rule in row.choices:
                assert rule.source
                assert rule.write_factor >= 1
                assert rule.is_automatic == (rule.max_break_points == 0)
