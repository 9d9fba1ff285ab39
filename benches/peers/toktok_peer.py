"""toktok (published as toktok-rs)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import toktok

from benches.peers.base import Adapter, Flat, VocabularyFiles

__all__ = ["ToktokPeer"]


class ToktokPeer(Adapter):
    """Its bundled vocabularies. Its public interface only counts: ids come from the inner class."""

    name = "toktok"
    distribution = "toktok-rs"
    bundled = True
    carried = ("cl100k_base", "o200k_base")
    has_arrays = True
    count_name = "count"
    decode_name = "decode_bytes"
    decode_batch_name = "decode_batch"

    def load(self, files: VocabularyFiles) -> None:
        self.must_carry(files)
        self._tokenizer = toktok._encoding(files.name)
        self._name = files.name

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode_ordinary
        return call

    def array_call(self) -> Callable[[str], Any]:
        return partial(self._tokenizer.encode_to_numpy, disallowed_special=())

    def offsets_call(self) -> Callable[[str], Any]:
        return partial(self._tokenizer.encode_with_offsets, unit="char")

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        ids, spans = result[0], result[1]
        return ids, [span[0] for span in spans]

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_to_numpy(texts)

    def flatten(self, result: Any) -> Flat:
        return Flat(*result)

    def count_batch(self, texts: list[str]) -> Any:
        return toktok.batch_count(texts, self._name)
