"""Columns of token ids in JSONL and Parquet that follow a change of vocabulary.

All other columns stay as they are; of a JSON line, every byte outside of the ids. Labels keep -100.
Lists of labels as long as the ids may be classes of tokens, as for names in text. Such a column is
refused, unless its labels repeat the ids or the caller says that they are ids.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import written_whole
from jeton.adapt.change import VocabularyChange
from jeton.errors import AdaptError, FormatError, MissingExtraError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa


# Ids that follow a change of vocabulary, or the reason why they cannot.

_N_NAMED = 5


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
    check_fits(change, ids.dtype)
    wide = ids.astype(np.int64)
    skipped = np.isin(wide, list(ignore)) if ignore else np.zeros(wide.shape, dtype=bool)
    wrong = ~skipped & ((wide < 0) | (wide >= change.n_old_ids))
    if wrong.any():
        raise AdaptError(
            f"{int(wide[wrong].flat[0])} is not an id of the old vocabulary of "
            f"{change.n_old_ids:,}\nhint: is it a file of another tokenizer, or of another type? "
            "--ignore names numbers that are no ids"
        )
    gone = gone_ids(change, ids, ignore=ignore)
    if gone:
        raise AdaptError(gone_words(gone, ids.size))
    new = change.new_of[np.where(skipped, 0, wide)] if change.n_old_ids else wide
    return np.where(skipped, wide, new).astype(ids.dtype)


def gone_ids(
    change: VocabularyChange, ids: NDArray[np.integer[Any]], *, ignore: Sequence[int] = ()
) -> dict[int, int]:
    """Returns the ids that the new vocabulary lacks, with how often each occurs.

    Numbers that are no old ids are passed over.
    """
    wide = ids.astype(np.int64).reshape(-1)
    wide = wide[(wide >= 0) & (wide < change.n_old_ids)]
    gone = wide[change.new_of[wide] < 0]
    gone = gone[~np.isin(gone, list(ignore))]
    found, counts = np.unique(gone, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def gone_words(gone: Mapping[int, int], n_ids: int) -> str:
    """Returns the message of an error about ids that are gone, the most frequent named first."""
    order = sorted(gone, key=lambda id: (-gone[id], id))
    named = ", ".join(f"{id} ({gone[id]:,} times)" for id in order[:_N_NAMED])
    more = f" and {len(order) - _N_NAMED:,} other ids" if len(order) > _N_NAMED else ""
    return (
        f"{sum(gone.values()):,} of {n_ids:,} ids are gone from the new vocabulary: {named}{more}\n"
        "hint: tokenize the text anew; this file cannot follow exactly"
    )


def check_fits(change: VocabularyChange, dtype: np.dtype[Any]) -> None:
    """Raises ``UsageError`` if numbers of a type do not hold the new ids."""
    if dtype.kind not in "iu":
        raise UsageError(
            f"ids of the type {dtype} are no whole numbers\n"
            "hint: ids are; look whether this is the file of the ids"
        )
    if change.n_new_ids - 1 > np.iinfo(dtype).max:
        raise UsageError(
            f"{dtype} does not hold {change.n_new_ids:,} ids\nhint: write the file with a wider "
            "type first"
        )


IGNORED_LABEL = -100
"""Number that trainers leave out of the loss (``ignore_index`` of PyTorch's cross-entropy)."""

JSONL_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_LABELS = "labels"
_BATCH_ROWS = 1024
_MAX_LINE_BYTES = 1 << 28
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class IdColumns:
    """IdColumns of a record that hold ids.

    Attributes:
        ids: IdColumns of ids; each record has them.
        labels: Column of labels; empty: none. None: ``labels`` where a record has it.
    """

    ids: tuple[str, ...] = ("input_ids",)
    labels: str | None = None

    def __post_init__(self) -> None:
        if not self.ids or "" in self.ids:
            raise UsageError("no column of ids is named\nhint: --column input_ids")
        if self.labels is not None and self.labels in self.ids:
            raise UsageError(
                f"{self.labels!r} is named as a column of ids and of labels\n"
                "hint: --labels '' says that there are none"
            )

    @property
    def label_name(self) -> str:
        """The column of labels; empty: none."""
        name = _LABELS if self.labels is None else self.labels
        return "" if name in self.ids else name


class _Follower:
    """Ids that follow a change, counted."""

    def __init__(self, change: VocabularyChange, columns: IdColumns, ignore: Sequence[int]) -> None:
        self.change = change
        self.columns = columns
        self.ignore = tuple(ignore)
        self.n_ids = 0
        self.n_ignored = 0
        self.place = ""
        self._gone: Counter[int] = Counter()
        self._first_gone = ""

    def follow(self, ids: NDArray[Any], *, is_label: bool) -> NDArray[Any]:
        """Returns the new ids of one column; old ones where ids are gone, which are noted."""
        ignore = (*self.ignore, IGNORED_LABEL) if is_label else self.ignore
        self.n_ids += ids.size
        if ignore:
            self.n_ignored += int(np.isin(ids, ignore).sum())
        gone = gone_ids(self.change, ids, ignore=ignore)
        if gone:
            self._first_gone = self._first_gone or self.place
            self._gone.update(gone)
            return ids
        return remap_ids(self.change, ids, ignore=ignore)

    def check_gone(self, path: Path) -> None:
        """Raises if any id of the file is gone."""
        if self._gone:
            raise AdaptError(
                f"{path}, first in {self._first_gone}: {gone_words(self._gone, self.n_ids)}"
            )

    def check_labels(self, labels: NDArray[Any], ids: NDArray[Any]) -> None:
        """Raises if labels may be something else than ids."""
        if self.columns.labels is not None or len(labels) != len(ids):
            return
        used = labels != IGNORED_LABEL
        if (labels == ids)[used].all():
            return
        # Labels that were moved by one beforehand; the last of them is no id of this record.
        moved = used[:-1]
        if moved.any() and (labels[:-1] == ids[1:])[moved].all():
            return
        raise AdaptError(
            f"{_LABELS!r} does not repeat {self.columns.ids[0]!r}, so it may hold classes of "
            "tokens instead of ids\n"
            "hint: --labels labels says that it holds ids, --labels '' leaves it as it is"
        )


def remap_jsonl(
    change: VocabularyChange, path: Path, out: Path, columns: IdColumns, ignore: Sequence[int]
) -> tuple[int, int]:
    """Writes JSON lines with new ids; returns how many ids and how many numbers that are none.

    Raises:
        AdaptError: The ids of a line cannot follow; the line is named.
        FormatError: A line is no object, or has no list of ids.
    """
    follower = _Follower(change, columns, ignore)
    with written_whole(out) as plain, _packed(plain, out) as stream:
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                stream.write(line)
                continue
            follower.place = f"line {number:,}"
            with _named(path, follower.place):
                stream.write(_new_line(line, follower, is_first=number == 1))
        follower.check_gone(path)
    return follower.n_ids, follower.n_ignored


def remap_parquet(
    change: VocabularyChange, path: Path, out: Path, columns: IdColumns, ignore: Sequence[int]
) -> tuple[int, int]:
    """Writes a Parquet file with new ids; returns how many ids and how many numbers are none.

    Raises:
        AdaptError: The ids of some rows cannot follow; the rows are named.
        FormatError: The file is damaged, or a column does not hold ids.
        MissingExtraError: pyarrow is missing.
        UsageError: The type of a column does not hold the new ids.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("remapping Parquet", extra="parquet") from None

    follower = _Follower(change, columns, ignore)
    try:
        with path.open("rb") as source, written_whole(out) as stream:
            file = pq.ParquetFile(source)
            schema = file.schema_arrow
            named = _ids_in(schema, columns, path)
            with pq.ParquetWriter(
                stream, schema, compression=_compression(file.metadata)
            ) as writer:
                row = 0
                # A row group is in memory at once, so that the new file has the same ones.
                for group in range(file.num_row_groups):
                    batches = []
                    for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group]):
                        follower.place = f"rows {row:,} to {row + len(batch) - 1:,}"
                        with _named(path, follower.place):
                            batches.append(_new_batch(batch, named, follower))
                        row += len(batch)
                    table = pa.Table.from_batches(batches, schema=schema)
                    writer.write_table(table, row_group_size=max(len(table), 1))
            follower.check_gone(path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        # Damaged pages are an error of the system without a number.
        raise FormatError(
            f"{path}: not a Parquet file, or a damaged one: {str(error).splitlines()[0]:.200}\n"
            "hint: fetch or write it again",
            path=str(path),
        ) from error
    return follower.n_ids, follower.n_ignored


@contextmanager
def _named(path: Path, place: str) -> Iterator[None]:
    try:
        yield
    except AdaptError as error:
        raise AdaptError(f"{path}, {place}: {error}") from None
    except FormatError as error:
        raise FormatError(f"{path}, {place}: {error}", path=str(path)) from None


def _lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        while True:
            try:
                line = stream.readline(_MAX_LINE_BYTES + 1)
            except (EOFError, gzip.BadGzipFile) as error:
                raise FormatError(f"{path}: not gzip: {error}", path=str(path)) from error
            if not line:
                return
            if len(line) > _MAX_LINE_BYTES:
                raise FormatError(
                    f"{path}: a line is longer than {_MAX_LINE_BYTES:,} bytes\n"
                    "hint: are its records one a line?",
                    path=str(path),
                )
            yield line


@contextmanager
def _packed(stream: IO[bytes], out: Path) -> Iterator[IO[bytes]]:
    if out.suffix != ".gz":
        yield stream
        return
    # Without a time and a name, so that equal records give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _new_line(line: bytes, follower: _Follower, *, is_first: bool) -> bytes:
    start = 3 if is_first and line.startswith(b"\xef\xbb\xbf") else 0
    try:
        text = line[start:].decode()
        values = _values(text)
    except RecursionError:
        raise FormatError("it is nested too deeply") from None
    except ValueError as error:  # also text that is not UTF-8
        raise FormatError(f"not a JSON object: {error}") from error
    columns = follower.columns
    found = {name for name, _, _, _ in values}
    optional = columns.label_name if columns.labels is None else ""
    for name in (*columns.ids, columns.label_name):
        if name and name not in found and name != optional:
            listed = ", ".join(sorted(found)[:8])
            raise FormatError(f"no field {name!r}; there are {listed}\nhint: --column names it")
    ids = next(
        (
            _flat(value)
            for name, _, _, value in values
            if name == columns.ids[0] and value is not None
        ),
        None,
    )
    pieces, done = [], 0
    for name, begin, end, value in values:
        is_label = name == columns.label_name
        if not name or (name not in columns.ids and not is_label) or value is None:
            continue
        if is_label and columns.labels is None and not isinstance(value, list):
            continue  # the class of a record, as a number or a word
        numbers = _array(_flat(value), name)
        if is_label and ids is not None:
            follower.check_labels(numbers, _array(ids, columns.ids[0]))
        new = iter(follower.follow(numbers, is_label=is_label).tolist())
        pieces.append(text[done:begin])
        pieces.append(_NUMBER.sub(partial(_next_number, new), text[begin:end]))
        done = end
    return line[:start] + ("".join(pieces) + text[done:]).encode()


def _next_number(new: Iterator[int], _: re.Match[str]) -> str:
    return str(next(new))


def _values(text: str) -> list[tuple[str, int, int, Any]]:
    """Returns name, begin, end and value of each field at the top of an object."""
    decoder = json.JSONDecoder()
    at = _skipped(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("it does not begin with {")
    at = _skipped(text, at + 1)
    found: list[tuple[str, int, int, Any]] = []
    while text[at : at + 1] != "}":
        if found:
            if text[at : at + 1] != ",":
                raise ValueError(f"expected , or }} at character {at}")
            at = _skipped(text, at + 1)
        if text[at : at + 1] != '"':
            raise ValueError(f"expected a name at character {at}")
        name, at = decoder.raw_decode(text, at)
        at = _skipped(text, at)
        if text[at : at + 1] != ":":
            raise ValueError(f"expected : at character {at}")
        begin = _skipped(text, at + 1)
        value, end = decoder.raw_decode(text, begin)
        found.append((name, begin, end, value))
        at = _skipped(text, end)
    if _skipped(text, at + 1) != len(text):
        raise ValueError(f"there is more behind the object, at character {at + 1}")
    return found


def _skipped(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in " \t\r\n":
        at += 1
    return at


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    if not any(isinstance(part, list) for part in value):
        return value
    return [number for part in value for number in _flat(part)]


def _array(numbers: list[Any], name: str) -> NDArray[np.int64]:
    for number in numbers:
        if type(number) is not int or not -(1 << 62) < number < 1 << 62:
            raise FormatError(f"{name!r} has {number!r:.60}; expected lists of whole numbers")
    return np.array(numbers, dtype=np.int64)


def _ids_in(schema: pa.Schema, columns: IdColumns, path: Path) -> dict[str, bool]:
    """Returns the columns that change, each with True if it holds labels."""
    import pyarrow as pa

    named = dict.fromkeys(columns.ids, False)
    label = columns.label_name
    if label and (columns.labels is not None or label in schema.names):
        is_list = label in schema.names and _is_list(schema.field(label).type)
        if columns.labels is not None or is_list:
            named[label] = True
    for name in named:
        if schema.names.count(name) != 1:
            listed = ", ".join(schema.names[:8])
            raise FormatError(
                f"{path}: {schema.names.count(name)} columns are named {name!r}; there are "
                f"{listed}\nhint: --column names the one with the ids",
                path=str(path),
            )
        kind = schema.field(name).type
        while _is_list(kind):
            kind = kind.value_type
        if not pa.types.is_integer(kind):
            raise FormatError(
                f"{path}: {name!r} is of the type {schema.field(name).type}; expected whole "
                "numbers, or lists of them",
                path=str(path),
            )
    return named


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _compression(metadata: Any) -> Any:
    if not metadata.num_row_groups:
        return "snappy"
    group = metadata.row_group(0)
    stored = (group.column(i) for i in range(group.num_columns))
    return {
        column.path_in_schema: "NONE"
        if column.compression == "UNCOMPRESSED"
        else column.compression
        for column in stored
    }


def _new_batch(batch: pa.RecordBatch, named: dict[str, bool], follower: _Follower) -> Any:
    names = batch.schema.names
    first = batch.column(names.index(follower.columns.ids[0]))
    for name, is_label in named.items():
        place = names.index(name)
        column = batch.column(place)
        if is_label and follower.columns.labels is None and _is_list(first.type):
            for labels, ids in zip(column, first, strict=True):
                if labels.is_valid and ids.is_valid:
                    follower.check_labels(_numbers(labels.values), _numbers(ids.values))
        new = _new_column(column, follower, is_label=is_label)
        batch = batch.set_column(place, batch.schema.field(place), new)
    return batch


def _numbers(array: Any) -> NDArray[Any]:
    while _is_list(array.type):
        array = array.flatten()
    found: NDArray[Any] = array.drop_null().to_numpy(zero_copy_only=False)
    return found


def _new_column(array: Any, follower: _Follower, *, is_label: bool) -> Any:
    """Returns an array of the same type; what is null stays null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        inner = pa.list_(kind.value_field)
        return _new_column(array.cast(inner), follower, is_label=is_label).cast(kind)
    if _is_list(kind):
        # Behind a list that is null there may be numbers, which flatten() leaves out.
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        is_large = pa.types.is_large_list(kind)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(
            np.int64 if is_large else np.int32
        )
        values = _new_column(array.flatten(), follower, is_label=is_label)
        made = pa.LargeListArray if is_large else pa.ListArray
        mask = array.is_null() if array.null_count else None
        return made.from_arrays(pa.array(offsets), values, type=kind, mask=mask)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    new = numbers.copy()
    new[~is_null] = follower.follow(numbers[~is_null], is_label=is_label)
    return pa.array(new, type=kind, mask=is_null)
