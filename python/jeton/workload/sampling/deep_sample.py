"""The documents on which the expensive analyses run: an even, repeatable draw in bounded memory.

A workload within the limit is its own sample, and figures of it are exact. A larger one is drawn by
the digests of its documents (`drawing`); very long documents take part in pieces, so that one of
them cannot crowd out all others; a request is drawn with its answer. In such a draw every distinct
text stands once, with the number of its copies beside it; figures of it are estimates.

Drawing texts without chance: those with the smallest keys are kept.

A key is made from a digest of the text, so that the draw is even over the distinct texts, is the
same for any order of the inputs and any number of shards, and never holds one text twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.corpus.requests.blocks import BlockKind, Blocks
from jeton.workload.digests import Digests, digests_of_pairs

KEY_BITS = 64
"""Two of a billion texts share a key with a chance of 3% (n^2 / 2^65); then one stands for both."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One drawn text.

    Attributes:
        key: Its key, below 2 ** `KEY_BITS`.
        data: The text as UTF-8.
        source: The first of its inputs, by name.
        domain: The first of its domains, by name; empty where it has none.
        companion: Its companion (an answer) as UTF-8; the key is that of both.
        n_copies: How often it was offered.
        model: The first of the models that it was sent to, by name; empty where none is named.
        blocks: Kind, first byte and end of each block of a request, one after another.
        rows: Numbers of the requests in the log that the unit stands for; empty for documents.
    """

    key: int
    data: bytes
    source: str
    domain: str
    companion: bytes = b""
    n_copies: int = 1
    model: str = ""
    blocks: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Bytes of the text and its companion."""
        return len(self.data) + len(self.companion)

    def moved(self, n_rows: int) -> Unit:
        """Return the unit with the numbers of its requests shifted."""
        return replace(self, rows=tuple(row + n_rows for row in self.rows))

    def with_copies_of(self, other: Unit) -> Unit:
        """Both as one, whatever the order in which they came."""
        first = min(self, other, key=lambda unit: (unit.source, unit.domain, unit.model))
        return replace(first, n_copies=self.n_copies + other.n_copies)


class Drawer:
    """Keeps the units with the smallest keys within limits; at least one."""

    def __init__(self, *, max_units: int, max_bytes: int | None = None) -> None:
        self._max_units = max_units
        self._max_bytes = max_bytes
        self._units: dict[int, Unit] = {}
        # Beside the units, so that a text sent a million times costs a million appends.
        self._rows: dict[int, list[int]] = {}
        self._largest: list[int] = []
        self.n_bytes = 0
        self.threshold = 1 << KEY_BITS
        """Units with this key and above are not wanted any more."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units drawn, by key."""
        return tuple(
            replace(self._units[key], rows=tuple(sorted(self._rows[key])))
            for key in sorted(self._units)
        )

    def offer(self, unit: Unit) -> None:
        """Keep a unit if it is wanted. Its copies count even where others have to go."""
        if unit.key >= self.threshold:
            return
        known = self._units.get(unit.key)
        if known is not None:
            self._rows[unit.key].extend(unit.rows)
            self._units[unit.key] = known.with_copies_of(unit)
            return
        self._units[unit.key] = unit
        self._rows[unit.key] = list(unit.rows)
        heapq.heappush(self._largest, -unit.key)
        self.n_bytes += unit.n_bytes
        while len(self._units) > 1 and self._is_too_much():
            self.threshold = -heapq.heappop(self._largest)
            self.n_bytes -= self._units.pop(self.threshold).n_bytes
            del self._rows[self.threshold]

    def merge(self, other: Self) -> Drawer:
        """Return the drawer that would have seen everything that both were offered."""
        merged = Drawer(max_units=self._max_units, max_bytes=self._max_bytes)
        merged.threshold = min(self.threshold, other.threshold)
        for unit in (*self.units, *other.units):
            merged.offer(unit)
        return merged

    def moved(self, n_rows: int) -> Drawer:
        """Return the drawer with the numbers of its requests shifted."""
        moved = copy(self)
        moved._rows = {key: [row + n_rows for row in rows] for key, rows in self._rows.items()}
        return moved

    def _is_too_much(self) -> bool:
        return len(self._units) > self._max_units or (
            self._max_bytes is not None and self.n_bytes > self._max_bytes
        )


