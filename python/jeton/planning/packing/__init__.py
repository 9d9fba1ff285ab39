"""Packing: documents into bins of one capacity by their lengths, and the rows that trainers read.

``pack`` decides which documents share a bin. ``packed_row`` and ``padded_batch`` lay out the tokens
of one bin. ``save_pack`` keeps the decision alone; ``write_packed_parquet`` keeps the tokens too.
"""

from __future__ import annotations

from jeton.planning.packing.files import load_pack, save_pack, write_packed_parquet
from jeton.planning.packing.lengths import read_lengths
from jeton.planning.packing.packing import best_bucket_edges, pack
from jeton.planning.packing.result import Pack, PackReport, RankSpread
from jeton.planning.packing.rows import PackedRow, PaddedBatch, packed_row, padded_batch
from jeton.planning.packing.token_source import TokenSource, open_tokens

__all__ = [
    "Pack",
    "PackReport",
    "PackedRow",
    "PaddedBatch",
    "RankSpread",
    "TokenSource",
    "best_bucket_edges",
    "load_pack",
    "open_tokens",
    "pack",
    "packed_row",
    "padded_batch",
    "read_lengths",
    "save_pack",
    "write_packed_parquet",
]
