"""Jeton itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jeton
from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["JetonPeer"]


class JetonPeer(Adapter):
    """The wheel under test."""

    name = "jeton"
    distribution = "jeton"
    has_arrays = True
    count_name = "count"
    decode_name = "decode"

    _tokenizer: jeton.Tokenizer

    def load(self, files: VocabularyFiles) -> None:
        """Load the rank file where there is one, else the model, else the ``tokenizer.json``."""
        path = files.rank_file or files.sp_model or files.hf_json
        if path is None:
            raise Unsupported("no file of this vocabulary")
        pattern = files.pattern if files.has_own_pattern else None
        self._tokenizer = jeton.load(str(path), pattern=pattern)

    @property
    def tokenizer(self) -> jeton.Tokenizer:
        """Tokenizer that does more than encode."""
        return self._tokenizer

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        # `load` finds by itself what it has kept.
        self.load(files)

    def list_call(self) -> Callable[[str], list[int]]:
        return self._tokenizer.encode

    def array_call(self) -> Callable[[str], Any]:
        return self._tokenizer.encode_array

    def offsets_call(self) -> Callable[[str], Any]:
        return self._tokenizer.encode_with_offsets

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        return result.ids, result.starts

    def decode_input(self, ids: NDArray[np.uint32]) -> Any:
        return ids

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        call: Callable[[list[Any]], Any] | None = getattr(self._tokenizer, "decode_batch", None)
        if call is None:
            decode = self._tokenizer.decode
            return lambda rows: [decode(row) for row in rows]
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        return self._tokenizer.encode_batch(texts).to_lists()

    def encode_batch_bytes(self, texts: list[bytes]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def encode_arrow(self, column: Any) -> Any:
        try:
            return self._tokenizer.encode_batch(column)
        except TypeError:
            return self._tokenizer.encode_batch(jeton.TextBatch.from_texts(column))

    def padded(self, texts: list[str], pad_id: int, max_length: int) -> Any:
        return self._tokenizer.model_inputs(
            texts,
            add_special_tokens=False,
            padding="longest",
            truncation="longest_first",
            max_length=max_length,
            pad_token=pad_id,
            dtype="int32",
        ).input_ids

    def flatten(self, result: Any) -> Flat:
        return Flat(result.ids, result.offsets)

    def count_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.count_batch(texts)

    def cache_bytes(self) -> tuple[int, int] | None:
        return self._tokenizer.cache_used_bytes, self._tokenizer.cache_limit_bytes
