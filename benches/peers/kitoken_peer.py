"""kitoken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import kitoken

from benches.peers.base import Adapter, Unsupported, VocabularyFiles

__all__ = ["KitokenPeer"]


class KitokenPeer(Adapter):
    """Rank file, model or ``tokenizer.json``."""

    name = "kitoken"
    distribution = "kitoken"
    decode_name = "decode"
    decode_batch_name = "decode_all"

    def load(self, files: VocabularyFiles) -> None:
        if files.has_own_pattern:
            raise Unsupported("kitoken takes no split pattern with a rank file")
        if files.rank_file is not None:
            self._tokenizer = kitoken.Kitoken.from_tiktoken_file(str(files.rank_file))
        elif files.sp_model is not None:
            self._tokenizer = kitoken.Kitoken.from_sentencepiece_file(str(files.sp_model))
        elif files.hf_json is not None:
            self._tokenizer = kitoken.Kitoken.from_tokenizers_file(str(files.hf_json))
        else:
            raise Unsupported("no file of this vocabulary")

    def save_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self._tokenizer.to_file(str(folder / f"{files.name}.kit"))

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        self._tokenizer = kitoken.Kitoken.from_file(str(folder / f"{files.name}.kit"))

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_all(texts)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        rows: list[list[int]] = self._tokenizer.encode_all(texts)
        return rows
