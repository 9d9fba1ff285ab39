"""quicktok (published as quicktok-v1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import quicktok

from benches.peers.base import Adapter, Flat, VocabularyFiles

__all__ = ["QuicktokPeer"]


class QuicktokPeer(Adapter):
    """Its bundled vocabularies."""

    name = "quicktok"
    distribution = "quicktok-v1"
    bundled = True
    carried = ("cl100k_base", "o200k_base", "llama3")
    count_name = "count"
    decode_name = "decode_bytes"
    decode_batch_name = "decode_batch"

    def load(self, files: VocabularyFiles) -> None:
        self.must_carry(files)
        self._tokenizer = quicktok.get_encoding(files.name)

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode_ordinary
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def flatten(self, result: Any) -> Flat:
        return Flat(*result)

    def count_batch(self, texts: list[str]) -> Any:
        return quicktok.count_batch(self._tokenizer, texts)
