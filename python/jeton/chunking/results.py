"""Chunks of a text, and the text that lies in none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.chunking.boundaries import Boundaries
from jeton.chunking.frames import Frame, Summarize

if TYPE_CHECKING:
    from jeton.chunking.frames import Frame


ROW = 5
"""Numbers of a chunk: bytes from and to, code points from and to, tokens."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text that fits the budget.

    Attributes:
        text: The part, ``document[start:end]``.
        start: First code point of the document.
        end: One past the last.
        start_bytes: First byte of the document as UTF-8.
        end_bytes: One past the last.
        n_tokens: Tokens of the chunk as it is sent, special tokens included.
        context: Headings above the part, the outermost first, or imports and class of code.
        head: Text that is sent before the part: prefix, context, template.
        tail: Text that is sent behind it.
        summary: Text that is sent instead of a part that does not fit; None: the part is sent.
    """

    text: str
    start: int
    end: int
    start_bytes: int
    end_bytes: int
    n_tokens: int
    context: tuple[str, ...] = ()
    head: str = ""
    tail: str = ""
    summary: str | None = None

    @property
    def sent(self) -> str:
        """Text to embed or to send, with all that stands around the part."""
        return f"{self.head}{self.text if self.summary is None else self.summary}{self.tail}"


@dataclass(frozen=True, slots=True)
class DroppedText:
    """White space that lies in no chunk.

    Attributes:
        start: First code point of the document.
        end: One past the last.
    """

    start: int
    end: int


class Chunks(Sequence[Chunk]):
    """Chunks of one text; each is made when it is asked for.

    Args:
        text: The text.
        rows: int64 (n, ROW).
        frame: Text around each chunk.
        summaries: Texts that are sent instead of chunks, by their first bytes.
    """

    __slots__ = ("_frame", "_rows", "_summaries", "_text")

    def __init__(
        self,
        text: str,
        rows: NDArray[np.int64],
        frame: Frame,
        summaries: Mapping[int, str] | None = None,
    ) -> None:
        self._text = text
        self._rows = rows
        self._frame = frame
        self._summaries = summaries or {}

    @property
    def text(self) -> str:
        """The text that was divided."""
        return self._text

    @property
    def n_tokens(self) -> NDArray[np.int64]:
        """Tokens of each chunk as it is sent, int64 (n_chunks,)."""
        return self._rows[:, 4]

    @property
    def spans(self) -> NDArray[np.int64]:
        """First code point of each chunk and one past its last, int64 (n_chunks, 2)."""
        return self._rows[:, 2:4]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> Chunks: ...
    def __getitem__(self, index: int | slice) -> Chunk | Chunks:
        if isinstance(index, slice):
            return Chunks(self._text, self._rows[index], self._frame, self._summaries)
        (made,) = self._made(self._rows[index][None, :])
        return made

    def __iter__(self) -> Iterator[Chunk]:
        return self._made(self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Chunks({list(self)!r})"

    def _made(self, rows: NDArray[np.int64]) -> Iterator[Chunk]:
        text, frame, summaries = self._text, self._frame, self._summaries
        places = np.searchsorted(np.array(frame.starts), rows[:, 0], side="right") - 1
        for (start_bytes, end_bytes, start, end, n_tokens), place in zip(
            rows.tolist(), places.tolist(), strict=True
        ):
            yield Chunk(
                text[start:end],
                start,
                end,
                start_bytes,
                end_bytes,
                n_tokens,
                frame.contexts[place],
                frame.heads[place],
                frame.tail,
                summaries.get(start_bytes),
            )


@dataclass(frozen=True, slots=True)
class Chunking:
    """Chunks of one text, in its order.

    Attributes:
        chunks: The chunks.
        dropped: Text that lies in none; empty unless white space was to be trimmed.
        max_tokens: The budget.
        by: The way in which places for cuts were found.
        language: Language whose rules found sentences (ISO 639-1); empty: none was needed.
    """

    chunks: Chunks
    dropped: tuple[DroppedText, ...]
    max_tokens: int
    by: str
    language: str

    @property
    def n_tokens(self) -> int:
        """Tokens of all chunks as they are sent: the size of an index of them."""
        return int(self.chunks.n_tokens.sum())


# Blocks that are longer than a chunk, sent as the summaries that somebody writes of them.


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text: a block with its summary, or what lies between such blocks.

    Attributes:
        start: First byte.
        end: One past the last.
        summary: Text to send instead; None: the part is divided.
        n_tokens: Tokens of the summary as it is sent; 0 where there is none.
    """

    start: int
    end: int
    summary: str | None = None
    n_tokens: int = 0


def stretches(
    data: bytes,
    found: Boundaries,
    frame: Frame,
    *,
    tokenizer: Tokenizer,
    max_tokens: int,
    add_special_tokens: bool,
    summarize: Summarize,
) -> Iterator[Stretch]:
    """The parts of a text in order: blocks that exceed a chunk have their summary.

    A block lies between two places no dearer than a cut between sentences: a sentence, a table, a
    fence, a function. It is divided as ever where its summary is empty or does not fit either.
    """

    def count(head: str, text: str) -> int:
        return tokenizer.count(f"{head}{text}{frame.tail}", add_special_tokens=add_special_tokens)

    done = 0
    for start, end in _blocks(found, len(data)):
        # No tokenizer makes more tokens than there are bytes, so most blocks need no count.
        if end - start < max_tokens - frame.n_tokens:
            continue
        head = frame.heads[bisect_right(frame.starts, start) - 1]
        text = data[start:end].decode()
        if count(head, text) <= max_tokens:
            continue
        summary = summarize(text, max_tokens - count(head, ""))
        n_tokens = count(head, summary)
        if not summary.strip() or n_tokens > max_tokens:
            continue
        if done < start:
            yield Stretch(done, start)
        yield Stretch(start, end, summary, n_tokens)
        done = end
    if done < len(data):
        yield Stretch(done, len(data))


def _blocks(found: Boundaries, n_bytes: int) -> Iterator[tuple[int, int]]:
    edges = np.concatenate([[0], found.places[found.costs <= found.sentence_cost], [n_bytes]])
    return pairwise(np.unique(edges).tolist())
