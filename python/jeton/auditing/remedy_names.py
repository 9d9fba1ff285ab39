"""What the remedies of findings are called in charts and tables: a few words, not an id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["REMEDY_NAMES", "remedy_name"]

REMEDY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "tokenizer-foreign": "A tokenizer that fits the text",
        "domain-foreign": "A tokenizer of its own for a domain",
        "term-shatter": "Add the given terms to the vocabulary",
        "terms-worth-adding": "Add frequent words to the vocabulary",
        "prompt-prefix-cacheable": "Cache the beginnings that prompts share",
        "prompt-prefix-volatile": "Move what changes to the end, cache the rest",
        "cache-writes-unread": "Write to the cache only what is read again",
        "boilerplate": "Take out boilerplate lines",
        "repeated-passages": "Send each passage once",
        "near-duplicate-documents": "Send one of near copies",
        "overlapping-documents": "Send overlapping text once",
        "duplicate-documents": "Answer copies from a cache",
        "whitespace-runs": "Collapse white space",
        "separator-runs": "Shorten lines of separators",
        "line-ends": "Write line ends as one character",
        "indentation": "Indent by less",
        "json-layout": "Write JSON without layout",
        "json-repeated-keys": "Write records as a table, keys once",
        "markup": "Send text without markup",
        "encoded-data": "Leave out encoded data",
        "escaped-characters": "Write characters instead of escapes",
        "unicode-form": "Compose accents (NFC)",
        "invisible-characters": "Remove invisible characters",
        "compatibility-characters": "Write compatibility characters plainly",
        "mojibake": "Mend wrongly decoded text",
        "extraction-leftovers": "Clean up extracted text",
        "upper-case": "Write running text in lower case",
        "number-precision": "Round numbers",
        "opaque-identifiers": "Shorten identifiers",
        "long-urls": "Shorten addresses",
        "chunk-overlap": "Overlap chunks by less",
        "price-step": "Keep prompts below the step of the price",
        "output-long": "Limit the length of answers",
        "output-echo": "Ask for the answer alone",
        "preprocessing-growth": "Leave out the step that adds tokens",
    }
)
"""By the id of the finding that proposes the remedy."""


def remedy_name(finding_id: str) -> str:
    """The name of a finding's remedy; the id in words where it has none."""
    name = REMEDY_NAMES.get(finding_id)
    return name or finding_id.replace("-", " ").capitalize()
