"""How much text a token holds.

Bytes per token compares tokenizers on any language; characters per token is easier to imagine;
tokens per word (fertility) depends on what a word is, so it names its splitter, and says little for
scripts that do not put spaces between words (Chinese, Japanese, Thai).
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_SPLITTER = "whitespace"
"""Words are maximal runs of characters that are not Unicode White_Space (as in `TextStats`)."""


@dataclass(frozen=True, slots=True)
class Compression:
    """Text per token. A ratio without anything to divide by is 0.0."""

    bytes_per_token: float
    chars_per_token: float
    tokens_per_word: float
    word_splitter: str


def compression(*, n_bytes: int, n_chars: int, n_words: int, n_tokens: int) -> Compression:
    """Ratios from whole-corpus counts (not means of ratios per document)."""
    return Compression(
        bytes_per_token=n_bytes / n_tokens if n_tokens else 0.0,
        chars_per_token=n_chars / n_tokens if n_tokens else 0.0,
        tokens_per_word=n_tokens / n_words if n_words else 0.0,
        word_splitter=WORD_SPLITTER,
    )
