"""From GPT-2's vocabulary to GPT-4o's: tokens, languages, tables, money."""

from __future__ import annotations

from collections.abc import Sequence

from jeton.catalog import model, price
from jeton.economics import weight_bytes
from jeton.economics.serving.latency import read_weight_bytes
from jeton.metrics import parity
from studies.claims.data import Data
from studies.claims.figures import Figure, ratio, saving
from studies.claims.measuring.money import PRICE_DAY

__all__ = ["ABOUT", "DOMAINS", "KIND", "TOKENIZERS", "measure", "of_generations", "translations"]

ABOUT = "r50k (GPT-2, GPT-3), p50k (Codex), cl100k (GPT-4), o200k (GPT-4o): text, languages, cost"
KIND = "long"

TOKENIZERS = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")

DOMAINS = {
    "news": ("english", "english-news"),
    "medical abstracts": ("medical", "medical-abstract"),
    "contracts": ("legal", "legal-contract"),
    "prompts": ("chat", "prompt"),
    "Python": ("code", "code-python"),
    "tweets": ("noisy", "tweet"),
    "server logs": ("logs_json", "log-apache"),
}
"""Names on the page: corpus and domain."""

LANGUAGES = {
    "zh-cn": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "es": "Spanish",
    "fr": "French",
    "tr": "Turkish",
    "pl": "Polish",
}
"""Documentation of Python, which is translated paragraph by paragraph."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures = of_generations(data, TOKENIZERS)
    for name in ("gpt-4", "gpt-4o"):
        rate = price(f"openai:{name}", on=PRICE_DAY).usd_per_mtok_input
        figures[f"usd-per-mtok.{name}"] = Figure(float(rate), "USD per 1M")
    before, after = figures["usd-per-mtok.gpt-4"].value, figures["usd-per-mtok.gpt-4o"].value
    for name in DOMAINS:
        fewer = (
            figures[f"bytes-per-token.{name}.cl100k_base"].value
            / figures[f"bytes-per-token.{name}.o200k_base"].value
        )
        figures[f"price-factor.{name}"] = Figure(before / after, "ratio")
        figures[f"token-factor.{name}"] = Figure(1 / fewer, "ratio")
    return figures


def of_generations(data: Data, tokenizers: Sequence[str]) -> dict[str, Figure]:
    """Tokens, languages and tables of the tokenizers that followed one another, the first first."""
    figures: dict[str, Figure] = {}
    for name, (corpus, domain) in DOMAINS.items():
        texts = data.drawn(corpus, domain)
        sizes = [len(text.encode()) for text in texts]
        base = data.counts(tokenizers[0], texts)
        for tokenizer in tokenizers:
            counts = data.counts(tokenizer, texts)
            figures[f"bytes-per-token.{name}.{tokenizer}"] = ratio(sizes, counts)
            figures[f"saving.{name}.{tokenizer}"] = saving(counts, base)
    for tokenizer in tokenizers:
        figures |= {
            f"premium.{tokenizer}.{language}": figure
            for language, figure in translations(data, tokenizer).items()
        }
        figures |= {
            f"{key}.{tokenizer}": figure
            for key, figure in under_vocabulary(data.tokenizer(tokenizer).vocab_size).items()
        }
    return figures


def translations(data: Data, tokenizer: str) -> dict[str, Figure]:
    """Tokens of translated paragraphs over those of their English originals, by language."""
    records = [r for r in data.records("po_parallel") if r["lang"] in LANGUAGES]
    # Every third paragraph: intervals are narrow enough.
    pairs = [(LANGUAGES[r["lang"]], r["text"], r["en"]) for r in records[::3]]
    found = parity(data.tokenizer(tokenizer), pairs).languages
    return {
        item.language: Figure(
            item.premium,
            "ratio",
            None if item.premium_interval is None else item.premium_interval.low,
            None if item.premium_interval is None else item.premium_interval.high,
            item.n_texts,
        )
        for item in found
    }


def under_vocabulary(vocab_size: int) -> dict[str, Figure]:
    """Cost of a model of Llama-3-8B's shape with a vocabulary of this size."""
    facts = model("llama-3-8b")
    weights = weight_bytes(facts, vocab_size=vocab_size)
    read = read_weight_bytes(facts, 1, vocab_size=vocab_size)
    return {
        "ids": Figure(vocab_size, "ids"),
        "tables-gb": Figure((weights.input_embedding + weights.output_head) / 1e9, "GB"),
        "step-gb": Figure(read / 1e9, "GB"),
    }
