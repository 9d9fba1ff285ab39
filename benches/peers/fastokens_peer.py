"""fastokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import fastokens
import numpy as np

from benches.peers.base import Flat, Unsupported, VocabularyFiles
from benches.peers.encodings import EncodingAdapter

__all__ = ["FastokensPeer"]


# The names of encodings that it takes; its scanners are for its own form of their patterns.
KNOWN = ("cl100k_base", "o200k_base")


class FastokensPeer(EncodingAdapter):
    """Rank file with name or pattern, or ``tokenizer.json``; batches through its flat buffer."""

    name = "fastokens"
    distribution = "fastokens"
    has_arrays = True
    decode_name = "decode"
    decode_batch_name = "decode_batch"

    def load(self, files: VocabularyFiles) -> None:
        if files.rank_file is not None and files.name in KNOWN and not files.has_own_pattern:
            self._tokenizer = fastokens.Tokenizer.from_tiktoken(
                str(files.rank_file), encoding=files.name, special_tokens={}
            )
        elif files.rank_file is not None and files.has_own_pattern:
            self._tokenizer = fastokens.Tokenizer.from_tiktoken(
                str(files.rank_file), pattern=files.pattern, special_tokens={}
            )
        elif files.hf_json is not None:
            # Llama 3's ranks it refuses as such: "token did not decompose into 2 pieces".
            self._tokenizer = fastokens.Tokenizer.from_file(str(files.hf_json))
        else:
            raise Unsupported("no file of this vocabulary")

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self._tokenizer.encode_ordinary
        return lambda text: encode(text).ids

    def array_call(self) -> Callable[[str], Any]:
        encode, view = self._tokenizer.encode_batch_flat, np.frombuffer
        return lambda text: view(encode([text], split_special_tokens=True)[0], np.uint32)

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_flat(texts, split_special_tokens=True)

    def encodings(self, texts: list[str]) -> Sequence[Any]:
        found: Sequence[Any] = self._tokenizer.encode_batch(texts, split_special_tokens=True)
        return found

    def flatten(self, result: Any) -> Flat:
        return Flat.from_buffers(*result)
