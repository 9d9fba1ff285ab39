"""quicktok (published as quicktok-v1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import quicktok

from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["QuicktokPeer"]

# Compiled into the library; it reads no rank files.
BUNDLED = ("cl100k_base", "o200k_base", "llama3")


class QuicktokPeer(Adapter):
    """Its bundled vocabularies."""

    name = "quicktok"
    distribution = "quicktok-v1"
    bundled = True

    def load(self, files: VocabularyFiles) -> None:
        if files.name not in BUNDLED or files.has_own_pattern:
            raise Unsupported("quicktok has its own vocabularies only, and this is not one of them")
        self._tokenizer = quicktok.get_encoding(files.name)

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self.load(files)

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode_ordinary
        return call

    def count_call(self) -> Callable[[str], int]:
        call: Callable[[str], int] = self._tokenizer.count
        return call

    def decode_call(self) -> Callable[[Any], Any]:
        call: Callable[[Any], Any] = self._tokenizer.decode_bytes
        return call

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        call: Callable[[list[Any]], Any] = self._tokenizer.decode_batch
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def flatten(self, result: Any) -> Flat:
        return Flat(*result)

    def count_batch(self, texts: list[str]) -> Any:
        return quicktok.count_batch(self._tokenizer, texts)
