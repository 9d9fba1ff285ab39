"""Names of models as logs have them: found by rules, and never by how they begin."""

from __future__ import annotations

import pytest
from genai_prices.data_snapshot import get_snapshot

from jeton.catalog import price
from jeton.catalog.model_names import find_listed
from jeton.catalog.price_sheet import price_sheet
from jeton.errors import UnknownPriceError
from jeton.providers import listed_provider

ARN = "arn:aws:bedrock:us-east-1:123456789012"
HAIKU = "anthropic.claude-haiku-4-5-20251001-v1:0"


@pytest.mark.parametrize(
    ("name", "provider", "listed", "rule"),
    [
        ("gpt-4o-2024-05-13", None, "openai:gpt-4o-2024-05-13", ""),
        ("GPT-4o-Mini", None, "openai:gpt-4o-mini", ""),
        ("openai/gpt-4o-mini", None, "openai:gpt-4o-mini", "provider prefix"),
        ("anthropic/claude-haiku-4.5", None, "anthropic:claude-haiku-4-5", "provider prefix"),
        ("claude-haiku-4-5@20251001", None, "anthropic:claude-haiku-4-5", ""),
        ("claude-opus-4-8[1m]", None, "anthropic:claude-opus-4-8", ""),
        ("ft:gpt-4o-mini-2024-07-18:acme-lab:triage:Ab12", None, "openai:ft:gpt-4o-mini", ""),
        ("gpt-4o-mini-2024-07-18.ft-0a1b2c", None, "openai:gpt-4o-mini-2024-07-18.ft-", ""),
        ("google/gemini-2.5-flash", None, "google:gemini-2.5-flash", "provider prefix"),
        ("models/gemini-2.5-flash", None, "google:gemini-2.5-flash", "resource name"),
        ("azure/gpt-4o-mini", None, "azure:gpt-4o-mini", "provider prefix"),
        ("azure-openai/gpt-4o-mini", None, "azure:gpt-4o-mini", "provider prefix"),
        ("azure-openai:gpt-4o-mini", None, "azure:gpt-4o-mini", ""),
        ("vertex_ai/claude-haiku-4-5@20251001", None, "google:claude-haiku-4-5", "provider prefix"),
        ("publishers/anthropic/models/claude-haiku-4-5@20251001", None,
         "google:claude-haiku-4-5", "resource name"),
        ("projects/p/locations/us/publishers/google/models/gemini-2.5-flash", None,
         "google:gemini-2.5-flash", "resource name"),
        ("gpt-5-codex-high", None, "openai:gpt-5", "reasoning effort"),
        ("gpt-5-codex (high)", None, "openai:gpt-5", "reasoning effort"),
        ("gpt-5.2-20251211", None, "openai:gpt-5.2", ""),
        ("gpt-4-1-mini", None, "openai:gpt-4.1-mini", "dots and dashes"),
        ("meta.llama3-1-8b-instruct-v1:0", None, "aws:meta.llama3-1-8b-instruct-v1:0",
         "Bedrock id"),
        (f"us.{HAIKU}", None, f"aws:regional.{HAIKU}", "Bedrock id"),
        (f"eu.{HAIKU}", "aws.bedrock", f"aws:regional.{HAIKU}", ""),
        (f"global.{HAIKU}", "bedrock", f"aws:global.{HAIKU}", ""),
        (f"{ARN}:inference-profile/us.{HAIKU}", None, f"aws:regional.{HAIKU}", "ARN"),
        (f"arn:aws:bedrock:us-east-1::foundation-model/{HAIKU}", None,
         f"aws:regional.{HAIKU}", "ARN"),
        (f"bedrock/{HAIKU}", None, f"aws:regional.{HAIKU}", "provider prefix"),
        (f"bedrock/us-east-1/{HAIKU}", None, f"aws:regional.{HAIKU}", "provider prefix"),
        ("apac.amazon.nova-lite-v1:0", None, "aws:amazon.nova-lite-v1:0", "Bedrock id"),
        ("text-embedding-3-small", "openai", "openai:text-embedding-3-small", ""),
        ("text-embedding-3-small", None, "openai:text-embedding-3-small", ""),
        ("llama-3.1-8b-instant", "groq", "groq:llama-3.1-8b-instant", ""),
        ("openai/gpt-oss-120b", "groq", "groq:openai/gpt-oss-120b", ""),
        ("groq/llama-3.1-8b-instant", None, "groq:llama-3.1-8b-instant", "provider prefix"),
        ("sonar-pro", "perplexity", "perplexity:sonar-pro", ""),
        ("anthropic/claude-haiku-4.5", "openrouter", "openrouter:anthropic/claude-haiku-4.5", ""),
        ("openrouter/anthropic/claude-haiku-4.5", None,
         "openrouter:anthropic/claude-haiku-4.5", "provider prefix"),
        ("claude-haiku-4.5", "openrouter", "openrouter:anthropic/claude-haiku-4.5",
         "vendor left out"),
        ("gpt-4o-mini", "azure_openai", "azure:gpt-4o-mini", ""),
        ("gpt-4o-mini", "litellm", "openai:gpt-4o-mini", ""),
        ("gpt-4o-mini", "openai.chat", "openai:gpt-4o-mini", ""),
    ],
)  # fmt: skip
def test_a_rule_leads_to_the_entry(name: str, provider: str | None, listed: str, rule: str) -> None:
    found = find_listed(name, provider)
    assert found is not None
    assert (found.name, found.rule, found.asked_provider) == (listed, rule, "")


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("chat-prod-eu", None),
        ("gpt-4.1-mini-xyz", None),
        ("gpt-4o-mini-2099-01-01", None),
        ("claude-haiku-4-5-turbo", None),
        ("claude-haiku-4-55", None),
        ("claude-foo", None),
        ("gpt-5-codexy", None),
        ("gpt-4o-high", None),
        ("ft:gpt-4.1-mini-2025-04-14:acme::xyz", None),
        ("ft:gpt-4.1-mini-2025-04-14:acme::xyz", "openai"),
        (f"{ARN}:application-inference-profile/abc123", None),
        ("whisper-large-v3", None),
        ("meta-llama/Llama-3.1-8B-Instruct", None),
        ("gpt-4o-mini", "ollama"),
        ("gpt-oss-20b", "hosted_vllm"),
        ("openai:claude-haiku-4-5", None),
        ("", None),
    ],
)
def test_what_no_rule_knows_is_unknown(name: str, provider: str | None) -> None:
    assert find_listed(name, provider) is None


