"""Positions that rows need when documents are packed or put into buckets."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np

from jeton.auditing.evidence import percent
from jeton.metrics import LengthCounts
from jeton.planning.packing import pack

BUCKETS = 4
"""Widths of rows that the audit proposes. Our choice: each is a shape to compile, and a few take
most of the padding away."""


@dataclass(frozen=True, slots=True)
class PackedPositions:
    """Positions of the audited documents, arranged in other ways; long ones are cut.

    Attributes:
        capacity: Tokens of a row.
        n_positions: Positions of rows of the capacity, filled by best fit.
        padding_share: Padding of these, 0 to 1.
        edges: Widths of the best buckets.
        bucket_padding_share: Padding of positions if a document is a row as wide as its bucket.
    """

    capacity: int
    n_positions: int
    padding_share: float
    edges: tuple[int, ...]
    bucket_padding_share: float


def packed_positions(lengths: LengthCounts, *, capacity: int) -> PackedPositions:
    """Packs the documents of a histogram, cut to ``capacity``."""
    each = np.repeat(lengths.lengths.astype(np.int64), lengths.documents.astype(np.int64))
    best = pack(each, capacity=capacity, overflow="truncate").report
    buckets = pack(
        each, capacity=capacity, overflow="truncate", method="buckets", max_buckets=BUCKETS
    )
    return PackedPositions(
        capacity=capacity,
        n_positions=best.n_positions,
        padding_share=best.padding_share,
        edges=buckets.edges,
        bucket_padding_share=buckets.report.padding_share,
    )


def packing_remedy(packed: PackedPositions, tokenizer: str, *, overflow: str = "error") -> str:
    """Returns the commands with what they leave of the padding."""
    command = f"jeton pack INPUT --tokenizer {shlex.quote(tokenizer)} --capacity {packed.capacity}"
    if overflow != "error":
        command += f" --overflow {overflow}"
    return (
        f"Pack several documents into a row, with attention within each: `{command}` leaves "
        f"{percent(packed.padding_share)} padding. Or pad to {len(packed.edges)} widths: `--method "
        f"buckets --max-buckets {BUCKETS}` leaves {percent(packed.bucket_padding_share)}."
    )
