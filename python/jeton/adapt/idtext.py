"""Text whose characters are ids, so that joins of tokens can be learned for any tokenizer.

Each id becomes one character, with the class of what it may join: the beginning of a word, the
inside of one, punctuation, or nothing. A split pattern over the classes keeps words apart, and BPE
on these characters learns which ids to join. Counting and learning run in the core.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from jeton._core import PretokenCounts, TextBatch, Tokenizer, train_characters
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError

_MAX_IDS = 0x44000
"""Most ids, 278,528: three classes of so many characters fit above the surrogates."""

_STARTS, _INSIDES, _OTHERS = 0x20000, 0x20000 + _MAX_IDS, 0x20000 + 2 * _MAX_IDS
_ALONE = 0x1
_SPACE = "\u2581"


def _class(first: int) -> str:
    return f"[\\x{{{first:X}}}-\\x{{{first + _MAX_IDS - 1:X}}}]"


class IdText:
    """The characters of a tokenizer's ids.

    Args:
        tokenizer: The tokenizer.
        written: Its written form.
    """

    def __init__(self, tokenizer: Tokenizer, written: WrittenTokenizer) -> None:
        if tokenizer.vocab_size > _MAX_IDS:
            raise AdaptError(
                f"{tokenizer.vocab_size:,} ids are more than the {_MAX_IDS:,} that can be "
                "learned from"
            )
        self._tokenizer = tokenizer
        suffix = written.model.get("end_of_word_suffix", "")
        start, inside, other = _class(_STARTS), _class(_INSIDES), _class(_OTHERS)
        word = f"{inside}*{start}" if suffix else f"{start}{inside}*"
        self.pattern = f"{word}|{inside}+|{other}+|\\x01"
        alone = _alone(tokenizer, written)
        self._chars = np.full(tokenizer.vocab_size, _ALONE, dtype="<u4")
        for id, token in enumerate(written.tokens()):
            if token is None or id in alone:
                continue
            text = token.decode("utf-8", "replace")
            is_edge = text.endswith(suffix) if suffix else text.startswith(_SPACE)
            bare = text.removesuffix(suffix) if suffix else text.strip(_SPACE)
            if (
                not suffix
                and bare
                and not any(char.isalnum() or ord(char) > 0x300 for char in bare)
            ):
                # Punctuation joins punctuation only: no token should be a word with a comma.
                self._chars[id] = id + _OTHERS
            else:
                self._chars[id] = id + (_STARTS if is_edge else _INSIDES)

    def counts(self) -> PretokenCounts:
        """Returns empty counts that keep words apart."""
        return PretokenCounts(pattern=self.pattern)

    def add(
        self,
        counts: PretokenCounts,
        batch: TextBatch,
        *,
        num_threads: int | None = None,
    ) -> int:
        """Counts the words of documents; returns their tokens."""
        ids = self._tokenizer.encode_batch(batch, num_threads=num_threads).ids
        counts.add(TextBatch.from_texts([self.text(ids)]), num_threads=num_threads)
        return len(ids)

    def text(self, ids: NDArray[np.uint32]) -> str:
        """Returns ids as characters."""
        return self._chars[ids].tobytes().decode("utf-32-le")

    @staticmethod
    def ids(text: str) -> tuple[int, ...]:
        """Returns the ids of characters."""
        codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.int64)
        return tuple(((codes - _STARTS) % _MAX_IDS).tolist())

    @staticmethod
    def learn(
        counts: PretokenCounts, n_tokens: int, *, min_frequency: int
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Returns pairs of rows of ids to join, in merge order."""
        points = counts.characters().code_points
        options = {
            "model": "bpe",
            "vocab_size": len(points) + n_tokens,
            "min_frequency": min_frequency,
            "special_tokens": [],
            "max_token_length": None,
            "character_coverage": 1.0,
            "limit_alphabet": None,
            "required_chars": "",
            "ties": "ids",
        }
        learned = WrittenTokenizer(train_characters(counts, json.dumps(options)))
        rows = [
            IdText.ids(token.decode()) if token is not None else () for token in learned.tokens()
        ]
        return [(rows[left], rows[right]) for left, right in learned.merges or []]


def _alone(tokenizer: Tokenizer, written: WrittenTokenizer) -> set[int]:
    """Returns the ids that join nothing: special tokens, bytes, and digits that are kept apart."""
    alone = {token.id for token in tokenizer.added_tokens}
    if tokenizer.unknown_id is not None:
        alone.add(tokenizer.unknown_id)
    digits: list[int] = []
    joins_digits = False
    for id, token in enumerate(written.tokens()):
        if token is None:
            continue
        text = token.decode("utf-8", "replace")
        n_digits = sum(char.isdecimal() for char in text)
        joins_digits = joins_digits or (n_digits > 1 and not _is_byte(text))
        if n_digits and not _is_byte(text):
            digits.append(id)
        if _is_byte(text):
            alone.add(id)
    if written.kind == "sentencepiece":
        kinds = [kind for _, _, kind in written.model["pieces"]]
        alone |= {id for id, kind in enumerate(kinds) if kind != "normal"}
    return alone if joins_digits else alone | set(digits)


def _is_byte(text: str) -> bool:
    return len(text) == 6 and text.startswith("<0x") and text.endswith(">")
