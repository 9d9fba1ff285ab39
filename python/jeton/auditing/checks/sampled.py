"""From what an analysis saved on the sample to a finding about the whole workload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.analyses.rewriting import Rewrite, RewriteSaving
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.replaying.prompts import NOT_TOOLS
from jeton.corpus.requests.blocks import BlockKind
from jeton.findings import Basis
from jeton.metrics.bootstrap import bootstrap_ratio

N_GROUPS = 256
"""Documents are drawn in at most so many random groups: the interval of a ratio of sums is the same
within a few percent, and takes milliseconds."""


@dataclass(frozen=True, slots=True)
class TokensSaved:
    """Tokens that would go, on the workload.

    Attributes:
        n_tokens: On the whole workload.
        share: Share of all its tokens.
        low: Lower end of the share's interval; the share itself where the sample is the workload.
        high: Upper end.
        basis: Exact where the sample is the workload.
        formula: How it was computed, with the numbers put in.
    """

    n_tokens: int
    share: float
    low: float
    high: float
    basis: Basis
    formula: str


def saved(
    evidence: Evidence, saved_tokens: NDArray[np.int64], what: str, *, once: bool = False
) -> TokensSaved:
    """Carry what was saved on the sampled documents over to the workload.

    The interval is a bootstrap by document: a document is what was drawn.

    Args:
        evidence: The facts that checks see.
        saved_tokens: int64 (n_documents,), by document of the sample.
        what: The counted thing, for the formula.
        once: True if copies of a text save nothing more, because another finding has them.
    """
    sample = evidence.sample
    # One entry of a draw stands for all copies of its text.
    copies = np.array([document.n_copies for document in sample.documents], dtype=np.int64)
    n_tokens = copies * np.array([document.n_tokens for document in sample.documents])
    weighted = saved_tokens if once else copies * saved_tokens
    n_saved, n_all = int(weighted.sum()), int(n_tokens.sum())
    share = n_saved / n_all if n_all else 0.0
    formula = (
        f"{n_saved:,} of {n_all:,} tokens under {evidence.current.name}: {what} "
        f"({len(sample.documents):,} documents"
    )
    if sample.is_whole:
        return TokensSaved(n_saved, share, share, share, Basis.EXACT, formula + ", all)")
    low, high = _interval(weighted, n_tokens)
    n_of_all = round(share * sample.n_tokens_of_all)
    formula += (
        f" drawn by digest) x {sample.n_tokens_of_all:,} tokens of the workload = {n_of_all:,}; "
        f"95% interval of the share by bootstrap over documents: {percent(low)} to {percent(high)}"
    )
    return TokensSaved(n_of_all, share, low, high, Basis.ESTIMATED, formula)


def _interval(saved_tokens: NDArray[np.int64], n_tokens: NDArray[np.int64]) -> tuple[float, float]:
    """Bootstrap of the ratio; the order of the documents is that of their digests."""
    if not saved_tokens.any():
        return 0.0, 0.0
    groups = np.arange(len(n_tokens)) % min(len(n_tokens), N_GROUPS)
    above = np.bincount(groups, weights=saved_tokens)
    below = np.bincount(groups, weights=n_tokens)
    interval = bootstrap_ratio(above, below, method="percentile")
    if interval is None:
        share = float(above.sum() / max(1.0, below.sum()))
        return share, share
    return interval.low, interval.high


def measure(
    evidence: Evidence,
    rewrite: Rewrite,
    *,
    min_share: float,
    kinds: frozenset[BlockKind] = NOT_TOOLS,
) -> RewriteSaving:
    """Saving of a rewrite on the sampled documents under the tokenizer in use.

    Args:
        evidence: The facts that checks see.
        rewrite: The rewrite, which acts on each block of a request by itself.
        min_share: Share of all tokens that must be at stake.
        kinds: Kinds of the blocks that it may touch.
    """
    documents = evidence.sample.documents
    return evidence.prompts.measured(
        rewrite,
        kinds=kinds,
        copies=[document.n_copies for document in documents],
        min_share=min_share,
    )
