"""Fields of a manifest, checked before anything is made of them: it may come from anywhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from jeton.datasets.options import DatasetOptions
from jeton.datasets.pieces import PieceCounts

_MAX_NUMBER = 1 << 62

_FILE = {"name": str, "n_bytes": int, "digest": str}
_SHARD = {
    "number": int,
    "n_tokens": int,
    "n_documents": int,
    "files": [_FILE],
    "inputs": [{"path": str, "first_document": int, "n_documents": int}],
}
_TOKENIZER = {
    "name": str,
    "fingerprint": str,
    "vocab_size": int,
    "before": [int],
    "behind": [int],
}
_MANIFEST: dict[str, Any] = {
    "options": {},
    "tokenizer": _TOKENIZER,
    "inputs": [{"path": str, "n_bytes": int, "changed": (int, str, type(None))}],
    "units": str,
    "dtype": str,
    "read": dict.fromkeys(asdict(PieceCounts()), int),
    "shards": [_SHARD],
    "other_files": [str],
}


def check_fields(fields: Any) -> None:
    """Refuse fields that no run has written.

    Raises:
        ValueError: The message names the first of them.
        JetonError: Options contradict one another.
    """
    _check(fields, _MANIFEST, "it")
    for name, default in asdict(DatasetOptions()).items():
        value = fields["options"].get(
            name, list(default) if isinstance(default, tuple) else default
        )
        kinds: Any = [str] if isinstance(default, tuple) else type(default)
        _check(value, (int, type(None)) if default is None else kinds, f"options.{name}")
    DatasetOptions.from_dict(fields["options"]).check()
    try:
        is_number = np.dtype(fields["dtype"]).kind in "iu"
    except TypeError:
        is_number = False
    if not is_number:
        raise ValueError(f"dtype is {fields['dtype']!r}; expected whole numbers, as uint16")
    for place, shard in enumerate(fields["shards"]):
        if not shard["files"]:
            raise ValueError(f"shards[{place}] has no files")
        for file in shard["files"]:
            if not file["name"] or "/" in file["name"] or "\\" in file["name"]:
                raise ValueError(f"shards[{place}]: {file['name']!r} is no name of a file")
            if file["digest"].partition(":")[0] not in ("crc32", "sha256"):
                raise ValueError(f"shards[{place}]: {file['digest'][:40]!r} is no digest")


def _check(value: Any, wanted: Any, place: str) -> None:
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            raise ValueError(f"{place} is no object")
        for name, inner in wanted.items():
            if name not in value:
                raise ValueError(f"{place} has no {name!r}")
            _check(value[name], inner, name if place == "it" else f"{place}.{name}")
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            raise ValueError(f"{place} is no list")
        for number, item in enumerate(value):
            _check(item, wanted[0], f"{place}[{number}]")
    else:
        is_flag = isinstance(value, bool) and wanted is not bool
        if is_flag or not isinstance(value, wanted):
            raise ValueError(f"{place} is of type {type(value).__name__}")
        if isinstance(value, str) and "\0" in value:
            raise ValueError(f"{place} holds a NUL")
        if (
            isinstance(value, int)
            and not 0 <= value < _MAX_NUMBER
            and not place.endswith("changed")
        ):
            raise ValueError(f"{place} is {value}")
