"""Documents of a Megatron ``.bin`` file, by its index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.formats.megatron_index import damaged_index, read_megatron_index


@dataclass(frozen=True, slots=True, eq=False)
class DocumentIndex:
    """Places of documents.

    Attributes:
        dtype: Type of the ids in the ``.bin`` file.
        starts: int64 (n_documents,): place of the first id, counted in ids.
        lengths: int64 (n_documents,): ids of each document.
        ends_bytes: int64 (n_documents,): end of each document in bytes.
    """

    dtype: np.dtype[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ends_bytes: NDArray[np.int64]


def read_document_index(path: Path) -> DocumentIndex:
    """Reads an index; sequences of one document are counted together.

    Raises:
        FormatError: The file is damaged, or its numbers are no ids.
        OSError: It cannot be read.
    """
    index = read_megatron_index(path)
    if index.dtype.kind == "f":
        raise damaged_index(path, f"its numbers are {index.dtype.name}, which no ids are")
    # Copies: the file may be replaced while they are used.
    sizes = index.lengths.astype(np.int64)
    pointers = index.pointers.astype(np.int64)
    bounds = index.documents.astype(np.int64)
    n_sequences = len(sizes)
    if n_sequences and (sizes.min() < 0 or pointers.min() < 0):
        raise damaged_index(path, "a length or a place is negative")
    if (pointers % index.dtype.itemsize).any():
        raise damaged_index(path, f"a place is no multiple of {index.dtype.itemsize} bytes")
    if len(bounds) < 2:
        # Files without documents have one bound, 0, or none.
        bounds = np.arange(n_sequences + 1)
    if bounds[0] != 0 or bounds[-1] != n_sequences or (np.diff(bounds) < 0).any():
        raise damaged_index(
            path, f"its documents do not cover its {n_sequences:,} sequences from first to last"
        )
    return _by_document(path, index.dtype, sizes, pointers, bounds)


def _by_document(
    path: Path,
    dtype: np.dtype[Any],
    sizes: NDArray[np.int64],
    pointers: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> DocumentIndex:
    ends = pointers + sizes * dtype.itemsize
    is_first = np.zeros(len(sizes) + 1, dtype=bool)
    is_first[bounds] = True
    follows = pointers[1:] == ends[:-1]
    if not (follows | is_first[1:-1]).all():
        raise damaged_index(path, "sequences of one document do not lie one after another")
    totals = np.concatenate([[0], np.cumsum(sizes)])
    lengths = totals[bounds[1:]] - totals[bounds[:-1]]
    starts = np.zeros(len(lengths), dtype=np.int64)
    full = bounds[1:] > bounds[:-1]
    starts[full] = pointers[bounds[:-1][full]] // dtype.itemsize
    return DocumentIndex(dtype, starts, lengths, (starts + lengths) * dtype.itemsize)
