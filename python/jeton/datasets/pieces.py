"""Ids of some documents, on their way from a worker to the writer of a shard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jeton._core import TextBatch


@dataclass(frozen=True, slots=True)
class PieceCounts:
    """Sums over documents that were read.

    Attributes:
        n_documents: Documents, empty ones included.
        n_empty_documents: Documents without a token of their own, which are left out.
        n_null_documents: Records whose text is null, which are no documents.
        n_bad_records: Records that cannot be used, which were skipped.
        n_replaced_documents: Documents in which bytes that are not UTF-8 were replaced.
        n_text_bytes: Bytes of text, UTF-8.
        n_guarded_documents: Documents that the guard's policy changed.
    """

    n_documents: int = 0
    n_empty_documents: int = 0
    n_null_documents: int = 0
    n_bad_records: int = 0
    n_replaced_documents: int = 0
    n_text_bytes: int = 0
    n_guarded_documents: int = 0

    def __add__(self, other: PieceCounts) -> PieceCounts:
        return PieceCounts(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class TokenPiece:
    """Ids of consecutive documents.

    Attributes:
        ids: uint32 (n_tokens,), special tokens included.
        offsets: int64 (n_documents + 1,): where documents begin and end.
        runs: The files of the documents, in order: (number of the file, documents).
        counts: Counts of this piece, ``n_documents`` and ``n_empty_documents`` aside.
        texts: The texts, for a format that holds text; else a description of each document's
            record as JSON, if records are kept.
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    runs: tuple[tuple[int, int], ...]
    counts: PieceCounts = PieceCounts()
    texts: TextBatch | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_bytes(self) -> int:
        """Memory that it takes."""
        texts = 0 if self.texts is None else self.texts.n_bytes
        return self.ids.nbytes + self.offsets.nbytes + texts

    def from_document(self, first: int) -> TokenPiece:
        """Return the piece without its first documents; its counts stay."""
        if not first:
            return self
        runs, left = [], first
        for file, n in self.runs:
            taken = min(left, n)
            left -= taken
            if n > taken:
                runs.append((file, n - taken))
        start = int(self.offsets[first])
        texts = self.texts
        if texts is not None:
            from jeton._core import TextBatch

            texts = TextBatch.from_texts([*texts][first:])
        return replace(
            self,
            ids=self.ids[start:],
            offsets=self.offsets[first:] - start,
            runs=tuple(runs),
            texts=texts,
        )

    def until_document(self, end: int) -> TokenPiece:
        """Return the first documents of the piece; its counts stay."""
        if end >= len(self):
            return self
        runs, left = [], end
        for file, n in self.runs:
            taken = min(left, n)
            left -= taken
            if taken:
                runs.append((file, taken))
        texts = self.texts
        if texts is not None:
            from jeton._core import TextBatch

            texts = TextBatch.from_texts([*texts][:end])
        return replace(
            self,
            ids=self.ids[: int(self.offsets[end])],
            offsets=self.offsets[: end + 1],
            runs=tuple(runs),
            texts=texts,
        )
