"""The manifest of a data set, and the journal of a run that is not finished.

``manifest.json`` is written last: who finds it finds everything. Until then a plan says what is
made of what, and a journal has a line for each finished shard, so that a run can be taken up again.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jeton._files import write_whole
from jeton._foreign import json_of
from jeton._plain import strict_json
from jeton.datasets.formats.base import TEMPORARY_SUFFIX, ShardRecord, sync_folder
from jeton.datasets.options import DatasetOptions
from jeton.datasets.pieces import PieceCounts
from jeton.datasets.shards import FinishedShard, ShardPosition
from jeton.errors import FormatError, UsageError

# Fields of a manifest, checked before anything is made of them: it may come from anywhere.

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


MANIFEST_NAME = "manifest.json"
PLAN_NAME = ".jeton-plan.json"
JOURNAL_NAME = ".jeton-journal.jsonl"
SCHEMA_VERSION = "jeton.dataset/1"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All that the bytes of a data set depend on.

    Attributes:
        options: Settings of the run.
        tokenizer: Name, fingerprint, vocabulary size, ids around documents.
        inputs: Path, size and time of each input; time None: it cannot be known.
        units: SHA-256 of how the work is cut.
    """

    options: DatasetOptions
    tokenizer: dict[str, Any]
    inputs: tuple[tuple[str, int, int | str | None], ...]
    units: str

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "options": self.options.to_dict(),
            "tokenizer": self.tokenizer,
            "inputs": [
                {"path": path, "n_bytes": n_bytes, "changed": changed}
                for path, n_bytes, changed in self.inputs
            ],
            "units": self.units,
        }


@dataclass(frozen=True, slots=True)
class DatasetManifest:
    """A finished data set.

    Attributes:
        plan: All that it was made of, as JSON.
        dtype: Type of the ids, as NumPy names it.
        counts: Counts of the documents that were read.
        shards: The shards, in order.
        other_files: Files that tell of all shards.
    """

    plan: dict[str, Any]
    dtype: str
    counts: PieceCounts
    shards: tuple[ShardRecord, ...]
    other_files: tuple[str, ...]

    @property
    def options(self) -> DatasetOptions:
        """Settings of the run."""
        return DatasetOptions.from_dict(self.plan["options"])

    @property
    def n_tokens(self) -> int:
        """Tokens of all shards."""
        return sum(shard.n_tokens for shard in self.shards)

    @property
    def n_documents(self) -> int:
        """Documents of all shards."""
        return sum(shard.n_documents for shard in self.shards)

    def to_dict(self) -> dict[str, Any]:
        """The manifest as JSON has it."""
        return {
            **self.plan,
            "dtype": self.dtype,
            "n_tokens": self.n_tokens,
            "n_documents": self.n_documents,
            "read": asdict(self.counts),
            "shards": [shard.to_dict() for shard in self.shards],
            "other_files": list(self.other_files),
        }

    def write(self, folder: Path) -> None:
        """Write ``manifest.json``.

        Raises:
            OSError: The disk is full, or cannot be written to.
        """
        sync_folder(folder)
        write_whole(folder / MANIFEST_NAME, strict_json(self.to_dict(), indent=2) + "\n")
        sync_folder(folder)

    @classmethod
    def read(cls, folder: Path) -> DatasetManifest:
        """Return the manifest of a folder.

        Raises:
            FormatError: It is no manifest, or of a later version.
            OSError: There is none.
        """
        path = folder / MANIFEST_NAME
        try:
            fields = json_of(path.read_text(encoding="utf-8"))
            if fields["schema_version"] != SCHEMA_VERSION:
                raise FormatError(
                    f"{path}: its version is {fields['schema_version']!r}; expected "
                    f"{SCHEMA_VERSION!r}",
                    path=str(path),
                )
            check_fields(fields)
            return cls(
                plan={
                    name: fields[name]
                    for name in ("schema_version", "options", "tokenizer", "inputs", "units")
                },
                dtype=str(fields["dtype"]),
                counts=PieceCounts(**fields["read"]),
                shards=tuple(ShardRecord.from_dict(shard) for shard in fields["shards"]),
                other_files=tuple(fields["other_files"]),
            )
        except (ValueError, KeyError, TypeError, UsageError) as error:
            if isinstance(error, FormatError):
                raise
            lacks = f"it has no {error}" if isinstance(error, KeyError) else ""
            raise FormatError(
                f"{path}: not the manifest of a data set: {lacks or str(error).splitlines()[0]}",
                path=str(path),
            ) from error


