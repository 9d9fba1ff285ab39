"""Providers as logs name them, brought to the ids of the price list.

A name is folded to small letters and looked up; what is in no table stays as it is written, so that
a report can show it. Ids and shapes that only one provider has prove who answered.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "anthropic": ("claude", "anthropic-api"),
    "aws": (
        "bedrock", "amazon", "amazon-bedrock", "aws-bedrock", "bedrock-converse",
        "bedrock-runtime", "amazon-titan", "amazon-nova", "sagemaker", "aws-anthropic",
    ),
    "azure": (
        "azure-openai", "azure-ai", "azure-ai-inference", "azure-ai-openai", "az-ai-openai",
        "az-ai-inference", "microsoft-azure", "azure-text", "azureopenai",
        "azure-cognitive-services",        "azure-foundry", "microsoft-foundry",
    ),
    "cerebras": (),
    "cloudflare": ("workers-ai", "cloudflare-workers-ai"),
    "cohere": ("cohere-chat", "cohere-ai"),
    "cursor": (),
    "databricks": (),
    "deepseek": ("deep-seek",),
    "fireworks": ("fireworks-ai", "fireworksai"),
    "github-copilot": ("copilot", "githubcopilot"),
    "google": (
        "gemini", "vertex", "vertexai", "vertex-ai", "google-vertex", "google-vertexai",
        "google-genai", "google-generative-ai", "google-generativeai", "googleai", "google-ai",
        "google-ai-studio", "gcp", "gcp-gemini", "gcp-vertex-ai", "gcp-gen-ai", "palm",
        "google-vertex-anthropic", "vertex-ai-anthropic-models", "vertex-ai-language-models",
        "vertex-ai-beta", "google-gla", "google-vertex-ai",
    ),
    "groq": (),
    "minimax": ("minimaxi",),
    "mistral": ("mistralai", "mistral-ai"),
    "moonshotai": ("moonshot", "moonshot-ai", "kimi"),
    "novita": ("novita-ai",),
    "openai": (
        "open-ai", "text-completion-openai", "openai-chat", "openai-responses",
        "openai-completions",
    ),
    "openrouter": ("open-router",),
    "perplexity": ("pplx", "perplexity-ai", "perplexityai"),
    "together": ("together-ai", "togetherai"),
    "voyageai": ("voyage", "voyage-ai"),
    "x-ai": ("xai", "grok"),
    "zai": ("z-ai",),
    "zhipuai": ("zhipu", "bigmodel"),
}  # fmt: skip
"""By the price list's id: other words that logs write."""

_ID_OF: Final = {word: own for own, words in ALIASES.items() for word in (own, *words)}

# The AI SDK adds the kind of the model to the provider: openai.responses, anthropic.messages.
_KIND: Final = re.compile(
    r"[-.](chat|messages|responses|completions?|embeddings?|textembedding|image|speech|transcription)$"
)
_MAX_CHARS: Final = 60
_NO_PROVIDER: Final = frozenset(
    {"", "litellm", "litellm-proxy", "-other", "other", "unknown", "none", "null", "custom"}
)
"""Words of gateways, and of what is not known: they name nobody who sends a bill."""


@lru_cache(maxsize=1024)
def provider_id(name: str) -> str:
    """The id of a provider; a word in no table stays, in small letters; empty: it names none."""
    folded = name.strip().lower()[:_MAX_CHARS]
    folded = _KIND.sub("", folded)
    word = re.sub(r"[\s._/]+", "-", folded)
    return "" if word in _NO_PROVIDER else _ID_OF.get(word, word)


_AWS_MODEL: Final = re.compile(
    r"^(?:(?:us|us-gov|eu|apac|ap|jp|au|ca|sa|global)\.)?"
    r"(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai|stability|writer|luma|"
    r"twelvelabs|google|moonshot|minimax|nvidia|zai)\.[a-z0-9]"
)


@lru_cache(maxsize=4096)
def provider_of_model(model: str) -> str:
    """The provider that a model's id proves; empty: it proves none."""
    if model.startswith("arn:aws") or _AWS_MODEL.match(model):
        return "aws"
    return "fireworks" if model.startswith("accounts/fireworks/") else ""


def provider_of_answer(answer: str) -> str:
    """The provider that an answer's id proves; empty: it proves none."""
    if answer.startswith(_OWN_IDS):
        return next(own for start, own in _ID_PREFIXES.items() if answer.startswith(start))
    return ""


_HOSTS: Final = (
    ("openai.azure.com", "azure"), ("cognitiveservices.azure.com", "azure"),
    ("inference.ai.azure.com", "azure"), ("services.ai.azure.com", "azure"),
    ("api.openai.com", "openai"), ("api.anthropic.com", "anthropic"),
    ("googleapis.com", "google"), ("bedrock", "aws"), ("api.groq.com", "groq"),
    ("openrouter.ai", "openrouter"), ("api.mistral.ai", "mistral"),
    ("api.deepseek.com", "deepseek"), ("api.x.ai", "x-ai"), ("api.together", "together"),
    ("api.fireworks.ai", "fireworks"), ("api.perplexity.ai", "perplexity"),
    ("api.cohere", "cohere"), ("api.cerebras.ai", "cerebras"), ("api.moonshot", "moonshotai"),
)  # fmt: skip


@lru_cache(maxsize=1024)
def provider_of_url(url: str) -> str:
    """The provider whose address a call went to; empty: it is in no table."""
    host = url.split("://", 1)[-1].split("/", 1)[0].lower()
    return next((own for part, own in _HOSTS if part in host), "")


_ID_PREFIXES: Final = {"msg_bdrk_": "aws", "msg_vrtx_": "google", "gen-": "openrouter"}
"""Beginnings of ids of answers that only one provider gives."""

_OWN_IDS: Final = tuple(_ID_PREFIXES)
