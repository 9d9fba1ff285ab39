"""Packs as small files: which documents share a bin, without their tokens.

``.npz`` holds flat arrays; ``.parquet`` a row for each bin. Both name their version and options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import written_whole
from jeton._foreign import arrays_of, json_of
from jeton._plain import strict_json
from jeton.errors import FormatError, MissingExtraError, UsageError
from jeton.planning.packing.result import METHODS, Pack, PackReport, RankSpread
from jeton.planning.packing.segments import OVERFLOWS

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
