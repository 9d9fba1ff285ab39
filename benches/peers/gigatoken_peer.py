"""gigatoken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gigatoken
import numpy as np
from numpy.typing import NDArray

from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles

__all__ = ["GigatokenPeer"]

# Its names of split schemes. Llama 3's ranks behind "gpt4" end its process: it gets the JSON file.
SCHEMES = {"r50k_base": "gpt2", "cl100k_base": "gpt4", "o200k_base": "o200k"}


class GigatokenPeer(Adapter):
    """Rank files that it knows by name, models, ``tokenizer.json`` otherwise.

    Single texts go to its public ``backend``, which its own class only wraps.
    """

    name = "gigatoken"
    distribution = "gigatoken"
    has_arrays = True

    def load(self, files: VocabularyFiles) -> None:
        scheme = None if files.has_own_pattern else SCHEMES.get(files.name)
        if files.rank_file is not None and scheme is not None:
            self._tokenizer = gigatoken.Tokenizer.from_tiktoken(
                files.rank_file, pretokenizer=scheme, special_tokens={}
            )
        elif files.hf_json is not None:
            self._tokenizer = gigatoken.Tokenizer.from_json(files.hf_json.read_bytes())
        elif files.sp_model is not None:
            self._tokenizer = gigatoken.Tokenizer.from_sentencepiece(files.sp_model)
        else:
            raise Unsupported("gigatoken knows no split scheme for this rank file")

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self._tokenizer.backend.encode
        return lambda text: encode(text).tolist()

    def array_call(self) -> Callable[[str], Any]:
        call: Callable[[str], Any] = self._tokenizer.backend.encode
        return call

    def decode_input(self, ids: NDArray[np.uint32]) -> Any:
        return ids

    def decode_call(self) -> Callable[[Any], Any]:
        call: Callable[[Any], Any] = self._tokenizer.backend.decode
        return call

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        rows: list[list[int]] = self._tokenizer.encode_batch_list(texts)
        return rows

    def encode_batch_bytes(self, texts: list[bytes]) -> Any:
        return self._tokenizer.encode_batch(texts)

    def encode_arrow(self, column: Any) -> Any:
        import awkward

        return self._tokenizer.encode_batch(awkward.from_arrow(column))

    def padded(self, texts: list[str], pad_id: int, max_length: int) -> Any:
        return self._tokenizer.encode_batch_padded(
            texts, pad_id=pad_id, max_length=max_length, truncate=True
        )[0]

    def count_batch(self, texts: list[str]) -> Any:
        import awkward

        return awkward.num(self._tokenizer.encode_batch(texts))

    def flatten(self, result: Any) -> Flat:
        return Flat.from_rows(result.to_list())
