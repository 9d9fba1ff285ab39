"""Files of token ids that follow a change of vocabulary, where that is exact.

A file follows exactly if the new vocabulary has each of its ids and no new token: then the new
tokenizer gives the new ids to the same text. Pruned and permuted vocabularies are of that kind. A
vocabulary with new tokens reads old ids, but it would cut the text in another way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import write_whole, written_whole
from jeton.adapt.change import VocabularyChange
from jeton.errors import AdaptError, FormatError, UsageError

__all__ = ["Remapped", "remap_file", "remap_ids"]

_CHUNK_IDS = 1 << 22
"""Ids that are in memory at once: 32 MiB as int64."""

_DTYPES = ("uint8", "uint16", "uint32", "uint64", "int16", "int32", "int64")
_MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
_MEGATRON_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
"""Codes of types in the index of a Megatron data set (``indexed_dataset.py`` of Megatron-LM)."""

_N_NAMED = 5


@dataclass(frozen=True, slots=True)
class Remapped:
    """One file that was written.

    Attributes:
        path: The file.
        n_ids: Ids in it.
        n_ignored: Places that hold no id, which were copied.
        dtype: Type of the numbers.
    """

    path: Path
    n_ids: int
    n_ignored: int
    dtype: str


def remap_ids(
    change: VocabularyChange, ids: NDArray[np.integer[Any]], *, ignore: Sequence[int] = ()
) -> NDArray[np.integer[Any]]:
    """Returns new ids for old ones, of the same shape and type.

    Args:
        change: The change of vocabulary.
        ids: Old ids.
        ignore: Numbers that are no ids, such as -100 in labels; they stay.

    Raises:
        AdaptError: An id is gone, or is none of the old vocabulary.
        UsageError: The type does not hold the new ids.
    """
    _check_fits(change, ids.dtype)
    wide = ids.astype(np.int64)
    skipped = np.isin(wide, list(ignore)) if ignore else np.zeros(wide.shape, dtype=bool)
    wrong = ~skipped & ((wide < 0) | (wide >= change.n_old_ids))
    if wrong.any():
        raise AdaptError(
            f"{int(wide[wrong].flat[0])} is not an id of the old vocabulary of "
            f"{change.n_old_ids:,}\nhint: is it a file of another tokenizer, or of another type? "
            "--ignore names numbers that are no ids"
        )
    new = change.new_of[np.where(skipped, 0, wide)] if change.n_old_ids else wide
    gone = ~skipped & (new < 0)
    if gone.any():
        ids_gone, counts = np.unique(wide[gone], return_counts=True)
        order = np.argsort(-counts)[:_N_NAMED]
        named = ", ".join(f"{ids_gone[i]} ({counts[i]:,} times)" for i in order)
        raise AdaptError(
            f"{int(gone.sum()):,} of {wide.size:,} ids are gone from the new vocabulary: {named}\n"
            "hint: tokenize the text anew; this file cannot follow exactly"
        )
    return np.where(skipped, wide, new).astype(ids.dtype)


def remap_file(
    change: VocabularyChange,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    ignore: Sequence[int] = (),
    as_cut: bool = False,
) -> Remapped:
    """Writes a file of new ids, whole or not at all.

    ``.npy`` of NumPy, of any shape; ``.bin`` as plain numbers, or as Megatron's data if its
    ``.idx`` lies beside it, which is then copied.

    Args:
        change: The change of vocabulary.
        source: The file of old ids.
        target: The file to write; not the same.
        dtype: Type of the numbers in a plain ``.bin``.
        ignore: Numbers that are no ids.
        as_cut: Also if the new vocabulary has new tokens: the text stays cut as it was.

    Raises:
        AdaptError: The file cannot follow exactly.
        FormatError: The file is damaged.
        UsageError: The type is not known or too small.
        OSError: A file cannot be read or written.
    """
    if len(change.added) and not as_cut:
        raise AdaptError(
            f"the new vocabulary has {len(change.added):,} new tokens, so the new tokenizer cuts "
            "the text in another way than this file has it\n"
            "hint: tokenize the text anew, or keep the old cut with --as-cut"
        )
    path, out = Path(source), Path(target)
    if out.exists() and out.samefile(path):
        raise UsageError(f"{out} is the file to read\nhint: name another file to write")
    if path.suffix == ".npy":
        return _remap_npy(change, path, out, ignore)
    if path.suffix != ".bin":
        raise UsageError(f"{path} is neither .npy nor .bin, the formats that can be remapped")
    index = path.with_suffix(".idx")
    if index.exists():
        stored = _megatron_dtype(index)
        if dtype is not None and dtype != stored:
            raise UsageError(f"{index} says {stored}, not {dtype}")
        done = _remap_bin(change, path, out, stored, ignore)
        write_whole(out.with_suffix(".idx"), index.read_bytes())
        return done
    if dtype not in _DTYPES:
        raise UsageError(
            f"the type of the numbers in {path} is {dtype!r}; expected one of "
            f"{', '.join(_DTYPES)}\nhint: a plain .bin does not say it: --dtype does"
        )
    return _remap_bin(change, path, out, dtype, ignore)


def _check_fits(change: VocabularyChange, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iu":
        raise UsageError(f"ids of the type {dtype} are no whole numbers")
    if change.n_new_ids - 1 > np.iinfo(dtype).max:
        raise UsageError(
            f"{dtype} does not hold {change.n_new_ids:,} ids\nhint: write the file with a wider "
            "type first"
        )


def _remap_npy(change: VocabularyChange, path: Path, out: Path, ignore: Sequence[int]) -> Remapped:
    try:
        ids = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path}: not a .npy of numbers: {error}", path=str(path)) from error
    _check_fits(change, ids.dtype)
    flat = ids.reshape(-1, order="A")
    with written_whole(out) as stream:
        header = {
            "descr": np.lib.format.dtype_to_descr(ids.dtype),
            "fortran_order": not ids.flags.c_contiguous,
            "shape": ids.shape,
        }
        np.lib.format.write_array_header_1_0(stream, header)
        n_ignored = _write_chunks(change, flat, stream, ignore, path)
    return Remapped(out, ids.size, n_ignored, str(ids.dtype))


def _remap_bin(
    change: VocabularyChange, path: Path, out: Path, dtype: str, ignore: Sequence[int]
) -> Remapped:
    kind = np.dtype(dtype).newbyteorder("<")
    _check_fits(change, kind)
    size = path.stat().st_size
    if size % kind.itemsize:
        raise FormatError(
            f"{path}: {size:,} bytes are no whole number of {dtype}\n"
            "hint: the file is cut off, or of another type",
            path=str(path),
        )
    with written_whole(out) as stream:
        n_ignored = 0
        if size:
            flat = np.memmap(path, dtype=kind, mode="r")
            n_ignored = _write_chunks(change, flat, stream, ignore, path)
    return Remapped(out, size // kind.itemsize, n_ignored, dtype)


def _write_chunks(
    change: VocabularyChange,
    flat: NDArray[np.integer[Any]],
    stream: IO[bytes],
    ignore: Sequence[int],
    path: Path,
) -> int:
    n_ignored = 0
    for start in range(0, len(flat), _CHUNK_IDS):
        chunk = np.asarray(flat[start : start + _CHUNK_IDS])
        with _place_named(path, start):
            new = remap_ids(change, chunk, ignore=ignore)
        if ignore:
            n_ignored += int(np.isin(chunk, list(ignore)).sum())
        stream.write(new.tobytes())
    return n_ignored


@contextmanager
def _place_named(path: Path, start: int) -> Iterator[None]:
    try:
        yield
    except AdaptError as error:
        raise AdaptError(f"{path}, from number {start:,} on: {error}") from None


def _megatron_dtype(index: Path) -> str:
    with index.open("rb") as stream:
        head = stream.read(18)
    if len(head) < 18 or not head.startswith(_MEGATRON_MAGIC):
        raise FormatError(
            f"{index}: not the index of a Megatron data set\n"
            "hint: move it away if the .bin holds plain numbers",
            path=str(index),
        )
    dtype = _MEGATRON_DTYPES.get(head[17])
    if dtype is None or dtype == "int8":
        raise FormatError(f"{index}: type {head[17]} holds no ids", path=str(index))
    return dtype
