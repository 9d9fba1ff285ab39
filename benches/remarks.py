"""Tries at a bar that is not reached: shown beside the figures.

The figures of what lost are in docs/log/engine-2026-11.md, with how they were measured.
"""

from __future__ import annotations

__all__ = ["REMARKS"]

_SCANNING = (
    "runs of a class by their masks in loops of the automaton (139 MB/s where the tables have "
    "160), loops compiled with wide vectors (232 for 342), closures compiled for each level (226), "
    "keys by scalar loads (318 to 320 for 328 to 350), prefetching without huge pages (nothing), "
    "rules of boundaries told apart by how often they are met (o200k_base, code 1.16x): "
    "docs/log/engine-2026-11.md"
)
_MISSES = (
    "merges with candidates in registers (a fifth less time a new word), tokens found by one read "
    "of memory (first passes 1.05x to 1.15x), "
    "what a new word needs of memory asked for at once, with both pairs of a merge, and "
    "caches that lose fewer words (together 1.05x to 1.14x), caches side by side in huge pages "
    "(short texts 1.1x to 1.3x), a new word's key and hash made once (English 1.05x), the next new "
    "word looked for ahead (0.96x), marks that tell where not to look "
    "(1.00x), pairs in cache lines of eight without branches (0.90x to 0.95x), the last pairs "
    "side by side (0.89x to 1.01x), several words merged side by side (0.8x to 1.1x of the "
    "merging), longest match with backtracking for words that no cache has (395 to 449 ns a "
    "word, merging by bits 334), a cuckoo table of pairs (no better behind the filter), merging "
    "certain pairs first "
    "(27,548 of 100,000 qualify)): docs/log/engine-2026-11.md"
)
_WIDE = (
    "cuts where no token straddles a boundary and units cached by themselves (69 to 149 MB/s), "
    "phrases remembered whole and longer characters classified in vectors (Chinese 52 to 200), "
    "marks told by vectors and both caches looked at without a branch (1.05x to 2.02x), words with "
    "many ids looked for first (Korean 1.11x), cuts of sixteen characters and keys of eight units "
    "at a time (Chinese, Japanese and Thai 1.1x to 1.3x), words cut only where units are short "
    "(first passes 0.98x to 1.13x), phrases kept when they come again (0.98x to 1.31x), first "
    "pairs by gathers (0.96x to 1.00x), characters that begin whole where no earlier token has "
    "a part of them (first passes 0.96x to 1.16x), the pairs of each script by themselves (first "
    "passes 1.01x to 1.5x), a bit for each two letters of an alphabet (Thai 1.0x to 1.2x), phrases "
    "compared and copied by sixteen (0.96x to 1.08x), "
    "long pretokens found when their batch is "
    "filled (0.7x to 1.07x), what is known of a block read as it was written (1.02x to 1.06x), two "
    "blocks as one vector (0.96x to 1.01x), few boundaries by short gathers (1.03x to 1.05x), long "
    "pretokens that wait for no place of short ones (Korean 1.05x, warm 1.04x)"
)
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
_LOADING = (
    "pages asked for at once and checks in vectors (cl100k_base 7.6 to 5.3 ms), lists read to "
    "where they stay (1.03x to 1.15x), huge pages (1.1x to 1.3x), slots made after some thousand "
    "lookups (the core alone 1.6x to 1.7x), two threads and an index of states alone (1.2x), fewer "
    "looks (no faster): docs/log/engine-2026-11.md"
)

REMARKS: dict[str, str] = {
    "warm": _SCANNING,
    "first-cl100k-english": _MISSES,
    "first": _MISSES,
    "language-warm": _WIDE,
    "language-first": f"{_WIDE}; {_MISSES}",
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
    "load-compiled": _LOADING,
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
    "pattern": _SCANNING,
    "hostile": _LINEAR,
    "hostile-growth": _LINEAR,
}
"""Key of a bar (``benches.targets``) -> what was tried; shown only while the bar is not reached."""