def key_of_block(digest: bytes, index: int) -> int:
    """The key of a part of a long document; that of the first part is the document's own."""
    first = digest if index == 0 else blake2b(digest + index.to_bytes(8, "big")).digest()
    return int.from_bytes(first[: KEY_BITS // 8], "big")


DEEP_SAMPLE_BYTES = 4 << 20
"""Bytes of text in the sample: about a million tokens. All analyses together take seconds on it,
and a share of 1% of its tokens is known to about a tenth of itself if documents are a kilobyte."""

MAX_DEEP_DOCUMENTS = 20_000
"""Documents in the sample: of very short ones, more would only take time."""

_PIECE_BYTES = 256 * 1024
"""Longer documents are drawn in pieces of this size: a sixteenth of the sample."""

_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80


@dataclass(frozen=True, slots=True)
class SampleDocument:
    """One document of the sample, or a piece of a very long one.

    Attributes:
        text: Its text.
        source: The input that it came from; of several, the first by name.
        domain: The name of its domain; None where it has none.
        n_tokens: Tokens under the tokenizer in use.
        n_copies: How many documents of the workload this entry stands for, byte for byte; 1 in a
            sample that is the whole workload, where each document has its own entry.
        response: The answer that was logged with it; None where there is none.
        model: The model that it was sent to, as logged; empty where none is named.
        blocks: Kind and text of each block of a request, in the order sent; a document is one.
        rows: Numbers of the requests in the log that it stands for; empty for documents.
    """

    text: str
    source: str
    domain: str | None
    n_tokens: int
    n_copies: int = 1
    response: str | None = None
    model: str = ""
    blocks: tuple[tuple[BlockKind, str], ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeepSample:
    """An even, repeatable draw of the documents, in bounded memory.

    Attributes:
        documents: The documents, in the order of their digests.
        n_tokens: Their tokens under the tokenizer in use.
        n_tokens_of_all: Tokens of the whole workload.
        is_whole: True if the sample is the workload; figures of it are then exact.
    """

    documents: tuple[SampleDocument, ...]
    n_tokens: int
    n_tokens_of_all: int
    is_whole: bool

    @property
    def scale(self) -> float:
        """Tokens of the workload over tokens of the sample; 1.0 for an empty sample."""
        return self.n_tokens_of_all / self.n_tokens if self.n_tokens else 1.0

    @property
    def n_bytes(self) -> int:
        """Bytes of the sample's texts."""
        return sum(len(document.text.encode()) for document in self.documents)


class DeepSampler:
    """Draws the sample while documents pass by."""

    def __init__(
        self, *, max_bytes: int = DEEP_SAMPLE_BYTES, max_documents: int = MAX_DEEP_DOCUMENTS
    ) -> None:
        self._max_bytes = max_bytes
        self._max_documents = max_documents
        self._drawer = Drawer(max_units=max_documents, max_bytes=max_bytes)
        # Everything, with its copies, until that is too much.
        self._whole: list[Unit] | None = []
        self._n_whole_bytes = 0

    def add(
        self,
        source: str,
        batch: TextBatch,
        digests: Digests,
        *,
        responses: TextBatch | None = None,
        domain_of: Callable[[int], str] = lambda document: "",
        model_of: Callable[[int], str] = lambda document: "",
        blocks: Blocks | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Offer the documents of one input.

        Args:
            source: Its path.
            batch: The documents.
            digests: Digests of the documents, `DIGEST` (n,).
            responses: The answer to each, empty for nothing.
            domain_of: The name of a document's domain by its place in the batch; empty for none.
            model_of: The name of its model likewise.
            blocks: Blocks of each request; None: the texts are documents.
            rows: int64 (n,), the number of each request in the log.
        """
        if responses is not None:
            digests = digests_of_pairs(digests, responses)
            self._n_whole_bytes += responses.n_bytes
        self._n_whole_bytes += batch.n_bytes
        texts, answers = _Texts(batch), _Texts(responses)
        if self._whole is not None:
            if self._is_too_much(self._n_whole_bytes, len(self._whole) + len(batch)):
                self._whole = None
            else:
                self._whole += [
                    Unit(
                        key,
                        texts[document],
                        source,
                        domain_of(document),
                        answers[document],
                        model=model_of(document),
                        blocks=_flat(blocks, document),
                        rows=_row(rows, document),
                    )
                    for document, key in enumerate(digests["high"].tolist())
                ]
        limit = min(self._drawer.threshold, (1 << KEY_BITS) - 1)
        lengths = np.diff(batch.offsets)
        wanted = digests["high"] <= np.uint64(limit)
        if rows is None:
            wanted |= lengths > _PIECE_BYTES
        for document in np.flatnonzero(wanted).tolist():
            digest = digests[document].tobytes()
            # A request is drawn whole: the provider's count is that of all of it.
            size = _PIECE_BYTES if rows is None else max(1, int(lengths[document]))
            for index in range(max(1, -(-int(lengths[document]) // size))):
                key = key_of_block(digest, index)
                if key < self._drawer.threshold:
                    unit = Unit(
                        key,
                        texts.piece(document, index * size, size),
                        source,
                        domain_of(document),
                        answers[document] if index == 0 else b"",
                        model=model_of(document),
                        blocks=_flat(blocks, document),
                        rows=_row(rows, document),
                    )
                    self._drawer.offer(unit)

    def merge(self, other: Self, *, n_rows: int = 0) -> DeepSampler:
        """Return the sampler that would have seen everything that both were offered.

        Args:
            other: The sampler of the shard that follows.
            n_rows: Requests of this shard, which come before those of the other.
        """
        merged = DeepSampler(max_bytes=self._max_bytes, max_documents=self._max_documents)
        if n_rows:
            other = other._moved(n_rows)
        merged._drawer = self._drawer.merge(other._drawer)
        merged._n_whole_bytes = self._n_whole_bytes + other._n_whole_bytes
        merged._whole = None
        if self._whole is not None and other._whole is not None:
            whole = [*self._whole, *other._whole]
            if not self._is_too_much(merged._n_whole_bytes, len(whole)):
                merged._whole = whole
        return merged

    def _moved(self, n_rows: int) -> Self:
        """Return the sampler with the numbers of its requests shifted."""
        moved = copy(self)
        moved._drawer = self._drawer.moved(n_rows)
        if self._whole is not None:
            moved._whole = [unit.moved(n_rows) for unit in self._whole]
        return moved

    def sample(
        self, tokenizer: Tokenizer, *, n_tokens_of_all: int, num_threads: int | None
    ) -> DeepSample:
        """The sample, its tokens counted.

        Args:
            tokenizer: The tokenizer in use.
            n_tokens_of_all: Tokens of the whole workload under it, without what a chat format adds.
            num_threads: Threads of the core; None: all.
        """
        is_whole = self._whole is not None
        if self._whole is None:
            units = self._drawer.units
        else:
            units = tuple(sorted(self._whole, key=lambda u: (u.key, u.source, u.domain, u.model)))
        batch = TextBatch.from_texts([unit.data for unit in units])
        counts = tokenizer.count_batch(batch, num_threads=num_threads).tolist()
        documents = tuple(
            SampleDocument(
                text=text,
                source=unit.source,
                domain=unit.domain or None,
                n_tokens=n_tokens,
                n_copies=1 if is_whole else unit.n_copies,
                response=unit.companion.decode() or None,
                model=unit.model,
                blocks=_texts_of(unit),
                rows=unit.rows,
            )
            for text, unit, n_tokens in zip(batch, units, counts, strict=True)
        )
        return DeepSample(documents, sum(counts), n_tokens_of_all, is_whole)

    def _is_too_much(self, n_bytes: int, n_documents: int) -> bool:
        return n_bytes > self._max_bytes or n_documents > self._max_documents


def _flat(blocks: Blocks | None, document: int) -> tuple[int, ...]:
    if blocks is None:
        return ()
    return tuple(number for block in blocks.of_request(document) for number in block)


def _row(rows: NDArray[np.int64] | None, document: int) -> tuple[int, ...]:
    return () if rows is None else (int(rows[document]),)


def _texts_of(unit: Unit) -> tuple[tuple[BlockKind, str], ...]:
    """Return kind and text of a unit's blocks."""
    flat = unit.blocks or (BlockKind.PROMPT, 0, len(unit.data))
    return tuple(
        (BlockKind(kind), unit.data[start:end].decode(errors="replace"))
        for kind, start, end in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    )


class _Texts:
    """The documents of a batch as bytes, by place."""

    def __init__(self, batch: TextBatch | None) -> None:
        self._data = None if batch is None else batch.data.data
        self._offsets = None if batch is None else batch.offsets

    def __getitem__(self, document: int) -> bytes:
        """One document; empty without a batch."""
        if self._data is None or self._offsets is None:
            return b""
        return bytes(self._data[self._offsets[document] : self._offsets[document + 1]])

    def piece(self, document: int, start: int, n_bytes: int) -> bytes:
        """A part of a document, its ends moved back to where characters begin."""
        if self._data is None or self._offsets is None:
            return b""
        first, last = int(self._offsets[document]), int(self._offsets[document + 1])
        begin, end = first + start, min(first + start + n_bytes, last)
        while begin > first and self._data[begin] & _CONTINUATION_MASK == _CONTINUATION:
            begin -= 1
        while end < last and self._data[end] & _CONTINUATION_MASK == _CONTINUATION:
            end -= 1
        return bytes(self._data[begin:end])
