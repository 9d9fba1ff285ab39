"""Texts in batches that are compared at once: many short texts, or few long ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator


def batches(
    texts: Iterable[str], *, max_chars: int, max_texts: int = sys.maxsize
) -> Iterator[list[str]]:
    """Yield lists of texts; each ends with the text that reaches one of the limits.

    Args:
        texts: Any number of texts.
        max_chars: Code points of a batch, all texts together.
        max_texts: Texts of a batch.
    """
    batch: list[str] = []
    n_chars = 0
    for text in texts:
        batch.append(text)
        n_chars += len(text)
        if len(batch) >= max_texts or n_chars >= max_chars:
            yield batch
            batch, n_chars = [], 0
    if batch:
        yield batch
