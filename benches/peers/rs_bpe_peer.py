"""rs-bpe, Python bindings of the bpe crate of rust-gems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rs_bpe.bpe import openai

from benches.peers.base import Adapter, VocabularyFiles

__all__ = ["RsBpePeer"]


class RsBpePeer(Adapter):
    """Its bundled vocabularies."""

    name = "rs-bpe"
    distribution = "rs-bpe"
    bundled = True
    carried = ("cl100k_base", "o200k_base")
    count_name = "count"
    decode_name = "decode"

    def load(self, files: VocabularyFiles) -> None:
        self.must_carry(files)
        self._tokenizer = getattr(openai, files.name)()

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)[0]

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        rows: list[list[int]] = self._tokenizer.encode_batch(texts)[0]
        return rows

    def count_batch(self, texts: list[str]) -> Any:
        return [self._tokenizer.count(text) for text in texts]
