"""Documents in an order drawn by a seed, in bounded memory: two passes over cells on the disk.

Each document gets a key from the seed and its number. The first pass writes it to the cell of its
key's highest bits, the second sorts one cell after the other. The order is that of the keys, so it
depends on neither cells nor workers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch
from jeton.datasets.pieces import PieceCounts, TokenPiece
from jeton.datasets.spool import read_arrays, read_texts, text_arrays, write_arrays
from jeton.datasets.working import without_empty

CELLS_NAME = ".jeton-cells"
CELL_BITS = 7
"""128 files: few enough to be open at once."""

MAX_CELL_BYTES = 128 << 20
"""A larger cell is divided again."""

PIECE_TOKENS = 1 << 20


def document_keys(seed: int, first: int, n: int) -> NDArray[np.uint64]:
    """Return the keys of documents ``first`` to ``first + n``: SplitMix64 of seed and number."""
    with np.errstate(over="ignore"):
        start = np.uint64(seed % 2**64) * np.uint64(0xD1342543DE82EF95)
        z = np.arange(first + 1, first + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = z + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def shuffled(
    pieces: Iterator[tuple[int, TokenPiece]],
    *,
    seed: int,
    n_special: int,
    folder: Path,
    first_document: int = 0,
) -> Iterator[tuple[int, TokenPiece]]:
    """Yield the documents of all pieces in their new order, as pieces of unit 0.

    Args:
        pieces: The documents in the order of the inputs.
        seed: Draws the order.
        n_special: Special tokens of each document; those without others are left out.
        folder: Where the cells go.
        first_document: Documents of the new order that are not wanted.

    Raises:
        OSError: The disk is full.
    """
    cells = folder / CELLS_NAME
    shutil.rmtree(cells, ignore_errors=True)
    cells.mkdir()
    try:
        counts: PieceCounts | None = _fill(pieces, seed, n_special, cells)
        n_before = 0
        for piece in _sorted_cells(cells, CELL_BITS):
            if counts is not None:
                piece, counts = replace(piece, counts=counts), None
            n = len(piece)
            if n_before + n > first_document or not first_document:
                yield 0, piece.from_document(max(0, first_document - n_before))
            n_before += n
        if counts is not None:
            yield 0, TokenPiece(np.zeros(0, np.uint32), np.zeros(1, np.int64), (), counts)
    finally:
        shutil.rmtree(cells, ignore_errors=True)


_Record = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[Any], Any]
"""Keys, files, lengths, ids and texts of documents."""


def _fill(
    pieces: Iterator[tuple[int, TokenPiece]], seed: int, n_special: int, folder: Path
) -> PieceCounts:
    counts, n_done = PieceCounts(), 0
    with _Cells(folder, CELL_BITS, 0) as cells:
        for _, piece in pieces:
            files = np.repeat(
                np.array([file for file, _ in piece.runs], dtype=np.int64),
                np.array([n for _, n in piece.runs], dtype=np.int64),
            )
            kept, places = without_empty(piece, n_special)
            n_empty = len(piece) - len(kept)
            counts += piece.counts
            counts += PieceCounts(n_documents=n_empty, n_empty_documents=n_empty)
            keys = document_keys(seed, n_done, len(kept))
            n_done += len(kept)
            cells.add(
                (
                    keys,
                    files if places is None else files[places],
                    np.diff(kept.offsets),
                    kept.ids,
                    None if kept.texts is None else list(kept.texts),
                )
            )
    return counts


class _Cells:
    """Files of documents by some bits of their keys."""

    def __init__(self, folder: Path, bits: int, skipped_bits: int) -> None:
        self._shift = np.uint64(64 - bits - skipped_bits)
        self._mask = np.uint64((1 << bits) - 1)
        self._streams: list[IO[bytes]] = [
            (folder / f"{number:05d}").open("wb", buffering=1 << 16) for number in range(1 << bits)
        ]

    def __enter__(self) -> _Cells:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.close()

    def add(self, record: _Record) -> None:
        keys, files, lengths, ids, texts = record
        cell_of = ((keys >> self._shift) & self._mask).astype(np.int64)
        order = np.argsort(cell_of, kind="stable")
        ends = np.cumsum(lengths)
        bounds = np.flatnonzero(np.diff(cell_of[order])) + 1
        for places in np.split(order, bounds):
            if not len(places):
                continue
            part: _Record = (
                keys[places],
                files[places],
                lengths[places],
                _gathered(ids, ends, lengths, places),
                None if texts is None else [texts[i] for i in places.tolist()],
            )
            *arrays, own_texts = part
            coded = [] if own_texts is None else text_arrays(own_texts)
            write_arrays(self._streams[int(cell_of[places[0]])], [*arrays, *coded])


def _gathered(
    ids: NDArray[Any],
    ends: NDArray[np.int64],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
) -> NDArray[Any]:
    """The ids of some documents, one after the other."""
    stops = ends[places].tolist()
    starts = (ends[places] - lengths[places]).tolist()
    return np.concatenate([ids[a:b] for a, b in zip(starts, stops, strict=True)])


def _sorted_cells(folder: Path, used_bits: int) -> Iterator[TokenPiece]:
    for path in sorted(folder.iterdir()):
        if path.stat().st_size > MAX_CELL_BYTES and used_bits + CELL_BITS <= 64:
            inner = folder / f"{path.name}-inner"
            inner.mkdir()
            with _Cells(inner, CELL_BITS, used_bits) as cells:
                for record in _records(path):
                    cells.add(record)
            path.unlink()
            yield from _sorted_cells(inner, used_bits + CELL_BITS)
            shutil.rmtree(inner)
            continue
        records = list(_records(path))
        path.unlink()
        if records:
            yield from _sorted_pieces(records)


def _records(path: Path) -> Iterator[_Record]:
    with path.open("rb") as stream:
        while True:
            try:
                keys, files, lengths, ids, *coded = read_arrays(stream)
            except EOFError:
                return
            yield keys, files, lengths, ids, read_texts(coded) if coded else None


def _sorted_pieces(records: list[_Record]) -> Iterator[TokenPiece]:
    keys, files, lengths, ids = (
        np.concatenate([record[part] for record in records]) for part in range(4)
    )
    texts = None
    if records[0][4] is not None:
        texts = [text for record in records for text in record[4]]
    records.clear()
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(lengths)
    first = 0
    sizes = np.cumsum(lengths[order])
    while first < len(order):
        done = int(sizes[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(sizes, done + PIECE_TOKENS, side="right")))
        places = order[first:last]
        offsets = np.concatenate([[0], np.cumsum(lengths[places])]).astype(np.int64)
        yield TokenPiece(
            _gathered(ids, ends, lengths, places),
            offsets,
            tuple((file, 1) for file in files[places].tolist()),
            texts=None
            if texts is None
            else TextBatch.from_texts([texts[i] for i in places.tolist()]),
        )
        first = last
