"""Tokenizers of well-known kinds, put together from their files."""

from __future__ import annotations

from jeton.compat.tokenizers.implementations.base_tokenizer import BaseTokenizer
from jeton.compat.tokenizers.implementations.bytes_and_words import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
)
from jeton.compat.tokenizers.implementations.sentencepiece import (
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]
