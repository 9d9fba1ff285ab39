"""Providers as logs and frameworks write them, in the ids of the price list."""

from __future__ import annotations

import re

_ALIASES = {
    "ai21": "ai21",
    "alibaba": "dashscope",
    "amazon": "aws",
    "amazon-bedrock": "aws",
    "amazon-nova": "aws",
    "anthropic": "anthropic",
    "aws-bedrock": "aws",
    "az-ai-inference": "azure",
    "az-ai-openai": "azure",
    "azure": "azure",
    "azure-ai": "azure",
    "azure-ai-foundry": "azure",
    "azure-ai-inference": "azure",
    "azure-ai-openai": "azure",
    "azure-cognitive-services": "azure",
    "azure-openai": "azure",
    "azure-openai-service": "azure",
    "azure-text": "azure",
    "azureopenai": "azure",
    "bedrock": "aws",
    "bedrock-converse": "aws",
    "bedrock-runtime": "aws",
    "claude": "anthropic",
    "codex": "openai",
    "cohere-chat": "cohere",
    "fireworks-ai": "fireworks",
    "gcp": "google",
    "gcp-gemini": "google",
    "gcp-gen-ai": "google",
    "gcp-genai": "google",
    "gcp-vertex-ai": "google",
    "gemini": "google",
    "google-ai-studio": "google",
    "google-aistudio": "google",
    "google-anthropic-vertex": "google",
    "google-cloud": "google",
    "google-genai": "google",
    "google-generative-ai": "google",
    "google-generativeai": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "google-vertex-ai": "google",
    "google-vertex-anthropic": "google",
    "google-vertexai": "google",
    "groq-cloud": "groq",
    "groqcloud": "groq",
    "grok": "x-ai",
    "kimi": "moonshotai",
    "mistral-ai": "mistral",
    "mistralai": "mistral",
    "moonshot": "moonshotai",
    "moonshot-ai": "moonshotai",
    "open-ai": "openai",
    "open-router": "openrouter",
    "openai-codex": "openai",
    "openai-responses": "openai",
    "perplexity-ai": "perplexity",
    "text-completion-openai": "openai",
    "together": "together",
    "together-ai": "together",
    "togetherai": "together",
    "vertex": "google",
    "vertex-ai": "google",
    "vertex-ai-beta": "google",
    "vertexai": "google",
    "voyage": "voyageai",
    "voyage-ai": "voyageai",
    "x-ai": "x-ai",
    "xai": "x-ai",
    "z-ai": "zai",
    "zhipu": "zhipuai",
    "zhipu-ai": "zhipuai",
}
"""Names in folded form (lower case, ``-`` for any other sign)."""

GATEWAYS = frozenset(
    (
        "ai-gateway", "any", "auto", "custom", "gateway", "generic", "helicone", "langchain",
        "langfuse", "litellm", "litellm-proxy", "llm", "none", "null", "openai-compatible",
        "openai-like", "other", "portkey", "proxy", "unknown", "vercel",
    )
)  # fmt: skip
"""Words in the provider's place that name no provider: the model decides."""

OWN_MACHINES = frozenset(
    (
        "hosted-vllm", "huggingface-local", "jan", "koboldcpp", "llama-cpp", "llama-cpp-python",
        "llamacpp", "llamafile", "lm-studio", "lmstudio", "local", "localai", "localhost", "mlx",
        "ollama", "ollama-chat", "oobabooga", "self-hosted", "selfhosted", "sglang", "tabbyapi",
        "tensorrt-llm", "text-generation-inference", "tgi", "transformers", "triton", "vllm",
    )
)  # fmt: skip
"""Engines on machines of one's own: nobody charges by the token there."""

MAKERS = (
    "openai", "anthropic", "google", "mistral", "cohere", "deepseek", "x-ai", "moonshotai",
    "minimax", "zhipuai", "zai", "voyageai", "perplexity", "meta", "elevenlabs", "arcee",
    "typesafe",
)  # fmt: skip
"""Providers that sell models of their own: where a name is looked up if no provider is stated."""


def provider_id(name: str, known: frozenset[str]) -> str | None:
    """Return a provider's id in the list; None if it is not one.

    Dotted names of frameworks (``openai.chat``, ``aws.bedrock``, ``google.vertex.chat``) are read
    from their longest known beginning.

    Args:
        name: As a log writes it.
        known: Ids of the list.
    """
    folded = re.sub(r"[^a-z0-9]+", "-", name.strip().casefold()).strip("-")
    # Ids of the list may have an underscore (huggingface_groq).
    exact = {re.sub(r"[^a-z0-9]+", "-", own): own for own in known}
    words = folded.split("-")
    for n_words in range(len(words), 0, -1):
        start = "-".join(words[:n_words])
        found = _ALIASES.get(start) or exact.get(start)
        if found is not None:
            return found if found in known else None
    return None
