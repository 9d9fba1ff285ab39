"""Short passages of the workload for the coloured view, chosen without chance.

Long documents are cut into blocks; every block has a key made from its document's digest, and the
blocks with the smallest keys are kept. So the pool is an even sample of the distinct text, it does
not depend on the order of the inputs or on threads, and the same text is never in it twice. From
the pool, the passages are shown on which the tokenizers differ most or that contain a given term:
the view illustrates differences; the figures of the report come from the whole workload.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton.workload.digests import Digests
from jeton.workload.sampling.deep_sample import KEY_BITS, Drawer, Unit, key_of_block

SAMPLE_CHARS = 320
"""Characters of a passage: about four lines of a page."""

N_SAMPLES = 6
"""Passages shown: what one looks through before growing tired."""

_POOL_SIZE = 96
"""Blocks kept as candidates; all are cut by every tokenizer, which takes milliseconds."""

_BLOCK_BYTES = 65_536
"""Bytes of a block: a longer document has several chances to be seen."""

_TERM_BONUS = 0.25
"""A passage with a given term is preferred to one on which tokenizers differ by a further 25%."""

_MIN_CHARS = 24
"""Shorter passages show too little, and are taken only where there is nothing else."""

_MAX_UTF8_BYTES = 4
_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SampleCut:
    """One tokenizer's cut of a sample: code-point boundaries and ids, for the coloured view.

    Token ``i`` covers ``text[starts[i]:ends[i]]``; tokens inside one character share its range.
    """

    tokenizer: str
    ids: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SampleText:
    """A short stretch of the workload, cut by every tokenizer."""

    source: str
    text: str
    cuts: tuple[SampleCut, ...]


class TermFinder:
    """Finds the first of many terms in a short text; case is ignored."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_first_word: dict[str, list[str]] = {}
        for term in terms:
            folded = term.casefold()
            first = _WORD.search(folded)
            if first:
                self._by_first_word.setdefault(first.group(), []).append(folded)

    def find(self, text: str) -> int | None:
        """Position of the first term, or None. Linear in the text, whatever the number of terms."""
        # casefold() may change lengths (of "ß"); lower() of the few texts concerned does not matter
        # here, because the position only chooses a window.
        if not self._by_first_word:
            return None
        folded = text.casefold()
        for word in _WORD.finditer(folded):
            for term in self._by_first_word.get(word.group(), ()):
                end = word.start() + len(term)
                if folded.startswith(term, word.start()) and not folded[end : end + 1].isalnum():
                    return min(word.start(), max(len(text) - 1, 0))
        return None


class PassageSampler:
    """Keeps the blocks with the smallest keys; passages of readable length are cut from them."""

    def __init__(self, terms: Iterable[str], *, sample_chars: int = SAMPLE_CHARS) -> None:
        self._terms = TermFinder(terms)
        self._sample_chars = sample_chars
        self._drawer = Drawer(max_units=_POOL_SIZE)

    def add(self, source: str, batch: TextBatch, digests: Digests) -> None:
        """Offer the documents of one input.

        Args:
            source: Its path.
            batch: The documents.
            digests: Digests of the documents, `DIGEST` (n,).
        """
        offsets = batch.offsets
        lengths = np.diff(offsets)
        limit = min(self._drawer.threshold, (1 << KEY_BITS) - 1)
        wanted = (digests["high"] <= np.uint64(limit)) | (lengths > _BLOCK_BYTES)
        data = batch.data.data
        for document in np.flatnonzero(wanted & (lengths > 0)).tolist():
            digest = digests[document].tobytes()
            first, end = int(offsets[document]), int(offsets[document + 1])
            for index, start in enumerate(range(first, end, _BLOCK_BYTES)):
                key = key_of_block(digest, index)
                if key >= self._drawer.threshold:
                    continue
                block = bytes(data[start : min(start + _BLOCK_BYTES, end)])
                if block.strip():
                    self._drawer.offer(Unit(key, block, source, ""))

    def merge(self, other: Self) -> PassageSampler:
        """Return the sampler that would have seen both inputs; both look for the same terms."""
        merged = PassageSampler((), sample_chars=self._sample_chars)
        merged._terms = self._terms
        merged._drawer = self._drawer.merge(other._drawer)
        return merged

    def _passage(self, block: bytes, key: int) -> tuple[str, bool]:
        """A window of the block: around a term where there is one, else where the key says."""
        text = _from_character(block).decode("utf-8", errors="ignore")
        found = self._terms.find(text)
        room = max(0, len(text) - self._sample_chars)
        if found is not None:
            start = max(0, min(found - self._sample_chars // 4, room))
        else:
            start = key % (room + 1)
        return _trim(text, start, self._sample_chars), found is not None

    def select(self, tokenizers: Sequence[tuple[str, Tokenizer]]) -> tuple[SampleText, ...]:
        """Cut the pool with every tokenizer and choose what is worth looking at.

        At most as many passages of one source as leave room for the other sources.
        """
        scored: list[tuple[float, int, SampleText]] = []
        for unit in self._drawer.units:
            text, has_term = self._passage(unit.data, unit.key)
            if not text.strip():
                continue
            cuts = tuple(_cut(name, tokenizer, text) for name, tokenizer in tokenizers)
            counts = [len(cut.ids) for cut in cuts]
            difference = 1 - min(counts) / max(counts) if max(counts) else 0.0
            score = difference + (_TERM_BONUS if has_term else 0.0)
            if len(text) < _MIN_CHARS:
                score -= 1.0
            scored.append((-score, unit.key, SampleText(unit.source, text, cuts)))
        scored.sort(key=lambda entry: entry[:2])
        n_sources = len({sample.source for _, _, sample in scored})
        per_source = -(-N_SAMPLES // max(1, n_sources))
        chosen: list[SampleText] = []
        passed_over: list[SampleText] = []
        taken: dict[str, int] = {}
        for _, _, sample in scored:
            if taken.get(sample.source, 0) < per_source and len(chosen) < N_SAMPLES:
                taken[sample.source] = taken.get(sample.source, 0) + 1
                chosen.append(sample)
            else:
                passed_over.append(sample)
        return tuple(chosen + passed_over[: N_SAMPLES - len(chosen)])


def _from_character(block: bytes) -> bytes:
    """The block without the rest of a character that began before it."""
    for index in range(min(_MAX_UTF8_BYTES, len(block))):
        if block[index] & _CONTINUATION_MASK != _CONTINUATION:
            return block[index:]
    return block


def _trim(text: str, start: int, n_chars: int) -> str:
    """``n_chars`` from about ``start``, beginning at a line or word and ending at one."""
    if start > 0:
        line = text.find("\n", start, start + n_chars // 2)
        space = text.find(" ", start, start + n_chars // 2)
        start = line + 1 if line >= 0 else space + 1 if space >= 0 else start
    passage = text[start : start + n_chars]
    if start + n_chars < len(text):
        end = max(passage.rfind("\n"), passage.rfind(" "))
        if end > n_chars // 2:
            passage = passage[:end]
    # Blank lines around a passage say nothing; indentation of its first line does.
    return passage.rstrip().lstrip("\n")


def _cut(name: str, tokenizer: Tokenizer, text: str) -> SampleCut:
    encoding = tokenizer.encode_with_offsets(text)
    return SampleCut(
        tokenizer=name,
        ids=tuple(int(id_) for id_ in encoding.ids),
        starts=tuple(int(start) for start in encoding.starts),
        ends=tuple(int(end) for end in encoding.ends),
    )
