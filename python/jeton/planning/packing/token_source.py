"""Tokens of documents: Megatron's ``.bin`` with ``.idx``, and tables with ``input_ids``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.errors import FormatError, UsageError
from jeton.planning.packing.result import Pack
from jeton.planning.packing.token_columns import TokenPart
from jeton.planning.packing.token_tables import (
    TABLE_SUFFIXES,
    TOKEN_SUFFIXES,
    local_place,
    read_document_index,
    table_files,
    table_parts,
)

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TokenSource:
    """Tokens of all documents in one array, which may lie in a file.

    Attributes:
        ids: Any integer type (n_tokens,).
        starts: int64 (n_documents,): place of each document's first token.
        lengths: int64 (n_documents,): tokens.
        is_learned: bool (n_tokens,): tokens that the data set's own labels ask for; None: all.
    """

    ids: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    is_learned: NDArray[np.bool_] | None = None

    @classmethod
    def from_documents(cls, documents: Sequence[Sequence[int]]) -> TokenSource:
        """Holds the ids of documents in memory.

        Example:
            >>> TokenSource.from_documents([[5, 6], [7]]).lengths.tolist()
            [2, 1]
        """
        parts = [np.asarray(document, dtype=np.int64) for document in documents]
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        ids = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return cls(ids, np.cumsum(lengths) - lengths, lengths)

    def check(self, pack: Pack, *, tokens_too: bool = False) -> None:
        """Refuses bins that were made for other documents.

        Args:
            pack: The bins.
            tokens_too: Compares the number of tokens too, which looks at every length.

        Raises:
            UsageError: The number of documents or of tokens differs.
        """
        asked = pack.report
        hint = "\nhint: pack the lengths of these documents"
        if asked.n_documents != len(self.lengths):
            raise UsageError(
                f"the pack is of {asked.n_documents:,} documents, the tokens are of "
                f"{len(self.lengths):,}{hint}"
            )
        if tokens_too and int(self.lengths.sum()) != asked.n_tokens:
            raise UsageError(
                f"the pack is of {asked.n_tokens:,} tokens, the documents have "
                f"{int(self.lengths.sum()):,}{hint}"
            )

    def take(
        self, documents: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Returns the tokens of segments, one after another.

        Raises:
            UsageError: A segment ends beyond its document.
        """
        return self.ids[self._places(documents, starts, lengths)].astype(np.int64)

    def take_learned(
        self, documents: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Returns which tokens of segments are learned, one segment after another.

        Raises:
            UsageError: A segment ends beyond its document.
        """
        places = self._places(documents, starts, lengths)
        if self.is_learned is None:
            return np.ones(len(places), dtype=np.bool_)
        return np.asarray(self.is_learned[places], dtype=np.bool_)

    def _places(
        self, documents: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        beyond = np.flatnonzero(starts + lengths > self.lengths[documents])
        if len(beyond):
            first = int(documents[beyond[0]])
            raise UsageError(
                f"a segment of document {first} ends beyond its {int(self.lengths[first]):,} "
                "tokens\nhint: pack the lengths of these documents"
            )
        before = np.cumsum(lengths) - lengths
        places = np.repeat(self.starts[documents] + starts - before, lengths)
        found: NDArray[np.int64] = places + np.arange(len(places))
        return found


def open_tokens(path: str | os.PathLike[str], *, field: str | None = None) -> TokenSource:
    """Opens a token data set: Megatron's pair of files, a table, or a folder of either.

    Tables are copied to a temporary file, which is gone when the source is; memory stays small.
    Columns beside the ids say which tokens are not learned (``labels``, ``loss_mask``,
    ``completion_mask``, ``assistant_masks``) or padding (``attention_mask``). Rows that are packed
    already (``seq_start_id``, ``seq_lengths``, ``position_ids``) are the documents that they were
    packed from. See ``token_columns``.

    Args:
        path: ``NAME.idx``, ``NAME.bin``, a Parquet, Arrow or JSON Lines file, or a folder. Files of
            a folder are taken in the order of their names. An address (``s3://...``) is copied,
            with fsspec.
        field: The column with lists of ids, without any other column; ``input_ids`` with those
            above if not given.

    Raises:
        FormatError: A file is damaged.
        UsageError: It is no token data set.
        OSError: A file cannot be read.
    """
    with local_place(path, TOKEN_SUFFIXES) as place:
        return _tokens_at(place, field)


def _tokens_at(place: Path, field: str | None) -> TokenSource:
    name = place.name.lower()
    if place.is_dir():
        indexes = sorted(place.glob("*.idx"))
        tables = table_files(place)
        if indexes and tables:
            raise UsageError(
                f"{place} holds both .idx files and tables\nhint: name one file, or move some"
            )
        if not indexes and not tables:
            raise UsageError(
                f"{place} holds no token data set\nhint: expected NAME.idx with NAME.bin, or "
                "Parquet or Arrow files with input_ids"
            )
        return _spilled(_megatron_parts(indexes) if indexes else table_parts(tables, field))
    if name.endswith((".idx", ".bin")):
        return _megatron(place.with_suffix(".idx"))
    if name.endswith(TABLE_SUFFIXES):
        return _spilled(table_parts([place], field))
    if not place.exists() and place.with_name(place.name + ".idx").exists():
        return _megatron(place.with_name(place.name + ".idx"))
    place.stat()
    raise UsageError(
        f"{place} is no token data set\n"
        "hint: expected .idx with .bin, .parquet, .arrow, .jsonl, or a folder"
    )


def _megatron(path: Path) -> TokenSource:
    index = read_document_index(path)
    data = path.with_suffix(".bin")
    n_bytes = data.stat().st_size
    n_needed = int(index.ends_bytes.max()) if len(index.ends_bytes) else 0
    if n_needed > n_bytes:
        raise FormatError(
            f"{data} has {n_bytes:,} bytes; {path.name} needs {n_needed:,}\n"
            "hint: the file is cut off, or belongs to another index",
            path=str(data),
            format="megatron",
        )
    ids: NDArray[Any] = np.zeros(0, dtype=index.dtype)
    if n_bytes >= index.dtype.itemsize:
        n_whole = n_bytes // index.dtype.itemsize
        ids = np.memmap(data, dtype=index.dtype, mode="r", shape=(n_whole,))
    return TokenSource(ids, index.starts, index.lengths)


def _megatron_parts(indexes: list[Path]) -> Iterator[TokenPart]:
    for path in indexes:
        source = _megatron(path)
        for first in range(0, len(source.lengths), _ROWS_AT_ONCE):
            some = np.arange(first, min(first + _ROWS_AT_ONCE, len(source.lengths)))
            lengths = source.lengths[some]
            yield source.take(some, np.zeros_like(lengths), lengths), lengths, None


def _spilled(parts: Iterator[TokenPart]) -> TokenSource:
    """Copies ids into temporary files without names and maps them."""
    all_lengths: list[NDArray[np.int64]] = []
    n_labelled = 0
    with (
        tempfile.TemporaryFile(prefix="jeton-") as file,
        tempfile.TemporaryFile(prefix="jeton-") as labels,
    ):
        for ids, lengths, learned in parts:
            file.write(np.ascontiguousarray(ids, dtype=np.int64).tobytes())
            n_labelled += 0 if learned is None else len(learned)
            # A file without labels asks for all its ids.
            flags = np.ones(len(ids), np.bool_) if learned is None else learned
            labels.write(flags.tobytes())
            all_lengths.append(lengths)
        lengths = np.concatenate(all_lengths) if all_lengths else np.zeros(0, dtype=np.int64)
        n_tokens = int(lengths.sum())
        file.flush()
        labels.flush()
        mapped: NDArray[Any] = np.zeros(0, dtype=np.int64)
        is_learned: NDArray[np.bool_] | None = None
        if n_tokens:
            mapped = np.memmap(file, dtype=np.int64, mode="r", shape=(n_tokens,))
        if n_labelled:
            is_learned = np.memmap(labels, dtype=np.bool_, mode="r", shape=(n_tokens,))
    return TokenSource(mapped, np.cumsum(lengths) - lengths, lengths, is_learned)
