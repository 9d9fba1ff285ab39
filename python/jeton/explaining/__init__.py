"""Why two tokenizers differ: a smallest text, and the component that causes it.

A search through texts known to tell tokenizers apart (`searching`), the text that was found made as
small as it gets (`shrinking`), the stages of the two compared on it and their components exchanged
one by one (`diagnosis`, `parts`), one frozen result (`result`).
"""

from __future__ import annotations

from jeton.explaining.result import (
    SCHEMA_VERSION,
    Cut,
    Difference,
    Exchange,
    Explanation,
    PartDifference,
)
from jeton.explaining.run import DEFAULT_N_CASES, explain

__all__ = [
    "DEFAULT_N_CASES",
    "SCHEMA_VERSION",
    "Cut",
    "Difference",
    "Exchange",
    "Explanation",
    "PartDifference",
    "explain",
]
