"""tokie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tokie

from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["TokiePeer"]


class TokiePeer(Adapter):
    """``tokenizer.json``; batches through its flat buffer."""

    name = "tokie"
    distribution = "tokie"
    has_arrays = True

    def load(self, files: VocabularyFiles) -> None:
        if files.hf_json is None:
            raise Unsupported("tokie reads tokenizer.json only")
        self._tokenizer = tokie.Tokenizer.from_json(str(files.hf_json))

    def save_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self._tokenizer.save(str(folder / f"{files.name}.tkz"))

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self._tokenizer = tokie.Tokenizer.from_file(str(folder / f"{files.name}.tkz"))

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self._tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def array_call(self) -> Callable[[str], Any]:
        encode = self._tokenizer.encode_batch_flat
        return lambda text: encode([text], add_special_tokens=False)[0]

    def count_call(self) -> Callable[[str], int]:
        call: Callable[[str], int] = self._tokenizer.count_tokens
        return call

    def offsets_call(self) -> Callable[[str], Any]:
        encode = self._tokenizer.encode_with_offsets

        def call(text: str) -> Any:
            encoding = encode(text, add_special_tokens=False)
            return encoding.ids, encoding.offsets

        return call

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        ids, offsets = result
        return ids, [start for start, _ in offsets]

    def decode_call(self) -> Callable[[Any], Any]:
        call: Callable[[Any], Any] = self._tokenizer.decode_bytes
        return call

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        call: Callable[[list[Any]], Any] = self._tokenizer.decode_batch
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_flat(texts, add_special_tokens=False)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        return [
            found.ids for found in self._tokenizer.encode_batch(texts, add_special_tokens=False)
        ]

    def padded(self, texts: list[str], pad_id: int, max_length: int) -> Any:
        self._tokenizer.enable_truncation(max_length)
        self._tokenizer.enable_padding(pad_id=pad_id)
        try:
            found = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            return np.array([encoding.ids for encoding in found])
        finally:
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()

    def flatten(self, result: Any) -> Flat:
        ids, lengths = result
        return Flat.from_lengths(ids, lengths)

    def count_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.count_tokens_batch(texts)
