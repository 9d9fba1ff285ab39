"""Byte pair encoding to look at: slow, and it can show each step.

The interface of ``tiktoken._educational``. Ids are those of the rank rule, merge after merge.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from jeton._reference.bpe import merge_steps
from jeton._reference.learning import join_all
from jeton.compat.tiktoken.core import Encoding
from jeton.compat.tiktoken.registry import get_encoding
from jeton.errors import TrainingError

__all__ = [
    "SimpleBytePairEncoding",
    "bpe_encode",
    "bpe_train",
    "train_simple_encoding",
    "visualise_tokens",
]

# Background colours of a terminal with 256 of them, one after the other.
_COLOURS = (167, 179, 185, 77, 80, 68, 134)
_BYTES = {bytes([byte]): byte for byte in range(256)}


class SimpleBytePairEncoding:
    """An encoding from a pattern and ranks, without special tokens."""

    def __init__(self, *, pat_str: str, mergeable_ranks: dict[bytes, int]) -> None:
        self.pat_str = pat_str
        self.mergeable_ranks = mergeable_ranks
        self._decoder = {rank: token for token, rank in mergeable_ranks.items()}
        self._words = _words(pat_str).tokenizer

    def encode(self, text: str, visualise: str | None = "colour") -> list[int]:
        """Ids of a text; each step is shown, in ``"colour"`` or ``"simple"``."""
        ids: list[int] = []
        for word in self._words.pretokenize(text):
            ids += bpe_encode(self.mergeable_ranks, word.encode(), visualise=visualise)
        return ids

    def decode_bytes(self, tokens: list[int]) -> bytes:
        """The bytes of ids."""
        return b"".join(self.decode_tokens_bytes(tokens))

    def decode(self, tokens: list[int]) -> str:
        """The text of ids; what is not UTF-8 becomes U+FFFD."""
        return self.decode_bytes(tokens).decode("utf-8", errors="replace")

    def decode_tokens_bytes(self, tokens: list[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self._decoder[token] for token in tokens]

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> SimpleBytePairEncoding:
        """Train on a text, and show how."""
        ranks = bpe_train(data=training_data, vocab_size=vocab_size, pat_str=pat_str)
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=ranks)

    @staticmethod
    def from_tiktoken(encoding: str | Encoding) -> SimpleBytePairEncoding:
        """Build from the ranks of an encoding."""
        if isinstance(encoding, str):
            encoding = get_encoding(encoding)
        return SimpleBytePairEncoding(
            pat_str=encoding._pat_str, mergeable_ranks=encoding._mergeable_ranks
        )


def bpe_encode(
    mergeable_ranks: dict[bytes, int],
    input: bytes,  # noqa: A002 - tiktoken's name
    visualise: str | None = "colour",
) -> list[int]:
    """Ids of one word: the pair of the lowest rank is merged, the leftmost first, until none is."""

    def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
        rank = mergeable_ranks.get(left + right)
        return None if rank is None else (rank, left + right)

    parts: Iterable[bytes] = [bytes([byte]) for byte in input]
    _show(parts, visualise)
    for step in merge_steps([*parts], join=join):
        parts = step.tokens
        _show(parts, visualise)
    if visualise:
        sys.stdout.write("\n")
    return [mergeable_ranks[part] for part in parts]


def bpe_train(
    data: str, vocab_size: int, pat_str: str, visualise: str | None = "colour"
) -> dict[bytes, int]:
    """Ranks from a text: the most frequent pair, of several the one that comes first, is merged."""
    if vocab_size < 256:
        raise TrainingError(f"vocab_size is {vocab_size}; expected 256 or more, one for each byte")
    ranks = dict(_BYTES)
    words = [[bytes([b]) for b in w.encode()] for w in _words(pat_str).tokenizer.pretokenize(data)]
    while len(ranks) < vocab_size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            raise TrainingError(f"after {len(ranks)} tokens no pair is left to merge")
        pair, _ = max(counts.items(), key=lambda row: row[1])
        ranks[pair[0] + pair[1]] = len(ranks)
        words = [join_all(word, pair, pair[0] + pair[1]) for word in words]
        if visualise:
            sys.stdout.write(f"token {len(ranks)}: {pair[0]!r} + {pair[1]!r}\n")
            _show((token for word in words[:50] for token in word), visualise)
    return ranks


def visualise_tokens(token_values: Iterable[bytes]) -> None:
    """Show tokens on coloured grounds; neighbours differ."""
    length, last, shown = 0, -1, []
    for token in token_values:
        text = token.decode("utf-8", errors="replace")
        colour = length % len(_COLOURS)
        if colour == last:
            colour = (colour + 1) % len(_COLOURS)
        last = colour
        length += len(text)
        shown.append(f"\x1b[48;5;{_COLOURS[colour]}m{text}")
    sys.stdout.write("".join([*shown, "\x1b[0m\n"]))


def train_simple_encoding() -> SimpleBytePairEncoding:
    """An encoding of 600 tokens, trained on this file."""
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    text = Path(__file__).read_text(encoding="utf-8")
    return SimpleBytePairEncoding.train(text, vocab_size=600, pat_str=pattern)


def _words(pat_str: str) -> Encoding:
    return Encoding("words", pat_str=pat_str, mergeable_ranks=_BYTES, special_tokens={})


def _show(parts: Iterable[bytes], visualise: str | None) -> None:
    if visualise in ("colour", "color"):
        visualise_tokens(parts)
    elif visualise == "simple":
        sys.stdout.write(f"{list(parts)}\n")
