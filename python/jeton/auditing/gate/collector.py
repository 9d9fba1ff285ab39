"""Collects, while the texts of an audit pass by, what a gate needs to know of them.

Every document is counted as it is and after each rewriting that changes it (`rewriting`), under
the tokenizer in use and, where a baseline has another one, under that too: so that a change of the
tokenizer can be told from a change of the text. That is a few further encodings of the corpus,
which are paid for only where a gate was asked for. Documents are looked at in blocks, for what they
share is known only where several are seen.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.gate.documents import Document, DocumentTable, document_key, text_key
from jeton.auditing.gate.rewriting import LINE_BREAKS, SHARED_TEXT, STEPS, rewritten
from jeton.auditing.gate.shared_text import SharedText
from jeton.auditing.gate.statistics import (
    ALL,
    CLASSES,
    MAX_DOMAINS,
    OTHER_DOMAINS,
    DomainSums,
    Statistics,
)
from jeton.corpus.languages import language_class
from jeton.corpus.places import RecordPlaces
from jeton.workload.choice import Chosen
from jeton.workload.counting.domains import NO_DOMAIN

__all__ = ["Collected", "Collector"]

_N_TEXTS = len(STEPS) + 1

_BLOCK_DOCUMENTS = 20_000
_BLOCK_BYTES = 4 << 20
"""Rewritten texts are held for so many documents at once: some tens of megabytes at the most."""

_MAX_SOURCES = 10_000
"""Sources whose numbering is remembered. A source comes in one piece, or beside a few others."""

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
        self._pending: list[_Pending] = []
        self._n_pending_bytes = 0
        self._shared = SharedText()
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
    ) -> None:
        """Take the documents of one batch; what a chat format adds is part of the wording."""
        source = _portable(source)
        # Put in again, so that the sources in it are those seen last.
        first = self._next_index[source] = self._next_index.pop(source, 0)
        if len(self._next_index) > _MAX_SOURCES:
            del self._next_index[next(iter(self._next_index))]
        self._next_index[source] = first + len(batch)
        data = batch.data.data
        for i, (start, end) in enumerate(pairwise(batch.offsets.tolist())):
            self._pending.append(
                _Pending(
                    source=source,
                    index=first + i,
                    line=0 if places is None else places.lines[i],
                    record="" if places is None else places.ids[i],
                    domain=ALL if domains is None else self._domain(domains[i]),
                    overhead_tokens=0 if overhead_tokens is None else int(overhead_tokens[i]),
                    raw=bytes(data[start:end]),
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
        texts = _Texts([item.raw for item in block], self._shared)
        overhead = np.array([item.overhead_tokens for item in block], dtype=np.int64)
        names = [item.domain for item in block]
        digests = [blake2b(item.raw, digest_size=16).digest() for item in block]
        for side in self._collected:
            n_tokens = texts.count(side.tokenizer, self._num_threads) + overhead
            _add_sums(side.statistics, names, texts, n_tokens)
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
                            wording=texts.wordings[i],
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


@dataclass(frozen=True, slots=True)
class _Pending:
    source: str
    index: int
    line: int
    record: str
    domain: str
    overhead_tokens: int
    raw: bytes


class _Texts:
    """The documents of a block with their rewritings, and the sums that no tokenizer matters to."""

    def __init__(self, raw: list[bytes], shared: SharedText) -> None:
        n = len(raw)
        self.n_bytes = np.zeros((_N_TEXTS, n), dtype=np.int64)
        self.n_chars = np.zeros((_N_TEXTS, n), dtype=np.int64)
        self.classes: list[list[int]] = []
        self.languages: list[str] = []
        self.wordings: list[int] = []
        self._whole = TextBatch.from_texts(raw)
        # For each step: the documents that it changed, and their new forms.
        self._changed: list[tuple[list[int], list[str]]] = [([], []) for _ in STEPS]
        last: list[str] = []
        for i, document in enumerate(raw):
            text = document.decode("utf-8")
            self.n_bytes[:, i], self.n_chars[:, i] = len(document), len(text)
            for step, changed in enumerate(rewritten(text)):
                if changed is not None:
                    text = changed
                    self._set(step, i, changed)
            last.append(text)
        for i, shorter in enumerate(shared.without(last)):
            if shorter != last[i]:
                self._set(STEPS.index(SHARED_TEXT), i, shorter)
            text = shorter.replace("\n", " ")
            if text != shorter:
                self._set(STEPS.index(LINE_BREAKS), i, text)
            wording = text.encode("utf-8")
            self.wordings.append(text_key(wording))
            self.languages.append(language_class(text))
            self.classes.append(_class_bytes(np.frombuffer(wording, dtype=np.uint8)))

    def _set(self, step: int, document: int, text: str) -> None:
        """Note what a document became; the steps behind it begin with that."""
        indices, texts = self._changed[step]
        indices.append(document)
        texts.append(text)
        n_chars = len(text)
        self.n_chars[step + 1 :, document] = n_chars
        self.n_bytes[step + 1 :, document] = (
            n_chars if text.isascii() else len(text.encode("utf-8"))
        )

    def count(self, tokenizer: Tokenizer, num_threads: int | None) -> NDArray[np.int64]:
        """Tokens of every document after every step, int64 (n_steps + 1, n_documents)."""
        n_tokens = np.empty_like(self.n_bytes)
        n_tokens[0] = tokenizer.count_batch(self._whole, num_threads=num_threads)
        for step, (indices, texts) in enumerate(self._changed):
            n_tokens[step + 1] = n_tokens[step]
            if indices:
                batch = TextBatch.from_texts(texts)
                n_tokens[step + 1, indices] = tokenizer.count_batch(batch, num_threads=num_threads)
        return n_tokens


def _class_bytes(wording: NDArray[np.uint8]) -> list[int]:
    """Bytes of each of `CLASSES`."""
    counts: list[int] = np.bincount(_CLASS_OF[wording], minlength=len(CLASSES)).tolist()
    return counts


def _add_sums(
    statistics: Statistics, domains: list[str], texts: _Texts, n_tokens: NDArray[np.int64]
) -> None:
    groups: dict[tuple[str, str], list[int]] = {}
    for i, key in enumerate(zip(domains, texts.languages, strict=True)):
        groups.setdefault(key, []).append(i)
    for (domain, language), members in groups.items():
        statistics.cell(domain, language).add(
            DomainSums(
                n_documents=len(members),
                n_bytes=_sums(texts.n_bytes, members),
                n_chars=_sums(texts.n_chars, members),
                n_tokens=_sums(n_tokens, members),
                n_class_bytes=[
                    sum(column) for column in zip(*(texts.classes[i] for i in members), strict=True)
                ],
            )
        )
        histograms = statistics.lengths_of(domain)
        for histogram, counts in zip(histograms, n_tokens[:, members], strict=True):
            histogram.update(Counter(counts.tolist()))


def _sums(values: NDArray[np.int64], members: list[int]) -> list[int]:
    return [int(total) for total in values[:, members].sum(axis=1)]


def _portable(source: str) -> str:
    """A path below the working directory without that: other machines have it elsewhere."""
    path = Path(source)
    if not path.is_absolute():
        return source
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return source
