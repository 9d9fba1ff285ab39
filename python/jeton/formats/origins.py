"""The folder or model file that a tokenizer was loaded from: its small files, as they were then.

A tokenizer has ids and no roles. The other settings of its folder (the token that ends a turn, the
chat template, the padding side) are kept beside it, so saving it writes them again. For a folder
the small files are held as bytes and read when somebody asks; for a GGUF file the path is held.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from pathlib import Path

from jeton._core import Tokenizer

_SMALL_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
)
_TEMPLATE_FOLDERS = ("additional_chat_templates", "chat_templates")
_MAX_BYTES = 32 << 20
"""Bytes that the small files may take together: as much as one of them may."""
_MAX_TEMPLATES = 100


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tokenizer came from.

    Attributes:
        path: The folder, or the GGUF file.
        files: The small files of the folder by their path in it.
        base: The tokenizer that was loaded from there; None: this one.
    """

    path: Path
    files: dict[str, bytes]
    base: Tokenizer | None = None


# By identity: equality of tokenizers is a digest, and two folders may hold equal ones.
_known: dict[int, tuple[weakref.ref[Tokenizer], Origin]] = {}


def remember(tokenizer: Tokenizer, path: Path) -> None:
    """Keep what the folder or model file says beside the tokenizer, as long as it lives."""
    _keep(tokenizer, Origin(path, _small_files(path) if path.is_dir() else {}))


def inherit(tokenizer: Tokenizer, base: Tokenizer) -> None:
    """Let a tokenizer that is made of another one keep what the files of that one say."""
    origin = origin_of(base)
    if origin is not None:
        # The ids of a GGUF file are those of the tokenizer that was loaded, so that one is kept.
        _keep(tokenizer, Origin(origin.path, origin.files, origin.base or base))


def _keep(tokenizer: Tokenizer, origin: Origin) -> None:
    number = id(tokenizer)
    reference = weakref.ref(tokenizer, lambda _: _known.pop(number, None))
    _known[number] = (reference, origin)


def origin_of(tokenizer: Tokenizer) -> Origin | None:
    """Where a tokenizer came from; None: not from a folder, or made of another one since."""
    held = _known.get(id(tokenizer))
    return held[1] if held is not None and held[0]() is tokenizer else None


def _small_files(folder: Path) -> dict[str, bytes]:
    names = list(_SMALL_FILES)
    for inside in _TEMPLATE_FOLDERS:
        place = os.path.join(folder, inside)  # noqa: PTH118 - a path takes longer to make
        if os.path.isdir(place):  # noqa: PTH112
            templates = [n for n in sorted(os.listdir(place)) if n.endswith(".jinja")]  # noqa: PTH208
            names += [f"{inside}/{name}" for name in templates[:_MAX_TEMPLATES]]
    files: dict[str, bytes] = {}
    room = _MAX_BYTES
    for name in names:
        file = os.path.join(folder, name)  # noqa: PTH118
        if not os.path.isfile(file):  # noqa: PTH113
            continue
        try:
            with open(file, "rb") as stream:  # noqa: PTH123
                data = stream.read(room + 1)
        except OSError:
            continue
        if len(data) <= room:
            files[name] = data
            room -= len(data)
    return files
