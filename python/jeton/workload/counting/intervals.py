"""Intervals: figures of the counted documents as estimates for further documents like them.

Sums over groups of documents, from which intervals are made after one pass.

A bootstrap by document wants to draw documents again and again, which a stream does not allow.
Documents are put into groups by their digests, as good as at random, and the groups are drawn in
their place (the method of random groups: Wolter, "Introduction to Variance Estimation", 2nd ed.,
2007, chapter 2). With fewer documents than groups nearly every group is one document. Copies of a
text share a group, as they should: they are no independent news.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton.metrics.bootstrap import SEED, Interval, bootstrap_ratio
from jeton.workload.digests import Digests

N_GROUPS = 4_096
"""An interval of 4,096 groups is as wide as one of as many documents to within 1.1% (the relative
standard error of a standard deviation of n values is 1 / sqrt(2 n))."""


def groups_of(digests: Digests) -> NDArray[np.int64]:
    """The group of each document, int64 (n,).

    Made from the low bits of the digest: the draw of samples uses the high ones.
    """
    return (digests["low"] % N_GROUPS).astype(np.int64)


class GroupSums:
    """Documents, bytes and tokens of their text (under each tokenizer) by group."""

    def __init__(self, n_tokenizers: int) -> None:
        self.documents: NDArray[np.int64] = np.zeros(N_GROUPS, dtype=np.int64)
        self.n_bytes: NDArray[np.int64] = np.zeros(N_GROUPS, dtype=np.int64)
        self.tokens: NDArray[np.int64] = np.zeros((n_tokenizers, N_GROUPS), dtype=np.int64)
        self.overhead_tokens: NDArray[np.int64] = np.zeros_like(self.tokens)

    def add_documents(self, groups: NDArray[np.int64], n_bytes: NDArray[np.int64]) -> None:
        """Count documents and their bytes, each int64 (n,)."""
        self.documents += np.bincount(groups, minlength=N_GROUPS)
        self.n_bytes += _sums(groups, n_bytes)

    def add_overhead(
        self, tokenizer: int, groups: NDArray[np.int64], n_tokens: NDArray[np.int64]
    ) -> None:
        """Count the tokens that a chat format adds under one tokenizer, int64 (n,)."""
        self.overhead_tokens[tokenizer] += _sums(groups, n_tokens)

    def add_tokens(
        self, tokenizer: int, groups: NDArray[np.int64], n_tokens: NDArray[np.int64]
    ) -> None:
        """Count the tokens of documents under one tokenizer, int64 (n,)."""
        self.tokens[tokenizer] += _sums(groups, n_tokens)

    def merge(self, other: Self) -> GroupSums:
        """The sums of both."""
        merged = GroupSums(len(self.tokens))
        merged.documents = self.documents + other.documents
        merged.n_bytes = self.n_bytes + other.n_bytes
        merged.overhead_tokens = self.overhead_tokens + other.overhead_tokens
        merged.tokens = self.tokens + other.tokens
        return merged


def _sums(groups: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    # Sums of a batch stay far below 2^53, so the floats of bincount are exact.
    sums = np.bincount(groups, weights=values, minlength=N_GROUPS)
    return sums.astype(np.int64)


__all__ = ["MIN_GROUPS", "SEED", "bytes_per_token_interval", "tokens_per_document_interval"]

N_RESAMPLES = 1_000
"""Enough for the ends of a 95% interval (Efron and Tibshirani 1993, section 14.3)."""

MIN_GROUPS = 10
"""With fewer groups of documents than this there is no interval: a bootstrap of less has nothing
to draw from, and its interval would be far too narrow."""


def tokens_per_document_interval(
    groups: GroupSums, tokenizer: int, *, seed: int = SEED
) -> Interval | None:
    """Interval of the mean token count, a chat format's included; None with too few documents."""
    used = groups.documents > 0
    if used.sum() < MIN_GROUPS:
        return None
    as_sent = groups.tokens[tokenizer] + groups.overhead_tokens[tokenizer]
    return bootstrap_ratio(
        as_sent[used], groups.documents[used], n_resamples=N_RESAMPLES, seed=seed
    )


def bytes_per_token_interval(
    groups: GroupSums, tokenizer: int, *, seed: int = SEED
) -> Interval | None:
    """Interval of bytes per token of text; None with too few documents."""
    used = groups.documents > 0
    if used.sum() < MIN_GROUPS:
        return None
    return bootstrap_ratio(
        groups.n_bytes[used], groups.tokens[tokenizer][used], n_resamples=N_RESAMPLES, seed=seed
    )
