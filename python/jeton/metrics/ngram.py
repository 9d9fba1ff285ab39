"""Bits per byte of an n-gram model over tokens: a cheap stand-in for a language model's loss.

Bits per token cannot be compared between tokenizers, bits per byte of the same text can. The
model is interpolated Kneser-Ney (R. Kneser and H. Ney, ICASSP 1995; S. Chen and J. Goodman, "An
empirical study of smoothing techniques for language modeling", 1998, section 2.7) with one
discount for each order; the lowest order is interpolated with the uniform distribution over the
vocabulary and the end of the document, so that every text has a probability.

It is fitted on some documents of a sample and read on others; which ones is decided by a hash of
each document, so the split does not depend on their order. On little text it measures how a
tokenizer suits a small model; a large vocabulary pays for its rare ids, as it does in a real one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics.bootstrap import SEED, Interval, bootstrap_ratio
from jeton.registry import TokenizerLike, resolve

ORDER = 3
"""Trigrams: above that, a sample of megabytes has too few repetitions to tell tokenizers apart."""

HELDOUT_SHARE = 0.2
"""Share of the documents, by hash, that the model is evaluated on."""

_MAX_ORDER = 5


@dataclass(frozen=True, slots=True)
class NgramBits:
    """How well an n-gram model over the tokens predicts text of the same kind.

    Attributes:
        bits_per_byte: Bits of the held-out documents over their bytes; less is better.
        interval: By document; None with fewer than two held-out documents.
        bits_per_token: Bits over their tokens; not comparable between tokenizers.
        order: Tokens that the model looks at, the predicted one among them.
        n_train_documents: Documents it was fitted on.
        n_heldout_documents: Documents it was read on.
        n_heldout_bytes: Their bytes.
        n_heldout_tokens: Their tokens.
    """

    bits_per_byte: float
    interval: Interval | None
    bits_per_token: float
    order: int
    n_train_documents: int
    n_heldout_documents: int
    n_heldout_bytes: int
    n_heldout_tokens: int


class KneserNey:
    """An interpolated Kneser-Ney model over ids, fitted on documents.

    An end id is predicted after each document, and start ids stand before it, so that the
    probabilities of all documents sum to one.

    Args:
        documents: Ids of each document, below ``vocab_size``.
        vocab_size: Ids that can be predicted, but for the end.
        order: 1 to 5.

    Raises:
        UsageError: ``order`` or an id is out of range.
    """

    def __init__(
        self, documents: Sequence[NDArray[np.integer]], *, vocab_size: int, order: int = ORDER
    ) -> None:
        if not 1 <= order <= _MAX_ORDER:
            raise UsageError(f"order is {order}; expected 1 to {_MAX_ORDER}")
        self.order = order
        self.vocab_size = vocab_size
        self._end = vocab_size
        self._start = vocab_size + 1
        # Tables of order k: contexts are numbers of (k-1)-grams, 0 for the empty one.
        self._tables: list[_Table] = []
        windows = self._windows(documents)
        counts = np.ones(len(windows), dtype=np.int64)
        levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for k in range(order, 0, -1):
            grams, inverse = _unique_rows(windows)
            summed = np.bincount(inverse, weights=counts, minlength=len(grams)).astype(np.int64)
            levels.append((grams, summed))
            # Below the highest order, what counts is after how many different words: one for each
            # gram.
            windows = grams[:, 1:]
            counts = np.ones(len(grams), dtype=np.int64)
            del k
        for grams, summed in reversed(levels):
            self._tables.append(_Table.build(grams, summed, self._start + 1))

    def _windows(self, documents: Iterable[NDArray[np.integer]]) -> NDArray[np.int64]:
        parts = []
        for ids in documents:
            if len(ids) and int(ids.max()) >= self.vocab_size:
                raise UsageError(f"an id is {int(ids.max())}; expected ids below {self.vocab_size}")
            padded = np.concatenate(
                [
                    np.full(self.order - 1, self._start, dtype=np.int64),
                    ids.astype(np.int64),
                    np.array([self._end], dtype=np.int64),
                ]
            )
            parts.append(np.lib.stride_tricks.sliding_window_view(padded, self.order))
        if not parts:
            return np.zeros((0, self.order), dtype=np.int64)
        return np.concatenate(parts)

    def bits(self, documents: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
        """Bits of each document, its end included: float64 (n_documents,)."""
        all_bits = -np.log2(self._probabilities(documents))
        ends = np.cumsum([len(ids) + 1 for ids in documents]).tolist()
        return np.array(
            [all_bits[start:end].sum() for start, end in pairwise([0, *ends])], dtype=np.float64
        )

    def probabilities(self, ids: NDArray[np.integer]) -> NDArray[np.float64]:
        """The probability of each id after those before it, and of the end: float64 (n + 1,)."""
        return self._probabilities([ids])

    def _probabilities(self, documents: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
        windows = self._windows(documents)
        # The vocabulary and the end, all alike.
        likely = np.full(len(windows), 1.0 / (self.vocab_size + 1))
        for k, table in enumerate(self._tables, start=1):
            likely = table.interpolate(windows[:, self.order - k :], likely)
        return likely


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """All n-grams of one order, sorted, with their counts; and their contexts."""

    base: int
    columns: tuple[NDArray[np.int64], ...]
    gram_counts: NDArray[np.int64]
    context_totals: NDArray[np.int64]
    context_types: NDArray[np.int64]
    discount: float

    @classmethod
    def build(cls, grams: NDArray[np.int64], counts: NDArray[np.int64], base: int) -> _Table:
        """From different n-grams and their counts, at least 1 each."""
        columns: list[NDArray[np.int64]] = []
        numbers = np.zeros(len(grams), dtype=np.int64)
        contexts = numbers
        for place in range(grams.shape[1]):
            contexts = numbers
            keys = numbers * base + grams[:, place]
            known, numbers = np.unique(keys, return_inverse=True)
            columns.append(known)
        n_contexts = int(contexts.max(initial=-1)) + 1
        in_order = np.zeros(len(columns[-1]), dtype=np.int64)
        in_order[numbers] = counts
        # Ney, Essen and Kneser 1994: n1 / (n1 + 2 n2); a half where the text is too small to tell.
        once, twice = int((counts == 1).sum()), int((counts == 2).sum())
        discount = once / (once + 2 * twice) if once and twice else 0.5
        return cls(
            base=base,
            columns=tuple(columns),
            gram_counts=in_order,
            context_totals=np.bincount(contexts, weights=counts, minlength=n_contexts).astype(
                np.int64
            ),
            context_types=np.bincount(contexts, minlength=n_contexts).astype(np.int64),
            discount=discount,
        )

    def interpolate(
        self, windows: NDArray[np.int64], lower: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Probabilities of the last ids of n-grams, given those of the order below."""
        numbers = np.zeros(len(windows), dtype=np.int64)
        contexts = numbers
        for place, known in enumerate(self.columns):
            contexts = numbers
            keys = np.where(numbers < 0, -1, numbers * self.base + windows[:, place])
            numbers = _look_up(known, keys)
        has_context = contexts >= 0
        context = np.where(has_context, contexts, 0)
        if not len(self.context_totals):
            return lower
        totals = self.context_totals[context]
        found = np.where(numbers >= 0, self.gram_counts[np.maximum(numbers, 0)], 0)
        own = np.maximum(found - self.discount, 0.0) / totals
        left = self.discount * self.context_types[context] / totals
        return np.where(has_context, own + left * lower, lower)


