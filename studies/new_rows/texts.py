"""Texts to learn tokens from, and texts of other documents to judge on."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton.corpus import open_documents

__all__ = ["DOMAINS", "GENERAL", "N_JUDGED", "Split", "interval", "n_bytes", "split"]

DOMAINS, GENERAL = ("medical", "legal"), "general"
HELD_OUT = 10
"""One document of so many is kept apart, by a hash of its text."""
N_JUDGED, JUDGED_BYTES = 48, 800
"""Documents that a model reads, and the bytes of each from its start."""
COUNTED_BYTES = 2_000_000
"""Held-out text in which tokens are counted."""
LEARNED_BYTES = 12_000_000
LONGEST = 20_000
"""Characters of a document that are read: one long document proves little."""


@dataclass(frozen=True, slots=True)
class Split:
    """A corpus in parts.

    Attributes:
        learned: Documents that tokens and rows are learned from.
        counted: Whole documents kept apart, in which tokens are counted.
        judged: Beginnings of documents kept apart, which the model reads.
    """

    learned: tuple[str, ...]
    counted: tuple[str, ...]
    judged: tuple[str, ...]


def split(file: Path) -> Split:
    """Divides the documents of a file; each part is a sample of the whole file."""
    marked = sorted(
        (hashlib.sha256(text.encode()).digest(), text[:LONGEST]) for text in _documents(file)
    )
    kept = [text for mark, text in marked if mark[0] % HELD_OUT == 0]
    rest = [text for mark, text in marked if mark[0] % HELD_OUT]
    beginnings = (text.encode()[:JUDGED_BYTES].decode("utf-8", "ignore") for text in kept)
    long_enough = (part for part in beginnings if len(part.encode()) > JUDGED_BYTES // 2)
    return Split(
        learned=tuple(_up_to(rest, LEARNED_BYTES)),
        counted=tuple(_up_to(kept, COUNTED_BYTES)),
        judged=tuple(itertools.islice(long_enough, N_JUDGED)),
    )


def n_bytes(texts: tuple[str, ...]) -> NDArray[np.float64]:
    """Returns the bytes of each text."""
    return np.array([len(text.encode()) for text in texts], dtype=np.float64)


def interval(above: NDArray[np.float64], below: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the 95 % interval of the ratio of two sums, by resampling documents."""
    draws = np.random.default_rng(1).integers(0, len(above), (2000, len(above)))
    low, high = np.quantile(above[draws].sum(1) / below[draws].sum(1), [0.025, 0.975])
    return float(low), float(high)


def _documents(file: Path) -> Iterator[str]:
    for _, batch, *_ in open_documents(file):
        for start, end in itertools.pairwise(batch.offsets):
            yield bytes(batch.data[start:end]).decode()


def _up_to(texts: list[str], limit: int) -> Iterator[str]:
    total = 0
    for text in texts:
        if total >= limit:
            return
        total += len(text.encode())
        yield text
