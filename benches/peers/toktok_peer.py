"""toktok (published as toktok-rs)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import toktok

from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["ToktokPeer"]

# Compiled into the library; it reads no files.
BUNDLED = ("cl100k_base", "o200k_base")


class ToktokPeer(Adapter):
    """Its bundled vocabularies. Its public interface only counts: ids come from the inner class."""

    name = "toktok"
    distribution = "toktok-rs"
    bundled = True
    has_arrays = True

    def load(self, files: VocabularyFiles) -> None:
        if files.name not in BUNDLED or files.has_own_pattern:
            raise Unsupported("toktok has its own vocabularies only, and this is not one of them")
        self._encoding = toktok._encoding(files.name)
        self._name = files.name

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self.load(files)

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._encoding.encode_ordinary
        return call

    def array_call(self) -> Callable[[str], Any]:
        return partial(self._encoding.encode_to_numpy, disallowed_special=())

    def count_call(self) -> Callable[[str], int]:
        call: Callable[[str], int] = self._encoding.count
        return call

    def offsets_call(self) -> Callable[[str], Any]:
        return partial(self._encoding.encode_with_offsets, unit="char")

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        ids, spans = result[0], result[1]
        return ids, [span[0] for span in spans]

    def decode_call(self) -> Callable[[Any], Any]:
        call: Callable[[Any], Any] = self._encoding.decode_bytes
        return call

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        call: Callable[[list[Any]], Any] = self._encoding.decode_batch
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._encoding.encode_batch_to_numpy(texts)

    def flatten(self, result: Any) -> Flat:
        return Flat(*result)

    def count_batch(self, texts: list[str]) -> Any:
        return toktok.batch_count(texts, self._name)
