"""Byte pair encoding on texts that a pattern cuts, with special tokens."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Literal

from jeton._core import published_patterns
from jeton.compat.minbpe.base import DisallowedSpecialTokenError, Tokenizer, utf8
from jeton.errors import UsageError

__all__ = ["GPT2_SPLIT_PATTERN", "GPT4_SPLIT_PATTERN", "RegexTokenizer"]

# OpenAI's patterns (tiktoken 0.14.0), under the names of Jeton's table.
GPT2_SPLIT_PATTERN: str = published_patterns()["gpt2"]
GPT4_SPLIT_PATTERN: str = published_patterns()["cl100k_base"]


class RegexTokenizer(Tokenizer):
    """Byte pair encoding with a split pattern and special tokens.

    Attributes:
        inverse_special_tokens: Ids of special tokens, and these.
    """

    def __init__(self, pattern: str | None = None) -> None:
        """Without a pattern: that of GPT-4."""
        super().__init__()
        self.pattern = GPT4_SPLIT_PATTERN if pattern is None else pattern
        self._core()
        self.inverse_special_tokens: dict[int, str] = {}

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:  # noqa: FBT001, FBT002
        """Learn ``vocab_size - 256`` merges; ``verbose`` shows them.

        Raises:
            VocabularySizeError: Fewer than 256 (a ``ValueError`` and an ``AssertionError``).
            TrainingError: The text has no pair left to merge (a ``ValueError``).
        """
        utf8(text)
        self._train(lambda: self._chunks(text), vocab_size, verbose=verbose)

    def register_special_tokens(self, special_tokens: dict[str, int]) -> None:
        """Special tokens and their ids, in place of those that there were."""
        self.special_tokens = special_tokens
        self.inverse_special_tokens = {i: token for token, i in special_tokens.items()}

    def load(self, model_file: str) -> None:
        """Read what `save` wrote. Raises as `Tokenizer.load` does."""
        super().load(model_file)
        self.register_special_tokens(self.special_tokens)

    def _token_bytes(self, token_id: int) -> bytes | None:
        found = self.vocab.get(token_id)
        if found is None and token_id in self.inverse_special_tokens:
            return self.inverse_special_tokens[token_id].encode("utf-8")
        return found

    def encode_ordinary(self, text: str) -> list[int]:
        """Ids of a text in which nothing is special."""
        return self._encode_all(text)

    def encode(
        self,
        text: str,
        allowed_special: Literal["all", "none", "none_raise"] | AbstractSet[str] = "none_raise",
    ) -> list[int]:
        """Ids of a text.

        Args:
            text: The text.
            allowed_special: Special tokens that the text becomes where it spells them: a set of
                them, ``"all"``, ``"none"``; ``"none_raise"``: none, and spelling one is an error.

        Raises:
            DisallowedSpecialTokenError: The text spells one (an ``AssertionError``).
            UsageError: ``allowed_special`` is something else (a ``ValueError``).
        """
        special = self._allowed(text, allowed_special)
        if not special:
            return self.encode_ordinary(text)
        # The longest first; minbpe takes the one that was registered first.
        pattern = "|".join(re.escape(token) for token in sorted(special, key=len, reverse=True))
        ids: list[int] = []
        position = 0
        for match in re.finditer(pattern, text):
            ids += self.encode_ordinary(text[position : match.start()])
            ids.append(special[match.group()])
            position = match.end()
        return ids + self.encode_ordinary(text[position:])

    def _allowed(self, text: str, allowed_special: str | AbstractSet[str]) -> dict[str, int]:
        if allowed_special == "all":
            return self.special_tokens
        if allowed_special == "none":
            return {}
        if allowed_special == "none_raise":
            for token in self.special_tokens:
                if token in text:
                    raise DisallowedSpecialTokenError(
                        f"the text spells the special token {token!r}\n"
                        'hint: allowed_special="all" makes it that token, "none" ordinary text',
                        token=token,
                    )
            return {}
        if isinstance(allowed_special, AbstractSet):
            tokens = self.special_tokens.items()
            return {token: i for token, i in tokens if token in allowed_special}
        raise UsageError(
            f"allowed_special is {allowed_special!r}; expected a set, all, none or none_raise"
        )
