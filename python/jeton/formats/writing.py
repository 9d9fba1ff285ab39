"""Tokenizers as the bytes of a format, and what a format does not hold of them.

The core writes a format and reads it again at once; whatever did not come back is a ``Loss``.
Nothing is lost silently: without ``lossy=True`` any loss is an error that lists all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jeton._core import Tokenizer, file_formats, write_format
from jeton.errors import FormatError, LossyConversionError, LossyConversionWarning, UsageError

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
