"""Collects, while the texts of an audit pass by, what a gate needs to know of them.

Every document is counted as it is and after each rewriting that changes it (`rewriting`), under
the tokenizer in use and, where a baseline has another one, under that too: so that a change of the
tokenizer can be told from a change of the text. That is a few further encodings of the corpus,
which are paid for only where a gate was asked for. Documents are looked at in blocks, for what they
share is known only where several are seen.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.gate.beginnings import Beginnings
from jeton.auditing.gate.documents import Document, DocumentTable, document_key, text_key
from jeton.auditing.gate.shared_text import SharedText
from jeton.auditing.gate.statistics import ALL, MAX_DOMAINS, OTHER_DOMAINS, Statistics
from jeton.auditing.gate.text_blocks import Pending, TextBlocks
from jeton.corpus.places import RecordPlaces
from jeton.corpus.requests.blocks import Blocks
from jeton.workload.choice import Chosen
from jeton.workload.counting.domains import NO_DOMAIN

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
