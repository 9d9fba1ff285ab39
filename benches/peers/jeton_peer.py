"""Jeton itself."""

from __future__ import annotations

from typing import Any

import jeton
from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["JetonPeer"]


class JetonPeer(Adapter):
    """The wheel under test."""

    name = "jeton"
    distribution = "jeton"

    def load(self, files: VocabularyFiles) -> None:
        """Load the rank file where there is one, else the ``tokenizer.json``."""
        path = files.rank_file or files.hf_json
        if path is None:
            raise Unsupported("no file of this vocabulary")
        self._tokenizer = jeton.load(str(path))

    @property
    def tokenizer(self) -> jeton.Tokenizer:
        """What does more than encode."""
        return self._tokenizer

    def encode_list(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)

    def encode_array(self, text: str) -> Any:
        return self._tokenizer.encode_array(text)

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def flatten(self, result: Any) -> Flat:
        return Flat(result.ids, result.offsets)

    def count_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.count_batch(texts)
