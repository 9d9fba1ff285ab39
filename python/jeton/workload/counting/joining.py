"""Small batches joined into larger ones before they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch
from jeton.corpus.requests.blocks import Blocks

MIN_JOINED_BYTES = 1024 * 1024
"""Smaller batches are joined to this size. A batch is the unit of parallel work, and each measured
one adds arrays as long as the vocabulary (1 MB for 128k ids): batches of a few kilobytes, one for
each small file, would spend their time there."""


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Documents on their way to being measured, and what is known of each.

    Attributes:
        texts: The documents.
        groups: int64 (n,), the group of each (`jeton.workload.counting.groups`).
        domains: int64 (n,), the number of each one's domain; None: domains are not counted.
        overhead_tokens: int64 (n,), tokens that a chat format adds; None: none anywhere.
        blocks: Blocks of requests; None: the texts are documents.
    """

    texts: TextBatch
    groups: NDArray[np.int64]
    domains: NDArray[np.int64] | None
    overhead_tokens: NDArray[np.int64] | None
    blocks: Blocks | None = None


def joined(batches: Iterable[Observed]) -> Iterator[Observed]:
    """Join small batches; large ones pass through untouched. Documents stay apart and in order."""
    waiting: list[Observed] = []
    n_bytes = 0
    for batch in batches:
        if not waiting and batch.texts.n_bytes >= MIN_JOINED_BYTES:
            yield batch
            continue
        waiting.append(batch)
        n_bytes += batch.texts.n_bytes
        if n_bytes >= MIN_JOINED_BYTES:
            yield _join(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield _join(waiting)


def _join(batches: list[Observed]) -> Observed:
    if len(batches) == 1:
        return batches[0]
    texts: list[bytes] = []
    for batch in batches:
        data = batch.texts.data.tobytes()
        texts += [data[start:end] for start, end in pairwise(batch.texts.offsets.tolist())]
    blocks = [batch.blocks for batch in batches if batch.blocks is not None]
    return Observed(
        TextBatch.from_texts(texts),
        np.concatenate([batch.groups for batch in batches]),
        _concatenated([batch.domains for batch in batches]),
        _concatenated([batch.overhead_tokens for batch in batches]),
        Blocks.concatenate(blocks) if len(blocks) == len(batches) else None,
    )


def _concatenated(parts: list[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if len(present) == len(parts) else None
