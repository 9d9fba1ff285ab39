"""The old ids that a new token is made of, however the old tokenizer writes its tokens."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from jeton._core import SentencePieceModel, Tokenizer
from jeton.adapt.written import WrittenTokenizer
from jeton.formats.writing import render


class Segmenter:
    """Cuts the text of a token into ids of one tokenizer, as that tokenizer would.

    Special tokens are cut as ordinary text. A part without a token is left out, so a token can have
    no parts at all.
    """

    def __init__(self, tokenizer: Tokenizer, written: WrittenTokenizer | None = None) -> None:
        self._tokenizer = tokenizer
        self._cut = self._cutter((written or WrittenTokenizer(tokenizer)).model)
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

    def cut(self, text: str) -> list[int]:
        """Returns the ids of a pretoken, as the model gives them."""
        return self._cut(text, text.encode())

    def is_whole(self, id: int) -> bool:
        """True if the text of a token becomes that token."""
        token = self._tokenizer.id_to_token(id) or ""
        return self._cut(token, self._tokenizer.id_to_bytes(id)) == [id]

    def _cutter(self, model: dict[str, Any]) -> Callable[[str, bytes], list[int]]:
        kind = model["type"]
        pretoken = self._tokenizer.encode_pretoken
        if kind == "sentencepiece":
            # The template, which the file cannot hold, cuts nothing.
            spm = SentencePieceModel(render(self._tokenizer, "sentencepiece").files[""])
            return lambda token, _: [id for id, _, _ in spm.encode_normalized(token)]
        if kind == "wordpiece":
            return self._wordpiece(model["prefix"])
        if kind == "character_bpe" and model["end_of_word_suffix"]:
            return self._merging(model)
        if kind in ("unigram", "character_bpe"):
            return lambda token, _: pretoken(token.encode())
        return lambda _, token_bytes: pretoken(token_bytes)

    def _merging(self, model: dict[str, Any]) -> Callable[[str, bytes], list[int]]:
        """Returns a cutter by merges alone: a token need not end a word, as a pretoken does."""
        suffix = model["end_of_word_suffix"]
        vocab = self._tokenizer.get_vocab()
        ranks = {(left, right): rank for rank, (left, right) in enumerate(model["merges"])}
        names = {id: token for token, id in vocab.items()}

        def cut(token: str, _: bytes) -> list[int]:
            pieces = list(token.removesuffix(suffix))
            if token.endswith(suffix) and pieces:
                pieces[-1] += suffix
            ids = [vocab[piece] for piece in pieces if piece in vocab]
            while len(ids) > 1:
                pairs = list(itertools.pairwise(ids))
                at = min(range(len(pairs)), key=lambda i: ranks.get(pairs[i], len(ranks)))
                if pairs[at] not in ranks:
                    break
                ids[at : at + 2] = [vocab[names[pairs[at][0]] + names[pairs[at][1]]]]
            return ids

        return cut

    def _wordpiece(self, prefix: str) -> Callable[[str, bytes], list[int]]:
        vocab = self._tokenizer.get_vocab()

        return lambda token, _: wordpiece_cut(token, vocab, prefix)


def wordpiece_cut(
    token: str, vocab: Mapping[str, int], prefix: str, *, without: int = -1
) -> list[int]:
    """Returns the ids of a token's text by the longest ones that fit; none where one is missing.

    Args:
        token: The text, with the prefix if it continues a word.
        vocab: Ids by token.
        prefix: The mark before tokens that continue a word.
        without: An id that is not to be used.
    """
    inside = bool(prefix) and token.startswith(prefix) and token != prefix
    word = token[len(prefix) :] if inside else token
    ids: list[int] = []
    at = 0
    while at < len(word):
        mark = prefix if inside or at else ""
        for end in range(len(word), at, -1):
            found = vocab.get(mark + word[at:end])
            if found is not None and found != without:
                ids.append(found)
                at = end
                break
        else:
            return []
    return ids


# Tokens that are spelled alike, of which text can become one.

_RAW_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")


def shadowed_bytes(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns ids of raw bytes (``<0x21>``) that have a token of their own besides (``!``).

    Text becomes a raw byte only where no other token has it, so it never becomes these.
    """
    return frozenset(
        id
        for id in np.flatnonzero(tokenizer.is_token_mask()).tolist()
        if _RAW_BYTE.fullmatch(tokenizer.id_to_token(id) or "")
        and tokenizer.bytes_to_id(tokenizer.id_to_bytes(id)) not in (None, id)
    )


# Tokens that no text becomes, although they are in the vocabulary.


def unreachable_tokens(tokenizer: Tokenizer, ids: Iterable[int]) -> list[int]:
    """Returns the ids whose own text is cut in another way by the model's rules.

    If BPE takes a whole pretoken for a token where there is one, only the merges count: other
    engines know nothing else.
    """
    written = WrittenTokenizer(tokenizer)
    if written.model.get("whole_pretokens"):
        written.model["whole_pretokens"] = False
        tokenizer = written.tokenizer()
    segmenter = Segmenter(tokenizer, written)
    return [id for id in ids if not segmenter.is_whole(id)]
