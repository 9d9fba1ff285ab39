"""The blocks of some documents, counted as they are and after each rewriting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.gate.documents import text_key
from jeton.auditing.gate.rewriting import LINE_BREAKS, SHARED_TEXT, STEPS, rewritten
from jeton.auditing.gate.shared_text import SharedText
from jeton.auditing.gate.statistics import CLASSES, BlockSums, Statistics
from jeton.corpus.languages import language_class
from jeton.corpus.requests.blocks import BlockKind

PART_OF_KIND: Final = {
    BlockKind.TOOL: "tools",
    BlockKind.SYSTEM: "system",
    BlockKind.EARLIER: "earlier",
    BlockKind.PASSAGE: "passages",
    BlockKind.QUESTION: "question",
    BlockKind.PROMPT: "prompt",
}
"""Parts of a request by the kind of their blocks, named as in `economics.billed`."""

_SHARED_BY_NATURE = ("tools", "system")
"""Parts that requests share anyway: what documents share is looked for in the others."""

_N_TEXTS = len(STEPS) + 1

# For each byte: its classes of the wording (`CLASSES`).
_CLASS_OF = np.full(256, 4, dtype=np.int64)
_CLASS_OF[:128] = 3
for _byte in range(128):
    if chr(_byte).isalpha():
        _CLASS_OF[_byte] = 0
    elif chr(_byte).isdigit():
        _CLASS_OF[_byte] = 1
    elif chr(_byte).isspace():
        _CLASS_OF[_byte] = 2


@dataclass(frozen=True, slots=True)
class Pending:
    """A document that waits to be counted; ``blocks`` are kind, first byte and end of each."""

    source: str
    index: int
    line: int
    record: str
    domain: str
    overhead_tokens: int
    raw: bytes
    blocks: tuple[tuple[BlockKind, int, int], ...] | None


class TextBlocks:
    """The blocks of some documents.

    Args:
        documents: The documents.
        shared: Text that documents share, as far as it is known.
    """

    def __init__(self, documents: Sequence[Pending], shared: SharedText) -> None:
        self._documents = documents
        self._place: dict[tuple[str, bytes], int] = {}
        self._row: list[int] = []
        self._document: list[int] = []
        self._part: list[str] = []
        for number, document in enumerate(documents):
            for part, raw in _blocks(document):
                key = ("" if part in _SHARED_BY_NATURE else "text", raw)
                self._row.append(self._place.setdefault(key, len(self._place)))
                self._document.append(number)
                self._part.append(part)
        keys = list(self._place)
        self._texts = [raw.decode("utf-8") for _, raw in keys]
        self._rewrite([kind != "" for kind, _ in keys], shared)
        of_document: list[list[str]] = [[] for _ in documents]
        for row, number in zip(self._row, self._document, strict=True):
            of_document[number].append(self._last[row])
        self.wordings = [text_key("\n".join(own).encode("utf-8")) for own in of_document]

    def _rewrite(self, may_share: Sequence[bool], shared: SharedText) -> None:
        n = len(self._texts)
        self._n_bytes = np.zeros((_N_TEXTS, n), dtype=np.int64)
        self._n_chars = np.zeros((_N_TEXTS, n), dtype=np.int64)
        # For each step: the texts that it changed, and their new forms.
        self._changed: list[tuple[list[int], list[str]]] = [([], []) for _ in STEPS]
        self._last: list[str] = []
        for i, text in enumerate(self._texts):
            self._set(-1, i, text)
            last = text
            for step, changed in enumerate(rewritten(text)):
                if changed is not None:
                    last = changed
                    self._set(step, i, changed)
            self._last.append(last)
        open_rows = [i for i, may in enumerate(may_share) if may]
        shorter = dict(
            zip(open_rows, shared.without([self._last[i] for i in open_rows]), strict=True)
        )
        for i, last in enumerate(self._last):
            text = shorter.get(i, last)
            if text != last:
                self._set(STEPS.index(SHARED_TEXT), i, text)
            joined = text.replace("\n", " ")
            if joined != text:
                self._set(STEPS.index(LINE_BREAKS), i, joined)
            self._last[i] = joined
        self._languages = [language_class(text) for text in self._last]
        self._classes = np.array(
            [
                np.bincount(
                    _CLASS_OF[np.frombuffer(text.encode("utf-8"), dtype=np.uint8)],
                    minlength=len(CLASSES),
                )
                for text in self._last
            ],
            dtype=np.int64,
        ).reshape(n, len(CLASSES))

    def _set(self, step: int, row: int, text: str) -> None:
        """Note what a text became; the steps behind it begin with that. -1: the text itself."""
        if step >= 0:
            self._changed[step][0].append(row)
            self._changed[step][1].append(text)
        n_chars = len(text)
        self._n_chars[step + 1 :, row] = n_chars
        self._n_bytes[step + 1 :, row] = n_chars if text.isascii() else len(text.encode("utf-8"))

    def _count(self, tokenizer: Tokenizer, num_threads: int | None) -> NDArray[np.int64]:
        """Tokens of each different text after every step, int64 (n_steps + 1, n)."""
        n_tokens = np.empty_like(self._n_bytes)
        n_tokens[0] = tokenizer.count_batch(
            TextBatch.from_texts(self._texts), num_threads=num_threads
        )
        for step, (rows, texts) in enumerate(self._changed):
            n_tokens[step + 1] = n_tokens[step]
            if rows:
                batch = TextBatch.from_texts(texts)
                n_tokens[step + 1, rows] = tokenizer.count_batch(batch, num_threads=num_threads)
        return n_tokens

    def add_to(
        self, statistics: Statistics, tokenizer: Tokenizer, num_threads: int | None
    ) -> NDArray[np.int64]:
        """Add the documents to statistics.

        Returns:
            int64 (n_steps + 1, n_documents), tokens of each document after every step; what its
            blocks are not (a chat's format, the line ends between them) stays in all of them.
        """
        of_text = self._count(tokenizer, num_threads)
        rows, documents = np.array(self._row, np.int64), np.array(self._document, np.int64)
        n = len(self._documents)
        whole = [document.raw for document in self._documents]
        if any(document.blocks is not None for document in self._documents):
            counted = tokenizer.count_batch(TextBatch.from_texts(whole), num_threads=num_threads)
        else:
            counted = of_text[0, rows]
        first = np.asarray(counted, np.int64) + np.array(
            [document.overhead_tokens for document in self._documents], np.int64
        )

        def by_document(values: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
            taken = np.zeros((_N_TEXTS, n), dtype=np.int64)
            for step in range(_N_TEXTS):
                np.add.at(taken[step], documents, (values[0] - values[step])[rows])
            return start - taken

        n_tokens = by_document(of_text, first)
        n_bytes = by_document(self._n_bytes, np.array([len(raw) for raw in whole], np.int64))
        n_chars = by_document(
            self._n_chars, np.array([len(raw.decode("utf-8")) for raw in whole], np.int64)
        )
        self._add_cells(statistics, of_text)
        by_domain: defaultdict[str, list[int]] = defaultdict(list)
        for i, document in enumerate(self._documents):
            by_domain[document.domain].append(i)
        for domain, members in by_domain.items():
            statistics.whole(domain).add(
                BlockSums(len(members), *(_sums(v, members) for v in (n_bytes, n_chars, n_tokens)))
            )
            for histogram, lengths in zip(
                statistics.lengths_of(domain), n_tokens[:, members], strict=True
            ):
                histogram.update(Counter(lengths.tolist()))
        return n_tokens

    def _add_cells(self, statistics: Statistics, n_tokens: NDArray[np.int64]) -> None:
        groups: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row, document, part in zip(self._row, self._document, self._part, strict=True):
            domain = self._documents[document].domain
            groups[domain, part, self._languages[row]].append(row)
        for key, members in groups.items():
            statistics.cell(*key).add(
                BlockSums(
                    n=len(members),
                    n_bytes=_sums(self._n_bytes, members),
                    n_chars=_sums(self._n_chars, members),
                    n_tokens=_sums(n_tokens, members),
                    n_class_bytes=self._classes[members].sum(axis=0).tolist(),
                )
            )


def _blocks(document: Pending) -> list[tuple[str, bytes]]:
    """Part and bytes of each block; a document without blocks is one of unknown parts."""
    if document.blocks is None:
        return [(PART_OF_KIND[BlockKind.PROMPT], document.raw)]
    return [(PART_OF_KIND[kind], document.raw[start:end]) for kind, start, end in document.blocks]


def _sums(values: NDArray[np.int64], members: Sequence[int]) -> list[int]:
    sums: list[int] = values[:, members].sum(axis=1).tolist()
    return sums
