"""The protocol of a format, and files that take their names only when they are whole."""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from jeton.errors import FormatError, LimitError

if TYPE_CHECKING:
    from jeton._core import TextBatch
    from jeton.datasets.options import DataFormat, DatasetOptions


TEMPORARY_SUFFIX = ".jeton-tmp"
"""End of the names of files that are being written."""

BLOCK_DOCUMENTS = 1 << 20
"""Documents whose lengths are held at a time while an index is written."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One written file, as the manifest has it."""

    name: str
    n_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """One written shard, as the manifest has it.

    Attributes:
        number: Place among the shards, from 0.
        n_tokens: Tokens, special ones included.
        n_documents: Documents.
        files: The files of the shard.
        inputs: The documents of the shard: (path, number of the first one in the file, documents).
    """

    number: int
    n_tokens: int
    n_documents: int
    files: tuple[FileRecord, ...]
    inputs: tuple[tuple[str, int, int], ...] = ()

    def file_ending(self, suffix: str) -> str:
        """Returns the name of the shard's file that ends with ``suffix``.

        Raises:
            ValueError: The manifest names no such file.
        """
        for file in self.files:
            if file.name.endswith(suffix):
                return file.name
        raise ValueError(f"the manifest names no file {suffix} of this shard")

    def to_dict(self) -> dict[str, Any]:
        """The record as the manifest has it."""
        return {
            "number": self.number,
            "n_tokens": self.n_tokens,
            "n_documents": self.n_documents,
            "files": [
                {"name": file.name, "n_bytes": file.n_bytes, "digest": file.digest}
                for file in self.files
            ],
            "inputs": [
                {"path": path, "first_document": first, "n_documents": n}
                for path, first, n in self.inputs
            ],
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ShardRecord:
        """The record of a manifest."""
        return cls(
            number=int(fields["number"]),
            n_tokens=int(fields["n_tokens"]),
            n_documents=int(fields["n_documents"]),
            files=tuple(
                FileRecord(str(file["name"]), int(file["n_bytes"]), str(file["digest"]))
                for file in fields["files"]
            ),
            inputs=tuple(
                (str(item["path"]), int(item["first_document"]), int(item["n_documents"]))
                for item in fields.get("inputs", ())
            ),
        )


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """Facts that all shards of a data set share.

    Attributes:
        folder: The folder of the files.
        dtype: Numbers that hold the ids.
        options: Settings of the run.
        tokenizer_name: Name of the tokenizer, for formats that state it.
        vocab_size: One past the largest id that can be emitted.
    """

    folder: Path
    dtype: np.dtype[Any]
    options: DatasetOptions
    tokenizer_name: str
    vocab_size: int


@dataclass(frozen=True, slots=True)
class ShardIds:
    """Ids that were read from a shard: document ``i`` is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: NDArray[Any]
    offsets: NDArray[np.int64]


class ShardWriter(Protocol):
    """A shard that is being written."""

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        """Add documents: ``ids[offsets[i]:offsets[i + 1]]`` each."""

    def close(self) -> tuple[FileRecord, ...]:
        """Finish the files: on the disk, under their names."""

    def abandon(self) -> None:
        """Remove what was written."""


class ShardFormat(ABC):
    """One format of data sets: a subclass, and a line in ``jeton.datasets.formats``.

    Attributes:
        name: The name on the command line.
        default_shard_tokens: Tokens of a shard where nobody says how many.
        holds_text: True if the files hold texts instead of ids.
        marks_documents: False if only end tokens part documents: the ids are one long row.
        takes_columns: True if the files can have columns beside ``input_ids``.
        takes_label_mask: True if a mask of labels can stand beside each shard.
    """

    name: ClassVar[DataFormat]
    default_shard_tokens: ClassVar[int] = 1 << 30
    holds_text: ClassVar[bool] = False
    marks_documents: ClassVar[bool] = True
    takes_columns: ClassVar[bool] = False
    takes_label_mask: ClassVar[bool] = False

    @abstractmethod
    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """The numbers that hold the ids of a vocabulary."""

    def largest_shard_tokens(self, dtype: np.dtype[Any]) -> int | None:
        """The most tokens that a shard can hold; None: no limit."""
        return None

    @abstractmethod
    def open_shard(self, layout: ShardLayout, number: int) -> ShardWriter:
        """Begin a shard."""

    def finish(self, layout: ShardLayout, shards: Sequence[ShardRecord]) -> tuple[str, ...]:
        """Write the files that tell of all shards; return their names."""
        return ()

    @abstractmethod
    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents of a shard, some at a time.

        Raises:
            FormatError: The files are not what they should be.
        """


class FileDigest:
    """Digest of a file that is written piece by piece."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._crc = 0
        self._hash = hashlib.sha256() if kind == "sha256" else None

    def update(self, data: memoryview | bytes) -> None:
        """Add bytes."""
        if self._hash is not None:
            self._hash.update(data)
        else:
            self._crc = zlib.crc32(data, self._crc)

    def __str__(self) -> str:
        value = self._hash.hexdigest() if self._hash is not None else f"{self._crc:08x}"
        return f"{self._kind}:{value}"


RECORDS_SUFFIX = ".records.jsonl"
"""Suffix of a file with one line for the record of each document."""


class ShardFile:
    """A file that is written from its beginning to its end, and then takes its name."""

    def __init__(self, folder: Path, name: str, digest: str) -> None:
        """Open the temporary file.

        Raises:
            OSError: It cannot be made; the error names the file that was meant.
        """
        self.path = folder / name
        self._temporary = folder / (name + TEMPORARY_SUFFIX)
        self.n_bytes = 0
        self._digest = FileDigest(digest)
        with _named(self.path):
            self._stream: IO[bytes] = self._temporary.open("wb", buffering=1 << 20)

    def write(self, data: bytes | memoryview | NDArray[Any]) -> None:
        """Add bytes, or an array as it lies in memory.

        Raises:
            OSError: The disk is full, or cannot be written to.
        """
        if isinstance(data, np.ndarray):
            # An empty array cannot be looked at as bytes.
            array: Any = np.ascontiguousarray(data)
            data = memoryview(array).cast("B") if data.size else b""
        view = memoryview(data)
        with _named(self.path):
            self._stream.write(view)
        self._digest.update(view)
        self.n_bytes += view.nbytes

    def close(self) -> FileRecord:
        """Bring the bytes to the disk, and give the file its name."""
        with _named(self.path):
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._temporary.replace(self.path)
        return FileRecord(self.path.name, self.n_bytes, str(self._digest))

    def abandon(self) -> None:
        """Remove what was written."""
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._temporary.unlink()


class _named:
    """Errors of the system name the file that was meant, not the temporary one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, os.fspath(self._path)) from error


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def blocks_of(n: int, size: int = BLOCK_DOCUMENTS) -> Iterator[tuple[int, int]]:
    """Yield the bounds of blocks of at most ``size`` of ``n`` things."""
    for start in range(0, n, size):
        yield start, min(n, start + size)


