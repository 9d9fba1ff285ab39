"""Rules of the other providers and of own servers: caches that find shared prefixes themselves."""

from __future__ import annotations

from dataclasses import replace

from jeton.catalog.caches.rule import CacheProvider, CacheRule, RuleRow


def _automatic(name: str, source: str, *, least: int = 1024, step: int = 1) -> CacheRule:
    return CacheRule(
        name,
        min_tokens=least,
        step_tokens=step,
        write_factor=1.0,
        ttl_seconds=300.0,
        max_break_points=0,
        source=source,
    )


_GEMINI = "ai.google.dev/gemini-api/docs/caching, read 2026-11-21"
_ALIBABA = "alibabacloud.com/help/en/model-studio/context-cache, updated 2026-10-11"

GOOGLE = CacheProvider(
    is_it=lambda provider, model: provider.startswith("google") or "gemini" in model,
    rows=(
        RuleRow(
            r"(^|-)pro(-|$)",
            (
                _automatic(
                    "Gemini Pro, implicit",
                    f"{_GEMINI}: from 4,096 tokens for 2.5 Pro and 3 Pro; the lifetime is not "
                    "published, taken as 5 minutes; an explicit cache is billed by its hours",
                    least=4096,
                ),
            ),
        ),
        RuleRow(
            "",
            (
                _automatic(
                    "Gemini, implicit",
                    f"{_GEMINI}: from 1,024 tokens for Flash; the lifetime is not published, taken "
                    "as 5 minutes; an explicit cache is billed by its hours",
                ),
            ),
        ),
    ),
)

NOVA = CacheProvider(
    is_it=lambda provider, model: "nova" in model and provider in ("aws", "bedrock", ""),
    rows=(
        RuleRow(
            "",
            (
                replace(
                    _automatic(
                        "Amazon Nova on Bedrock",
                        "docs.aws.amazon.com/bedrock, prompt caching: from 1,000 tokens, four "
                        "checkpoints, 5 minutes, no surcharge for writing",
                        least=1000,
                    ),
                    max_break_points=4,
                    lifetime="5m",
                ),
            ),
        ),
    ),
)

DEEPSEEK = CacheProvider(
    is_it=lambda provider, model: provider == "deepseek" or "deepseek" in model,
    rows=(
        RuleRow(
            "",
            (
                replace(
                    _automatic(
                        "DeepSeek, on disk",
                        "api-docs.deepseek.com/guides/kv_cache, read 2026-11: units of 64 tokens, "
                        "kept for hours to days, taken as one hour",
                        least=64,
                        step=64,
                    ),
                    ttl_seconds=3600.0,
                ),
            ),
        ),
    ),
)

XAI = CacheProvider(
    is_it=lambda provider, model: provider in ("x-ai", "xai") or "grok" in model,
    rows=(
        RuleRow(
            "",
            (
                _automatic(
                    "xAI",
                    "docs.x.ai, prompt caching, read 2026-11: by itself, one server per "
                    "x-grok-conv-id; least length and lifetime are not published",
                ),
            ),
        ),
    ),
)

QWEN = CacheProvider(
    is_it=lambda provider, model: provider in ("qwen", "alibaba") or "qwen" in model,
    rows=(
        RuleRow(
            "",
            (
                _automatic(
                    "Qwen, implicit",
                    f"{_ALIBABA}: from 256 tokens, a lifetime that is not guaranteed, taken as 5 "
                    "minutes",
                    least=256,
                ),
                replace(
                    _automatic(
                        "Qwen, explicit",
                        f"{_ALIBABA}: from 1,024 tokens, writes at 1.25 times, 5 minutes",
                    ),
                    write_factor=1.25,
                    max_break_points=4,
                    lifetime="5m",
                ),
            ),
        ),
    ),
)

MISTRAL = CacheProvider(
    is_it=lambda provider, model: provider == "mistral" or "mistral" in model,
    rows=(
        RuleRow(
            "",
            (
                _automatic(
                    "Mistral",
                    "the provider publishes no least length and no lifetime: from 1,024 tokens, "
                    "5 minutes, as OpenAI publishes them",
                    step=64,
                ),
            ),
        ),
    ),
)

OWN_SERVER = CacheProvider(
    is_it=lambda provider, model: provider in ("vllm", "sglang"),
    rows=(
        RuleRow(
            "",
            (
                replace(
                    _automatic(
                        "prefix cache of an own server",
                        "docs.vllm.ai, automatic prefix caching: blocks of 16 tokens, until the "
                        "memory is needed; docs.sglang.ai, RadixAttention: single tokens",
                        least=16,
                        step=16,
                    ),
                    ttl_seconds=3600.0,
                ),
            ),
        ),
    ),
)

UNKNOWN = CacheProvider(
    is_it=lambda provider, model: True,
    rows=(
        RuleRow(
            "",
            (
                _automatic(
                    "an automatic cache with OpenAI's rules",
                    "the provider's rules are not known here: from 1,024 tokens in steps of 128, 5 "
                    "minutes without use, as OpenAI publishes them (read 2026-11-21)",
                    step=128,
                ),
            ),
        ),
    ),
)
