"""splintr (published as splintr-rs)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import splintr

from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["SplintrPeer"]

# Its engine has no possessive quantifiers: it brings its own form of these patterns.
PATTERNS = {"cl100k_base": splintr.CL100K_BASE_PATTERN, "o200k_base": splintr.O200K_BASE_PATTERN}
COMPILED = ("cl100k_base", "o200k_base", "llama3")


class SplintrPeer(Adapter):
    """Rank file with its pattern, or ``tokenizer.json``; batches through its flat buffer.

    What it reads from a ``tokenizer.json`` puts the file's template around flat results, so that
    those vocabularies are encoded raw, into lists.
    """

    name = "splintr"
    distribution = "splintr-rs"
    has_arrays = True
    decode_name = "decode"
    decode_batch_name = "decode_batch"

    def load(self, files: VocabularyFiles) -> None:
        self._raw = False
        if files.rank_file is not None and files.pattern is not None:
            known = None if files.has_own_pattern else PATTERNS.get(files.name)
            self._tokenizer = splintr.Tokenizer.from_bytes(
                files.rank_file.read_bytes(), known or files.pattern, {}
            )
        elif files.hf_json is not None:
            self._tokenizer = splintr.from_json(str(files.hf_json))
            self._raw = True
        else:
            raise Unsupported("no file of this vocabulary that it reads")

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        if files.name not in COMPILED:
            raise Unsupported("not one of the vocabularies that splintr carries")
        self._tokenizer = splintr.Tokenizer.from_pretrained(files.name)
        self._raw = False

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]]
        call = self._tokenizer.encode_raw if self._raw else self._tokenizer.encode_ordinary
        return call

    def array_call(self) -> Callable[[str], Any]:
        if self._raw:
            return self.list_call()
        encode, view = self._tokenizer.encode_flat, np.frombuffer
        return lambda text: view(encode(text), np.uint32)

    def document_call(self) -> Callable[[str], Any]:
        call: Callable[[str], Any] = self._tokenizer.encode_rayon
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        if self._raw:
            raise Unsupported("splintr puts the file's template around batches")
        return self._tokenizer.encode_batch_flat(texts)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        if self._raw:
            raise Unsupported("splintr puts the file's template around batches")
        rows: list[list[int]] = self._tokenizer.encode_batch(texts)
        return rows

    def flatten(self, result: Any) -> Flat:
        return Flat.from_buffers(*result)
