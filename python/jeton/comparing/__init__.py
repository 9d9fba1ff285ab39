"""Tokenizers side by side on the user's own text, and the text cut token by token.

`compare` measures any number of tokenizers in one pass; `inspect_texts` prepares what a token
inspector shows (documents cut by every tokenizer, the worst documents and terms), within bounds.
"""

from __future__ import annotations

from jeton.comparing.inspecting import Inspection, inspect_texts
from jeton.comparing.result import (
    SCHEMA_VERSION,
    Breakdown,
    Comparison,
    GroupCell,
    GroupRow,
    Speed,
    TextSummary,
    TokenizerComparison,
)
from jeton.comparing.run import compare

__all__ = [
    "SCHEMA_VERSION",
    "Breakdown",
    "Comparison",
    "GroupCell",
    "GroupRow",
    "Inspection",
    "Speed",
    "TextSummary",
    "TokenizerComparison",
    "compare",
    "inspect_texts",
]
