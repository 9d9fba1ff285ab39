"""What the remedies of findings are called in charts and tables: a few words, not an id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["REMEDY_NAMES", "remedy_name"]

REMEDY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "tokenizer-foreign": "A tokenizer that fits the text",
        "domain-foreign": "Another tokenizer for one domain",
        "term-shatter": "Add your terms to the vocabulary",
        "terms-worth-adding": "Add frequent words to the vocabulary",
        "prompt-prefix-cacheable": "Cache the opening text that requests share",
        "prompt-prefix-volatile": "Move what changes to the end and cache the rest",
        "cache-writes-unread": "Cache only what is read again",
        "boilerplate": "Remove repeated lines",
        "repeated-passages": "Send each passage once",
        "near-duplicate-documents": "Send near copies once",
        "overlapping-documents": "Send overlapping text once",
        "duplicate-documents": "Answer repeated requests from a cache",
        "whitespace-runs": "Remove unneeded spaces and blank lines",
        "separator-runs": "Shorten decorative lines",
        "line-ends": "Write line ends as one character",
        "indentation": "Use narrower indentation",
        "json-layout": "Write compact JSON",
        "json-repeated-keys": "Send JSON records as a table",
        "markup": "Remove HTML that only shapes the page",
        "encoded-data": "Remove base64 and other encoded data",
        "escaped-characters": "Write characters instead of escapes",
        "unicode-form": "Combine accents (NFC)",
        "invisible-characters": "Remove invisible characters",
        "compatibility-characters": "Replace unusual forms of characters",
        "mojibake": "Correct wrongly decoded text",
        "extraction-leftovers": "Join text that was cut into pieces",
        "upper-case": "Write running text in lower case",
        "number-precision": "Round numbers",
        "opaque-identifiers": "Shorten identifiers",
        "long-urls": "Shorten web addresses",
        "chunk-overlap": "Overlap pieces less",
        "price-step": "Keep prompts below the price step",
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
