"""Meaning of file names: the tokenizer's name, the places of its card and its other half."""

from __future__ import annotations

import os
from pathlib import Path

COMPRESSED_SUFFIXES = (".zst", ".gz")

# GPT-2's two files, as transformers names them, and as OpenAI did.
_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))

# Longest first, so that "x.jeton.json" loses more than ".json".
_KINDS = (
    ".recon.json",
    ".jeton.json",
    ".vocab.json",
    ".merges.txt",
    ".vocab.txt",
    ".tiktoken",
    ".jetonc",
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


def user_path(path: str | os.PathLike[str]) -> Path:
    """A path, with ``~`` as the user's home folder."""
    given = Path(path)
    if not str(given).startswith("~"):
        return given
    try:
        return given.expanduser()
    except RuntimeError:  # there is no such user
        return given


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
    """True if saving under this name makes a folder: it is one, or its name is that of no file.

    A suffix with a digit in it that is no format's is part of a version: ``qwen2.5``, ``v1.2-8b``.
    """
    if target.is_dir() or not target.suffix:
        return True
    is_file = plain_name(target).endswith((*_KINDS, *COMPRESSED_SUFFIXES))
    return not is_file and any(char.isdigit() for char in target.suffix)


def samples_path(file: Path) -> Path:
    """Where the samples of a file lie that has none in itself."""
    return file.with_name(f"{name_of_file(file)}.jeton-samples.json")


def companions(file: Path) -> list[Path]:
    """Files beside a file that may decide, too, what it loads as; most are not there."""
    return [file.with_name(name) for name in companion_names(file)]


def companion_names(file: Path) -> list[str]:
    """The names of ``companions``."""
    partners = partner_names(file, of_vocab=True) + partner_names(file, of_vocab=False)
    names = [n + s for n in partners for s in ("", *COMPRESSED_SUFFIXES)]
    return [*names, "tokenizer_config.json", samples_path(file).name]


def partner_names(file: Path, *, of_vocab: bool) -> list[str]:
    """Names that the other of GPT-2's two files may have, uncompressed, the likeliest first.

    Args:
        file: One of the two.
        of_vocab: True if it is the vocabulary and not the merges.
    """
    own, other = (0, 1) if of_vocab else (1, 0)
    name = plain_name(file)
    # In the case of letters that the file has.
    stored = file.name[: len(name)]
    names = [stored[: -len(pair[own])] + pair[other] for pair in _PAIRS if name.endswith(pair[own])]
    if not names:
        names = [f"{name_of_file(file)}.{_PAIRS[0][other]}", _PAIRS[0][other]]
    return names
