"""Tokenizers as the bytes of a format, and what a format does not hold of them.

The core writes a format and reads it again at once; whatever did not come back is a ``Loss``.
Nothing is lost silently: without ``lossy=True`` any loss is an error that lists all of them.

Where a tokenizer goes: the format that a path or a caller names, and its files.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, file_formats, write_format
from jeton.errors import FormatError, LossyConversionError, LossyConversionWarning, UsageError
from jeton.formats.names import COMPRESSED_SUFFIXES, is_folder_name, plain_name

FORMATS: tuple[str, ...] = tuple(file_formats())
"""Names of the formats that can be written: ``"tokenizer.json"``, ``"tiktoken"`` ..."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a tokenizer that a format does not hold.

    Attributes:
        component: The part: ``normalizer``, ``pretokenizer``, ``added_tokens``, ``template``,
            ``decoder``, ``model``, ``truncation``, ``padding`` or ``dropout``.
        what: The lost part.
        effect: The consequence.
    """

    component: str
    what: str
    effect: str

    def __str__(self) -> str:
        return f"{self.component}: {self.what} ({self.effect})"


@dataclass(frozen=True, slots=True)
class Rewording:
    """A part of a tokenizer that its file says in other words, and as exactly.

    Attributes:
        component: The part: one of those of ``Loss``, or ``reference``.
        why: Why it does the same.
    """

    component: str
    why: str

    def __str__(self) -> str:
        return f"{self.component}: {self.why}"


@dataclass(frozen=True, slots=True)
class Rendering:
    """A tokenizer in a format, in memory.

    Attributes:
        format: Name of the format.
        files: Bytes by role: ``""`` for the file that is loaded, ``"merges"`` for the second of
            GPT-2's two.
        losses: Parts that the files do not hold.
        options: Keywords with which ``jeton.load`` reads the files as they were meant.
        read: The tokenizer that the core read from the files.
        rewordings: Parts that the files say in other words. The tokenizer that is read has another
            fingerprint only if losses or rewordings say why.
    """

    format: str
    files: Mapping[str, bytes]
    losses: tuple[Loss, ...]
    options: Mapping[str, Any]
    read: Tokenizer
    rewordings: tuple[Rewording, ...]


def render(tokenizer: Tokenizer, format: str) -> Rendering:  # noqa: A002 - the word for it
    """Write a tokenizer in a format, losses allowed; they are listed in the result.

    Raises:
        FormatError: The format cannot express it at all; the message has every reason.
        UsageError: No such format.
    """
    result = _written(tokenizer, format)
    losses = tuple(Loss(*loss) for loss in result["losses"])
    if result["obstacles"]:
        reasons = [*result["obstacles"], *map(str, losses)]
        raise FormatError(
            f"{_label(tokenizer)} cannot be written as {format}: {'; '.join(reasons)}\n"
            "hint: `jeton info T --formats` says which formats can hold it",
            format=format,
        )
    return Rendering(
        format=format,
        files=dict(result["files"]),
        losses=losses,
        options=result["options"],
        read=result["read"],
        rewordings=tuple(Rewording(*rewording) for rewording in result["rewordings"]),
    )


def to_bytes(tokenizer: Tokenizer, format: str, *, lossy: bool = False) -> bytes:  # noqa: A002
    """The one file that a tokenizer is in a format.

    Args:
        tokenizer: The tokenizer to write.
        format: One of ``FORMATS``, except ``"vocab.json"``, which has two files.
        lossy: Write it also where the format does not hold everything; a warning lists what is
            lost.

    Raises:
        LossyConversionError: Something would be lost, and ``lossy`` is not set.
        FormatError: The format cannot express it.
        UsageError: No such format, or it has two files.
    """
    if format == "vocab.json":
        raise UsageError(
            "vocab.json and merges.txt are two files\nhint: save(path) writes both side by side"
        )
    rendering = render(tokenizer, format)
    check(rendering, lossy=lossy, label=_label(tokenizer))
    return rendering.files[""]


def check(rendering: Rendering, *, lossy: bool, label: str) -> None:
    """Refuse losses that nobody allowed; warn of those that somebody did.

    Raises:
        LossyConversionError: There are losses, and ``lossy`` is not set.
    """
    if not rendering.losses:
        return
    if lossy:
        warn(rendering.losses, format=rendering.format, label=label)
        return
    raise lossy_error(rendering.losses, format=rendering.format, label=label)


def lossy_error(
    losses: Iterable[Loss],
    *,
    format: str,  # noqa: A002
    label: str,
) -> LossyConversionError:
    """The error that lists losses."""
    listed = tuple(losses)
    return LossyConversionError(
        f"{label} would lose something as {format}: {'; '.join(map(str, listed))}\n"
        "hint: lossy=True (--lossy) writes it all the same; the canonical form (.jeton.json) "
        "holds everything",
        format=format,
        losses=listed,
    )


def warn(losses: Iterable[Loss], *, format: str, label: str) -> None:  # noqa: A002
    """Warn of losses that were allowed."""
    text = "; ".join(map(str, losses))
    warnings.warn(
        f"{label} loses something as {format}: {text}", LossyConversionWarning, stacklevel=2
    )


def expressible(tokenizer: Tokenizer) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Formats that can be written: ``"exact"``, ``"lossy"`` or ``"no"``, with the reasons."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for name in FORMATS:
        result = _written(tokenizer, name)
        losses = tuple(str(Loss(*loss)) for loss in result["losses"])
        if result["obstacles"]:
            found[name] = ("no", (*result["obstacles"], *losses))
        else:
            found[name] = ("lossy", losses) if losses else ("exact", ())
    return found


def _written(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    if name not in FORMATS:
        from jeton._nearest import nearest

        near = nearest(str(name), FORMATS)
        offer = f"; the nearest are {', '.join(near)}" if near else ""
        raise UsageError(f"unknown format {name!r}{offer}\nhint: one of {', '.join(FORMATS)}")
    return write_format(tokenizer, name)


def _label(tokenizer: Tokenizer) -> str:
    return tokenizer.name or "the tokenizer"


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
