"""The old ids that a new token is made of, however the old tokenizer writes its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jeton import _core

__all__ = ["Segmenter"]


class Segmenter:
    """Cuts the text of a token into ids of one tokenizer, as that tokenizer would.

    Special tokens are cut as ordinary text. A part without a token is left out, so a token can have
    no parts at all.
    """

    def __init__(self, tokenizer: _core.Tokenizer) -> None:
        self._tokenizer = tokenizer
        model: dict[str, Any] = json.loads(tokenizer.to_canonical())["model"]
        self._cut = self._cutter(model)
        self._unknown = tokenizer.unknown_id

    def parts(
        self, token: str, token_bytes: bytes, *, is_text: bool
    ) -> tuple[list[int], list[int]]:
        """Returns ids, and the bytes of text of each.

        Args:
            token: The token as its file writes it.
            token_bytes: Its bytes.
            is_text: True if the token is plain text, as special and added tokens are.
        """
        ids = self._tokenizer.encode(token) if is_text else self._cut(token, token_bytes)
        known = [id for id in ids if id != self._unknown]
        return known, [len(self._tokenizer.id_to_bytes(id)) for id in known]

    def _cutter(self, model: dict[str, Any]) -> Callable[[str, bytes], list[int]]:
        kind = model["type"]
        pretoken = self._tokenizer.encode_pretoken
        if kind == "sentencepiece":
            spm = _core.SentencePieceModel(self._tokenizer.to_bytes("sentencepiece"))
            return lambda token, _: [id for id, _, _ in spm.encode_normalized(token)]
        if kind == "wordpiece":
            return self._wordpiece(model["prefix"])
        if kind in ("unigram", "character_bpe"):
            suffix = model.get("end_of_word_suffix", "")
            return lambda token, _: pretoken(_without(token, suffix).encode())
        return lambda _, token_bytes: pretoken(token_bytes)

    def _wordpiece(self, prefix: str) -> Callable[[str, bytes], list[int]]:
        vocab = self._tokenizer.get_vocab()

        def cut(token: str, _: bytes) -> list[int]:
            inside = bool(prefix) and token.startswith(prefix)
            word = token[len(prefix) :] if inside else token
            ids, at = [], 0
            while at < len(word):
                mark = prefix if inside or at else ""
                for end in range(len(word), at, -1):
                    if (found := vocab.get(mark + word[at:end])) is not None:
                        ids.append(found)
                        at = end
                        break
                else:
                    return []
            return ids

        return cut


def _without(token: str, suffix: str) -> str:
    return token[: -len(suffix)] if suffix and token.endswith(suffix) else token
