"""Sums of the core as plain values, which can be sent to another process and added up there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from jeton._core import TextStats, TokenStats

_NAMES: Final[Mapping[type, tuple[str, ...]]] = {
    TextStats: (
        "n_documents", "n_bytes", "n_chars", "n_words", "n_replaced_documents", "n_replacements",
        "n_whitespace_bytes", "n_space_bytes", "n_digits", "n_marks", "n_ascii_documents",
        "script_chars", "script_bytes", "bytes_per_document",
    ),
    TokenStats: (
        "n_documents", "n_tokens", "n_round_trip_failures", "n_normalized_documents",
        "n_unreturned_documents", "unreturned_by_cause", "id_counts", "n_laid_out_documents",
        "n_letter_words", "n_letter_words_kept", "n_letter_word_tokens", "n_digits",
        "n_digit_tokens", "script_tokens", "script_bytes", "tokens_per_document",
    ),
}  # fmt: skip


class CoreSums:
    """The values of a `TextStats` or `TokenStats`, by the same names.

    Example:
        >>> sums = CoreSums.of(TextStats())
        >>> sums.merge(sums).n_documents
        0
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    @classmethod
    def of(cls, stats: TextStats | TokenStats | CoreSums) -> CoreSums:
        """The values of sums of the core; what are values already stays."""
        if isinstance(stats, CoreSums):
            return stats
        return cls({name: getattr(stats, name) for name in _NAMES[type(stats)]})

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(name)

    def merge(self, other: CoreSums) -> CoreSums:
        """The sum of both."""
        return CoreSums(
            {name: _added(value, other._values[name]) for name, value in self._values.items()}
        )


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
    if isinstance(one, tuple):
        # A histogram: lengths that rise, and how often each occurs.
        lengths, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
        counts = np.zeros(len(lengths), dtype=np.uint64)
        np.add.at(counts, places.reshape(-1), np.concatenate([one[1], other[1]]))
        return lengths, counts
    return one + other
