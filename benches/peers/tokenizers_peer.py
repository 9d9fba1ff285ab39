"""tokenizers, the reference for ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tokenizers

from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["TokenizersPeer"]


class TokenizersPeer(Adapter):
    """``Tokenizer`` from the JSON file; ``encode_batch_fast`` leaves offsets out."""

    name = "tokenizers"
    distribution = "tokenizers"

    def load(self, files: VocabularyFiles) -> None:
        if files.hf_json is None:
            raise Unsupported("tokenizers reads tokenizer.json only")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(files.hf_json))

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self._tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def offsets_call(self) -> Callable[[str], Any]:
        encode = self._tokenizer.encode

        def call(text: str) -> Any:
            encoding = encode(text, add_special_tokens=False)
            return encoding.ids, encoding.offsets

        return call

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        ids, offsets = result
        return ids, [start for start, _ in offsets]

    def decode_call(self) -> Callable[[Any], Any]:
        decode = self._tokenizer.decode
        return lambda ids: decode(ids, skip_special_tokens=False)

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        decode = self._tokenizer.decode_batch
        return lambda rows: decode(rows, skip_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def padded(self, texts: list[str], pad_id: int, max_length: int) -> Any:
        self._tokenizer.enable_truncation(max_length)
        self._tokenizer.enable_padding(pad_id=pad_id)
        try:
            found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            return np.array([encoding.ids for encoding in found])
        finally:
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()

    def flatten(self, result: Any) -> Flat:
        return Flat.from_rows([encoding.ids for encoding in result])
