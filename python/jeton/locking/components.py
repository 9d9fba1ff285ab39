"""A tokenizer's configuration, part by part: small parts as they are, large ones by digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, __version__
from jeton.registry.finding import place_of

MAX_WRITTEN_CHARS = 2_000
"""Parts whose JSON is longer (vocabularies, merges) are kept as digest and size."""

_LIBRARIES = ("numpy", "sentencepiece", "tiktoken", "tokenizers", "transformers")
"""Libraries beside Jeton that give ids, or that such are built on."""

_FOLDER_FILES = (
    "*.model",
    "*.tiktoken",
    "added_tokens.json",
    "chat_template.*",
    "merges.txt",
    "special_tokens_map.json",
    "tekken.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
"""Files of a model's folder that decide ids, or what is put around them."""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """One file of a tokenizer."""

    name: str
    sha256: str
    n_bytes: int


def components_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """The parts of the canonical form, those of the model one by one, sorted by name."""
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    tree.pop("jeton", None)
    parts: dict[str, Any] = {}
    for name, value in tree.items():
        if name == "model" and isinstance(value, Mapping):
            for key, part in value.items():
                parts[f"model.{key}"] = _short(part)
        else:
            parts[name] = _short(value)
    return dict(sorted(parts.items()))


def files_of(asked: str) -> tuple[LockedFile, ...]:
    """The files that a name or path stands for, sorted by name; none where it has none."""
    path = place_of(asked)
    if path is None:
        return ()
    if path.is_dir():
        paths = sorted({p for pattern in _FOLDER_FILES for p in path.glob(pattern) if p.is_file()})
    else:
        paths = [path] if path.is_file() else []
    return tuple(_file(p) for p in paths)


def library_versions() -> dict[str, str]:
    """Versions of the libraries around tokenization that are installed; none is imported."""
    versions = {"jeton": __version__}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _short(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) <= MAX_WRITTEN_CHARS:
        return value
    n_items = len(value) if isinstance(value, list | dict) else 1
    return {
        "sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "n_chars": len(text),
        "n_items": n_items,
    }


def _file(path: Path) -> LockedFile:
    digest = sha256()
    n_bytes = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            n_bytes += len(block)
    return LockedFile(path.name, digest.hexdigest(), n_bytes)
