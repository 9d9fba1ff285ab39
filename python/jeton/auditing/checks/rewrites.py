"""The rewrites of texts that findings propose, by the id of the finding.

What one remedy leaves of a text is what the next one meets: with these, remedies are measured one
after another, and no token is saved twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from jeton.auditing.analyses.cut_text import without_letter_spacing, without_punctuation_spacing
from jeton.auditing.analyses.encoded_blobs import without_blobs
from jeton.auditing.analyses.escapes import (
    without_entities,
    without_nested_quotes,
    without_percent_escapes,
    without_unicode_escapes,
)
from jeton.auditing.analyses.layout import (
    with_joined_lines,
    with_lower_case,
    with_narrow_indentation,
    with_plain_line_ends,
    with_short_separators,
    with_usual_spacing,
)
from jeton.auditing.analyses.markup import without_markup_noise
from jeton.auditing.analyses.minified_json import without_json_layout, without_repeated_keys
from jeton.auditing.analyses.mojibake import without_mojibake
from jeton.auditing.analyses.repetition import without_repeated_passages
from jeton.auditing.analyses.rewriting import Rewrite, chain
from jeton.auditing.analyses.unicode_forms import (
    composed,
    without_compatibility_characters,
    without_invisible_characters,
)
from jeton.auditing.analyses.values import with_aliases, with_rounded_numbers, with_short_urls
from jeton.auditing.measures.whitespace import without_needless_whitespace

__all__ = ["REWRITES"]


def _without_needless_whitespace(text: str) -> tuple[str, int]:
    new = without_needless_whitespace(text)
    return new, len(text) - len(new)


REWRITES: Mapping[str, Rewrite] = MappingProxyType(
    {
        "repeated-passages": without_repeated_passages,
        "whitespace-runs": _without_needless_whitespace,
        "separator-runs": with_short_separators,
        "line-ends": with_plain_line_ends,
        "indentation": with_narrow_indentation,
        "json-layout": without_json_layout,
        "json-repeated-keys": chain(without_json_layout, without_repeated_keys),
        "markup": without_markup_noise,
        "encoded-data": without_blobs,
        "escaped-characters": chain(
            without_nested_quotes,
            without_unicode_escapes,
            without_entities,
            without_percent_escapes,
        ),
        "unicode-form": composed,
        "invisible-characters": without_invisible_characters,
        "compatibility-characters": without_compatibility_characters,
        "mojibake": without_mojibake,
        "extraction-leftovers": chain(
            without_letter_spacing,
            without_punctuation_spacing,
            with_usual_spacing,
            with_joined_lines,
        ),
        "upper-case": with_lower_case,
        "number-precision": with_rounded_numbers,
        "opaque-identifiers": with_aliases,
        "long-urls": with_short_urls,
    }
)
