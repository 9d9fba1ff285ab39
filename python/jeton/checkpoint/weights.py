"""The weight files of a model directory: which tensors there are, and what is wrong with them.

A directory that is damaged is still described as far as it goes; what could not be read is in
``Weights.problems``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jeton.checkpoint.safetensors import LFS_POINTER, SafetensorsFile, Tensor, read_header
from jeton.errors import JetonError
from jeton.formats.reading import read_object

ProblemKind = Literal["missing", "lfs_pointer", "damaged", "missing_tensor", "pickle"]

_INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.safetensors")
_MAX_ENTRIES = 10_000
"""Entries of a directory that are looked at."""
_MAX_PROBLEMS = 50

# Names of the matrices, as the model classes of transformers 5.23.0 and the checkpoints of Meta and
# Mistral have them (read 2026-11-21): by the end of the name, the likeliest first.
_EMBEDDINGS = (
    "shared.weight",
    "embed_tokens.weight",
    "wte.weight",
    "word_embeddings.weight",
    "embed_in.weight",
    "tok_embeddings.weight",
    "backbone.embedding.weight",
    "backbone.embeddings.weight",
    "emb.weight",
)
_HEADS = (
    "lm_head.weight",
    "embed_out.weight",
    "cls.predictions.decoder.weight",
    "lm_head.decoder.weight",
    "generator_lm_head.weight",
    "lm_head_decoder.weight",
)
_HEADS_AT_THE_TOP = ("output.weight", "head.weight")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something that is wrong with the files.

    Attributes:
        kind: ``missing`` (a file that others count on), ``lfs_pointer`` (never fetched),
            ``damaged`` (cut off, or contradicts itself), ``missing_tensor`` (the index names it,
            its file does not have it), ``pickle`` (weights that are programs, and not opened).
        file: Its name in the directory.
        detail: One sentence.
    """

    kind: ProblemKind
    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a directory.

    Attributes:
        files: The safetensors files whose headers could be read.
        tensors: All their tensors by name.
        embedding: The matrix of token embeddings, (n_rows, hidden_size); None where none of the
            usual names is there.
        head: The output matrix, likewise; None where the model has none of its own.
        problems: Faults of the files; the first 50.
    """

    files: tuple[SafetensorsFile, ...]
    tensors: Mapping[str, Tensor]
    embedding: Tensor | None
    head: Tensor | None
    problems: tuple[FileProblem, ...]

    @property
    def is_complete(self) -> bool:
        """True if every tensor that should be there could be looked at."""
        return bool(self.files) and not any(p.kind != "pickle" for p in self.problems)


def read_weights(folder: str | Path) -> Weights:
    """Describe the weights of a directory; a damaged file is a problem, not an error.

    Raises:
        OSError: The directory cannot be read.
    """
    path = Path(folder)
    problems: list[FileProblem] = []
    names, wanted = _shards(path, problems)
    files = []
    tensors: dict[str, Tensor] = {}
    for name in names:
        try:
            file = read_header(path / name)
        except FileNotFoundError:
            problems.append(FileProblem("missing", name, f"{name} is not there"))
            continue
        except (JetonError, OSError) as error:
            problems.append(damage(path, name, error))
            continue
        files.append(file)
        tensors.update(file.tensors)
    read = {file.path.name for file in files}
    for tensor, name in wanted.items():
        if name in read and tensor not in tensors and len(problems) < _MAX_PROBLEMS:
            detail = f"the index looks for {tensor!r} in {name}, which does not have it"
            problems.append(FileProblem("missing_tensor", name, detail))
    return Weights(
        files=tuple(files),
        tensors=tensors,
        embedding=_matrix(tensors, _EMBEDDINGS),
        head=_matrix(tensors, _HEADS) or _at_the_top(tensors),
        problems=tuple(problems[:_MAX_PROBLEMS]),
    )


def damage(folder: Path, name: str, error: Exception) -> FileProblem:
    """The problem that an error in reading a file is."""
    kind: ProblemKind = "lfs_pointer" if is_lfs_pointer(folder / name) else "damaged"
    return FileProblem(kind, name, str(error).split("\n")[0])


def is_lfs_pointer(file: Path) -> bool:
    """True if a file is what Git LFS leaves where it has not fetched one."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            return stream.read(len(LFS_POINTER)) == LFS_POINTER
    except OSError:
        return False


def _shards(path: Path, problems: list[FileProblem]) -> tuple[list[str], dict[str, str]]:
    """The names of the files, and where the index has each tensor."""
    try:
        index = read_object(path / _INDEX)
    except (JetonError, OSError) as error:
        problems.append(damage(path, _INDEX, error))
        index = None
    if index is not None:
        stated = index.get("weight_map")
        if isinstance(stated, dict) and all(_is_plain(name) for name in stated.values()):
            return sorted(set(stated.values())), stated
        problems.append(FileProblem("damaged", _INDEX, f"{_INDEX} has no usable weight_map"))
    there = [
        entry.name
        for _, entry in zip(range(_MAX_ENTRIES), path.iterdir(), strict=False)
        if entry.is_file()
    ]
    found = sorted(name for name in there if name.endswith(".safetensors"))
    # An adapter has no embeddings of the model; Mistral's and Meta's own files repeat the others.
    found = [name for name in found if not name.startswith("adapter_")]
    if "model.safetensors" in found:
        return ["model.safetensors"], {}
    usual = [name for name in found if not name.startswith("consolidated")]
    if not found:
        pickles = sorted(n for n in there if n.endswith((".bin", ".pt", ".pth")) and "model" in n)
        if pickles:
            detail = f"{pickles[0]} is a pickle, a program that loading would run; it is not opened"
            problems.append(FileProblem("pickle", pickles[0], detail))
    return _with_missing(usual or found), {}


def _is_plain(name: object) -> bool:
    # A path in an index could lead anywhere.
    return isinstance(name, str) and Path(name).name == name and name.endswith(".safetensors")


def _with_missing(names: list[str]) -> list[str]:
    """The names, with those that a row of numbered shards lacks."""
    complete = set(names)
    for name in names:
        match = _SHARD.fullmatch(name)
        if match is None:
            continue
        total = min(int(match["total"]), _MAX_ENTRIES)
        complete |= {
            f"{match['stem']}-{number:05d}-of-{match['total']}.safetensors"
            for number in range(1, total + 1)
        }
    return sorted(complete)


def _matrix(tensors: Mapping[str, Tensor], ends: tuple[str, ...]) -> Tensor | None:
    for end in ends:
        found = [
            tensor
            for name, tensor in tensors.items()
            if (name == end or name.endswith("." + end)) and len(tensor.shape) == 2
        ]
        if found:
            # A model with a second tower has the matrix with the most rows for text.
            return max(found, key=lambda tensor: (tensor.shape[0], -len(tensor.name)))
    return None


def _at_the_top(tensors: Mapping[str, Tensor]) -> Tensor | None:
    for name in _HEADS_AT_THE_TOP:
        tensor = tensors.get(name)
        if tensor is not None and len(tensor.shape) == 2:
            return tensor
    return None
