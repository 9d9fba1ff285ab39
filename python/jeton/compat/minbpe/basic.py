"""Byte pair encoding on whole texts: nothing cuts them, nothing is special."""

from __future__ import annotations

from jeton.compat.minbpe.base import Tokenizer, utf8

__all__ = ["BasicTokenizer"]


class BasicTokenizer(Tokenizer):
    """Byte pair encoding without a split pattern."""

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:  # noqa: FBT001, FBT002
        """Learn ``vocab_size - 256`` merges; ``verbose`` shows them.

        Raises:
            VocabularySizeError: Fewer than 256 (a ``ValueError`` and an ``AssertionError``).
            TrainingError: The text has no pair left to merge (a ``ValueError``).
        """
        self._train(lambda: [utf8(text)], vocab_size, verbose=verbose)

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        return self._encode_all(text)
