"""Every smaller vocabulary that one training of byte-pair encoding contains.

Merges are learned one after the other, so the first k merges of a large training are all the merges
of a smaller one (same text, same settings). And how a text is cut with k merges follows from how it
is cut with all of them:

A token is made by one tree of merges only (its own merge, those of its two parts, and so on), and
no merge of a pretoken can come before the merges that its parts need. So encoding applies, in each
pretoken, merges in ascending rank, and leaving out the merges from rank k on undoes exactly the
last of them. A token of rank k or more falls into the tokens of its two parts, and those into
theirs, until all ranks are below k.

Hence one count of tokens gives the tokens needed at every vocabulary size: O(vocabulary), not one
encoding for each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton._core import TokenBatch, Tokenizer, from_canonical
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class NestedVocabularies:
    """A byte-level BPE tokenizer as the row of vocabularies that it was made through.

    Attributes:
        tokenizer: The largest.
        n_base: Ids that no merge makes: special tokens and bytes. The smallest vocabulary.
        lefts: int64 (n_merges,), the left part of each merge, as an id.
        rights: int64 (n_merges,), the right part.

    The id that merge k makes is ``n_base + k``.
    """

    tokenizer: Tokenizer
    n_base: int
    lefts: NDArray[np.int64]
    rights: NDArray[np.int64]
    _canonical: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, tokenizer: TokenizerLike) -> NestedVocabularies:
        """The vocabularies within a tokenizer.

        Raises: UsageError: It is not byte-level BPE whose ids are in the order of its merges, as
            `jeton.train` makes it.
        """
        tokenizer = resolve(tokenizer)
        canonical = json.loads(tokenizer.to_canonical())
        model = canonical["model"]
        name = tokenizer.name or "the tokenizer"
        if model.get("type") != "bpe" or model.get("whole_pretokens"):
            raise UsageError(
                f"{name} is not a plain byte-level BPE tokenizer, whose vocabularies are nested\n"
                "hint: train one with jeton.train(..., algorithm='bpe')"
            )
        # Ids of special tokens have no bytes here.
        tokens = [base64.b64decode(token or "") for token in model["tokens"]]
        merges = np.asarray(model["merges"], dtype=np.int64).reshape(-1, 2)
        n_base = len(tokens) - len(merges)
        ids = n_base + np.arange(len(merges))
        in_order = (merges < ids[:, np.newaxis]).all() and all(
            tokens[left] + tokens[right] == tokens[n_base + place]
            for place, (left, right) in enumerate(merges.tolist())
        )
        if n_base < 0 or not in_order:
            raise UsageError(
                f"the ids of {name} are not in the order of its merges, so that a smaller "
                "vocabulary is not a part of it\n"
                "hint: train one with jeton.train(..., algorithm='bpe')"
            )
        return cls(tokenizer, n_base, merges[:, 0].copy(), merges[:, 1].copy(), canonical)

    @property
    def vocab_size(self) -> int:
        """Ids of the largest."""
        return self.n_base + len(self.lefts)

    def tokens_of_ids(self, vocab_size: int) -> NDArray[np.int64]:
        """How many tokens of a smaller vocabulary each id becomes.

        Returns:
            int64 (self.vocab_size,): 1 for the ids that the smaller one has too.

        Raises:
            UsageError: The size is not within the row.
        """
        self._check(vocab_size)
        n_tokens = [1] * self.vocab_size
        lefts, rights = self.lefts.tolist(), self.rights.tolist()
        for place in range(vocab_size - self.n_base, len(lefts)):
            n_tokens[self.n_base + place] = n_tokens[lefts[place]] + n_tokens[rights[place]]
        return np.asarray(n_tokens, dtype=np.int64)

    def tokens_at_every_size(self, id_counts: ArrayLike) -> NDArray[np.int64]:
        """Tokens that a text needs with each vocabulary of the row.

        Args:
            id_counts: How often each id of the largest came up in the text, (self.vocab_size,).

        Returns:
            int64 (n_merges + 1,): tokens with ``n_base``, ``n_base + 1`` ... ``vocab_size`` ids.

        Raises:
            UsageError: There is not one count for each id.
        """
        counts: list[int] = np.asarray(id_counts).astype(np.int64).tolist()
        if len(counts) != self.vocab_size:
            raise UsageError(
                f"got {len(counts)} counts for {self.vocab_size} ids; expected one for each"
            )
        total = sum(counts)
        totals = [total]
        lefts, rights = self.lefts.tolist(), self.rights.tolist()
        for place in range(len(lefts) - 1, -1, -1):
            n = counts[self.n_base + place]
            counts[lefts[place]] += n
            counts[rights[place]] += n
            total += n
            totals.append(total)
        return np.asarray(totals[::-1], dtype=np.int64)

    def tokens_of_documents(
        self, batch: TokenBatch, vocab_sizes: Sequence[int]
    ) -> NDArray[np.int64]:
        """Tokens of each document with some vocabularies of the row.

        Args:
            batch: The documents as the largest encodes them.
            vocab_sizes: Sizes within the row.

        Returns:
            int64 (n_documents, n_sizes).

        Raises:
            UsageError: A size is not within the row.
        """
        found = np.zeros((len(batch), len(vocab_sizes)), dtype=np.int64)
        for column, size in enumerate(vocab_sizes):
            sums = np.concatenate(([0], np.cumsum(self.tokens_of_ids(size)[batch.ids])))
            found[:, column] = np.diff(sums[batch.offsets])
        return found

    def smaller(self, vocab_size: int, *, name: str | None = None) -> Tokenizer:
        """The tokenizer that training to a smaller size would have given.

        Raises:
            UsageError: The size is not within the row.
        """
        self._check(vocab_size)
        model = {
            **self._canonical["model"],
            "tokens": self._canonical["model"]["tokens"][:vocab_size],
            "merges": self._canonical["model"]["merges"][: vocab_size - self.n_base],
        }
        data = json.dumps({**self._canonical, "model": model}).encode()
        return from_canonical(data, name=name)

    def _check(self, vocab_size: int) -> None:
        if not self.n_base <= vocab_size <= self.vocab_size:
            raise UsageError(
                f"vocab_size is {vocab_size}; expected {self.n_base} (special tokens and bytes) to "
                f"{self.vocab_size} (the trained size)"
            )
