"""Batches of the core's reader, with what it left out, read ahead where that pays."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from jeton._core import DocumentReader, TextBatch


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Counts of documents that are cut, null or bad.

    Attributes:
        n_cut: Text documents above the size limit, which came in pieces.
        n_nulls: Records whose text is null.
        n_bad: Records that cannot be used.
        first_bad: The error that the first of them would have been; empty: none.
    """

    n_cut: int = 0
    n_nulls: int = 0
    n_bad: int = 0
    first_bad: str = ""

    @classmethod
    def of_reader(cls, reader: DocumentReader) -> LeftOut:
        """The counts of a reader so far."""
        n_bad = reader.n_bad_records
        first = (reader.first_bad_record or "") if n_bad else ""
        return cls(reader.n_cut_documents, reader.n_null_documents, n_bad, first)

    def __add__(self, later: LeftOut) -> LeftOut:
        return LeftOut(
            self.n_cut + later.n_cut,
            self.n_nulls + later.n_nulls,
            self.n_bad + later.n_bad,
            self.first_bad or later.first_bad,
        )


_Read: TypeAlias = tuple[TextBatch, LeftOut, int]
"""A batch, and the reader's counts and bytes up to its end."""


def batches_of(reader: DocumentReader) -> Iterator[_Read]:
    """Yield the batches of a reader."""
    for batch in reader:
        yield batch, LeftOut.of_reader(reader), reader.n_bytes_read


def batches_ahead(reader: DocumentReader) -> Iterator[_Read]:
    """Read the next batch while the caller has this one. Only the core runs there."""
    batches = batches_of(reader)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="jeton-reader") as thread:
        following = thread.submit(next, batches, None)
        while (read := following.result()) is not None:
            following = thread.submit(next, batches, None)
            yield read