def _look_up(known: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each key among the sorted ones; -1 where it is not."""
    if not len(known):
        return np.full(len(keys), -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1)


def _unique_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different rows, and which of them each row is. By columns, which is faster than by rows."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for place in range(rows.shape[1]):
        column = rows[:, place]
        width = int(column.max(initial=0)) + 1
        _, numbers = np.unique(numbers * width + column, return_inverse=True)
    n_rows = int(numbers.max(initial=-1)) + 1
    first = np.zeros(n_rows, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(rows) - 1, -1, -1)
    return rows[first], numbers


def ngram_bits_per_byte(
    tokenizer: TokenizerLike,
    texts: Iterable[str],
    *,
    order: int = ORDER,
    heldout_share: float = HELDOUT_SHARE,
    seed: int = SEED,
    num_threads: int | None = None,
) -> NgramBits:
    """Fit on some documents, read on the others.

    Args:
        tokenizer: The tokenizer, or its name or path.
        texts: Documents; the same for all tokenizers that are compared. Equal documents fall on
            the same side of the split, so that none is read that the model was fitted on.
        order: 1 to 5.
        heldout_share: Share of the documents, above 0 and below 1.
        seed: Seed of the interval.
        num_threads: Threads of the core; None: all.

    Raises:
        EmptyCorpusError: One side of the split has no text.
        UsageError: A number is out of range.
    """
    tokenizer = resolve(tokenizer)
    if not 0 < heldout_share < 1:
        raise UsageError(f"heldout_share is {heldout_share!r}; expected above 0 and below 1")
    train: list[str] = []
    heldout: list[str] = []
    for text in texts:
        (heldout if _is_heldout(text, heldout_share) else train).append(text)
    heldout_batch = TextBatch.from_texts(heldout)
    if not train or not heldout_batch.n_bytes:
        raise EmptyCorpusError(
            f"{len(train)} documents to fit on and {len(heldout)} to read; expected some of each\n"
            "hint: give more documents, or cut long ones into paragraphs"
        )
    fitted = KneserNey(
        _ids(tokenizer, TextBatch.from_texts(train), num_threads),
        vocab_size=tokenizer.vocab_size,
        order=order,
    )
    documents = _ids(tokenizer, heldout_batch, num_threads)
    bits = fitted.bits(documents)
    n_bytes = np.diff(heldout_batch.offsets)
    n_tokens = sum(map(len, documents))
    return NgramBits(
        bits_per_byte=math.fsum(bits) / int(n_bytes.sum()),
        interval=bootstrap_ratio(bits, n_bytes, seed=seed),
        bits_per_token=math.fsum(bits) / max(n_tokens, 1),
        order=order,
        n_train_documents=len(train),
        n_heldout_documents=len(heldout),
        n_heldout_bytes=int(n_bytes.sum()),
        n_heldout_tokens=n_tokens,
    )


def _is_heldout(text: str, share: float) -> bool:
    digest = blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=8, person=b"heldout")
    return int.from_bytes(digest.digest(), "big") < share * 2**64


def _ids(
    tokenizer: Tokenizer, batch: TextBatch, num_threads: int | None
) -> list[NDArray[np.uint32]]:
    encoded = tokenizer.encode_batch(batch, num_threads=num_threads)
    edges = encoded.offsets.tolist()
    return [encoded.ids[start:end] for start, end in pairwise(edges)]
