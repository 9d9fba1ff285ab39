"""Pairs of ``.bin`` and ``.idx`` that other tools wrote: their known faults, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jeton.datasets.boundaries import find_boundaries
from jeton.datasets.formats.megatron import (
    SMALL_VOCABULARY,
    read_in_blocks,
)
from jeton.datasets.id_checks import DatasetCheck, FaultLog, IdChecker, IdExpectation
from jeton.errors import FormatError, UsageError
from jeton.formats.megatron_index import MegatronIndex, read_megatron_index

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.datasets.options import DatasetOptions


def find_pairs(path: Path) -> list[Path]:
    """Return the ``.bin`` files that are meant by a folder, one of two files, or their prefix.

    Raises:
        FileNotFoundError: There are none.
    """
    if path.is_dir():
        found = sorted(index.with_suffix(".bin") for index in path.glob("*.idx"))
        if found:
            return found
        raise FileNotFoundError(
            f"{path} has neither a manifest.json nor files that end with .idx\n"
            "hint: name a folder that `jeton tokenize` wrote, or a pair of .bin and .idx"
        )
    if path.suffix in (".bin", ".idx") and path.exists():
        return [path.with_suffix(".bin")]
    for suffix in (".bin", ".idx"):
        if Path(f"{path}{suffix}").exists():
            return [Path(f"{path}.bin")]
    raise FileNotFoundError(f"there is no data set at {str(path)!r}\nhint: look at the spelling")


def verify_pair(
    bin_path: Path, tokenizer: Tokenizer | None, options: DatasetOptions
) -> DatasetCheck:
    """Read a pair of files and return its faults.

    Args:
        bin_path: The ``.bin``; the ``.idx`` lies beside it.
        tokenizer: The tokenizer that is said to have made it; None: ranges are not checked.
        options: ``append_eos`` and ``prepend_bos`` say what every document should have; the
            tokenizer's template counts, too.

    Raises:
        UsageError: A token is expected, and there is no tokenizer to name it.
        OSError: A file cannot be read.
    """
    log = FaultLog()
    bos_id = eos_id = None
    n_special = 0
    if tokenizer is not None:
        around = find_boundaries(tokenizer, options)
        bos_id, eos_id, n_special = around.bos_id, around.eos_id, around.n_tokens
    elif options.append_eos or options.prepend_bos:
        raise UsageError("--append-eos and --prepend-bos need --tokenizer, which has these tokens")
    else:
        log.notes.append("no tokenizer was named: ids and end tokens are not checked")
    expected = IdExpectation.of(tokenizer, bos_id=bos_id, eos_id=eos_id, n_special=n_special)
    checker = IdChecker(expected, log)
    index_path = bin_path.with_suffix(".idx")
    try:
        if not bin_path.exists():
            log.add("missing_file", str(bin_path), "", "there is an index, and no ids")
        elif not index_path.exists():
            log.add("missing_file", str(index_path), "", "there are ids, and no index")
        else:
            index = read_megatron_index(index_path)
            _check_dtype(index, index_path, tokenizer, log)
            bounds = _bounds(index, index_path, bin_path, log)
            if bounds is not None:
                _check_ids(index, bin_path, bounds, checker)
                _hint_at_ends(bin_path, tokenizer, checker, log, expected)
    except FormatError as error:
        log.add("damaged_index", str(index_path), "", str(error).removeprefix(f"{index_path}: "))
    return DatasetCheck(
        path=str(bin_path),
        n_tokens=checker.n_tokens,
        n_documents=checker.n_documents,
        n_with_bos=checker.n_with_bos,
        n_with_eos=checker.n_with_eos,
        faults=tuple(log.found),
        n_faults=log.n,
        notes=tuple(log.notes),
    )


def _check_dtype(
    index: MegatronIndex, path: Path, tokenizer: Tokenizer | None, log: FaultLog
) -> None:
    dtype = index.dtype
    if dtype.kind == "f":
        log.add("wrong_dtype", str(path), "", f"its ids are {dtype.name}; expected integers")
        return
    if tokenizer is None:
        return
    largest = tokenizer.vocab_size - 1
    if largest > np.iinfo(dtype).max:
        log.add(
            "wrong_dtype",
            str(path),
            "",
            f"{dtype.name} does not hold the ids of this tokenizer, which go up to {largest:,}: "
            "larger ones were cut off",
        )
    elif dtype == np.dtype("<u2") and tokenizer.vocab_size >= SMALL_VOCABULARY:
        log.notes.append(
            f"{path}: uint16, where Megatron-LM takes int32 from {SMALL_VOCABULARY:,} ids on"
        )


def _bounds(
    index: MegatronIndex, index_path: Path, bin_path: Path, log: FaultLog
) -> np.ndarray | None:
    """Where documents begin and end, in tokens; None where nothing can be read any more."""
    name, size = str(index_path), index.dtype.itemsize
    lengths = np.asarray(index.lengths, dtype=np.int64)
    for i in np.flatnonzero(lengths < 0).tolist():
        log.add("negative_length", name, f"sequence {i:,}", f"its length is {int(lengths[i]):,}")
    ends = np.concatenate([[0], np.cumsum(lengths)])
    wrong = np.flatnonzero(np.asarray(index.pointers) != ends[:-1] * size)
    for i in wrong.tolist():
        found = int(index.pointers[i])
        log.add(
            "wrong_pointer",
            name,
            f"sequence {i:,}",
            f"it should begin at byte {int(ends[i]) * size:,}; the index says {found:,}"
            + (": 32 bits overflowed" if found < 0 else ""),
        )
    documents = np.asarray(index.documents)
    n = len(lengths)
    is_bad = True
    if not len(documents):
        log.add("missing_documents", name, "", "it has no document bounds at all")
    elif documents[0] != 0:
        log.add(
            "wrong_document_bounds", name, "bound 0", f"it is {int(documents[0]):,}; expected 0"
        )
    elif bool((np.diff(documents) < 0).any()):
        i = int(np.flatnonzero(np.diff(documents) < 0)[0])
        log.add(
            "wrong_document_bounds",
            name,
            f"bound {i + 1:,}",
            f"it is {int(documents[i + 1]):,}, and the one before {int(documents[i]):,}: "
            "bounds of merged files were not shifted",
        )
    elif documents[-1] != n:
        log.add(
            "missing_documents",
            name,
            f"bound {len(documents) - 1:,}",
            f"the last one is {int(documents[-1]):,}; there are {n:,} sequences, and those behind "
            "it are in no document",
        )
    else:
        is_bad = False
    n_bytes = bin_path.stat().st_size
    if int(ends[-1]) * size != n_bytes:
        log.add(
            "wrong_size",
            str(bin_path),
            "",
            f"it has {n_bytes:,} bytes; the index tells of {int(ends[-1]) * size:,}",
        )
    if bool((lengths < 0).any()):
        return None
    bounds = ends if is_bad else ends[documents]
    # Documents beyond the end of the file cannot be read.
    return np.asarray(bounds[: int(np.searchsorted(bounds, n_bytes // size, side="right"))])


def _check_ids(
    index: MegatronIndex, bin_path: Path, bounds: np.ndarray, checker: IdChecker
) -> None:
    if len(bounds) < 2 or index.dtype.kind == "f":
        return
    n_ids = bin_path.stat().st_size // index.dtype.itemsize
    ids = (
        np.memmap(bin_path, dtype=index.dtype, mode="r", shape=(n_ids,))
        if n_ids
        else np.zeros(0, index.dtype)
    )
    first = 0
    for block in read_in_blocks(ids, bounds):
        checker.look(str(bin_path), first, block)
        first += len(block.offsets) - 1


def _hint_at_ends(
    bin_path: Path,
    tokenizer: Tokenizer | None,
    checker: IdChecker,
    log: FaultLog,
    expected: IdExpectation,
) -> None:
    if tokenizer is None or expected.eos_id is not None or not checker.n_documents:
        return
    ends = set(tokenizer.end_token_ids)
    if ends:
        log.notes.append(
            f"{bin_path}: end tokens were not asked for; --append-eos checks that every document "
            "has one"
        )
