"""Where a tokenizer goes: the format that a path or a caller names, and its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from jeton.errors import UsageError
from jeton.formats.names import COMPRESSED_SUFFIXES, is_folder_name, plain_name
from jeton.formats.writing import FORMATS

# The file name of a format in a folder, where `jeton.load` finds it.
_IN_FOLDER = {
    "jeton": "tokenizer.jeton.json",
    "tokenizer.json": "tokenizer.json",
    "tiktoken": "tokenizer.tiktoken",
    "sentencepiece": "tokenizer.model",
    "vocab.txt": "vocab.txt",
    "vocab.json": "vocab.json",
    "tekken.json": "tekken.json",
    "gguf": "tokenizer.gguf",
}

# Endings of names, the longest first, so that "x.jeton.json" is no ".json".
_ENDINGS = (
    (".jeton.json", "jeton"),
    ("tekken.json", "tekken.json"),
    ("vocab.json", "vocab.json"),
    ("encoder.json", "vocab.json"),
    ("claude.json", "claude"),
    (".json", "tokenizer.json"),
    (".tiktoken", "tiktoken"),
    (".model", "sentencepiece"),
    (".gguf", "gguf"),
    ("vocab.txt", "vocab.txt"),
)

_PARTS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))

FORMAT_NAMES = {
    **{name: name for name in FORMATS},
    "hf": "tokenizer.json",
    "canonical": "jeton",
    "spm": "sentencepiece",
    "wordpiece": "vocab.txt",
    "gpt2": "vocab.json",
    "tekken": "tekken.json",
    "folder": "tokenizer.json",
}
"""The names by which a format can be asked for, short ones included."""


@dataclass(frozen=True, slots=True)
class Target:
    """Files to write.

    Attributes:
        format: Name of the format.
        folder: The folder to make, with its small files; None: a file is written.
        main: The file that is loaded.
        second: The second file of a format that has two.
    """

    format: str
    folder: Path | None
    main: Path
    second: Path | None

    def path_of(self, role: str) -> Path:
        """The file of a role: ``""`` or ``"merges"``."""
        return self.main if role == "" or self.second is None else self.second


def find_target(path: str | Path, *, wanted: str | None = None) -> Target:
    """The format and the files that a path means.

    Args:
        path: A file, whose name tells the format unless ``wanted`` does; or a folder, or a name
            without a suffix, which becomes one.
        wanted: A name of ``FORMAT_NAMES``.

    Raises:
        UsageError: Neither name tells a format, or a folder cannot hold it.
    """
    target = Path(path)
    chosen = None if wanted is None else _known(wanted)
    ends = ("/", "\\") if os.sep == "\\" else ("/",)
    if is_folder_name(target) or str(path).endswith(ends):
        chosen = chosen or "tokenizer.json"
        name = _IN_FOLDER.get(chosen)
        if name is None:
            raise UsageError(
                f"a folder cannot hold {chosen} as its tokenizer\nhint: name a file instead"
            )
        main = target / name
        return Target(chosen, target, main, _second(main) if chosen == "vocab.json" else None)
    chosen = chosen or _by_name(target)
    return Target(chosen, None, target, _second(target) if chosen == "vocab.json" else None)


def _known(wanted: str) -> str:
    found = FORMAT_NAMES.get(wanted.lower()) if isinstance(wanted, str) else None
    if found is None:
        from jeton._nearest import nearest

        near = nearest(str(wanted), FORMAT_NAMES)
        offer = f"; the nearest are {', '.join(near)}" if near else ""
        raise UsageError(f"unknown format {wanted!r}{offer}\nhint: one of {', '.join(FORMATS)}")
    return found


def _by_name(target: Path) -> str:
    name = plain_name(target)
    if name.startswith("rwkv_vocab") and name.endswith(".txt"):
        return "rwkv"
    if name.startswith("bpe_simple_vocab") and name.endswith(".txt"):
        return "clip"
    for ending, found in _ENDINGS:
        if name.endswith(ending):
            return found
    raise UsageError(
        f"cannot tell the format to save from the name {target.name!r}\n"
        "hint: use .json, .jeton.json, .tiktoken, .model, .gguf, vocab.txt, vocab.json or "
        "tekken.json, each also with .zst or .gz, or a folder (a name without a suffix, or one "
        "that ends with /); or name the format"
    )


def _second(main: Path) -> Path:
    """The merges.txt of a vocab.json, where loading looks for it."""
    name, plain = main.name, plain_name(main)
    packed = next((s for s in COMPRESSED_SUFFIXES if name.lower().endswith(s)), "")
    stored = name[: len(name) - len(packed)]
    for own, other in _PARTS:
        if plain.endswith(own):
            return main.with_name(stored[: -len(own)] + other + packed)
    raise UsageError(
        f"{main} is to be a vocab.json, of which a merges.txt stands beside it\n"
        f"hint: call it {main.stem}.vocab.json"
    )
