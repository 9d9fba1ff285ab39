"""Where a folder keeps its tokenizer, if not at its top: caches, pipelines, adapters.

A folder of the Hugging Face cache (``models--ORG--NAME``) has one folder for each revision; a
pipeline of diffusers has ``tokenizer/``; an adapter (LoRA) names the model that it was trained on.
Nothing is fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from jeton.errors import FormatError
from jeton.formats.documents import read_object
from jeton.formats.finding import find_tokenizer_file, folder_entries

__all__ = [
    "adapted_model",
    "cached_repository",
    "folder_label",
    "is_repository_name",
    "resolve_folder",
    "snapshot_of",
    "why_no_tokenizer",
]

_CACHED = "models--"
_ADAPTER = "adapter_config.json"
_MAIN = "main"
_MAX_STEPS = 4
"""Folders that lead to folders: an adapter of a model in the cache is three."""

_REPOSITORY_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?")
_COMMIT = re.compile(r"[0-9A-Za-z._-]{1,64}")
_SUBFOLDER = re.compile(r"tokenizer(?:_[0-9a-z]+)?|[0-9]_Transformer")
"""Names that diffusers and sentence-transformers give to the folder of a tokenizer."""


def is_repository_name(text: str) -> bool:
    """True if a text can be the name of a model on the Hugging Face Hub: ``Qwen/Qwen2.5-7B``."""
    return bool(_REPOSITORY_NAME.fullmatch(text)) and "--" not in text and ".." not in text


def cached_repository(name: str) -> Path | None:
    """The folder of a model in the local Hugging Face cache; None where it is not there.

    The places are those of huggingface_hub: ``HF_HUB_CACHE``, ``HUGGINGFACE_HUB_CACHE``,
    ``HF_HOME/hub``, ``XDG_CACHE_HOME/huggingface/hub``, ``~/.cache/huggingface/hub``.
    """
    if not is_repository_name(name):
        return None
    for folder in _hub_caches():
        found = folder / (_CACHED + name.replace("/", "--"))
        if found.is_dir():
            return found
    return None


def _hub_caches() -> Iterator[Path]:
    for variable, inside in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        value = os.environ.get(variable)
        if value:
            yield Path(value).expanduser() / inside
    try:
        yield Path.home() / ".cache" / "huggingface" / "hub"
    except RuntimeError:  # there is no home folder
        return


def resolve_folder(folder: Path) -> Path:
    """The folder that the tokenizer lies in: the given one, unless it only leads there.

    Raises:
        FormatError: It leads to several.
        OSError: It cannot be read.
    """
    for _ in range(_MAX_STEPS):
        if (folder / "tokenizer.json").is_file() or find_tokenizer_file(folder) is not None:
            return folder
        inside = snapshot_of(folder) or _subfolder(folder) or _base_of_adapter(folder)
        if inside is None:
            return folder
        folder = inside
    return folder


def folder_label(folder: Path) -> str:
    """Label of a tokenizer from a folder: its name, or that of the model in a cache."""
    place = folder.absolute()
    for part in (place, *list(place.parents)[:3]):
        if part.name.startswith(_CACHED):
            return part.name.removeprefix(_CACHED).replace("--", "/")
    return folder.resolve().name


def snapshot_of(folder: Path) -> Path | None:
    """The revision of a folder of the cache that counts; None where it is no such folder.

    ``refs/main`` names it; without one, the only revision that is there.

    Raises:
        FormatError: There are several, and nothing says which.
    """
    snapshots = folder if folder.name == "snapshots" else folder / "snapshots"
    if not snapshots.is_dir() or not snapshots.absolute().parent.name.startswith(_CACHED):
        return None
    main = snapshots.parent / "refs" / _MAIN
    if main.is_file():
        with main.open("rb") as stream:
            commit = stream.read(100).decode("ascii", "replace").strip()
        if _COMMIT.fullmatch(commit) and (snapshots / commit).is_dir():
            return snapshots / commit
    found = [name for name in folder_entries(snapshots) if (snapshots / name).is_dir()]
    if len(found) > 1:
        shown = ", ".join(found[:4]) + (" ..." if len(found) > 4 else "")
        raise FormatError(
            f"{folder} holds several revisions and no refs/{_MAIN} that names one: {shown}\n"
            f"hint: give the path of one: {snapshots / found[0]}",
            path=str(folder),
        )
    return snapshots / found[0] if found else None


def _subfolder(folder: Path) -> Path | None:
    """The folder of the tokenizer in that of a pipeline.

    Raises:
        FormatError: There are several.
    """
    found = []
    for name in folder_entries(folder):
        inside = folder / name
        if not _SUBFOLDER.fullmatch(name) or not inside.is_dir():
            continue
        if find_tokenizer_file(inside) is not None:
            found.append(inside)
    if len(found) > 1:
        shown = ", ".join(f"{path.name}/" for path in found)
        raise FormatError(
            f"{folder} holds several tokenizers: {shown}\nhint: give the path of one: {found[0]}",
            path=str(folder),
        )
    return found[0] if found else None


def adapted_model(folder: Path) -> str | None:
    """The model that an adapter belongs to; None where the folder is of no adapter."""
    base = (read_object(folder / _ADAPTER) or {}).get("base_model_name_or_path")
    return base if isinstance(base, str) and base else None


def _base_of_adapter(folder: Path) -> Path | None:
    base = adapted_model(folder)
    if base is None:
        return None
    for place in (Path(base).expanduser(), folder / base):
        if place.is_dir():
            return place
    cached = cached_repository(base)
    return None if cached is None else snapshot_of(cached)


def why_no_tokenizer(folder: Path) -> str:
    """Explain a folder without a tokenizer, with a hint: the end of an error's sentence."""
    base = adapted_model(folder)
    if base is not None:
        return (
            f": it is an adapter of {base!r}, whose tokenizer it takes, and that is not on this "
            f"machine\nhint: nothing is fetched; `hf download {base} --include '*token*'` brings "
            "the files, or give the path of that model's folder"
        )
    if (folder / "snapshots").is_dir() or folder.name == "snapshots":
        return (
            "; its snapshots/ are empty\nhint: nothing is fetched; `hf download` fetches a model "
            "whole"
        )
    names = folder_entries(folder)
    if "source.spm" in names:
        return (
            " that Jeton reads as one: Marian's class cuts text with source.spm and numbers the "
            f"pieces by vocab.json\nhint: {folder / 'source.spm'} alone loads, with the pieces' "
            "own numbers, which are not the model's ids; a tokenizer.json says it all"
        )
    expected = (
        "expected tokenizer.json, tokenizer.jeton.json, vocab.json with merges.txt, vocab.txt, "
        "tokenizer.model, tekken.json, or one .tiktoken or .gguf file in it"
    )
    inside = [n for n in names if n.startswith(_CACHED) and (folder / n).is_dir()]
    if inside:
        return (
            f"; it is a cache of models\nhint: name one: {inside[0].removeprefix(_CACHED)}".replace(
                "--", "/"
            )
            + f", or {folder / inside[0]}"
        )
    others = [n for n in names if n.endswith((".model", ".spm", ".bpe")) and (folder / n).is_file()]
    if others:
        return f"\nhint: {expected}; by its path, {folder / others[0]} may load"
    return f"\nhint: {expected}"
