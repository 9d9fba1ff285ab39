"""Reading dumps of model inputs: .npz, .npy, .safetensors, JSON and JSON Lines.

Nothing is unpickled. Arrays are looked for under the names that model inputs have everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._foreign import array_of, arrays_of, json_of
from jeton.checkpoint.safetensors import read_header
from jeton.errors import FormatError, LimitError, RecordError, UsageError

# Dumps of model inputs: rows of ids with what a model takes beside them.
#
# All rows lie one behind the other, row ``i`` from ``offsets[i]`` to ``offsets[i + 1]``, whether
# they were padded to one length or not; so a check is arithmetic on flat arrays.

IGNORED_LABEL = -100
"""The label that losses leave out (``ignore_index`` of PyTorch's CrossEntropyLoss)."""


@dataclass(frozen=True)
class InputBatch:
    """Model inputs.

    Attributes:
        where: The file, or the place in it.
        ids: ``input_ids``, int64 (n_ids,).
        offsets: Where rows begin, int64 (n_rows + 1,).
        mask: ``attention_mask``, float64 (n_ids,), as it is: 1 and 0, or 0 and a large negative
            number; None where there is none.
        labels: int64 (n_ids,); None where there are none.
        type_ids: ``token_type_ids``, likewise.
        position_ids: Likewise.
        dtype: How the ids are stored (``"uint16"``); ``"json"`` for text.
        is_rectangular: True if the file has rows of one length, as padding makes them.
        odd_shapes: Arrays that do not fit ``input_ids``, as (name, its shape, that of the ids).
        are_integers: True if all stored ids are whole numbers.
    """

    where: str
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    mask: NDArray[np.float64] | None = None
    labels: NDArray[np.int64] | None = None
    type_ids: NDArray[np.int64] | None = None
    position_ids: NDArray[np.int64] | None = None
    dtype: str = "int64"
    is_rectangular: bool = True
    odd_shapes: tuple[tuple[str, str, str], ...] = ()
    are_integers: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Ids of each row, padding included, int64 (n_rows,)."""
        lengths: NDArray[np.int64] = np.diff(self.offsets)
        return lengths

    @cached_property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each id, int64 (n_ids,)."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int64), self.lengths)

    @cached_property
    def is_kept(self) -> NDArray[np.bool_] | None:
        """True if the mask lets each id be seen, bool (n_ids,); None without a mask.

        Masks that are added to scores (0 and a large negative number) are understood, too.
        """
        if self.mask is None:
            return None
        shown: NDArray[np.bool_] = self.mask == 0 if self.is_additive else self.mask != 0
        return shown

    @cached_property
    def is_additive(self) -> bool:
        """True if the mask is one to be added: only 0 and numbers far below 0."""
        return self.mask is not None and bool(
            np.all((self.mask == 0) | (self.mask < -1000)) and np.any(self.mask < -1000)
        )

    def ends(self, flags: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many flags in a row begin, and end, each row: int64 (n_rows,) each."""
        n = len(flags)
        if n == 0:
            zeros = np.zeros(self.n_rows, dtype=np.int64)
            return zeros, zeros
        places = np.arange(n, dtype=np.int64)
        # The next place at or behind each that has no flag, and the last one at or before it.
        following = np.minimum.accumulate(np.where(flags, n, places)[::-1])[::-1]
        preceding = np.maximum.accumulate(np.where(flags, -1, places))
        starts, stops = self.offsets[:-1], self.offsets[1:]
        begins = following[np.minimum(starts, n - 1)]
        left = np.minimum(begins, stops) - starts
        finishes = preceding[np.maximum(stops - 1, 0)]
        right = stops - np.maximum(finishes + 1, starts)
        empty = starts == stops
        return np.where(empty, 0, left), np.where(empty, 0, right)

    def padding(self, pad_ids: frozenset[int]) -> NDArray[np.bool_]:
        """Mask of padding: by the attention mask, or else the runs of a padding id at the ends."""
        kept = self.is_kept
        if kept is not None:
            return ~kept
        return self.padding_by_id(pad_ids)

    def padding_by_id(self, pad_ids: frozenset[int]) -> NDArray[np.bool_]:
        """The runs of a padding id at the ends of rows, bool (n_ids,)."""
        if not pad_ids:
            return np.zeros(len(self.ids), dtype=np.bool_)
        is_pad = np.isin(self.ids, np.fromiter(pad_ids, dtype=np.int64))
        left, right = self.ends(is_pad)
        column = np.arange(len(self.ids), dtype=np.int64) - self.offsets[:-1][self.row_of]
        found: NDArray[np.bool_] = (column < left[self.row_of]) | (
            column >= (self.lengths - right)[self.row_of]
        )
        return found

    def place(self, index: int) -> str:
        """Row and column of an id, to be shown."""
        row = int(self.row_of[index])
        return f"{self.where}, row {row}, column {index - int(self.offsets[row])}"


MAX_DUMP_BYTES = 1 << 30
"""Largest dump that is read, in bytes, uncompressed; a large batch of 8M tokens has 64 MB."""

MAX_IDS = 1 << 26
"""Ids of one dump that are looked at, the first ones: as int64 with their flags about 2 GB."""

_NAMES = {
    "input_ids": ("input_ids", "ids", "inputs", "tokens", "decoder_input_ids", "arr_0"),
    "mask": ("attention_mask", "mask"),
    "labels": ("labels", "targets"),
    "type_ids": ("token_type_ids", "segment_ids"),
    "position_ids": ("position_ids",),
}
_SAFETENSORS_DTYPES = {
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
    "BOOL": "?",
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
}
_HINT = "hint: numpy.savez('batch.npz', **{k: v.cpu().numpy() for k, v in batch.items()})"


def read_batches(path: str | os.PathLike[str]) -> tuple[InputBatch, ...]:
    """Read a dump.

    ``.npz`` and ``.safetensors`` hold arrays by name, ``.npy`` the ids alone, JSON an object of
    (nested) lists, JSON Lines such an object, or a list of ids, in each line.

    Raises:
        FormatError: The file is damaged, or holds no ids.
        RecordError: A line is neither an object with ids nor a list of them.
        LimitError: It is larger than ``MAX_DUMP_BYTES``.
        UsageError: The file is of another kind.
        OSError: It cannot be read.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if not file.is_file():
        # A folder, or a pipe that would be waited for; the error of what is not there.
        file.stat()
        raise UsageError(f"{file} is no regular file")
    if file.stat().st_size > MAX_DUMP_BYTES and suffix != ".npy":
        raise _too_large(file)
    if suffix == ".npz":
        return (batch_of_arrays(_npz(file), where=str(file)),)
    if suffix == ".npy":
        return (batch_of_arrays({"input_ids": _npy(file)}, where=str(file)),)
    if suffix == ".safetensors":
        return (batch_of_arrays(_safetensors(file), where=str(file)),)
    if suffix in (".json", ".jsonl", ".ndjson"):
        return _json(file)
    if suffix in (".pt", ".pth", ".pkl", ".bin"):
        raise UsageError(
            f"{file} is a pickle, a program that reading would run; expected .npz, .npy, "
            f".safetensors or .jsonl\n{_HINT}"
        )
    raise UsageError(
        f"{file} is no batch dump; expected .npz, .npy, .safetensors or .jsonl\n{_HINT}"
    )


def batch_of_arrays(arrays: Mapping[str, Any], *, where: str = "the batch") -> InputBatch:
    """A batch from arrays by name, as model inputs are called everywhere.

    Args:
        arrays: ``input_ids`` and, as far as they are there, ``attention_mask``, ``labels``,
            ``token_type_ids`` and ``position_ids``; each (n_rows, n_columns), or (n_ids,) for one
            row.
        where: Name for messages.

    Raises:
        FormatError: There are no ids, or they are no numbers.
    """
    found = {
        kind: np.asarray(next(arrays[name] for name in names if name in arrays))
        for kind, names in _NAMES.items()
        if any(name in arrays for name in names)
    }
    ids = found.get("input_ids")
    if ids is None:
        there = ", ".join(sorted(map(str, arrays))[:8]) or "nothing"
        raise FormatError(f"{where} has no input_ids; it has {there}\n{_HINT}", path=where)
    if ids.ndim not in (1, 2) or ids.dtype.kind not in "iufb":
        raise FormatError(
            f"{where} has input_ids of the shape {ids.shape} and type {ids.dtype}; expected "
            "(n_rows, n_columns) of whole numbers",
            path=where,
        )
    if ids.size > MAX_IDS:
        found, where = _first_rows(found, where)
        ids = found["input_ids"]
    dtype = str(ids.dtype)
    are_integers = bool(ids.dtype.kind != "f" or np.all(np.isfinite(ids) & (ids == np.round(ids))))
    rows = ids.reshape(1, -1) if ids.ndim == 1 else ids
    beside: dict[str, NDArray[Any]] = {}
    odd = []
    for kind in ("mask", "labels", "type_ids", "position_ids"):
        array = found.get(kind)
        if array is None:
            continue
        name = next(name for name in _NAMES[kind] if name in arrays)
        if array.dtype.kind not in "iufb" or array.size != ids.size or array.shape != ids.shape:
            if not (kind == "labels" and array.ndim == 1 and ids.ndim == 2):
                # One label a row is a classification, which is fine.
                odd.append((name, str(array.shape), str(ids.shape)))
            continue
        beside[kind] = array.reshape(-1)
    n_rows, n_columns = rows.shape
    return InputBatch(
        where=where,
        ids=_whole(rows.reshape(-1)),
        offsets=np.arange(n_rows + 1, dtype=np.int64) * n_columns,
        mask=None if "mask" not in beside else beside["mask"].astype(np.float64),
        labels=_optional(beside.get("labels")),
        type_ids=_optional(beside.get("type_ids")),
        position_ids=_optional(beside.get("position_ids")),
        dtype=dtype,
        is_rectangular=ids.ndim == 2,
        odd_shapes=tuple(odd),
        are_integers=are_integers,
    )


def _first_rows(found: dict[str, NDArray[Any]], where: str) -> tuple[dict[str, NDArray[Any]], str]:
    """As many rows as are looked at, of every array that has as many as the ids."""
    ids = found["input_ids"]
    n = max(1, MAX_IDS // max(1, ids.size // len(ids)))
    cut = {
        kind: array[:n] if array.shape[:1] == ids.shape[:1] else array
        for kind, array in found.items()
    }
    return cut, f"{where} (the first {n:,} of {len(ids):,} {'ids' if ids.ndim == 1 else 'rows'})"


def _optional(array: NDArray[Any] | None) -> NDArray[np.int64] | None:
    return None if array is None else _whole(array)


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype.kind == "f":
        array = np.nan_to_num(array, nan=-1, posinf=2**62, neginf=-(2**62))
    if array.dtype == np.uint64:
        array = np.minimum(array, 2**62)
    whole: NDArray[np.int64] = array.astype(np.int64)
    return whole


def _too_large(file: Path) -> LimitError:
    return LimitError(
        f"{file} holds more than {MAX_DUMP_BYTES >> 20:,} MB\nhint: a sample of it is enough",
        what="batch dump",
        limit=MAX_DUMP_BYTES,
    )


def _damaged(file: Path, error: Exception) -> FormatError:
    return FormatError(f"{file} cannot be read: {str(error)[:200]}\n{_HINT}", path=str(file))


def _npz(file: Path) -> dict[str, NDArray[Any]]:
    wanted = {name for names in _NAMES.values() for name in names}
    try:
        return arrays_of(file, max_bytes=MAX_DUMP_BYTES, wanted=wanted)
    except OverflowError:
        raise _too_large(file) from None
    except ValueError as error:
        raise _damaged(file, error) from None


def _npy(file: Path) -> NDArray[Any]:
    try:
        # Mapped, so that of a whole tokenized corpus only the beginning is read.
        return np.asarray(array_of(file, mapped=True))
    except ValueError as error:
        raise _damaged(file, error) from None


def _safetensors(file: Path) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    wanted = {name for names in _NAMES.values() for name in names}
    header = read_header(file)
    with file.open("rb") as stream:
        for name, tensor in header.tensors.items():
            dtype = _SAFETENSORS_DTYPES.get(tensor.dtype)
            if name not in wanted or dtype is None:
                continue
            stream.seek(tensor.offset)
            data = stream.read(tensor.n_bytes)
            arrays[name] = np.frombuffer(data, dtype=dtype).reshape(tensor.shape)
    return arrays


def _json(file: Path) -> tuple[InputBatch, ...]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(file, error) from None
    if file.suffix.lower() == ".json":
        return (_batch_of_rows(_records(_parsed(file, None, text)), where=str(file), file=file),)
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    records: list[tuple[int, Any]] = []
    for number, line in lines:
        records += [(number, record) for record in _records(_parsed(file, number, line))]
    return (_batch_of_rows((r for _, r in records), where=str(file), file=file),)


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:120]


def _parsed(file: Path, number: int | None, text: str) -> Any:
    try:
        return json_of(text, any_integer=True)
    except (ValueError, RecursionError) as error:
        place = str(file) if number is None else f"{file}, line {number}"
        raise RecordError(
            f"{place}: no JSON: {_reason(error)}\n"
            'hint: expected lists of ids, or objects with "input_ids"',
            path=str(file),
            line=number,
        ) from None


def _records(value: Any) -> list[dict[str, list[Any]]]:
    """The rows of a record: of a batch by name, of a list of rows, or the one row that it is."""
    if isinstance(value, list):
        if value and all(isinstance(item, list | Mapping) for item in value):
            return [row for item in value for row in _records(item)]
        return [{"input_ids": value}]
    if not isinstance(value, Mapping):
        return [{}]
    found = {
        kind: value[name]
        for kind, names in _NAMES.items()
        for name in names[:1] + names[1:]
        if name in value and isinstance(value[name], list)
    }
    ids = found.get("input_ids")
    if ids and all(isinstance(row, list) for row in ids):
        rows = []
        for index, row in enumerate(ids):
            more = {
                kind: array[index]
                for kind, array in found.items()
                if kind != "input_ids" and index < len(array) and isinstance(array[index], list)
            }
            rows.append({"input_ids": row, **more})
        return rows
    return [found]


def _batch_of_rows(
    records: Iterable[Mapping[str, list[Any]]], *, where: str, file: Path
) -> InputBatch:
    flat: dict[str, list[Any]] = {kind: [] for kind in _NAMES}
    missing: set[str] = set()
    lengths = []
    odd: list[tuple[str, str, str]] = []
    are_integers = True
    for number, record in enumerate(records):
        ids = record.get("input_ids")
        if ids is None or not all(isinstance(i, int | float) for i in ids):
            raise RecordError(
                f"{where}: row {number} has no list of ids\n"
                'hint: expected {"input_ids": [...], "attention_mask": [...]}',
                path=str(file),
            )
        are_integers &= all(isinstance(i, int) for i in ids)
        flat["input_ids"] += ids
        lengths.append(len(ids))
        for kind in ("mask", "labels", "type_ids", "position_ids"):
            array = record.get(kind)
            if array is None or not all(isinstance(i, int | float) for i in array):
                missing.add(kind)
            elif len(array) != len(ids):
                missing.add(kind)
                if not odd or odd[-1][0] != _NAMES[kind][0]:
                    odd.append((_NAMES[kind][0], f"({len(array)},)", f"({len(ids)},)"))
            else:
                flat[kind] += array
    if not lengths:
        raise FormatError(f"{where} holds no rows\n{_HINT}", path=where)

    def whole(kind: str) -> NDArray[np.int64] | None:
        if kind in missing:
            return None
        return np.asarray([_clipped(v) for v in flat[kind]], dtype=np.int64)

    ids_array = whole("input_ids")
    assert ids_array is not None
    return InputBatch(
        where=where,
        ids=ids_array,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        mask=None if "mask" in missing else np.asarray(flat["mask"], dtype=np.float64),
        labels=whole("labels"),
        type_ids=whole("type_ids"),
        position_ids=whole("position_ids"),
        dtype="json",
        is_rectangular=len(lengths) > 1 and len(set(lengths)) == 1,
        odd_shapes=tuple(odd),
        are_integers=are_integers,
    )


def _clipped(value: float) -> int:
    # NaN and numbers beyond 64 bits become ids that no vocabulary has.
    if value != value:
        return -1
    return int(max(-(2**62), min(2**62, value)))


# Outputs of a model: texts, the pieces in which they were streamed, ids.

MAX_FILE_BYTES = 256 << 20
"""Largest file of outputs that is read; a sample is enough to see what goes wrong."""
_MAX_OUTPUTS = 100_000


@dataclass(frozen=True, slots=True)
class Output:
    """One generated text.

    Attributes:
        where: File and line.
        text: The text as it reached the user; None where only ids are known.
        ids: The ids that were generated; None where only the text is known.
        pieces: The texts in which it was streamed; None where it was not.
    """

    where: str
    text: str | None = None
    ids: tuple[int, ...] | None = None
    pieces: tuple[str, ...] | None = None


def read_outputs(path: str | os.PathLike[str]) -> tuple[Output, ...]:
    """Read a file of outputs.

    JSON Lines have ``text`` (or ``output``, ``response``, ``content``), ``ids`` (or ``output_ids``,
    ``token_ids``) and ``pieces`` (or ``chunks``, ``deltas``), any of them, or are a plain list of
    ids. Any other file is one text.

    Raises:
        RecordError: A line is neither.
        LimitError: The file is larger than ``MAX_FILE_BYTES``.
        OSError: It cannot be read.
    """
    file = Path(path)
    with file.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise LimitError(
            f"{file} is larger than {MAX_FILE_BYTES >> 20} MB\nhint: a sample of it is enough",
            what="outputs",
            limit=MAX_FILE_BYTES,
        )
    if file.suffix.lower() not in (".jsonl", ".ndjson", ".json"):
        # Damage is what is looked for, so bytes that are not UTF-8 show as U+FFFD.
        return (Output(str(file), data.decode("utf-8", "replace")),)
    outputs: list[Output] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        if len(outputs) >= _MAX_OUTPUTS:
            break
        outputs.append(_output(file, number, line))
    return tuple(outputs)


def _output(file: Path, number: int, line: str) -> Output:
    hint = 'hint: expected {"text": "...", "ids": [...], "pieces": ["...", ...]} in each line'
    try:
        value = json_of(line, any_integer=True)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:120]
        raise RecordError(
            f"{file}, line {number}: no JSON: {reason}\n{hint}",
            path=str(file),
            line=number,
        ) from None
    where = f"{file}, line {number}"
    if isinstance(value, str):
        return Output(where, text=value)
    ids = _ids(value)
    if ids is not None:
        return Output(where, ids=ids)
    if isinstance(value, Mapping):
        text = _first(value, ("text", "output", "response", "content", "generated_text"))
        found_ids = _ids(_first(value, ("ids", "output_ids", "token_ids")))
        pieces = _first(value, ("pieces", "chunks", "deltas"))
        strings = _strings(pieces)
        if isinstance(text, str) or found_ids is not None or strings is not None:
            shown = text if isinstance(text, str) else None
            if shown is None and strings is not None:
                shown = "".join(strings)
            return Output(where, shown, found_ids, strings)
    raise RecordError(
        f"{file}, line {number}: no text, ids or pieces in it\n{hint}",
        path=str(file),
        line=number,
    )


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _ids(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in value):
        return None
    return tuple(value)


def _strings(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not value or not all(isinstance(i, str) for i in value):
        return None
    return tuple(value)
