"""Which file of a folder is the tokenizer."""

from __future__ import annotations

import os
from pathlib import Path

from jeton.errors import FormatError
from jeton.formats.documents import read_object
from jeton.formats.names import COMPRESSED_SUFFIXES, plain_name

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
