"""Pieces of ids become shards: cut between documents, each finished before the next begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import (
    RECORDS_SUFFIX,
    FileRecord,
    ShardFile,
    ShardFormat,
    ShardLayout,
    ShardRecord,
    ShardWriter,
)
from jeton.datasets.pieces import PieceCounts, TokenPiece
from jeton.datasets.working import without_empty

if TYPE_CHECKING:
    from jeton._core import TextBatch


@dataclass(frozen=True, slots=True)
class ShardPosition:
    """Place in the inputs at which a shard begins.

    Attributes:
        unit: The unit of work.
        document: Documents of the unit before it.
        counts: Counts of all that came before.
        file: Number of the file of the last document before it; -1: none.
        file_documents: Documents of that file before it.
    """

    unit: int = 0
    document: int = 0
    counts: PieceCounts = field(default_factory=PieceCounts)
    file: int = -1
    file_documents: int = 0


@dataclass(frozen=True, slots=True)
class FinishedShard:
    """A shard on the disk, and where the next one begins."""

    record: ShardRecord
    following: ShardPosition


@dataclass(frozen=True, slots=True)
class ShardCut:
    """How documents become shards, beside the documents.

    Attributes:
        kind: The format.
        layout: Facts that all shards share.
        max_tokens: Most tokens of a shard.
        n_special: Special tokens of each document.
    """

    kind: ShardFormat
    layout: ShardLayout
    max_tokens: int
    n_special: int

    def cutter(
        self,
        paths: tuple[str, ...],
        on_shard: Callable[[FinishedShard], None],
        *,
        number: int = 0,
        position: ShardPosition = ShardPosition(),
        is_plan: bool = False,
    ) -> ShardCutter:
        """A cutter that begins with a shard at a place.

        Args:
            paths: The inputs.
            on_shard: Called with each shard when it is finished.
            number: Number of the first shard.
            position: Place in the inputs at which it begins.
            is_plan: Write nothing: the shards have no files.
        """
        return ShardCutter(
            _open_nothing if is_plan else partial(_open_shard, self.kind, self.layout),
            max_tokens=self.max_tokens,
            n_special=self.n_special,
            paths=paths,
            on_shard=on_shard,
            number=number,
            position=position,
        )


def _open_shard(kind: ShardFormat, layout: ShardLayout, number: int) -> ShardWriter:
    writer = kind.open_shard(layout, number)
    has_columns = kind.name in ("parquet", "arrow")
    if not layout.options.keeps_records or has_columns:
        return writer
    return _WithRecords(writer, layout, number)


class _WithRecords:
    """A shard with a file of records beside it, for formats that have no columns."""

    def __init__(self, writer: ShardWriter, layout: ShardLayout, number: int) -> None:
        self._writer = writer
        name = f"shard_{number:05d}{RECORDS_SUFFIX}"
        self._file = ShardFile(layout.folder, name, layout.options.digest)

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        self._writer.append(ids, offsets, None)
        if texts is not None:
            self._file.write("".join(f"{record}\n" for record in texts).encode())

    def close(self) -> tuple[FileRecord, ...]:
        return (*self._writer.close(), self._file.close())

    def abandon(self) -> None:
        self._writer.abandon()
        self._file.abandon()


class _NoFiles:
    """A shard that is planned, not written."""

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        pass

    def close(self) -> tuple[FileRecord, ...]:
        return ()

    def abandon(self) -> None:
        pass


def _open_nothing(_: int) -> ShardWriter:
    return _NoFiles()


@dataclass
class _Open:
    """The shard that is being written."""

    writer: ShardWriter
    n_tokens: int = 0
    n_documents: int = 0
    inputs: list[tuple[int, int, int]] = field(default_factory=list)


class ShardCutter:
    """Writes pieces to shards of at most so many tokens; a longer document has its own."""

    def __init__(
        self,
        open_shard: Callable[[int], ShardWriter],
        *,
        max_tokens: int,
        n_special: int,
        paths: tuple[str, ...],
        on_shard: Callable[[FinishedShard], None],
        number: int = 0,
        position: ShardPosition = ShardPosition(),
    ) -> None:
        self._open_shard = open_shard
        self._max_tokens, self._n_special = max_tokens, n_special
        self._paths, self._on_shard = paths, on_shard
        self._pending = position
        self._number = number
        self._open: _Open | None = None
        self._at = position

    @property
    def counts(self) -> PieceCounts:
        """Counts of all that was written."""
        return self._at.counts

    def add(self, unit: int, piece: TokenPiece) -> None:
        """Write a piece of a unit.

        Raises:
            OSError: The disk is full, or cannot be written to.
            LimitError: A document is too long for the format.
        """
        if unit != self._at.unit:
            at = self._at
            self._at = ShardPosition(unit, 0, at.counts, at.file, at.file_documents)
        n_before = self._at.document
        counts = self._at.counts
        n_read = len(piece)
        kept, places = without_empty(piece, self._n_special)
        # Numbers of the piece's documents in their files.
        numbers = self._numbers(piece)
        file_of = np.repeat(
            np.array([file for file, _ in piece.runs], dtype=np.int64),
            np.array([n for _, n in piece.runs], dtype=np.int64),
        )
        if places is not None:
            numbers, file_of = numbers[places], file_of[places]
        first, n_kept = 0, len(kept)
        while first < n_kept:
            current = self._open
            room = self._max_tokens - (current.n_tokens if current is not None else 0)
            limit = int(kept.offsets[first]) + room
            last = int(np.searchsorted(kept.offsets, limit, side="right")) - 1
            if last <= first:
                if current is not None:
                    n_done = int(first if places is None else places[first])
                    self._set(n_before, n_done, counts, piece, numbers_of=n_done)
                    self._close()
                    continue
                last = first + 1
            self._write(kept, first, last, file_of, numbers)
            first = last
        n_empty = n_read - n_kept
        total = PieceCounts(n_documents=n_read, n_empty_documents=n_empty) + piece.counts
        self._set(n_before, n_read, counts + total, piece, numbers_of=n_read, is_whole=True)

    def _numbers(self, piece: TokenPiece) -> np.ndarray:
        parts, file, done = [np.zeros(0, np.int64)], self._at.file, self._at.file_documents
        for number, n in piece.runs:
            if number != file:
                file, done = number, 0
            parts.append(np.arange(done, done + n, dtype=np.int64))
            done += n
        return np.concatenate(parts)

    def _set(
        self,
        n_before: int,
        n_done: int,
        counts: PieceCounts,
        piece: TokenPiece,
        *,
        numbers_of: int,
        is_whole: bool = False,
    ) -> None:
        """Note the place behind ``n_done`` documents of the piece."""
        at = self._at
        if not is_whole:
            n_empty = int(np.count_nonzero(np.diff(piece.offsets)[:n_done] <= self._n_special))
            counts += PieceCounts(n_documents=n_done, n_empty_documents=n_empty)
            self._pending = ShardPosition(
                at.unit, n_before + n_done, counts, *self._file_at(piece, numbers_of)
            )
            return
        self._at = ShardPosition(
            at.unit, n_before + n_done, counts, *self._file_at(piece, numbers_of)
        )
        self._pending = self._at

    def _file_at(self, piece: TokenPiece, n_done: int) -> tuple[int, int]:
        file, done = self._at.file, self._at.file_documents
        for number, n in piece.runs:
            if n_done <= 0:
                break
            if number != file:
                file, done = number, 0
            taken = min(n, n_done)
            done += taken
            n_done -= taken
        return file, done

    def _write(
        self, piece: TokenPiece, first: int, last: int, files: np.ndarray, numbers: np.ndarray
    ) -> None:
        if self._open is None:
            self._open = _Open(self._open_shard(self._number))
        start, end = int(piece.offsets[first]), int(piece.offsets[last])
        texts = piece.texts
        if texts is not None and (first, last) != (0, len(piece)):
            from jeton._core import TextBatch

            texts = TextBatch.from_texts([*texts][first:last])
        self._open.writer.append(
            piece.ids[start:end], piece.offsets[first : last + 1] - start, texts
        )
        self._open.n_tokens += end - start
        self._open.n_documents += last - first
        breaks = np.flatnonzero(np.diff(files[first:last])) + 1
        for a, b in zip([0, *breaks.tolist()], [*breaks.tolist(), last - first], strict=True):
            self._note(int(files[first + a]), int(numbers[first + a]), b - a)

    def _note(self, file: int, number: int, n: int) -> None:
        assert self._open is not None
        inputs = self._open.inputs
        if inputs and inputs[-1][0] == file:
            inputs[-1] = (file, inputs[-1][1], inputs[-1][2] + n)
        else:
            inputs.append((file, number, n))

    def _close(self) -> None:
        current = self._open
        if current is None:
            return
        files = current.writer.close()
        self._open = None
        record = ShardRecord(
            number=self._number,
            n_tokens=current.n_tokens,
            n_documents=current.n_documents,
            files=files,
            inputs=tuple((self._paths[file], first, n) for file, first, n in current.inputs),
        )
        self._number += 1
        self._on_shard(FinishedShard(record, self._pending))

    def finish(self) -> None:
        """Finish the last shard.

        Raises:
            OSError: The disk is full, or cannot be written to.
        """
        self._pending = self._at
        self._close()

    def abandon(self) -> None:
        """Remove the shard that is not finished."""
        if self._open is not None:
            self._open.writer.abandon()
            self._open = None
