"""A tokenizer's canonical form as a place to work on: tokens, merges and ids by name."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer, from_canonical

BPE_KINDS = ("bpe", "character_bpe")
LISTED_KINDS = ("sentencepiece", "unigram")
"""Models whose pieces stand in a list without holes, an id being a place in it."""


class WrittenTokenizer:
    """The parts of one tokenizer, to be changed and made a tokenizer again.

    Attributes:
        data: The canonical form, without its self-test samples, which a change would break.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.data: dict[str, Any] = json.loads(tokenizer.to_canonical())
        self.data.pop("samples", None)
        self._name = tokenizer.name

    @property
    def model(self) -> dict[str, Any]:
        """The model's part."""
        model: dict[str, Any] = self.data["model"]
        return model

    @property
    def kind(self) -> str:
        """Name of the model's kind: ``bpe`` (on bytes), ``character_bpe``, ``unigram`` ..."""
        return str(self.model["type"])

    @property
    def merges(self) -> list[list[int]] | None:
        """Pairs of ids in merge order; None where any pair merges whose text is a token."""
        return self.model.get("merges")

    def tokens(self) -> list[bytes | None]:
        """Returns the written bytes of each id of the model; None where an id has no token."""
        if self.kind == "unigram":
            return [piece.encode() for piece, _ in self.model["pieces"]]
        if self.kind == "sentencepiece":
            return [base64.b64decode(piece) for piece, _, _ in self.model["pieces"]]
        return [None if t is None else base64.b64decode(t) for t in self.model["tokens"]]

    def scores(self) -> NDArray[np.float64]:
        """Returns the score of each piece, float64 (n_pieces,)."""
        if self.kind == "unigram":
            bits = np.array([score for _, score in self.model["pieces"]], dtype=np.uint64)
            return bits.view(np.float64)
        bits = np.array([score for _, score, _ in self.model["pieces"]], dtype=np.uint32)
        return bits.view(np.float32).astype(np.float64)

    def put_tokens(self, at: int, tokens: Iterable[bytes]) -> None:
        """Gives tokens the ids from ``at`` on."""
        listed = self.model["tokens"]
        for id, token in enumerate(tokens, start=at):
            if id >= len(listed):
                listed.extend([None] * (id + 1 - len(listed)))
            listed[id] = base64.b64encode(token).decode()

    def append_pieces(self, pieces: Sequence[tuple[bytes, float]]) -> None:
        """Puts pieces with scores behind the last one."""
        for piece, score in pieces:
            if self.kind == "unigram":
                (bits,) = struct.unpack("<Q", struct.pack("<d", score))
                self.model["pieces"].append([piece.decode(), bits])
            else:
                (bits,) = struct.unpack("<I", struct.pack("<f", score))
                self.model["pieces"].append([base64.b64encode(piece).decode(), bits, "normal"])

    def renumber(self, new_of: Callable[[int], int | None]) -> None:
        """Gives every id outside of the lists of tokens and merges its new number.

        Args:
            new_of: Returns the new id of an old one; None if it is gone.
        """
        added = [(new_of(token["id"]), token) for token in self.data["added_tokens"]]
        self.data["added_tokens"] = [
            {**token, "id": id}
            for id, token in sorted(
                ((id, token) for id, token in added if id is not None), key=lambda pair: pair[0]
            )
        ]
        for part in ("template", "padding", "truncation"):
            self.data[part] = _renumbered(self.data[part], new_of)
        model = self.model
        for key in ("missing", "unknown"):
            if key in model:
                model[key] = _renumbered_missing(model[key], new_of)
        if "opaque" in model:
            kept = (new_of(id) for id in model["opaque"])
            model["opaque"] = sorted(id for id in kept if id is not None)

    def tokenizer(self, name: str | None = None) -> Tokenizer:
        """Returns the tokenizer that this says."""
        data = json.dumps(self.data).encode()
        return from_canonical(data, name=name or self._name)


def _renumbered(value: Any, new_of: Callable[[int], int | None]) -> Any:
    """Returns a part of the canonical form in which ``id`` and ``pad_id`` are ids of tokens."""
    if isinstance(value, dict):
        return {
            key: new_of(part)
            if key in ("id", "pad_id") and isinstance(part, int)
            else _renumbered(part, new_of)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_renumbered(part, new_of) for part in value]
    return value


def _renumbered_missing(value: Any, new_of: Callable[[int], int | None]) -> Any:
    if isinstance(value, int):
        return new_of(value)
    if isinstance(value, dict):
        return {
            key: [new_of(id) for id in part] if isinstance(part, list) else new_of(part)
            for key, part in value.items()
        }
    return value
