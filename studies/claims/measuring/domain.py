"""Domain tokenizers against general ones, on documents that none of ours was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from studies.claims.data import Data
from studies.claims.figures import Figure, ratio, saving, share

__all__ = ["ABOUT", "DOMAINS", "GENERAL", "KIND", "measure"]

ABOUT = "Tokens of medical, legal and code documents under domain and general tokenizers"
KIND = "long"

GENERAL = ("r50k_base", "cl100k_base", "o200k_base", "llama3")

DOMAINS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "medical": {
        "kin": ("medical-qa", "clinical-dialogue", "clinical-note"),
        "other": ("medical-abstract", "medical-abstract-pqa", "medical-abstract-tc"),
    },
    "legal": {
        "kin": ("legal-court-opinion", "legal-statute"),
        "other": ("legal-contract", "legal-privacy-policy"),
    },
    "code": {
        "kin": ("code-python", "code-java", "code-rust", "code-go", "code-typescript", "code-cpp"),
        "other": ("code-c", "code-script"),
    },
}
"""``kin`` are sources that our domain tokenizer of 32,000 ids took a part of; ``other`` are sources
of the domain that it never saw. Either way only documents held out of all training are counted."""

_MIN_WORDS = 100
"""Shorter abstracts say little about one of 500 words."""

_WORDS = 500


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for domain, kinds in DOMAINS.items():
        own = f"jeton-{domain}-32k"
        for kind, sources in kinds.items():
            texts = data.heldout(sources)
            counts = data.counts(own, texts)
            for general in GENERAL:
                key = f"saving.{domain}.{kind}.{general}"
                figures[key] = saving(counts, data.counts(general, texts))
    return figures | _abstracts(data)


def _abstracts(data: Data) -> dict[str, Figure]:
    figures = {}
    heldout = _long_enough(data.heldout(("medical-abstract",)))
    words = _n_words(heldout)
    for name in ("jeton-medical-32k", "scibert", *GENERAL):
        counts = data.counts(name, heldout)
        per_word = ratio(counts, words)
        assert per_word.low is not None
        assert per_word.high is not None
        figures[f"abstract.tokens-per-500-words.{name}"] = Figure(
            per_word.value * _WORDS,
            "tokens",
            per_word.low * _WORDS,
            per_word.high * _WORDS,
            per_word.n,
        )
    own = data.counts("jeton-medical-32k", heldout)
    for name in GENERAL:
        figures[f"abstract.ratio.{name}"] = ratio(data.counts(name, heldout), own)
    everything = _long_enough(data.texts("medical", "medical-abstract"))
    n_words = _n_words(everything)
    for name in ("r50k_base", "cl100k_base"):
        scaled = data.counts(name, everything) / n_words * _WORDS
        figures[f"abstract.reach-2000.{name}"] = share(scaled >= 2000)
        figures[f"abstract.most.{name}"] = Figure(scaled.max(), "tokens", n=len(everything))
    return figures


def _long_enough(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if len(text.split()) >= _MIN_WORDS]


def _n_words(texts: Sequence[str]) -> np.ndarray:
    return np.array([len(text.split()) for text in texts], dtype=np.int64)
