"""Compiled tokenizers: files of this release alone, the quickest to load."""

from __future__ import annotations

import os

from jeton._core import Tokenizer

MAGIC = b"\x93JETON\n\x1a"
"""The first bytes of a compiled file."""

COMPILED_SUFFIX = ".jetonc"
"""Usual suffix of compiled files; they are known by their first bytes."""


def is_compiled(data: bytes) -> bool:
    """True if bytes begin as a compiled file does."""
    return data.startswith(MAGIC)


def save_compiled(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer as it lies in memory, for this release of Jeton alone.

    Raises:
        VocabularyError: It is a SentencePiece model, which has no such form.
        OSError: The file cannot be written; an old one is as it was.
    """
    from jeton._files import write_whole

    write_whole(path, tokenizer.to_compiled())
