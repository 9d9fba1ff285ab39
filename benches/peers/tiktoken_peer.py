"""tiktoken, the reference for rank files."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from typing import Any

import tiktoken

from benches.peers.base import Adapter, Unsupported, VocabularyFiles

__all__ = ["TiktokenPeer"]


class TiktokenPeer(Adapter):
    """``Encoding`` made from the rank file, special tokens off."""

    name = "tiktoken"
    distribution = "tiktoken"
    has_arrays = True
    decode_name = "decode_bytes"

    _tokenizer: tiktoken.Encoding

    def load(self, files: VocabularyFiles) -> None:
        if files.rank_file is None or files.pattern is None:
            raise Unsupported("tiktoken reads rank files only")
        ranks = {}
        for line in files.rank_file.read_bytes().splitlines():
            if line:
                token, rank = line.split()
                ranks[b64decode(token)] = int(rank)
        self._tokenizer = tiktoken.Encoding(
            files.name, pat_str=files.pattern, mergeable_ranks=ranks, special_tokens={}
        )
        self._threads = len(os.sched_getaffinity(0))

    def list_call(self) -> Callable[[str], list[int]]:
        return self._tokenizer.encode_ordinary

    def array_call(self) -> Callable[[str], Any]:
        return partial(self._tokenizer.encode_to_numpy, disallowed_special=())

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        return partial(self._tokenizer.decode_bytes_batch, num_threads=self._threads)

    def offsets_call(self) -> Callable[[str], Any]:
        encode, locate = self._tokenizer.encode_ordinary, self._tokenizer.decode_with_offsets

        def call(text: str) -> Any:
            ids = encode(text)
            return ids, locate(ids)[1]

        return call

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        ids, starts = result
        return ids, starts

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_ordinary_batch(texts, num_threads=self._threads)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        return self._tokenizer.encode_ordinary_batch(texts, num_threads=self._threads)
