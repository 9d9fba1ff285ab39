"""Domain tokenizers of five sizes, trained on a domain's own documents, against general ones."""

from __future__ import annotations

import warnings

from jeton import _core
from jeton.errors import JetonWarning
from jeton.training import DEFAULT_PATTERN
from scripts.vocabularies.building import MAX_TOKEN_BYTES
from studies.claims.data import Data
from studies.claims.figures import Figure, ratio, saving
from studies.claims.measuring.domain import GENERAL

__all__ = ["ABOUT", "KIND", "SIZES", "SOURCES", "measure"]

ABOUT = "Held-out tokens under byte-level BPE of 8,192 to 131,072 ids trained on the same domain"
KIND = "long"

SIZES = tuple(8192 * 2**step for step in range(5))

SOURCES = {
    "medical": (
        "medical-qa",
        "clinical-dialogue",
        "clinical-note",
        "biomed-fulltext",
        "medical-abstract",
        "medical-abstract-pqa",
        "medical-abstract-tc",
    ),
    "legal": ("legal-court-opinion", "legal-statute", "legal-contract", "legal-privacy-policy"),
    "code": (
        "code-c",
        "code-script",
        "code-rust",
        "code-javascript",
        "code-typescript",
        "code-java",
        "code-go",
        "code-cpp",
        "code-python",
        "code-html",
        "code-markup",
    ),
}
"""All that there is of the domain, whatever its licence: these tokenizers are thrown away."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for domain, sources in SOURCES.items():
        heldout = _core.TextBatch.from_texts(data.heldout(sources))
        n_bytes = heldout.offsets[1:] - heldout.offsets[:-1]
        general = {name: data.counts(name, heldout) for name in GENERAL}
        for name, counts in general.items():
            figures[f"{domain}.bytes-per-token.{name}"] = ratio(n_bytes, counts)
        counted = _core.PretokenCounts(pattern=DEFAULT_PATTERN)
        counted.add(_core.TextBatch.from_texts(data.trained(sources)))
        figures[f"{domain}.trained-mb"] = Figure(counted.n_bytes / 1e6, "MB")
        for size in SIZES:
            with warnings.catch_warnings():
                # The text may have too few pairs for the largest: the size reached is a figure.
                warnings.simplefilter("ignore", JetonWarning)
                tokenizer = _core.train_bpe(
                    counted, vocab_size=size, special_tokens=(), max_token_bytes=MAX_TOKEN_BYTES
                )
            counts = tokenizer.count_batch(heldout)
            figures[f"{domain}.ids.{size}"] = Figure(tokenizer.n_tokens, "ids")
            figures[f"{domain}.bytes-per-token.{size}"] = ratio(n_bytes, counts)
            for name in GENERAL:
                figures[f"{domain}.saving.{size}.{name}"] = saving(counts, general[name])
    return figures
