"""Files of token ids that follow a change of vocabulary, where that is exact.

A file follows exactly if the new vocabulary has each of its ids and no new token: then the new
tokenizer gives the new ids to the same text. Pruned and permuted vocabularies are of that kind. A
vocabulary with new tokens reads old ids, but it would cut the text in another way.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import write_whole, written_whole
from jeton._foreign import array_of
from jeton.adapt.change import VocabularyChange
from jeton.adapt.remapping_columns import (
    JSONL_SUFFIXES,
    IdColumns,
    check_fits,
    remap_ids,
    remap_jsonl,
    remap_parquet,
)
from jeton.errors import AdaptError, FormatError, UsageError
from jeton.formats.megatron_index import read_megatron_index

__all__ = ["Remapped", "remap_file", "remap_files", "remap_ids"]

_CHUNK_IDS = 1 << 22
"""Ids that are in memory at once: 32 MiB as int64."""

_ENDINGS = (".npy", ".bin", ".parquet", *JSONL_SUFFIXES)
_NPY = b"\x93NUMPY"
_DTYPES = ("uint8", "uint16", "uint32", "uint64", "int16", "int32", "int64")


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


def remap_file(
    change: VocabularyChange,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    ignore: Sequence[int] = (),
    as_cut: bool = False,
    columns: Sequence[str] = ("input_ids",),
    labels: str | None = None,
) -> Remapped:
    """Writes a file of new ids, whole or not at all.

    ``.npy`` of NumPy, of any shape; ``.bin`` as plain numbers, or as Megatron's data if its
    ``.idx`` lies beside it, which is then copied. In Parquet and JSON lines (``.jsonl``, also with
    ``.gz``) named columns change and all others stay.

    Args:
        change: The change of vocabulary.
        source: The file of old ids.
        target: The file to write; not the same.
        dtype: Type of the numbers in a plain ``.bin``.
        ignore: Numbers that are no ids.
        as_cut: Also if the new vocabulary has new tokens: the text stays cut as it was.
        columns: IdColumns of ids in Parquet and JSON lines.
        labels: Column of labels, in which -100 stays; empty: none. None: ``labels`` if it is there
            and repeats the ids.

    Raises:
        AdaptError: The file cannot follow exactly.
        FormatError: The file is damaged, or a column does not hold ids.
        MissingExtraError: Parquet without pyarrow.
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
    _refuse_source(path, out)
    _refuse_other_kind(path, out)
    if path.suffix == ".npy":
        return _remap_npy(change, path, out, ignore)
    if path.name.endswith((*JSONL_SUFFIXES, ".parquet")):
        chosen = IdColumns(tuple(dict.fromkeys(columns)), labels)
        is_parquet = path.suffix == ".parquet"
        write = remap_parquet if is_parquet else remap_jsonl
        kind = "parquet" if is_parquet else "jsonl"
        return Remapped(out, *write(change, path, out, chosen, ignore), kind)
    if path.suffix != ".bin":
        raise UsageError(
            f"{path} is none of .npy, .bin, .parquet and .jsonl, the formats that can be remapped\n"
            "hint: `jeton tokenize --transcode` makes one of these of other data sets"
        )
    index = path.with_suffix(".idx")
    if index.exists():
        stored = _megatron_dtype(index)
        if dtype is not None and dtype != stored:
            raise UsageError(f"{index} says {stored}, not {dtype}\nhint: leave out --dtype")
        done = _remap_bin(change, path, out, stored, ignore)
        write_whole(out.with_suffix(".idx"), index.read_bytes())
        return done
    if dtype not in _DTYPES:
        raise UsageError(
            f"the type of the numbers in {path} is {dtype!r}; expected one of "
            f"{', '.join(_DTYPES)}\nhint: a plain .bin does not say it: --dtype does"
        )
    return _remap_bin(change, path, out, dtype, ignore)


def remap_files(
    change: VocabularyChange,
    sources: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    ignore: Sequence[int] = (),
    as_cut: bool = False,
    columns: Sequence[str] = ("input_ids",),
    labels: str | None = None,
) -> list[Remapped]:
    """Writes files of new ids into a folder under their names: all of them, or none.

    Args:
        change: The change of vocabulary.
        sources: Files of old ids.
        folder: Where they go; made if it is not there.
        dtype: As ``remap_file``, as all that follows.
        ignore: Numbers that are no ids.
        as_cut: Also if the new vocabulary has new tokens.
        columns: Columns of ids.
        labels: Column of labels.

    Raises:
        AdaptError, FormatError, MissingExtraError, OSError: As ``remap_file``.
        UsageError: As ``remap_file``, or two files have one name.
    """
    out = Path(folder)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file\nhint: several files need a folder to go to")
    named: dict[str, Path] = {}
    for path in map(Path, sources):
        if path.name in named:
            raise UsageError(
                f"{named[path.name]} and {path} would both become {out / path.name}\n"
                "hint: write them to two folders"
            )
        named[path.name] = path
        _refuse_source(path, out / path.name)
    parent = Path(os.path.realpath(out)).parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".jeton-", suffix=".tmp", dir=parent) as name:
        place = Path(name)
        done = [
            remap_file(
                change,
                path,
                place / path.name,
                dtype=dtype,
                ignore=ignore,
                as_cut=as_cut,
                columns=columns,
                labels=labels,
            )
            for path in named.values()
        ]
        out.mkdir(exist_ok=True)
        for file in sorted(place.iterdir()):
            file.replace(out / file.name)
    return [replace(one, path=out / one.path.name) for one in done]


def _refuse_source(path: Path, out: Path) -> None:
    if out.exists() and out.samefile(path):
        raise UsageError(f"{out} is the file to read\nhint: name another file to write")


def _refuse_other_kind(path: Path, out: Path) -> None:
    was, now = _ending(path), _ending(out)
    if not was or not now or was == now or {was, now} <= set(JSONL_SUFFIXES):
        return
    raise UsageError(
        f"{out} would not be what its name says: ids of {was} stay {was}\n"
        f"hint: name it {out.name.removesuffix(now)}{was}"
    )


def _ending(path: Path) -> str:
    """The end of a name that says what the file is; empty where it says nothing known."""
    return next((end for end in _ENDINGS if path.name.endswith(end)), "")


def _remap_npy(change: VocabularyChange, path: Path, out: Path, ignore: Sequence[int]) -> Remapped:
    with path.open("rb") as file:
        if file.read(len(_NPY)) != _NPY:
            raise FormatError(
                f"{path}: not a .npy of numbers: it does not begin as one\n"
                "hint: fetch the file again, or write it anew",
                path=str(path),
            )
    try:
        ids = array_of(path, mapped=True)
    except ValueError as error:
        raise FormatError(f"{path}: not a .npy of numbers: {error}", path=str(path)) from error
    with _named(path):
        check_fits(change, ids.dtype)
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
    with _named(path):
        check_fits(change, kind)
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
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


@contextmanager
def _place_named(path: Path, start: int) -> Iterator[None]:
    try:
        yield
    except AdaptError as error:
        raise AdaptError(f"{path}, from number {start:,} on: {error}") from None


def _megatron_dtype(index: Path) -> str:
    dtype = read_megatron_index(index).dtype
    # Megatron's writer has no other type for ids; one byte with a sign holds no vocabulary.
    if dtype.name not in _DTYPES:
        raise FormatError(f"{index}: {dtype.name} holds no ids", path=str(index))
    return dtype.name
