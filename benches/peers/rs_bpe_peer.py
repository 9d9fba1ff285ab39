"""rs-bpe, Python bindings of the bpe crate of rust-gems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rs_bpe.bpe import openai

from benches.peers.base import Adapter, Unsupported, VocabularyFiles

__all__ = ["RsBpePeer"]


class RsBpePeer(Adapter):
    """Its bundled vocabularies."""

    name = "rs-bpe"
    distribution = "rs-bpe"
    bundled = True

    def load(self, files: VocabularyFiles) -> None:
        if files.name not in ("cl100k_base", "o200k_base") or files.has_own_pattern:
            raise Unsupported("rs-bpe has its own vocabularies only, and this is not one of them")
        self._tokenizer = getattr(openai, files.name)()

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self.load(files)

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode
        return call

    def count_call(self) -> Callable[[str], int]:
        call: Callable[[str], int] = self._tokenizer.count
        return call

    def decode_call(self) -> Callable[[Any], Any]:
        call: Callable[[Any], Any] = self._tokenizer.decode
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)[0]

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        rows: list[list[int]] = self._tokenizer.encode_batch(texts)[0]
        return rows

    def count_batch(self, texts: list[str]) -> Any:
        return [self._tokenizer.count(text) for text in texts]
