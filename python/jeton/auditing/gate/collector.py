"""Text of requests in blocks, rewritten and summed while an audit reads it.

Every document is counted as it is and after each rewriting that changes it (`rewriting`), under
the tokenizer in use and, where a baseline has another one, under that too: so that a change of the
tokenizer can be told from a change of the text. That is a few further encodings of the corpus,
which are paid for only where a gate was asked for. Documents are looked at in blocks, for what they
share is known only where several are seen.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.gate.documents import Document, DocumentTable, document_key, text_key
from jeton.auditing.gate.rewriting import LINE_BREAKS, SHARED_TEXT, STEPS, rewritten
from jeton.auditing.gate.shared_text import Beginnings, SharedText
from jeton.auditing.gate.statistics import (
    ALL,
    CLASSES,
    MAX_DOMAINS,
    OTHER_DOMAINS,
    BlockSums,
    Statistics,
)
from jeton.corpus.languages import language_class
from jeton.corpus.places import RecordPlaces
from jeton.corpus.requests.blocks import BlockKind, Blocks
from jeton.workload.choice import Chosen
from jeton.workload.counting.domains import NO_DOMAIN

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


_BLOCK_DOCUMENTS = 20_000
_BLOCK_BYTES = 4 << 20
"""Rewritten texts are held for so many documents at once: some tens of megabytes at the most."""

_MAX_SOURCES = 10_000
"""Sources whose numbering is remembered. A source comes in one piece, or beside a few others."""


class Collected:
    """Statistics and documents under one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, name: str) -> None:
        self.tokenizer = tokenizer
        self.name = name
        self.statistics = Statistics()
        self.documents = DocumentTable()


class Collector:
    """An `Observer` of an audit.

    Args:
        other: The tokenizer of a baseline, to be counted with beside the one in use; it is dropped
            if it is the same.
        num_threads: Threads of the core; None: all.
    """

    def __init__(self, *, other: Tokenizer | None = None, num_threads: int | None = None) -> None:
        self._other = other
        self._num_threads = num_threads
        self._collected: list[Collected] = []
        self._next_index: dict[str, int] = {}
        self._domains: dict[str, str] = {}
        self._pending: list[Pending] = []
        self._n_pending_bytes = 0
        self._shared = SharedText()
        self.beginnings = Beginnings()
        """Shared beginnings of the requests; they do not depend on the tokenizer."""
        self.asked = ""
        """Name that the user wrote for the tokenizer in use."""

    def begin(self, tokenizers: Sequence[Chosen], *, current: int) -> None:
        """Take the tokenizer in use."""
        chosen = tokenizers[current]
        self.asked = "" if isinstance(chosen.asked, Tokenizer) else os.fspath(chosen.asked)
        self._collected = [Collected(chosen.tokenizer, chosen.name)]
        other = self._other
        if other is not None and other.fingerprint != chosen.tokenizer.fingerprint:
            self._collected.append(Collected(other, other.name or "the baseline's"))

    @property
    def current(self) -> Collected:
        """Counts under the tokenizer in use."""
        self._count_pending()
        return self._collected[0]

    @property
    def other(self) -> Collected | None:
        """Counts under the baseline's tokenizer, where it is another one."""
        self._count_pending()
        return self._collected[1] if len(self._collected) > 1 else None

    def add(
        self,
        source: str,
        batch: TextBatch,
        *,
        domains: Sequence[str] | None = None,
        overhead_tokens: NDArray[np.int64] | None = None,
        places: RecordPlaces | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        """Take the documents of one batch."""
        source = _portable(source)
        # Put in again, so that the sources in it are those seen last.
        first = self._next_index[source] = self._next_index.pop(source, 0)
        if len(self._next_index) > _MAX_SOURCES:
            del self._next_index[next(iter(self._next_index))]
        self._next_index[source] = first + len(batch)
        data = batch.data.data
        if blocks is not None:
            self.beginnings.add(batch)
        for i, (start, end) in enumerate(pairwise(batch.offsets.tolist())):
            self._pending.append(
                Pending(
                    source=source,
                    index=first + i,
                    line=0 if places is None else places.lines[i],
                    record="" if places is None else places.ids[i],
                    domain=ALL if domains is None else self._domain(domains[i]),
                    overhead_tokens=0 if overhead_tokens is None else int(overhead_tokens[i]),
                    raw=bytes(data[start:end]),
                    blocks=None if blocks is None else tuple(blocks.of_request(i)),
                )
            )
            self._n_pending_bytes += end - start
            if self._n_pending_bytes >= _BLOCK_BYTES or len(self._pending) >= _BLOCK_DOCUMENTS:
                self._count_pending()

    def _count_pending(self) -> None:
        """Count the documents taken since the last time."""
        block, self._pending, self._n_pending_bytes = self._pending, [], 0
        if not block:
            return
        blocks = TextBlocks(block, self._shared)
        digests = [blake2b(item.raw, digest_size=16).digest() for item in block]
        for side in self._collected:
            n_tokens = blocks.add_to(side.statistics, side.tokenizer, self._num_threads)
            side.statistics.text_digest = (
                side.statistics.text_digest + sum(int.from_bytes(d, "big") for d in digests)
            ) % (1 << 128)
            for i, (item, digest) in enumerate(zip(block, digests, strict=True)):
                record = text_key(item.record.encode("utf-8", "replace")) if item.record else 0
                key = document_key(item.source, item.index, record)
                if side.documents.wants(key):
                    side.documents.add(
                        Document(
                            source=item.source,
                            index=item.index,
                            line=item.line,
                            domain=item.domain,
                            record=record,
                            text=int.from_bytes(digest[:8], "big"),
                            wording=blocks.wordings[i],
                            n_bytes=len(item.raw),
                            n_tokens=tuple(int(n) for n in n_tokens[:, i]),
                        )
                    )

    def _domain(self, name: str) -> str:
        """The name under which a domain is kept; a path is one that other machines have too."""
        known = self._domains.get(name)
        if known is None:
            if len(self._domains) >= MAX_DOMAINS - 1:
                return OTHER_DOMAINS
            known = self._domains.setdefault(name, _portable(name) or NO_DOMAIN)
        return known


def _portable(source: str) -> str:
    """A path below the working directory without that: other machines have it elsewhere."""
    path = Path(source)
    if not path.is_absolute():
        return source
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return source
