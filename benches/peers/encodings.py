"""Base of libraries that give an object for each text, as ``tokenizers`` does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benches.peers.base import Adapter

__all__ = ["EncodingAdapter", "locating"]


def locating(encode: Callable[..., Any]) -> Callable[[str], Any]:
    """The function from one text to ids and offsets, by one that gives an object with both."""

    def call(text: str) -> Any:
        encoding = encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    return call


class EncodingAdapter(Adapter):
    """Gives encodings; truncation and padding are switches of its tokenizer."""

    @abstractmethod
    def encodings(self, texts: list[str]) -> Sequence[Any]:
        """Encode many texts, on all threads."""

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        """Encode many texts, on all threads; their ids."""
        return [encoding.ids for encoding in self.encodings(texts)]

    def padded(self, texts: list[str], pad_id: int, max_length: int) -> Any:
        """Encode into one matrix, with the switches set for this alone."""
        self._tokenizer.enable_truncation(max_length)
        self._tokenizer.enable_padding(pad_id=pad_id)
        try:
            return np.array(self.encode_batch_lists(texts))
        finally:
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        """The ids and the starts of their spans; not timed."""
        ids, offsets = result
        return ids, [start for start, _ in offsets]
