"""Documents that were there before: exact copies, and what is nearly alike.

Exact copies have the same 128-bit digest (XXH3; two different documents share one by chance once
in 10^38 pairs). Near-duplicates share a band of their MinHash signatures: documents whose sets of
shingles have the Jaccard similarity s are found with the probability
``1 - (1 - s ** n_rows) ** n_bands``, and nothing else is compared. With the defaults that is 99.9%
at 0.9, 92% at 0.8, 56% at 0.7, 5% at 0.5 and 0.1% at 0.3.

The first of several stays, in the order of the inputs. Cost: exact, about 100 bytes of memory a
document; near, one hash function of each row and band for every word, and about 25 bytes of memory
for each band of each document kept (350 bytes with the defaults).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton._core import NearDuplicates, TextBatch, text_digests
from jeton.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicateSettings:
    """Settings that decide which documents are nearly alike.

    The defaults are those of FineWeb (Penedo et al. 2024, arXiv:2406.17557: 5-grams of words, 14
    bands of 8 rows), meant for a similarity of about 0.75.

    Attributes:
        shingle_words: Words in a row that are compared as one.
        n_bands: Bands of the signature: more find more.
        n_rows: Hash functions of a band: more ask for more likeness.
        seed: Chooses the hash functions.
    """

    shingle_words: int = 5
    n_bands: int = 14
    n_rows: int = 8
    seed: int = 0

    def probability(self, similarity: float) -> float:
        """How likely a pair of documents of this Jaccard similarity is found.

        Raises:
            UsageError: The similarity is not between 0 and 1.

        Example:
            >>> round(NearDuplicateSettings().probability(0.8), 3)
            0.924
        """
        if not 0 <= similarity <= 1:
            raise UsageError(f"similarity is {similarity}; expected a number between 0 and 1")
        return float(1 - (1 - similarity**self.n_rows) ** self.n_bands)

    def new_index(self) -> NearDuplicates:
        """An index without documents.

        Raises:
            UsageError: A number that is 0 or too large.
        """
        return NearDuplicates(
            shingle_words=self.shingle_words,
            n_bands=self.n_bands,
            n_rows=self.n_rows,
            seed=self.seed,
        )


class Deduplicator:
    """Says of each document whether it is the first of its kind."""

    def __init__(self, *, exact: bool = True, near: NearDuplicateSettings | None = None) -> None:
        """Nothing was seen yet; without ``exact`` and ``near`` everything is kept."""
        self._seen: set[int] | None = set() if exact else None
        self._near = near.new_index() if near is not None else None
        self.n_exact_duplicates = 0
        """Documents that are copies of earlier ones."""
        self.n_near_duplicates = 0
        """Documents that are no copies, but nearly alike to an earlier one that was kept."""

    def keep(
        self,
        batch: TextBatch,
        *,
        among: NDArray[np.bool_] | None = None,
        num_threads: int | None = None,
    ) -> NDArray[np.bool_]:
        """Which documents of a batch to keep, in order.

        Args:
            batch: The documents.
            among: bool (n_documents,): only these are looked at, the others are not kept.
            num_threads: Threads; None: all there are. Does not change the result.

        Returns:
            bool (n_documents,).
        """
        kept = np.ones(len(batch), dtype=np.bool_) if among is None else among.copy()
        if self._seen is not None:
            high, low = text_digests(batch, num_threads=num_threads)
            for index in np.flatnonzero(kept):
                digest = int(high[index]) << 64 | int(low[index])
                if digest in self._seen:
                    kept[index] = False
                    self.n_exact_duplicates += 1
                else:
                    self._seen.add(digest)
        if self._near is not None:
            # Only what is still there may stand for others.
            chosen = np.flatnonzero(kept)
            texts = TextBatch.from_texts([batch[int(index)] for index in chosen])
            resembles, _ = self._near.place(texts, num_threads=num_threads)
            is_new = resembles < 0
            kept[chosen] = is_new
            self.n_near_duplicates += int(len(chosen) - is_new.sum())
        return kept
