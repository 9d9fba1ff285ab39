"""Places at which a text may be cut, each with the price of cutting there.

Prices are compared with one another and with ``CHUNK_COST``, the price of one more chunk. They were
set by hand and held against the texts of docs/studies/chunking.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jeton._core import scan_boundaries, scan_markdown

CHUNK_COST = 12
CLAUSE_COST = 60
WORD_COST = 100

SENTENCE_COST = 24
"""Highest price of a cut between sentences; dearer ones tear a table, a fence or a function."""

HEADING_KINDS = range(1, 7)
_PARAGRAPH, _LINE, _ITEM, _SENTENCE, _SENTENCE_LINE, _ROW, _TABLE_RULE = range(7, 14)
_CODE_LINE, _CODE_BLOCK, _BODY, _PHRASE, _LEANING, _LEANING_LINE, _ANNOUNCED = range(14, 21)

KIND_COSTS = np.zeros(21, dtype=np.uint32)
for _kind, _cost in {
    **{level: level - 1 for level in HEADING_KINDS},
    _PARAGRAPH: 6,
    _LINE: 30,
    _ITEM: 9,
    _SENTENCE: 16,
    _SENTENCE_LINE: 8,
    _ROW: 48,
    _TABLE_RULE: 90,
    _CODE_LINE: 60,
    _CODE_BLOCK: 48,
    _BODY: 60,
    _PHRASE: 30,
    _LEANING: SENTENCE_COST,
    _LEANING_LINE: 16,
    _ANNOUNCED: 32,
}.items():
    KIND_COSTS[_kind] = _cost


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of a text.

    Attributes:
        start: First byte of its rows, behind the head.
        end: One past the last.
        head: Text of its head, which names the columns.
    """

    start: int
    end: int
    head: str


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Bytes at which a text may be cut, rising, with the price of each.

    Attributes:
        places: int64 (n,), bytes of the text.
        costs: uint32 (n,).
        headings: Headings of the text: byte, level from 1, words.
        sentence_cost: Highest price of a cut between sentences.
        tables: Tables of the text, in order; none lies in another.
    """

    places: NDArray[np.int64]
    costs: NDArray[np.uint32]
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    sentence_cost: int = SENTENCE_COST
    tables: list[TextTable] = field(default_factory=list)

    def within(self, start: int, end: int) -> Boundaries:
        """The places inside a part of the text, counted from its first byte; no headings."""
        first = np.searchsorted(self.places, start, side="right")
        last = np.searchsorted(self.places, end, side="left")
        return Boundaries(self.places[first:last] - start, self.costs[first:last])


def sentence_boundaries(text: str, language: str) -> Boundaries:
    """Beginnings of sentences, paragraphs and lines."""
    places, kinds = scan_boundaries(text, by="sentences", language=language)
    return Boundaries(places, KIND_COSTS[kinds])


def structure_boundaries(text: str, language: str) -> Boundaries:
    """Beginnings of the blocks of Markdown or plain text, and of sentences within them."""
    places, kinds = scan_boundaries(text, by="structure", language=language)
    found, tables = scan_markdown(text)
    data = text.encode()

    def words(start: int, end: int) -> str:
        return " ".join(data[start:end].decode().split())

    return Boundaries(
        places,
        KIND_COSTS[kinds],
        [(at, level, words(start, end)) for at, level, start, end in found],
        tables=[
            TextTable(head_end, end, data[head:head_end].decode()) for head, head_end, end in tables
        ],
    )


def as_bytes(text: str, places: Iterable[int]) -> list[int]:
    """The bytes of code points that rise."""
    if text.isascii():
        return list(places)
    found = []
    done = at = 0
    for place in places:
        at += len(text[done:place].encode())
        done = place
        found.append(at)
    return found


def merged(costs: dict[int, int], text: str) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The places of a text, by code point, as rising bytes with their costs."""
    places = sorted(place for place in costs if 0 < place < len(text))
    return (
        np.array(as_bytes(text, places), dtype=np.int64),
        np.array([costs[place] for place in places], dtype=np.uint32),
    )
