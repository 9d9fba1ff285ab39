"""Blocks that are longer than a chunk, sent as the summaries that somebody writes of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jeton._core import Tokenizer
from jeton.chunking.boundaries import Boundaries
from jeton.chunking.frames import Frame, Summarize


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
