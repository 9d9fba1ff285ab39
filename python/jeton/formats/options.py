"""Options of a caller for facts that a file does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from jeton.errors import UsageError
from jeton.formats.detection import FileFormat

Reference: TypeAlias = Literal["tiktoken", "hf"]
"""Libraries whose ids a file can be asked to give instead of those of its own library."""


class LoadOptions:
    """Keywords of ``load_file``; None: not given.

    Neither a dataclass nor a named tuple: Python compiles code to make these, which takes longer
    than all options take to look at.

    Attributes:
        pattern: Split pattern of a rank file.
        special_tokens: Special tokens of a rank file, text to id.
        lowercase: True if a WordPiece vocabulary wants text in lower case.
        add_prefix_space: True if GPT-2's two files want a space put before a text.
        reference: The library whose ids are wanted.
    """

    __slots__ = ("pattern", "special_tokens", "lowercase", "add_prefix_space", "reference")  # noqa: RUF023

    def __init__(
        self,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        lowercase: bool | None = None,
        add_prefix_space: bool | None = None,
        reference: Reference | None = None,
    ) -> None:
        self.pattern = pattern
        self.special_tokens = special_tokens
        self.lowercase = lowercase
        self.add_prefix_space = add_prefix_space
        self.reference = reference

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that were given, in the order of the keywords."""
        return tuple(name for name in self.__slots__ if getattr(self, name) is not None)


OPTIONS_OF_FORMATS: dict[FileFormat, tuple[str, ...]] = {
    FileFormat.TIKTOKEN: ("pattern", "special_tokens", "reference"),
    FileFormat.WORDPIECE_TXT: ("lowercase",),
    FileFormat.GPT2_VOCAB: ("add_prefix_space",),
    FileFormat.GPT2_MERGES: ("add_prefix_space",),
    FileFormat.TEKKEN: ("reference",),
}
"""The options that mean something for a format; other formats carry everything themselves."""

_REFERENCES: dict[FileFormat, tuple[str, ...]] = {
    FileFormat.TIKTOKEN: ("tiktoken", "hf"),
    FileFormat.TEKKEN: ("tiktoken", "hf"),
    FileFormat.SENTENCEPIECE: ("sentencepiece",),
    FileFormat.HF_JSON: ("hf",),
    FileFormat.WORDPIECE_TXT: ("hf",),
    FileFormat.GPT2_VOCAB: ("hf",),
    FileFormat.GPT2_MERGES: ("hf",),
}


def refuse_misplaced(options: LoadOptions, found: FileFormat, file: Path) -> None:
    """Refuse options that a format has no use for.

    Raises:
        UsageError: It names the options and what the format takes.
    """
    if options.reference is not None:
        _check_reference(options.reference, found, file)
    takes = OPTIONS_OF_FORMATS.get(found, ())
    # The format's own reference may be named, though there is no choice.
    misplaced = [name for name in options.given if name not in takes and name != "reference"]
    if not misplaced:
        return
    own = f"it takes {' and '.join(takes)}" if takes else "it carries its own settings"
    raise UsageError(
        f"{file} is a {found.value}: {' and '.join(misplaced)} cannot apply to it; {own}\n"
        f"hint: leave out {' and '.join(misplaced)}"
    )


def _check_reference(wanted: str, found: FileFormat, file: Path) -> None:
    possible = _REFERENCES.get(found, ())
    if wanted in possible:
        return
    if not possible:
        raise UsageError(
            f"{file} is a {found.value}, whose reference cannot be chosen: {wanted!r}\n"
            "hint: leave out reference"
        )
    raise UsageError(
        f"{file} is a {found.value}, which cannot be read as {wanted!r} reads it; "
        f"possible: {', '.join(possible)}\n"
        "hint: a file of that library's own format gives its ids"
    )
