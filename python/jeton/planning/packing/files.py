"""Packs as files: which documents share a bin, or the packed tokens themselves.

``.npz`` holds flat arrays; ``.parquet`` a row for each bin. Both name their version and options.

Columns of packed tokens, by layout:

- ``megatron`` (Megatron-Bridge, NeMo): ``input_ids``, ``loss_mask``, ``seq_start_id``. The mask of
  a token says whether the token after it is learned, so the last token of each segment has 0: what
  comes after it is another document.
- ``trl``: ``input_ids``, ``labels``, ``seq_lengths``.
- ``axolotl``: ``input_ids``, ``attention_mask``, ``labels``, ``position_ids``.
- ``padding-free`` (transformers): ``input_ids``, ``labels``, ``position_ids``, ``cu_seqlens``,
  ``max_seqlen``.

Labels are not shifted; -100 is not learned: padding, the first token of each segment, and what the
data set's own masks leave out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._files import written_whole
from jeton._foreign import arrays_of, json_of
from jeton._plain import strict_json
from jeton.errors import FormatError, MissingExtraError, UsageError
from jeton.planning.packing.result import METHODS, OVERFLOWS, Pack, PackReport, RankSpread
from jeton.planning.packing.token_columns import IGNORED_LABEL
from jeton.planning.packing.token_source import TokenSource
from jeton.progress import OnProgress, Progress

VERSION = "jeton.pack/1"
"""Version of the files; another one is refused."""

_BINS_AT_ONCE = 1 << 16
_METADATA_KEY = b"jeton.pack"


def save_pack(pack: Pack, path: str | os.PathLike[str]) -> None:
    """Writes the bins, whole or not at all: which documents they hold, not the tokens.

    Args:
        pack: The bins.
        path: ``.npz`` or ``.parquet``.

    Raises:
        UsageError: The name ends in neither.
        OSError: The file cannot be written.

    Example:
        >>> import jeton
        >>> packed = jeton.pack([5, 3, 2], capacity=8)
        >>> save_pack(packed, "packs.npz")  # doctest: +SKIP
        >>> load_pack("packs.npz").bin(0).documents.tolist()  # doctest: +SKIP
        [0, 1]
    """
    name = Path(path).name.lower()
    if name.endswith(".npz"):
        _write_npz(pack, path)
    elif name.endswith((".parquet", ".pq")):
        _write_parquet(pack, path)
    else:
        raise UsageError(
            f"{os.fspath(path)} names no format of packs\nhint: end it in .npz or .parquet"
        )


def load_pack(path: str | os.PathLike[str]) -> Pack:
    """Reads what ``save_pack`` wrote.

    Raises:
        FormatError: The file is no pack, damaged, or of another version.
        OSError: It cannot be read.
    """
    place = Path(path)
    is_table = place.name.lower().endswith((".parquet", ".pq"))
    told, arrays = _read_parquet(place) if is_table else _read_npz(place)
    try:
        return _pack(told, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise _no_pack(place, f"{type(error).__name__}: {error}") from None


def _told(pack: Pack) -> str:
    return strict_json(pack.to_dict())


def _narrow(array: NDArray[np.int64]) -> NDArray[Any]:
    """Returns 32 bits where they suffice."""
    fits = not len(array) or int(array.max()) < 2**32
    return array.astype("<u4") if fits else array.astype("<i8")


def _write_npz(pack: Pack, path: str | os.PathLike[str]) -> None:
    arrays = {
        "told": np.frombuffer(_told(pack).encode(), dtype=np.uint8),
        "bin_offsets": pack.bin_offsets.astype("<i8"),
        "documents": _narrow(pack.documents),
        "lengths": _narrow(pack.lengths),
        "widths": _narrow(pack.widths),
        "dropped": _narrow(pack.dropped),
    }
    if pack.starts.any():
        arrays["starts"] = _narrow(pack.starts)
    with written_whole(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _read_npz(path: Path) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
    try:
        arrays = arrays_of(path)
    except ValueError as error:
        raise _no_pack(path, str(error)) from None
    if "told" not in arrays:
        raise _no_pack(path, "it names no version")
    return _checked(path, bytes(arrays["told"].tobytes())), arrays


def _write_parquet(pack: Pack, path: str | os.PathLike[str]) -> None:
    pa, pq = _pyarrow("writing Parquet")
    schema = pa.schema(
        [
            ("documents", pa.list_(pa.int64())),
            ("starts", pa.list_(pa.int64())),
            ("lengths", pa.list_(pa.int64())),
            ("width", pa.int64()),
        ],
        metadata={
            _METADATA_KEY: _told(pack).encode(),
            b"jeton.dropped": strict_json(pack.dropped.tolist()).encode(),
        },
    )
    with written_whole(path) as stream, pq.ParquetWriter(stream, schema) as writer:
        for first in range(0, len(pack), _BINS_AT_ONCE):
            bounds = pack.bin_offsets[first : first + _BINS_AT_ONCE + 1]
            part = slice(int(bounds[0]), int(bounds[-1]))
            offsets = pa.array((bounds - bounds[0]).astype(np.int32))
            columns = [
                pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(values[part])))
                for values in (pack.documents, pack.starts, pack.lengths)
            ]
            columns.append(pa.array(pack.widths[first : first + _BINS_AT_ONCE]))
            writer.write_table(pa.table(columns, schema=schema))


def _read_parquet(path: Path) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
    pa, pq = _pyarrow("reading Parquet")
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise _no_pack(path, str(error)) from None
    metadata = table.schema.metadata or {}
    if _METADATA_KEY not in metadata:
        raise _no_pack(path, "it names no version")
    told = _checked(path, metadata[_METADATA_KEY])
    arrays: dict[str, NDArray[Any]] = {}
    counts = np.zeros(0, dtype=np.int64)
    for name in ("documents", "starts", "lengths"):
        rows = table.column(name).combine_chunks()
        arrays[name] = rows.flatten().to_numpy(zero_copy_only=False)
        counts = rows.value_lengths().to_numpy(zero_copy_only=False)
    arrays["bin_offsets"] = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    arrays["widths"] = table.column("width").to_numpy()
    arrays["dropped"] = np.array(json_of(metadata[b"jeton.dropped"]), dtype=np.int64)
    return told, arrays


def _checked(path: Path, told: bytes) -> dict[str, Any]:
    try:
        found = json_of(told)
    except ValueError:
        raise _no_pack(path, "its options are no JSON") from None
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version != VERSION:
        raise _no_pack(path, f"its version is {version!r}; expected {VERSION!r}")
    return dict(found)


def _pack(told: dict[str, Any], stored: Mapping[str, NDArray[Any]]) -> Pack:
    arrays = {
        name: stored[name].astype(np.int64)
        for name in ("bin_offsets", "documents", "lengths", "widths", "dropped")
    }
    n_segments = len(arrays["documents"])
    arrays["starts"] = stored.get("starts", np.zeros(n_segments)).astype(np.int64)
    offsets = arrays["bin_offsets"]
    if (
        len(offsets) != len(arrays["widths"]) + 1
        or not len(arrays["starts"]) == len(arrays["lengths"]) == n_segments
        or offsets[0] != 0
        or offsets[-1] != n_segments
        or (np.diff(offsets) < 0).any()
    ):
        raise ValueError("the bins do not cover the segments")
    report = dict(told["report"])
    ranks = RankSpread(**report.pop("ranks"))
    made = PackReport(ranks=ranks, **report)
    documents = arrays["documents"]
    if n_segments and not 0 <= documents.min() <= documents.max() < made.n_documents:
        raise ValueError("a segment is of a document that there is not")
    if told["method"] not in METHODS or told["overflow"] not in OVERFLOWS:
        raise ValueError("a method or rule is unknown")
    for array in arrays.values():
        array.flags.writeable = False
    options = {name: told[name] for name in ("capacity", "method", "overflow", "multiple", "seed")}
    values: dict[str, Any] = {**options, **arrays}
    return Pack(edges=tuple(told["edges"]), report=made, **values)


def _pyarrow(feature: str) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError(feature, extra="parquet") from error
    return pa, pq


def _no_pack(path: Path, reason: str) -> FormatError:
    return FormatError(
        f"{path} is no pack: {reason}\nhint: jeton pack writes one", path=str(path), format="pack"
    )


Layout: TypeAlias = Literal["megatron", "trl", "axolotl", "padding-free"]

LAYOUTS: dict[Layout, dict[str, str]] = {
    "megatron": {"input_ids": "int32", "loss_mask": "int8", "seq_start_id": "int32"},
    "trl": {"input_ids": "int32", "labels": "int32", "seq_lengths": "int32"},
    "axolotl": {
        "input_ids": "int32",
        "attention_mask": "int8",
        "labels": "int32",
        "position_ids": "int32",
    },
    "padding-free": {
        "input_ids": "int32",
        "labels": "int32",
        "position_ids": "int32",
        "cu_seqlens": "int32",
        "max_seqlen": "",
    },
}
"""Columns of each, with the type of their lists; empty: one number a row."""

_TOKENS_AT_ONCE = 1 << 21
_MAX_BINS_AT_ONCE = 500
"""Rows of a row group: readers fetch a whole group for one row."""


def write_packed_parquet(
    pack: Pack,
    path: str | os.PathLike[str],
    *,
    tokens: TokenSource,
    pad_id: int = 0,
    layout: Layout = "megatron",
    on_progress: OnProgress | None = None,
) -> None:
    """Writes the tokens of every bin, whole or not at all.

    Segments without tokens are left out. Rows are not filled up to the capacity: the reader pads.

    Args:
        pack: Bins of ``"best-fit"`` or ``"first-fit"``.
        path: The file to write.
        tokens: Tokens of the documents.
        pad_id: The id that fills segments up to a multiple.
        layout: The columns.
        on_progress: Told the tokens that are written, after each row group.

    Raises:
        UsageError: The bins are batches or of other documents, or an id has more than 31 bits.
        OSError: The file cannot be written.
    """
    if pack.is_batches:
        raise UsageError(
            f"bins of {pack.method!r} are batches of padded rows, not packed rows\n"
            "hint: pack by 'best-fit' or 'first-fit'"
        )
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("writing Parquet", extra="parquet") from error
    tokens.check(pack, tokens_too=True)
    if layout not in LAYOUTS:
        raise UsageError(f"layout is {layout!r}; expected one of {', '.join(LAYOUTS)}")
    schema = pa.schema(
        [
            (name, pa.list_(pa.type_for_alias(kind)) if kind else pa.int32())
            for name, kind in LAYOUTS[layout].items()
        ]
    )
    width = int(pack.widths.max()) if len(pack) else 1
    at_once = max(1, min(_MAX_BINS_AT_ONCE, _TOKENS_AT_ONCE // max(1, width)))
    n_tokens = np.concatenate([[0], np.cumsum(pack.lengths)])
    with written_whole(path) as stream, pq.ParquetWriter(stream, schema) as writer:
        for first in range(0, len(pack), at_once):
            bounds = pack.bin_offsets[first : first + at_once + 1]
            writer.write_table(_rows(pa, schema, pack, bounds, tokens, pad_id))
            if on_progress is not None:
                done, total = int(n_tokens[bounds[-1]]), int(n_tokens[-1])
                on_progress(Progress("write", done, total, "tokens"))


def _rows(
    pa: Any, schema: Any, pack: Pack, bounds: NDArray[np.int64], tokens: TokenSource, pad_id: int
) -> Any:
    part = slice(int(bounds[0]), int(bounds[-1]))
    full = pack.lengths[part] > 0
    bin_of = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))[full]
    lengths = pack.lengths[part][full]
    sizes = -(-lengths // pack.multiple) * pack.multiple
    row_sizes = np.bincount(bin_of, weights=sizes, minlength=len(bounds) - 1).astype(np.int64)
    row_ends = np.concatenate([[0], np.cumsum(row_sizes)])
    firsts = np.cumsum(sizes) - sizes
    before = np.cumsum(lengths) - lengths
    places = np.repeat(firsts - before, lengths) + np.arange(int(lengths.sum()))
    found = tokens.take(pack.documents[part][full], pack.starts[part][full], lengths)
    if len(found) and not 0 <= int(found.min()) <= int(found.max()) < 2**31:
        raise UsageError("an id is outside 0 to 2,147,483,647, which packed Parquet can hold")
    ids = np.full(int(row_ends[-1]), pad_id, dtype=np.int32)
    ids[places] = found
    learned = tokens.take_learned(pack.documents[part][full], pack.starts[part][full], lengths)
    segment_ends = np.concatenate([[0], np.cumsum(np.bincount(bin_of, minlength=len(bounds) - 1))])
    made = _Laid(ids, places, learned, sizes, lengths, firsts, bin_of, row_ends, segment_ends)
    columns = []
    for kind in schema:
        ends, values = made.column(kind.name)
        if ends is None:
            columns.append(pa.array(values, type=kind.type))
            continue
        inner = pa.array(values, type=kind.type.value_type)
        columns.append(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), inner))
    return pa.table(columns, schema=schema)


@dataclass(frozen=True, slots=True, eq=False)
class _Laid:
    """Rows laid out one after another.

    Attributes:
        ids: Ids at all positions.
        places: Positions that hold a token.
        learned: Which of these are learned.
        sizes: Positions of each segment.
        lengths: Tokens of each segment.
        firsts: First position of each segment.
        bin_of: Row of each segment.
        row_ends: Positions before each row, and of all.
        segment_ends: Segments before each row, and of all.
    """

    ids: NDArray[np.int32]
    places: NDArray[np.int64]
    learned: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    firsts: NDArray[np.int64]
    bin_of: NDArray[np.int64]
    row_ends: NDArray[np.int64]
    segment_ends: NDArray[np.int64]

    def column(self, name: str) -> tuple[NDArray[np.int64] | None, NDArray[Any]]:
        """Returns the ends of the rows of a column, and its values."""
        match name:
            case "input_ids":
                return self.row_ends, self.ids
            case "loss_mask":
                mask = np.zeros(len(self.ids), dtype=np.int8)
                # A token has the mask of the one behind it.
                mask[self.places[:-1]] = self.learned[1:]
                mask[self.firsts + self.lengths - 1] = 0
                return self.row_ends, mask
            case "labels":
                labels = np.full(len(self.ids), IGNORED_LABEL, dtype=np.int32)
                labels[self.places] = np.where(self.learned, self.ids[self.places], IGNORED_LABEL)
                labels[self.firsts] = IGNORED_LABEL
                return self.row_ends, labels
            case "attention_mask":
                attended = np.zeros(len(self.ids), dtype=np.int8)
                attended[self.places] = 1
                return self.row_ends, attended
            case "position_ids":
                return self.row_ends, np.arange(len(self.ids)) - np.repeat(self.firsts, self.sizes)
            case "seq_start_id":
                return self.segment_ends, self.firsts - self.row_ends[self.bin_of]
            case "seq_lengths":
                return self.segment_ends, self.sizes
            case "cu_seqlens":
                n_rows = len(self.row_ends) - 1
                bounds = np.insert(
                    self.firsts + self.sizes - self.row_ends[self.bin_of], self.segment_ends[:-1], 0
                )
                return self.segment_ends + np.arange(n_rows + 1), bounds
            case _:
                longest = np.zeros(len(self.row_ends) - 1, dtype=np.int32)
                np.maximum.at(longest, self.bin_of, self.sizes.astype(np.int32))
                return None, longest
