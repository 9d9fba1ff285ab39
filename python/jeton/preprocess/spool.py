"""Texts that steps made in a first pass, kept in a temporary file for the second one."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from collections.abc import Sequence
from zlib import crc32

Outputs = list[str | None]
"""The text behind each step; None: the step left it as it was."""


class Spool:
    """Outputs of documents, taken in the order in which they were added.

    Memory does not grow with the documents: they lie in a file without a name, which goes with the
    spool.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the spool
        weakref.finalize(self, self._file.close)
        self._is_read = False

    def add(self, text: str, outputs: Outputs) -> None:
        """Keep what the steps made of a document."""
        pickle.dump((_mark(text), outputs), self._file, protocol=pickle.HIGHEST_PROTOCOL)

    def take(self, texts: Sequence[str]) -> list[Outputs | None]:
        """Return what the steps made of the next documents; None: the document has changed."""
        if not self._is_read:
            self._file.seek(0)
            self._is_read = True
        found: list[Outputs | None] = []
        for text in texts:
            try:
                # Nobody else can write to this file.
                mark, outputs = pickle.load(self._file)
            except EOFError:
                mark, outputs = -1, None
            found.append(outputs if mark == _mark(text) else None)
        return found


def _mark(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))
