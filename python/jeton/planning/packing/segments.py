"""Documents that are longer than a bin: what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton.errors import LimitError, UsageError

Overflow: TypeAlias = Literal["error", "split", "truncate", "drop", "own"]

OVERFLOWS: tuple[Overflow, ...] = ("error", "split", "truncate", "drop", "own")
"""Rules for a document that is longer than a bin."""


_MAX_SEGMENTS = 1 << 24
"""Segments that a few documents may make: a length in a file costs nothing, and each segment of it
some 60 bytes here."""

_MAX_SEGMENTS_PER_DOCUMENT = 4096
"""Segments that each document may make on the average where there are more."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Pieces of documents that are packed, in the order of the documents.

    Attributes:
        documents: int64 (n_segments,); None: segment ``i`` is document ``i``.
        starts: int64 (n_segments,): tokens of the document before the segment; None: all 0.
        lengths: int64 (n_segments,): tokens.
        long_documents: int64: documents longer than a bin.
        dropped: int64: documents that are left out.
    """

    documents: NDArray[np.int64] | None
    starts: NDArray[np.int64] | None
    lengths: NDArray[np.int64]
    long_documents: NDArray[np.int64]
    dropped: NDArray[np.int64]


def cut(lengths: NDArray[np.int64], *, limit: int, overflow: Overflow) -> Segments:
    """Applies the rule for documents longer than ``limit``; others stay as they are.

    Raises:
        UsageError: A document is longer, and the rule is ``"error"``.
        LimitError: Cut up they are far more segments than such documents make.
    """
    none = np.zeros(0, dtype=np.int64)
    long = np.flatnonzero(lengths > limit)
    if not len(long):
        return Segments(None, None, lengths, none, none)
    if overflow == "error":
        first = int(long[0])
        others = f" ({len(long):,} documents are too long)" if len(long) > 1 else ""
        raise UsageError(
            f"document {first} has {int(lengths[first]):,} tokens, more than the {limit:,} that a "
            f"bin holds{others}\n"
            "hint: overflow 'split' cuts it into several segments, 'truncate' keeps its beginning, "
            "'drop' leaves it out, 'own' gives it a longer bin of its own"
        )
    if overflow == "truncate":
        return Segments(None, None, np.minimum(lengths, limit), long, none)
    if overflow == "drop":
        kept = np.flatnonzero(lengths <= limit)
        return Segments(kept, None, lengths[kept], long, long)
    if overflow == "own":
        return Segments(None, None, lengths, long, none)
    n_pieces = np.maximum(1, -(-lengths // limit))
    most = min(2**32 - 2, max(_MAX_SEGMENTS, _MAX_SEGMENTS_PER_DOCUMENT * len(lengths)))
    if int(n_pieces.sum()) > most:
        raise LimitError(
            f"{len(lengths):,} documents of {int(lengths.sum()):,} tokens make "
            f"{int(n_pieces.sum()):,} segments of {limit:,} tokens; the limit is {most:,}\n"
            "hint: are the lengths right? pack parts of the data set one by one, or give bins "
            "more room",
            what="segments",
            limit=most,
        )
    documents = np.repeat(np.arange(len(lengths)), n_pieces)
    firsts = np.cumsum(n_pieces) - n_pieces
    starts = (np.arange(len(documents)) - firsts[documents]) * limit
    return Segments(documents, starts, np.minimum(limit, lengths[documents] - starts), long, none)
