"""Texts that do not come back from their ids, and why.

A text comes back if ``decode(encode(text))`` is the text, character by character. Each one that
does not is counted once, under the worst of its causes.
"""

from __future__ import annotations

from collections.abc import Mapping

CAUSES = {
    "white_space": "white space is left out, put in or changed",
    "u2581": "U+2581 comes back as a space",
    "normal_form": "the normalizer changes characters (form, case, accents)",
    "unknown": "characters have no token but the unknown one",
    "other": "decoding is not the inverse of encoding",
}
"""Names of causes as ``TokenStats.unreturned_by_cause`` has them, in words."""


def loses_text(unreturned_by_cause: Mapping[str, int]) -> bool:
    """True if texts lose something, beside being written in a normal form."""
    return any(n for cause, n in unreturned_by_cause.items() if cause != "normal_form")


def told_causes(unreturned_by_cause: Mapping[str, int], *, unit: str) -> str:
    """The causes that occur, in words, the most frequent first."""
    found = [(n, cause) for cause, n in unreturned_by_cause.items() if n]
    found.sort(key=lambda item: (-item[0], item[1]))
    return "; ".join(f"{CAUSES[cause]} ({n:,} {unit})" for n, cause in found)
