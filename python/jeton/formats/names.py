"""What the names of files say: the tokenizer's name, where its card and its other half lie."""

from __future__ import annotations

from pathlib import Path

__all__ = ["COMPRESSED_SUFFIXES", "card_path", "is_folder_name", "name_of_file", "plain_name"]

COMPRESSED_SUFFIXES = (".zst", ".gz")

# Longest first, so that "x.jeton.json" loses more than ".json".
_KINDS = (
    ".recon.json",
    ".jeton.json",
    ".vocab.json",
    ".merges.txt",
    ".vocab.txt",
    ".tiktoken",
    ".json",
    ".model",
    ".gguf",
    ".txt",
)


def name_of_file(path: str | Path) -> str:
    """The name that a file stands for: ``"cl100k_base"`` for ``cl100k_base.tiktoken.zst``."""
    name = Path(path).name
    for suffixes in (COMPRESSED_SUFFIXES, _KINDS):
        for suffix in suffixes:
            if name.lower().endswith(suffix) and len(name) > len(suffix):
                name = name[: -len(suffix)]
                break
    return name


def plain_name(path: str | Path) -> str:
    """The file's name in lower case, without the suffix of a compression."""
    name = Path(path).name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def card_path(path: str | Path) -> Path:
    """Where the training card of a tokenizer that is saved at a path belongs."""
    target = Path(path)
    if is_folder_name(target):
        return target / "training_card.json"
    return target.with_name(f"{name_of_file(target)}.card.json")


def is_folder_name(target: Path) -> bool:
    """Whether saving under this name makes a folder: it is one, or it has no suffix."""
    return target.is_dir() or not target.suffix
