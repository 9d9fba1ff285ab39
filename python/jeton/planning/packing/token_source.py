"""Tokens of documents: Megatron's ``.bin`` with ``.idx``, and Parquet with ``input_ids``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton.errors import CorpusError, FormatError, MissingExtraError, UsageError
from jeton.planning.packing.megatron_index import read_document_index
from jeton.planning.packing.result import Pack

__all__ = ["IGNORED_LABEL", "TokenSource", "open_tokens", "parquet_files"]

IGNORED_LABEL = -100
"""The label of tokens that are not learned, in PyTorch and everything built on it."""

_ROWS_AT_ONCE = 4096
_LABELS = "labels"


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
    """Opens a token data set: Megatron's pair of files, a Parquet file, or a folder of either.

    Parquet is copied to a temporary file, which is gone when the source is; memory stays small. A
    column ``labels`` beside the ids says by -100 which tokens are not learned.

    Args:
        path: ``NAME.idx``, ``NAME.bin``, a Parquet file, or a folder. Files of a folder are taken
            in the order of their names.
        field: The Parquet column with lists of ids; ``input_ids`` if not given.

    Raises:
        FormatError: A file is damaged.
        UsageError: It is no token data set.
        OSError: A file cannot be read.
    """
    place = Path(path)
    name = place.name.lower()
    if place.is_dir():
        indexes = sorted(place.glob("*.idx"))
        tables = parquet_files(place)
        if indexes and tables:
            raise UsageError(
                f"{place} holds both .idx and .parquet files\nhint: name one file, or move some"
            )
        if not indexes and not tables:
            raise UsageError(
                f"{place} holds no token data set\nhint: expected NAME.idx with NAME.bin, or "
                "Parquet files with input_ids"
            )
        return _spilled(_megatron_parts(indexes) if indexes else _parquet_parts(tables, field))
    if name.endswith((".idx", ".bin")):
        return _megatron(place.with_suffix(".idx"))
    if name.endswith((".parquet", ".pq")):
        return _spilled(_parquet_parts([place], field))
    if not place.exists() and place.with_name(place.name + ".idx").exists():
        return _megatron(place.with_name(place.name + ".idx"))
    place.stat()
    raise UsageError(
        f"{place} is no token data set\nhint: expected .idx with .bin, .parquet, or a folder"
    )


def parquet_files(folder: Path) -> list[Path]:
    """Returns the Parquet files of a folder by name, less those that begin with ``.`` or ``_``."""
    found = [*folder.glob("*.parquet"), *folder.glob("*.pq")]
    return sorted(file for file in found if not file.name.startswith((".", "_")))


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


_Part: TypeAlias = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_] | None]
"""Ids of some documents, their lengths, and which ids are learned."""


def _megatron_parts(indexes: list[Path]) -> Iterator[_Part]:
    for path in indexes:
        source = _megatron(path)
        for first in range(0, len(source.lengths), _ROWS_AT_ONCE):
            some = np.arange(first, min(first + _ROWS_AT_ONCE, len(source.lengths)))
            lengths = source.lengths[some]
            yield source.take(some, np.zeros_like(lengths), lengths), lengths, None


def _parquet_parts(files: list[Path], field: str | None) -> Iterator[_Part]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    column = field or "input_ids"
    for path in files:
        try:
            table = pq.ParquetFile(path)
            _check_lists(pa, table.schema_arrow, column, path)
            columns = [column]
            if field is None and _LABELS in table.schema_arrow.names:
                _check_lists(pa, table.schema_arrow, _LABELS, path)
                columns.append(_LABELS)
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
                rows = batch.column(0)
                if rows.null_count:
                    raise CorpusError(f"{path}: a row of column {column!r} is null")
                ids = rows.flatten()
                if ids.null_count:
                    raise CorpusError(f"{path}: an id of column {column!r} is null")
                values = ids.to_numpy(zero_copy_only=False)
                lengths = rows.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
                learned = None
                if len(columns) > 1:
                    learned = _learned(batch.column(_LABELS), values, lengths, path)
                yield values, lengths, learned
        except pa.ArrowException as error:
            raise FormatError(f"{path}: {error}", path=str(path), format="parquet") from error


def _learned(
    labels: Any, ids: NDArray[Any], lengths: NDArray[np.int64], path: Path
) -> NDArray[np.bool_]:
    """Return which ids their labels ask for: a label is its id, or -100."""
    flat = labels.flatten()
    sizes = labels.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    if flat.null_count or not np.array_equal(sizes, lengths):
        raise CorpusError(
            f"{path}: a row of column {_LABELS!r} is null or has not as many labels as ids"
        )
    values = flat.to_numpy(zero_copy_only=False)
    learned: NDArray[np.bool_] = values != IGNORED_LABEL
    if not np.array_equal(values[learned], ids[learned]):
        raise CorpusError(
            f"{path}: a label is neither its id nor {IGNORED_LABEL}\n"
            "hint: labels stand at the places of their ids, and the trainer shifts them; name the "
            "column of ids with the field to leave labels out"
        )
    return learned


def _check_lists(pa: Any, schema: Any, column: str, path: Path) -> None:
    if column not in schema.names:
        raise UsageError(
            f"{path} has no column {column!r}; it has {', '.join(schema.names) or 'none'}\n"
            "hint: name the column with the field"
        )
    kind = schema.field(column).type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not lists or not pa.types.is_integer(kind.value_type):
        raise UsageError(f"{path}: column {column!r} is {kind}; expected lists of whole numbers")


def _spilled(parts: Iterator[_Part]) -> TokenSource:
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
