"""sentencepiece, the reference for its models."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import sentencepiece

from benches.peers.base import Adapter, Unsupported, VocabularyFiles

__all__ = ["SentencePiecePeer"]


class SentencePiecePeer(Adapter):
    """``SentencePieceProcessor`` from the model file."""

    name = "sentencepiece"
    distribution = "sentencepiece"
    decode_name = "decode"

    def load(self, files: VocabularyFiles) -> None:
        if files.sp_model is None:
            raise Unsupported("sentencepiece reads .model files only")
        self._tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(files.sp_model))
        self._threads = len(os.sched_getaffinity(0))

    def list_call(self) -> Callable[[str], list[int]]:
        call: Callable[[str], list[int]] = self._tokenizer.encode_as_ids
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode(texts, out_type=int, num_threads=self._threads)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        rows: list[list[int]] = self.encode_batch(texts)
        return rows
