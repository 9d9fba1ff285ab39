"""Intervals: figures of the counted documents as estimates for further documents like them."""

from __future__ import annotations

from jeton.metrics.bootstrap import SEED, Interval, bootstrap_ratio
from jeton.workload.counting.groups import GroupSums

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
