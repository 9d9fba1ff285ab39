"""Tries at a bar that is not reached: shown beside the figures.

The figures of what lost are in docs/log/engine-2026-11.md, with how they were measured.
"""

from __future__ import annotations

__all__ = ["REMARKS"]

_LISTED = "tries in docs/log/engine-2026-11.md, last section"
_LISTS = "integers that are made once for each id: a list is a count and a pointer for each"
_RAW = "words kept under their raw bytes where cuts are proved"
_UNIGRAM = (
    f"{_RAW}, and while the margin to the second path exceeds what rounding can do; words asked "
    "for ahead (first passes 1.06x to 1.27x): docs/log/engine-2026-11.md"
)
_LINEAR = "merging a window at a time and joining where windows agree, which is linear"

_DOCUMENT = (
    "UTF-8 part by part, on all threads (430 to 600 MB/s), "
    "what the next part is made of asked for meanwhile (one thread 1.06x to "
    "1.17x): docs/log/engine-2026-11.md"
)
_KEEPING = (
    "arrays from another allocator (one by one 0.99x to 1.00x), ids written where the array keeps "
    "them (0.89x to 0.96x): docs/log/engine-2026-11.md"
)
_NEW = (
    "what was written just now no longer moved elsewhere (1.12x), in first passes, unknown words "
    "of a batch looked up together (0.95x to 1.10x) or merged in turn (0.76x to 0.82x): "
    "docs/log/engine-2026-11.md"
)
REMARKS: dict[str, str] = {
    "warm": _LISTED,
    "first-cl100k-english": _LISTED,
    "first": _LISTED,
    "language-warm": _LISTED,
    "language-first": _LISTED,
    "document": _DOCUMENT,
    "document-threads": _DOCUMENT,
    "batch-str": _KEEPING,
    "small-array": _NEW,
    "small-list": _NEW,
    "load-file": (
        "nothing made that this file does not need (31 to 21 ms), lines read without branches and "
        "by two threads (1.13x to 1.18x), the other one from the beginning (ranks alone 1.3x): "
        "docs/log/engine-2026-11.md"
    ),
    "load-compiled": _LISTED,
    "lists-fastokens": _LISTS,
    "lists-gigatoken": _LISTS,
    "wordpiece-warm": _RAW,
    "wordpiece-first": (
        f"{_RAW}, words looked up before the trie reads them (1.07x to 1.13x), nodes of the trie "
        "in sixteen bytes (0.92x), keys eight at a time (0.99x to 1.02x), all places of a new word "
        "asked for at once (0.98x to 1.01x), seven ids of two bytes to an entry (1.05x to 1.17x): "
        "docs/log/engine-2026-11.md"
    ),
    "unigram-warm": _UNIGRAM,
    "unigram-first": _UNIGRAM,
    "spbpe-warm": (
        f"{_RAW}; a text without spaces is one word: cut inside of it (69 MB/s for 120), kept "
        "whole (0.24x to 0.47x), found more quickly (1.1x), asked for before its words are looked "
        "for (4x): docs/log/engine-2026-11.md"
    ),
    "spbpe-first": _RAW,
    "pattern": _LISTED,
    "hostile": _LINEAR,
    "hostile-growth": _LINEAR,
}
"""Key of a bar (``benches.targets``) -> what was tried; shown only while the bar is not reached."""
