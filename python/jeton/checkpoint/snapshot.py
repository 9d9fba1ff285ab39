"""All weight files of a directory, complete and free of contradictions, or an error.

``read_weights`` describes a directory that may be damaged; this reader is for those who write a
model again, where everything has to be there. Files that belong together are a group: the shards
that one index names, or the numbered files of one stem, or a file that stands alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jeton.checkpoint.safetensors import SafetensorsFile, Tensor, read_header
from jeton.errors import FormatError, LimitError
from jeton.formats.reading import read_object

INDEX_SUFFIX = ".safetensors.index.json"

_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.safetensors")
_MAX_FILES = 100_000
_MAX_SHOWN = 5
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True)
class WeightGroup:
    """Files whose tensors make up one model.

    Attributes:
        files: Their headers, in the order of their names.
        index: The index that names them; None where there is none.
    """

    files: tuple[SafetensorsFile, ...]
    index: Path | None

    @cached_property
    def tensors(self) -> Mapping[str, Tensor]:
        """All tensors by name."""
        return {name: tensor for file in self.files for name, tensor in file.tensors.items()}


def folder_files(folder: Path) -> list[Path]:
    """Returns the files of a folder and of those in it, sorted; links count as what they lead to.

    Raises:
        LimitError: There are more than any model has.
        OSError: A folder cannot be read.
    """
    found: list[Path] = []
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        for entry in sorted(current.iterdir()):
            if entry.is_dir():
                # A repository's history is no part of its model; a link to a folder may be a loop.
                if entry.name not in (".git", ".cache") and not entry.is_symlink():
                    waiting.append(entry)
            else:
                found.append(entry)
            if len(found) + len(waiting) > _MAX_FILES:
                raise LimitError(
                    f"{folder} has more than {_MAX_FILES:,} files\nhint: name the folder of one "
                    "model",
                    what="files of a model",
                    limit=_MAX_FILES,
                )
    return sorted(found)


def read_groups(folder: str | Path) -> tuple[WeightGroup, ...]:
    """Read the headers of all safetensors files of a directory, and check that nothing is missing.

    Raises:
        FormatError: A file is damaged, missing, or at odds with an index or another file; or there
            are only weights that would have to be unpickled.
        OSError: A file cannot be read.
    """
    path = Path(folder)
    files = folder_files(path)
    by_folder: dict[Path, list[Path]] = {}
    for file in files:
        if file.name.endswith((".safetensors", INDEX_SUFFIX)):
            by_folder.setdefault(file.parent, []).append(file)
    groups = [group for place in sorted(by_folder) for group in _groups_of(by_folder[place])]
    if not groups:
        pickles = [file for file in files if file.suffix in _PICKLES]
        if pickles:
            raise _bad(
                pickles[0],
                "is a pickle, a program that loading would run; it is not opened",
                "save the model as safetensors first",
            )
        raise _bad(path, "has no .safetensors file", "name the directory of a model")
    return tuple(groups)


def index_json(
    source: Path, weight_map: Mapping[str, str], total_size: int, total_parameters: int | None
) -> bytes:
    """Returns an index like ``source`` with other tensors; the other entries stay as they are."""
    index = read_object(source) or {}
    metadata = index.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    metadata["total_size"] = total_size
    if total_parameters is not None and "total_parameters" in metadata:
        metadata["total_parameters"] = total_parameters
    index = {"metadata": metadata, **index}
    index["metadata"] = metadata
    index["weight_map"] = dict(weight_map)
    return (json.dumps(index, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _groups_of(files: list[Path]) -> list[WeightGroup]:
    """The groups of one folder."""
    there = {file.name: file for file in files}
    groups = []
    taken: set[str] = set()
    for name in sorted(there):
        if name.endswith(INDEX_SUFFIX):
            group, names = _indexed(there[name], there)
            twice = taken & names
            if twice:
                raise _bad(there[name], f"names {min(twice)}, which another index names, too")
            groups.append(group)
            taken |= names
    stems: dict[str, list[str]] = {}
    for name in sorted(there):
        if name.endswith(".safetensors") and name not in taken:
            match = _SHARD.fullmatch(name)
            stems.setdefault(match["stem"] if match else name, []).append(name)
    for names_of_stem in stems.values():
        _check_numbers(there, names_of_stem)
        groups.append(_group([there[name] for name in names_of_stem], None))
    return groups


def _indexed(index: Path, there: Mapping[str, Path]) -> tuple[WeightGroup, set[str]]:
    stated = (read_object(index) or {}).get("weight_map")
    if not isinstance(stated, dict) or not stated or not all(map(_is_plain, stated.values())):
        raise _bad(index, "has no usable weight_map")
    names = set(stated.values())
    missing = sorted(names - set(there))
    if missing:
        raise _bad(
            index,
            f"names {_listed(missing)}, not there",
            "the download was not finished; fetch the missing files",
        )
    group = _group([there[name] for name in sorted(names)], index)
    found = {name: tensor.file.name for name, tensor in group.tensors.items()}
    lacking = [name for name in stated if name not in found]
    if lacking:
        raise _bad(
            index,
            f"names {_listed(lacking)}, which {stated[lacking[0]]} does not have",
            "index and shards are of two versions; fetch all of one",
        )
    unnamed = [name for name in found if name not in stated]
    if unnamed:
        raise _bad(
            index,
            f"does not name {_listed(unnamed)}, which {found[unnamed[0]]} has",
            "index and shards are of two versions; fetch all of one",
        )
    moved = [name for name in stated if stated[name] != found[name]]
    if moved:
        raise _bad(
            index,
            f"looks for {moved[0]!r} in {stated[moved[0]]}; {found[moved[0]]} has it",
            "index and shards are of two versions; fetch all of one",
        )
    return group, names


def _group(paths: list[Path], index: Path | None) -> WeightGroup:
    files = tuple(read_header(path) for path in paths)
    owner: dict[str, Path] = {}
    for file in files:
        for name in file.tensors:
            if name in owner:
                raise _bad(
                    file.path,
                    f"has the tensor {name[:120]!r}, which {owner[name].name} has, too",
                    "remove the file that does not belong to this model",
                )
            owner[name] = file.path
    return WeightGroup(files, index)


def _check_numbers(there: Mapping[str, Path], names: list[str]) -> None:
    """Raises where numbered files lack some."""
    totals = {match["total"] for name in names if (match := _SHARD.fullmatch(name))}
    if len(totals) > 1:
        raise _bad(
            there[names[0]],
            f"is one of {int(min(totals))} files, and others are of {int(max(totals))}",
            "remove the files that do not belong to this model",
        )
    for total in totals:
        match = _SHARD.fullmatch(names[0])
        assert match is not None
        # A name may announce 99,999 files; those that are there are at least one.
        for number in range(1, int(total) + 1):
            wanted = f"{match['stem']}-{number:05d}-of-{total}.safetensors"
            if wanted not in there:
                raise _bad(
                    there[names[0]].parent / wanted,
                    "is missing",
                    "the download was not finished; fetch the missing files",
                )


def _is_plain(name: object) -> bool:
    # A path in an index could lead anywhere.
    return isinstance(name, str) and Path(name).name == name and name.endswith(".safetensors")


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[:120]) for name in names[:_MAX_SHOWN])
    return shown if len(names) <= _MAX_SHOWN else f"{shown} and {len(names) - _MAX_SHOWN:,} more"


def _bad(file: Path, reason: str, hint: str = "fetch or copy it again") -> FormatError:
    return FormatError(f"{file} {reason}\nhint: {hint}", path=str(file), format="safetensors")
