"""Stands in for ``minbpe``: ``from jeton.compat.minbpe import RegexTokenizer``.

The interface and the files of Andrej Karpathy's minbpe, as of 2024. Training breaks ties as it
does, so merges are equal; encoding runs on Jeton's core. Differences:
``docs/guides/coming-from-minbpe.md``.
"""

from __future__ import annotations

from jeton.compat.minbpe.base import BasicTokenizer, Tokenizer
from jeton.compat.minbpe.gpt4 import GPT4Tokenizer
from jeton.compat.minbpe.regex import RegexTokenizer

__all__ = ["BasicTokenizer", "GPT4Tokenizer", "RegexTokenizer", "Tokenizer"]