@pytest.mark.parametrize("provider", ["acme-gw", "bedrock"])
def test_another_providers_price_is_said_to_be_one(provider: str) -> None:
    found = find_listed("claude-sonnet-4-5", provider)
    assert found is not None
    assert (found.name, found.asked_provider) == ("anthropic:claude-sonnet-4-5", provider)


def test_every_name_of_the_list_is_itself() -> None:
    wrong = []
    for provider in get_snapshot().providers:
        for model in provider.models:
            whole = find_listed(f"{provider.id}:{model.id}")
            apart = find_listed(model.id, provider.id)
            wrong += [
                (provider.id, model.id, found and found.name)
                for found in (whole, apart)
                if found is None or found.model is not model
            ]
    assert not wrong


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("OpenAI", "openai"),
        ("openai.responses", "openai"),
        ("aws.bedrock", "aws"),
        ("amazon-bedrock", "aws"),
        ("az.ai.openai", "azure"),
        ("azure.ai.inference", "azure"),
        ("gcp.vertex_ai", "google"),
        ("google.generative-ai", "google"),
        ("vertex_ai", "google"),
        ("mistral_ai", "mistral"),
        ("xai", "x-ai"),
        ("x_ai", "x-ai"),
        ("together_ai", "together"),
        ("huggingface_groq", "huggingface_groq"),
        ("nobody", None),
    ],
)
def test_providers_have_many_names(name: str, listed: str | None) -> None:
    known = frozenset(provider.id for provider in get_snapshot().providers)
    assert listed_provider(name, known) == listed


def test_prices_are_found_by_the_same_rules() -> None:
    assert price("vertex_ai/claude-haiku-4-5@20251001").name == "google:claude-haiku-4-5"
    assert price("claude-opus-4-8@fast").usd_per_mtok_input == 10
    with pytest.raises(UnknownPriceError, match=r"gpt-4\.1-mini"):
        price("ft:gpt-4.1-mini-2025-04-14:acme::xyz")


def test_a_sheet_has_every_rate() -> None:
    sheet = price_sheet("claude-opus-4-8[1m]")
    assert sheet is not None
    assert {row.tariff for row in sheet.rows} == {"standard", "batch", "fast"}
    assert {row.dimension for row in sheet.rows} >= {"cache_write_1h_tokens", "web_searches"}
    sheet = price_sheet("deepseek-v4-pro")
    assert sheet is not None
    assert {row.hours for row in sheet.rows} == {"other hours", "01:00-04:00", "06:00-10:00"}
    sheet = price_sheet("gpt-5.4")
    assert sheet is not None
    assert {row.above_input_tokens for row in sheet.rows} == {0, 272_000}
    assert price_sheet("chat-prod-eu") is None
