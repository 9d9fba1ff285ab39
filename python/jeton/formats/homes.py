"""Where a folder keeps its tokenizer, if not at its top: caches, pipelines, adapters.

A folder of the Hugging Face cache (``models--ORG--NAME``) has one folder for each revision; a
pipeline of diffusers has ``tokenizer/``; an adapter (LoRA) names the model that it was trained on.
Nothing is fetched.

Which file of a folder is the tokenizer.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from jeton._nearest import nearest
from jeton.errors import FormatError
from jeton.formats.names import COMPRESSED_SUFFIXES, plain_name
from jeton.formats.reading import read_object

# In the order of preference: what says everything comes before what needs a second file.
_NAMES = (
    "tokenizer.jeton.json",
    "tokenizer.json",
    "tekken.json",
    "vocab.json",
    "encoder.json",
    "vocab.txt",
    "tokenizer.model",
    "tiktoken.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)

_PAIRS = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}

# Files of any name with one of these endings, if there is only one.
_ENDINGS = ((".tiktoken", "rank files"), (".gguf", "GGUF models"))
# Files whose names begin and end so: RWKV's list and CLIP's merges.
_PUBLISHED = (("rwkv_vocab", ".txt"), ("bpe_simple_vocab", ".txt"))
_VERSIONED = "tokenizer.model.v"

_MAX_ENTRIES = 10_000
"""Entries of a folder that are looked at for names that are not fixed; a folder of documents may
have millions."""


def find_tokenizer_file(folder: Path) -> Path | None:
    """The file to load; None where there is none.

    Raises:
        FormatError: Several rank files, or models, and nothing says which.
        OSError: The folder cannot be read.
    """
    for name in _NAMES:
        found = _stored(folder, name)
        if found is None or (name in _PAIRS and _stored(folder, _PAIRS[name]) is None):
            # A vocab.json alone may belong to a tokenizer of another kind.
            continue
        return found
    names = folder_entries(folder)
    for ending, what in _ENDINGS:
        files = [name for name in names if plain_name(name).endswith(ending)]
        files = [name for name in files if (folder / name).is_file()]
        if len(files) > 1:
            shown = ", ".join(files[:8]) + (" ..." if len(files) > 8 else "")
            raise FormatError(
                f"{folder} holds several {what}: {shown}\nhint: give the path of one",
                path=str(folder),
            )
        if files:
            return folder / files[0]
    for start, end in _PUBLISHED:
        for name in names:
            plain = plain_name(name)
            if plain.startswith(start) and plain.endswith(end) and (folder / name).is_file():
                return folder / name
    # Mistral's: tokenizer.model.v3 and the like.
    versions = [name for name in names if name.startswith(_VERSIONED) and (folder / name).is_file()]
    if versions:
        return folder / versions[-1]
    if is_of_marian(folder):
        return None
    # Alone after all: the error says what is missing beside it.
    return next((path for name in _PAIRS if (path := _stored(folder, name))), None)


def is_of_marian(folder: Path) -> bool:
    """True for Marian's folders: a vocab.json that needs no merges, and two models beside it."""
    said = read_object(folder / "tokenizer_config.json") or {}
    is_named = str(said.get("tokenizer_class", "")).startswith("Marian")
    return is_named or (folder / "source.spm").is_file()


def _stored(folder: Path, name: str) -> Path | None:
    for suffix in ("", *COMPRESSED_SUFFIXES):
        if (folder / (name + suffix)).is_file():
            return folder / (name + suffix)
    return None


def folder_entries(folder: Path) -> list[str]:
    """The names in a folder, sorted; the first ten thousand of more.

    Raises:
        OSError: The folder cannot be read.
    """
    names = []
    with os.scandir(folder) as entries:
        for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False):
            names.append(entry.name)
    return sorted(names)


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


def missing_path(path: Path) -> FileNotFoundError:
    """The error for a file or folder that is not there, with the nearest name that is."""
    folder = path.parent
    hint = "look at the spelling; `jeton vocab list` has the names that are at hand"
    if not folder.is_dir():
        hint = f"there is no folder {str(folder)!r} either"
    elif near := nearest(path.name, folder_entries(folder), limit=1):
        hint = f"did you mean {str(folder / near[0])!r}?"
    error = FileNotFoundError(f"there is no file or folder {str(path)!r}\nhint: {hint}")
    # Not `filename`: with it the class would compose a message of its own.
    error.errno = errno.ENOENT
    return error


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
        # A place on another machine is no name.
        if not is_repository_name(base):
            return (
                f": it is an adapter of the model in {base!r}, whose tokenizer it takes, and there "
                "is no such folder\nhint: give the path of that model's folder"
            )
        return (
            f": it is an adapter of {base!r}, whose tokenizer it takes, and that is not on this "
            f"machine\nhint: nothing is fetched; `hf download {base} --include '*token*'` brings "
            "the files, or give the path of that model's folder"
        )
    if _ADAPTER in (names := folder_entries(folder)):
        return (
            f": it is an adapter, and its {_ADAPTER} names no base model\nhint: give the folder of "
            "the model that it was trained on"
        )
    label = folder_label(folder)
    if any(part.name.startswith(_CACHED) for part in (folder, *folder.absolute().parents)):
        return (
            f": the local Hugging Face cache has {label}, but no file of its tokenizer\nhint: "
            f"nothing is fetched; `hf download {label} --include '*token*'` brings them"
        )
    if "model_index.json" in names:
        return (
            ": it is a pipeline of diffusers, whose tokenizer lies in tokenizer/, and that is "
            "missing or empty\nhint: fetch the whole folder, or give the path of the tokenizer"
        )
    if is_of_marian(folder):
        said = " that Jeton reads as one: Marian's class cuts text with source.spm and numbers the "
        alone = "source.spm" in names and (
            f"{folder / 'source.spm'} alone loads, with the pieces' own numbers, which are not the "
            "model's ids; "
        )
        return f"{said}pieces by vocab.json\nhint: {alone or ''}a tokenizer.json says it all"
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
