"""From Llama 2's tokenizer to Llama 3's: tokens, languages, and what the model's shape did."""

from __future__ import annotations

from jeton.catalog import gpu, model
from jeton.economics import RequestLengths, kv_bytes_per_token, own_gpu_cost
from studies.claims.data import Data
from studies.claims.figures import Figure, day_figure
from studies.claims.measuring.gpt import of_generations

__all__ = ["ABOUT", "KIND", "TOKENIZERS", "measure"]

ABOUT = "Llama 2's, 3's and 4's tokenizers on the same text; cache and cost of the same text"
KIND = "long"

TOKENIZERS = ("llama2", "llama3", "llama4")

_OUTPUT_SHARE = 0.18
"""Answer over prompt: 211 over 1,155 tokens in Azure's conversations
(docs/studies/figures/pipeline.json)."""

_PROMPT_BYTES = 4_600
"""A prompt of about 1,155 tokens of English."""

PRICED = "prompts"
"""The domain whose bytes per token the cost is reckoned with."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures = of_generations(data, TOKENIZERS)
    return figures | _cache(figures) | _cost(figures, data)


def _cache(figures: dict[str, Figure]) -> dict[str, Figure]:
    """KV cache of one megabyte of text: what the tokenizer did, and what the shape did."""
    found = {}
    for facts, tokenizer in (("llama-2-7b", "llama2"), ("llama-3-8b", "llama3")):
        per_token = kv_bytes_per_token(model(facts))
        tokens = 1e6 / figures[f"bytes-per-token.{PRICED}.{tokenizer}"].value
        found[f"kv-per-token-kb.{facts}"] = Figure(per_token / 1e3, "kB")
        found[f"kv-per-text-gb.{facts}"] = Figure(tokens * per_token / 1e9, "GB per MB of text")
    old, new = (found[f"kv-per-text-gb.{name}"].value for name in ("llama-2-7b", "llama-3-8b"))
    by_shape = kv_bytes_per_token(model("llama-2-7b")) / kv_bytes_per_token(model("llama-3-8b"))
    return found | {
        "kv-factor": Figure(old / new, "ratio"),
        "kv-factor-shape": Figure(by_shape, "ratio"),
        "kv-factor-tokens": Figure(old / new / by_shape, "ratio"),
    }


def _cost(figures: dict[str, Figure], data: Data) -> dict[str, Figure]:
    """Cost of one text through Llama-3-8B's shape, under either vocabulary, on an H100."""
    found = {}
    for tokenizer in ("llama2", "llama3"):
        prompt = round(_PROMPT_BYTES / figures[f"bytes-per-token.{PRICED}.{tokenizer}"].value)
        cost = own_gpu_cost(
            model("llama-3-8b"),
            gpu("h100"),
            RequestLengths.of([prompt], output_tokens=_OUTPUT_SHARE * prompt),
            vocab_size=data.tokenizer(tokenizer).vocab_size,
        )
        found[f"request.prompt-tokens.{tokenizer}"] = Figure(prompt, "tokens")
        found[f"request.usd-per-million.{tokenizer}"] = Figure(
            float(cost.usd_per_request * 10**6), "USD per million requests"
        )
        found[f"request.fit.{tokenizer}"] = Figure(cost.n_concurrent, "requests")
        found[f"request.seconds.{tokenizer}"] = Figure(cost.seconds_per_request, "seconds")
    found["request.usd-per-hour-day"] = day_figure(gpu("h100").price_low.date)
    found["request.usd-per-hour"] = Figure(
        float(gpu("h100").price_low.usd_per_hour), "USD per hour"
    )
    return found