# Items whose header stands before them in the file: they wait in a temporary file.

COPY_BYTES = 4 << 20


class BodySpool:
    """The bytes of items, and the size of each."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._sizes: list[NDArray[np.int64]] = []
        self.n_bytes = 0

    def write(self, data: bytes | NDArray[Any]) -> None:
        """Add bytes.

        Raises:
            OSError: The disk is full.
        """
        self._file.write(data.tobytes() if isinstance(data, np.ndarray) else data)
        self.n_bytes += data.nbytes if isinstance(data, np.ndarray) else len(data)

    def add_sizes(self, sizes: NDArray[np.int64]) -> None:
        """Tell the sizes of the items that were added."""
        self._sizes.append(np.asarray(sizes, dtype=np.int64))

    def sizes(self) -> NDArray[np.int64]:
        """Return the size of each item in bytes."""
        return np.concatenate([np.zeros(0, np.int64), *self._sizes])

    def check(self, n_header_bytes: int, limit: int, what: str) -> None:
        """Refuse a file whose positions do not fit.

        Raises:
            LimitError: It is too large.
        """
        if n_header_bytes + self.n_bytes > limit:
            raise LimitError(
                f"a document of {int(self.sizes().max()):,} bytes of ids is too large: {what} "
                f"hold up to {limit:,} bytes\nhint: cut it, or take the format numpy or megatron",
                what="document",
                limit=limit,
            )

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes from the first on."""
        self._file.flush()
        self._file.seek(0)
        while block := self._file.read(COPY_BYTES):
            yield block

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()


# Lengths of the documents of a shard, in a temporary file: an index needs them after the ids.


class LengthSpool:
    """Numbers that are written once and read several times, in bounded memory."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self.n = 0

    def append(self, lengths: NDArray[np.int64]) -> None:
        """Add numbers.

        Raises:
            OSError: The disk is full.
        """
        self._file.write(np.ascontiguousarray(lengths, dtype="<i8").tobytes())
        self.n += len(lengths)

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers from the first on."""
        self._file.flush()
        self._file.seek(0)
        left = self.n
        while left:
            n = min(left, BLOCK_DOCUMENTS)
            yield np.frombuffer(self._file.read(8 * n), dtype="<i8")
            left -= n

    def ends(self) -> Iterator[NDArray[np.int64]]:
        """Yield where each document ends, in tokens from the beginning of the shard."""
        total = 0
        for block in self.blocks():
            ends = total + np.cumsum(block)
            total = int(ends[-1])
            yield ends

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()


# Documents of a shard, whatever somebody did to its files.

_OF_DAMAGE = (ValueError, IndexError, KeyError, OverflowError, TypeError, struct.error)
"""Errors of a reader whose file says what cannot be."""


def documents_of(
    kind: ShardFormat, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
) -> Iterator[ShardIds]:
    """Yield the documents of a shard, some at a time.

    Raises:
        FormatError: The files are not what they should be.
        OSError: One cannot be read.
    """
    name = shard.files[0].name
    path = str(layout.folder / name)
    try:
        for block in kind.read_shard(layout, shard, eos_id):
            offsets = block.offsets
            if offsets[0] != 0 or offsets[-1] != len(block.ids) or (np.diff(offsets) < 0).any():
                raise ValueError("its documents do not follow one another")
            yield block
    except _OF_DAMAGE as error:
        raise FormatError(
            f"{path}: damaged: {(str(error).splitlines() or ['unknown'])[0]}\n"
            "hint: make the data set again, or fetch its files again",
            path=path,
        ) from error
