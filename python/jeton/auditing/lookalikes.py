"""Texts of special tokens inside ordinary documents.

A document that contains ``<|im_end|>`` is text; a pipeline that encodes it with special tokens
allowed turns it into a control token, which ends a turn or a document where the writer chose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer

__all__ = ["KNOWN_MARKERS", "LookalikeScanner", "markers_of"]

KNOWN_MARKERS = (
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|im_sep|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
)
"""Markers of public chat formats and vocabularies (tiktoken's cl100k_base and o200k_base, ChatML,
Llama 2 and 3, Phi-3, Gemma, Mistral), looked for under any tokenizer: the same documents may reach
another model. ``<s>`` and ``</s>`` are left out, for HTML uses them; they are looked for where an
audited tokenizer has them."""

_START_BYTES = 3


def markers_of(tokenizers: Iterable[Tokenizer]) -> tuple[str, ...]:
    """The known markers and the special tokens of the given tokenizers, sorted."""
    markers = set(KNOWN_MARKERS)
    for tokenizer in tokenizers:
        markers.update(tokenizer.special_tokens)
    # A marker of one character would be found in every text.
    return tuple(sorted(marker for marker in markers if len(marker.encode()) >= _START_BYTES))


class LookalikeScanner:
    """Counts markers in documents, and the documents that contain any.

    The first byte of every marker is looked for in the whole batch at once, then its first three
    bytes where that one stands; only what is left is compared with the markers. Ordinary text is
    passed over at the speed of memory.
    """

    def __init__(self, markers: Iterable[str]) -> None:
        groups: dict[int, list[bytes]] = {}
        for marker in markers:
            encoded = marker.encode()
            groups.setdefault(_packed(encoded), []).append(encoded)
        # The longest first, so that one marker inside another is counted once.
        self._patterns = {
            start: re.compile(b"|".join(re.escape(m) for m in sorted(group, key=len, reverse=True)))
            for start, group in sorted(groups.items())
        }
        self._starts = np.array(sorted(groups), dtype=np.int64)
        self._first_bytes = sorted({start >> 16 for start in groups})
        self._counts: Counter[str] = Counter()
        self.n_documents = 0

    @property
    def counts(self) -> dict[str, int]:
        """Occurrences by marker, the most frequent first."""
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return dict(ordered)

    def add(self, batch: TextBatch) -> None:
        """Count the markers of one batch."""
        data = batch.data
        places = self._places(data)
        if not len(places):
            return
        view = data.data
        documents: set[int] = set()
        ends = dict.fromkeys(self._patterns, 0)
        for place, start in zip(places.tolist(), _packed_at(data, places).tolist(), strict=True):
            # Markers of one kind do not overlap: what begins inside another is a part of it.
            if place < ends[start]:
                continue
            document = int(np.searchsorted(batch.offsets, place, side="right")) - 1
            # The documents of a batch touch: a match across two of them is none.
            match = self._patterns[start].match(view, place, int(batch.offsets[document + 1]))
            if match:
                ends[start] = match.end()
                self._counts[match.group().decode()] += 1
                documents.add(document)
        self.n_documents += len(documents)

    def merge(self, other: Self) -> LookalikeScanner:
        """What both counted; they look for the same markers."""
        merged = LookalikeScanner(())
        merged._patterns, merged._starts = self._patterns, self._starts
        merged._first_bytes = self._first_bytes
        merged._counts = self._counts + other._counts
        merged.n_documents = self.n_documents + other.n_documents
        return merged

    def _places(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Where a marker may begin, ascending: its first three bytes stand there."""
        if len(data) < _START_BYTES or not self._first_bytes:
            return np.zeros(0, dtype=np.int64)
        searched = data[: 1 - _START_BYTES]
        found = searched == self._first_bytes[0]
        for first_byte in self._first_bytes[1:]:
            found |= searched == first_byte
        places = np.flatnonzero(found)
        return places[np.isin(_packed_at(data, places), self._starts)]


def _packed(marker: bytes) -> int:
    return int.from_bytes(marker[:_START_BYTES], "big")


def _packed_at(data: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The three bytes at each place as one number."""
    packed = data[places].astype(np.int64) << 16
    packed |= data[places + 1].astype(np.int64) << 8
    packed |= data[places + 2]
    return packed
