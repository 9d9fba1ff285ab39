"""GPT-4's tokenizer with minbpe's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jeton import registry
from jeton._core import Tokenizer as CoreTokenizer
from jeton.compat.minbpe.base import NotSavedError
from jeton.compat.minbpe.regex import GPT4_SPLIT_PATTERN, RegexTokenizer

__all__ = ["GPT4_SPECIAL_TOKENS", "GPT4Tokenizer", "recover_merges"]

# Source: tiktoken 0.14.0, tiktoken_ext/openai_public.py, cl100k_base.
GPT4_SPECIAL_TOKENS = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}


class GPT4Tokenizer(RegexTokenizer):
    """``cl100k_base``, found where `jeton.load` finds it."""

    def __init__(self) -> None:
        self._gpt4: CoreTokenizer = registry.load("cl100k_base")
        self._recovered: dict[tuple[int, int], int] | None = {}
        super().__init__(pattern=GPT4_SPLIT_PATTERN)
        self._recovered = None
        ordinary = range(max(GPT4_SPECIAL_TOKENS["<|endoftext|>"] - 1, 0))
        # As in minbpe, bytes have their own values as ids in `vocab`, not those of the file.
        self.byte_shuffle = {b: self._gpt4.bytes_to_id(bytes([b])) or 0 for b in range(256)}
        self.inverse_byte_shuffle = {i: b for b, i in self.byte_shuffle.items()}
        shuffled = bytes.maketrans(bytes(range(256)), bytes(self.byte_shuffle.values()))
        self.vocab = {i: self._gpt4.id_to_bytes(i).translate(shuffled) for i in ordinary}
        self.register_special_tokens(dict(GPT4_SPECIAL_TOKENS))

    @property
    def merges(self) -> dict[tuple[int, int], int]:
        """The merges, recovered from the ranks when they are first asked for."""
        if self._recovered is None:
            ranks = {self._gpt4.id_to_bytes(i): i for i in self.vocab}
            self._recovered = recover_merges(ranks)
        return self._recovered

    @merges.setter
    def merges(self, value: dict[tuple[int, int], int]) -> None:
        # The settings of the base class; GPT-4's are not changed.
        pass

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; what is not UTF-8 becomes U+FFFD. Raises as `RegexTokenizer.decode`."""
        for token_id in ids:
            if token_id not in self.vocab and token_id not in self.inverse_special_tokens:
                return super().decode([token_id])
        return self._gpt4.decode_bytes(ids).decode("utf-8", errors="replace")

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:  # noqa: FBT001, FBT002
        """Not for GPT-4: its tokenizer is trained."""
        raise NotSavedError("GPT4Tokenizer is trained\nhint: RegexTokenizer().train(...)")

    def save(self, file_prefix: str) -> None:
        """Not for GPT-4: minbpe's format cannot say which ids its bytes have."""
        raise NotSavedError(
            'GPT4Tokenizer cannot be saved as minbpe v1\nhint: jeton.load("cl100k_base").save(...)'
        )

    def load(self, model_file: str) -> None:
        """Not for GPT-4."""
        raise NotSavedError("GPT4Tokenizer is loaded\nhint: RegexTokenizer().load(...)")

    def save_vocab(self, vocab_file: str) -> None:
        """Write the vocabulary to look at, as `save` does for other tokenizers."""
        self._save_vocab(vocab_file, {i: self._gpt4.id_to_bytes(i) for i in self.vocab})

    def _core(self) -> CoreTokenizer:
        return self._gpt4


def recover_merges(mergeable_ranks: Mapping[bytes, int]) -> dict[tuple[int, int], int]:
    """The pair of ids that each token of several bytes is merged from.

    It is what merging the token's bytes comes to when only lower ranks count.
    """
    merges = {}
    for token, rank in mergeable_ranks.items():
        if len(token) > 1:
            left, right = _parts(mergeable_ranks, token, rank)
            merges[mergeable_ranks[left], mergeable_ranks[right]] = rank
    return merges


def _parts(ranks: Mapping[bytes, int], token: bytes, limit: int) -> tuple[bytes, bytes]:
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], limit))
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts[0], parts[1]
