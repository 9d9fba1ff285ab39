"""Texts of special tokens inside ordinary documents.

A document that contains ``<|im_end|>`` is text; a pipeline that encodes it with special tokens
allowed turns it into a control token, which ends a turn or a document where the writer chose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import Survey, Tokenizer
from jeton.guard.scanning import MIN_MARKER_BYTES
from jeton.guard.wordlist import MARKERS


def markers_of(tokenizers: Iterable[Tokenizer]) -> tuple[str, ...]:
    """The known markers and the special tokens of the given tokenizers, sorted."""
    markers = set(MARKERS)
    for tokenizer in tokenizers:
        markers.update(tokenizer.special_tokens)
    return tuple(sorted(marker for marker in markers if len(marker.encode()) >= MIN_MARKER_BYTES))


class LookalikeCounts:
    """How often each marker occurs in documents, and the documents that contain any.

    They are found by the core while it looks at the texts (`jeton._core.Surveyor`): of those that
    begin with the same three bytes, what begins inside one is a part of it.
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self._markers = tuple(markers)
        self._counts: NDArray[np.uint64] = np.zeros(len(self._markers), dtype=np.uint64)
        self.n_documents = 0

    @property
    def counts(self) -> dict[str, int]:
        """Occurrences by marker, the most frequent first."""
        found = zip(self._markers, self._counts.tolist(), strict=True)
        ordered = sorted((item for item in found if item[1]), key=lambda item: (-item[1], item[0]))
        return dict(ordered)

    def add(self, survey: Survey) -> None:
        """Add what was found in one batch."""
        self._counts = self._counts + survey.marker_counts
        self.n_documents += survey.n_marked_documents

    def merge(self, other: Self) -> LookalikeCounts:
        """Return the counts of both; they look for the same markers."""
        merged = LookalikeCounts(self._markers)
        merged._counts = self._counts + other._counts
        merged.n_documents = self.n_documents + other.n_documents
        return merged
