"""tokie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tokie

from benches.peers.base import Flat, Unsupported, VocabularyFiles
from benches.peers.encodings import EncodingAdapter, locating

__all__ = ["TokiePeer"]


class TokiePeer(EncodingAdapter):
    """``tokenizer.json``; batches through its flat buffer."""

    name = "tokie"
    distribution = "tokie"
    has_arrays = True
    count_name = "count_tokens"
    decode_name = "decode_bytes"
    decode_batch_name = "decode_batch"

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

    def offsets_call(self) -> Callable[[str], Any]:
        return locating(self._tokenizer.encode_with_offsets)

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_flat(texts, add_special_tokens=False)

    def encodings(self, texts: list[str]) -> Sequence[Any]:
        found: Sequence[Any] = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return found

    def flatten(self, result: Any) -> Flat:
        ids, lengths = result
        return Flat.from_lengths(ids, lengths)

    def count_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.count_tokens_batch(texts)
