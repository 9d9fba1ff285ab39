"""Boilerplate: lines that stand in many documents, as headers, footers and licences do.

Counts of lines by document are held in bounded memory by lossy counting (Manku and Motwani, VLDB
2002): when there are too many lines, the rarest are forgotten. A kept count is then too low by at
most the number of times that lines were forgotten, never too high. So no line is dropped that
does not reach the threshold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b
from math import ceil
from typing import Final

from jeton.preprocess.regions import TextLine, looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

MIN_CHARS = 10
"""Characters of a line that may be boilerplate: shorter ones are structure (``---``, ``}``)."""

_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|<!--|%|\"\"\"|''')")
_BLANKS = re.compile(r"\s+")


class BoilerplateStep(BaseStep):
    """Drops lines that stand in a share of the documents.

    A line is compared without the blanks at its ends and with runs of blanks as one. In code only
    the comment at the top may go: a frequent import is no boilerplate. Fences stay.
    """

    __slots__ = ("_counts", "_max_lines", "_min_documents", "_min_share", "n_documents", "n_lost")

    name: Final = "boilerplate"
    loss_class: LossClass = "content"

    def __init__(
        self, *, min_share: float = 0.1, min_documents: int = 5, max_lines: int = 1_000_000
    ) -> None:
        super().__init__()
        self._min_share = min_share
        self._min_documents = min_documents
        self._max_lines = max_lines
        self._counts: dict[bytes, int] = {}
        self.n_documents = 0
        """Documents seen."""
        self.n_lost = 0
        """Largest number by which a count is too low."""

    @property
    def wants_first_pass(self) -> bool:
        """See ``TextStep``."""
        return True

    @property
    def threshold(self) -> int:
        """Documents from which on a line is boilerplate."""
        return max(self._min_documents, ceil(self._min_share * self.n_documents))

    def observe(self, text: str) -> None:
        """Count the lines of a document, each once."""
        self.n_documents += 1
        keys = dict.fromkeys(key for _, key in _keyed(text) if key)
        counts = self._counts
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
        while len(counts) > self._max_lines:
            self.n_lost += 1
            counts = {key: n - 1 for key, n in counts.items() if n > 1}
        self._counts = counts

    def apply(self, text: str) -> str:
        """Return the text without boilerplate."""
        threshold = self.threshold
        kept = [
            line.text + line.end
            for line, key in _keyed(text)
            if not key or self._counts.get(key, 0) < threshold
        ]
        changed = "".join(kept)
        if len(changed) != len(text):
            self.note("lines dropped")
        return changed


def _keyed(text: str) -> Iterator[tuple[TextLine, bytes]]:
    """The lines of a document, each with its key; empty: the line may not go."""
    is_code = looks_like_code(text)
    is_top = True
    for line in text_lines(text):
        body = _BLANKS.sub(" ", line.text.strip())
        if body and not _COMMENT.match(body):
            is_top = False
        may_go = not line.is_fenced and len(body) >= MIN_CHARS and any(c.isalpha() for c in body)
        if is_code and not is_top:
            may_go = False
        yield line, _digest(body) if may_go else b""


def _digest(body: str) -> bytes:
    """Sixteen bytes that stand for a line: memory does not grow with its length."""
    normal = unicodedata.normalize("NFC", body)
    return blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=16).digest()