class RunJournal:
    """Plan and finished shards of a run, in its folder."""

    def __init__(self, folder: Path, plan: RunPlan) -> None:
        self._folder, self._plan = folder, plan
        self.shards: list[FinishedShard] = []
        """The shards that are finished."""

    def begin(self, *, resume: bool) -> None:
        """Write the plan, or go on from what is there.

        Raises:
            UsageError: The folder holds another data set, or an unfinished one and nobody said
                that it is to be resumed, or it was made of something else.
            OSError: The folder cannot be made or written to.
        """
        folder = self._folder
        folder.mkdir(parents=True, exist_ok=True)
        plan_path = folder / PLAN_NAME
        if (folder / MANIFEST_NAME).exists():
            raise UsageError(
                f"{folder} holds a finished data set\nhint: name another folder, or remove it"
            )
        if plan_path.exists():
            if not resume:
                raise UsageError(
                    f"{folder} holds a run that was not finished\n"
                    "hint: --resume goes on; to start over, remove the folder"
                )
            self.check_same(json_of(plan_path.read_text(encoding="utf-8")))
            self._read()
        else:
            write_whole(plan_path, strict_json(self._plan.to_dict()))
        for path in folder.glob(f"*{TEMPORARY_SUFFIX}"):
            with suppress(OSError):
                path.unlink()

    def check_same(self, before: dict[str, Any]) -> None:
        """Refuse to go on from a run that was made of something else.

        Raises:
            UsageError: It differs; the message says in what.
        """
        now = json.loads(strict_json(self._plan.to_dict()))
        if before == now:
            return
        for what in _differences(before, now):
            raise UsageError(
                f"{self._folder} cannot be resumed: {what}\n"
                "hint: resume with what the run began with, or start over in an empty folder"
            )
        raise UsageError(f"{self._folder} cannot be resumed: it was begun by another version")

    def _read(self) -> None:
        path = self._folder / JOURNAL_NAME
        if not path.exists():
            return
        kept = 0
        for line in path.read_bytes().splitlines(keepends=True):
            try:
                fields = json_of(line)
                record = ShardRecord.from_dict(fields["shard"])
                following = ShardPosition(
                    **{
                        **fields["following"],
                        "counts": PieceCounts(**fields["following"]["counts"]),
                    }
                )
            except (ValueError, KeyError, TypeError):
                # The line that was being written when the run ended.
                break
            if not line.endswith(b"\n") or not self._is_there(record):
                break
            self.shards.append(FinishedShard(record, following))
            kept += len(line)
        with path.open("r+b") as stream:
            stream.truncate(kept)

    def _is_there(self, record: ShardRecord) -> bool:
        try:
            return all(
                (self._folder / file.name).stat().st_size == file.n_bytes for file in record.files
            )
        except OSError:
            return False

    def add(self, shard: FinishedShard) -> None:
        """Note a finished shard, on the disk.

        Raises:
            OSError: The disk is full.
        """
        self.shards.append(shard)
        sync_folder(self._folder)
        fields = {"shard": shard.record.to_dict(), "following": asdict(shard.following)}
        path = self._folder / JOURNAL_NAME
        with path.open("ab") as stream:
            stream.write((strict_json(fields) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())

    def end(self) -> None:
        """Remove plan and journal."""
        for name in (JOURNAL_NAME, PLAN_NAME):
            (self._folder / name).unlink(missing_ok=True)


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    found = []
    for name in now["tokenizer"]:
        was, is_ = before.get("tokenizer", {}).get(name), now["tokenizer"][name]
        if was == is_ or name == "name":
            continue
        if name in ("before", "behind"):
            found.append(f"the ids {name} each document were {was}, now they are {is_}")
        else:
            found.append(f"the tokenizer is another one ({name}: {was}, now {is_})")
        break
    for name, value in now["options"].items():
        was = before.get("options", {}).get(name)
        if was != value:
            found.append(f"the option {name} was {was!r}, now it is {value!r}")
    inputs_before = {item["path"]: item for item in before.get("inputs", [])}
    for item in now["inputs"]:
        was = inputs_before.pop(item["path"], None)
        if was is None:
            found.append(f"the input {item['path']} was not there")
        elif was != item:
            found.append(
                f"the input {item['path']} changed: it had {was['n_bytes']:,} bytes, now it has "
                f"{item['n_bytes']:,}"
                + ("" if was["n_bytes"] != item["n_bytes"] else ", and was written to")
            )
    found += [f"the input {path} is not among the inputs any more" for path in inputs_before]
    return found or ["the inputs come in another order"]


def units_digest(units: list[list[Any]]) -> str:
    """SHA-256 of how work is cut."""
    return hashlib.sha256(json.dumps(units).encode()).hexdigest()
