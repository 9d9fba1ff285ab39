"""tokenizers, the reference for ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tokenizers

from benches.peers.base import Flat, Unsupported, VocabularyFiles
from benches.peers.encodings import EncodingAdapter, locating

__all__ = ["TokenizersPeer"]


class TokenizersPeer(EncodingAdapter):
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
        return locating(self._tokenizer.encode)

    def decode_call(self) -> Callable[[Any], Any]:
        decode = self._tokenizer.decode
        return lambda ids: decode(ids, skip_special_tokens=False)

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        decode = self._tokenizer.decode_batch
        return lambda rows: decode(rows, skip_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encodings(texts)

    def encodings(self, texts: list[str]) -> Sequence[Any]:
        found: Sequence[Any] = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return found

    def flatten(self, result: Any) -> Flat:
        return Flat.from_rows([encoding.ids for encoding in result])
