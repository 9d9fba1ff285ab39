"""blingfire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import blingfire

from benches.peers.base import Adapter, Unsupported, VocabularyFiles

__all__ = ["BlingfirePeer"]

# The models in its package; it reads no files of others.
MODELS = {"bert_base_uncased": ("bert_base_tok.bin", 100), "xlnet_base_cased": ("xlnet.bin", 0)}


class BlingfirePeer(Adapter):
    """The models in its package."""

    name = "blingfire"
    distribution = "blingfire"
    bundled = True
    has_arrays = True

    def load(self, files: VocabularyFiles) -> None:
        if files.name not in MODELS:
            raise Unsupported("blingfire has its own models only, and this is not one of them")
        model, self._unknown = MODELS[files.name]
        self._handle = blingfire.load_model(str(Path(blingfire.__file__).parent / model))

    def list_call(self) -> Callable[[str], list[int]]:
        call = self.array_call()
        return lambda text: call(text).tolist()

    def array_call(self) -> Callable[[str], Any]:
        encode, handle, unknown = blingfire.text_to_ids, self._handle, self._unknown
        # No text has more ids than characters, but for the space that a model puts before it.
        return lambda text: encode(handle, text, len(text) + 8, unknown, no_padding=True)
