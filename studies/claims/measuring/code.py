"""Code under GPT-3's vocabulary, Codex's, code vocabularies and later general ones, by language."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jeton.catalog import price
from jeton.metrics import code_use
from studies.claims.data import Data
from studies.claims.figures import Figure, ratio, saving
from studies.claims.measuring.money import PRICE_DAY

__all__ = ["ABOUT", "BASE", "KIND", "LANGUAGES", "TOKENIZERS", "measure"]

ABOUT = "Tokens of source files by language against GPT-2's and GPT-3's vocabulary"
KIND = "long"

BASE = "r50k_base"

TOKENIZERS = ("p50k_base", "cl100k_base", "o200k_base", "llama3", "starcoder", "deepseek-coder")

LANGUAGES = {
    "Python": "code-python",
    "C": "code-c",
    "C++": "code-cpp",
    "Java": "code-java",
    "JavaScript": "code-javascript",
    "TypeScript": "code-typescript",
    "Go": "code-go",
    "Rust": "code-rust",
}

_LINES = 100_000
"""Lines of a repository that is priced."""

_IDENTIFIER_BYTES = 1_000_000
"""Python that is parsed for its identifiers."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for language, domain in LANGUAGES.items():
        texts = data.texts("code", domain)
        base = data.counts(BASE, texts)
        sizes = np.array([len(text.encode()) for text in texts])
        lines = np.array([text.count("\n") + 1 for text in texts])
        figures[f"bytes-per-token.{language}.{BASE}"] = ratio(sizes, base)
        figures[f"tokens-per-line.{language}.{BASE}"] = ratio(base, lines)
        blank = np.array([_indentation(text) for text in texts])
        figures[f"indentation.{language}"] = ratio(blank, sizes, unit="share")
        for name in TOKENIZERS:
            counts = data.counts(name, texts)
            figures[f"saving.{language}.{name}"] = saving(counts, base)
            figures[f"bytes-per-token.{language}.{name}"] = ratio(sizes, counts)
            figures[f"tokens-per-line.{language}.{name}"] = ratio(counts, lines)
        heldout = data.heldout((domain,))
        figures[f"saving.{language}.jeton-code-32k"] = saving(
            data.counts("jeton-code-32k", heldout), data.counts(BASE, heldout)
        )
    return figures | _repository(figures) | _without_indentation(data) | _identifiers(data)


def _repository(figures: Mapping[str, Figure]) -> dict[str, Figure]:
    """Cost of reading a repository's lines of Python once."""
    rate = price("openai:gpt-4o", on=PRICE_DAY)
    found = {}
    for name in (BASE, "starcoder", "o200k_base"):
        per_line = figures[f"tokens-per-line.Python.{name}"].value
        # A thousand lines at a time: the price takes whole tokens.
        usd = rate.usd_for_lengths([round(per_line * 1000)], [1])
        found[f"repository-usd.{name}"] = Figure(float(usd) * _LINES / 1000, "USD")
    return found


def _indentation(text: str) -> int:
    """Blanks at the beginning of lines."""
    return sum(len(line) - len(line.lstrip(" \t")) for line in text.split("\n"))


def _without_indentation(data: Data) -> dict[str, Figure]:
    """Remaining difference where no line is indented."""
    texts = [
        "\n".join(line.lstrip(" \t") for line in text.split("\n"))
        for text in data.texts("code", "code-python")
    ]
    base = data.counts(BASE, texts)
    return {f"flat.{name}": saving(data.counts(name, texts), base) for name in TOKENIZERS}


def _identifiers(data: Data) -> dict[str, Figure]:
    """How whole identifiers and their parts stay, in Python."""
    texts, n_bytes = [], 0
    for text in data.heldout(("code-python",)):
        n_bytes += len(text.encode())
        if n_bytes > _IDENTIFIER_BYTES:
            break
        texts.append(text)
    figures = {}
    for name in (BASE, *TOKENIZERS, "jeton-code-32k"):
        use = code_use(data.tokenizer(name), texts, language="python")
        figures[f"identifiers.tokens-each.{name}"] = Figure(
            use.tokens_per_identifier, "tokens", n=use.n_identifiers
        )
    return figures
