"""Rényi efficiency: how evenly a tokenizer's ids are used, weighted by an order alpha.

The Rényi entropy of order alpha is ``log2(sum p^alpha) / (1 - alpha)``; divided by the logarithm of
the number of ids it is an efficiency between 0 and 1 (V. Zouhar et al., "Tokenization and the
noiseless channel", ACL 2023, arXiv:2306.16842). Two conventions give two different figures of the
same counts, so both are computed:

- alpha 2.5 over the full vocabulary: the order that the paper recommends for German-English.
- power 3.0 over the *observed* types: what tokenization-scorer 1.1.8 does unless told otherwise.

A high efficiency does not make a good tokenizer: M. Cognetta et al. (arXiv:2402.14614) give
tokenizers whose efficiency rises while translations get worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError

RENYI_ALPHA = 2.5
"""Zouhar et al. 2023, section 5."""

SCORER_POWER = 3.0
"""Default of tokenization-scorer 1.1.8 (PyPI, read 2026-11-21)."""


@dataclass(frozen=True, slots=True)
class RenyiEfficiency:
    """One figure with the convention that it follows.

    Attributes:
        value: Entropy over the greatest entropy possible, 0 to 1.
        alpha: The order.
        n_ids: The number of ids whose logarithm divides.
        convention: ``"full vocabulary"`` or ``"observed types"``.
        entropy_bits: The Rényi entropy.
    """

    value: float
    alpha: float
    n_ids: int
    convention: str
    entropy_bits: float


def renyi_entropy_bits(counts: ArrayLike, *, alpha: float = RENYI_ALPHA) -> float:
    """The Rényi entropy of how often ids were produced, in bits; 0.0 without tokens.

    Order 1 is Shannon's entropy (the limit), order 0 the logarithm of the number of types, and
    infinity the min-entropy.

    Args:
        counts: How often each id was produced; zeros are left out.
        alpha: At least 0.

    Raises:
        UsageError: ``alpha`` is negative or not a number, or a count is negative.
    """
    if not alpha >= 0:
        raise UsageError(f"alpha is {alpha!r}; expected at least 0")
    shares = _shares(counts)
    if not len(shares):
        return 0.0
    if alpha == 1:
        return max(0.0, float(-(shares * np.log2(shares)).sum()))
    if math.isinf(alpha):
        return max(0.0, -math.log2(float(shares.max())))
    # The largest share is taken out, so that no power underflows: high orders stay finite.
    largest = float(shares.max())
    power_sum = float(((shares / largest) ** alpha).sum())
    bits = (math.log2(power_sum) + alpha * math.log2(largest)) / (1 - alpha)
    return max(0.0, bits)


def renyi_efficiency(
    counts: ArrayLike, *, alpha: float = RENYI_ALPHA, vocab_size: int | None = None
) -> RenyiEfficiency:
    """The Rényi entropy over the logarithm of the number of ids.

    Args:
        counts: uint64 (vocab_size,), how often each id was produced.
        alpha: The order.
        vocab_size: The number of ids; None: the types that were observed.

    Raises:
        UsageError: ``vocab_size`` is below the number of observed types; see also
            `renyi_entropy_bits`.
    """
    n_types = int(np.count_nonzero(np.asarray(counts)))
    n_ids = n_types if vocab_size is None else vocab_size
    if n_ids < n_types:
        raise UsageError(f"vocab_size is {n_ids}; {n_types} different ids were counted")
    bits = renyi_entropy_bits(counts, alpha=alpha)
    return RenyiEfficiency(
        value=bits / math.log2(n_ids) if n_ids > 1 else 0.0,
        alpha=alpha,
        n_ids=n_ids,
        convention="observed types" if vocab_size is None else "full vocabulary",
        entropy_bits=bits,
    )


def _shares(counts: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(counts)
    if values.size and values.min() < 0:
        raise UsageError(f"a count is {values.min()}; expected 0 or more")
    seen = values[values > 0].astype(np.float64)
    total = seen.sum()
    shares: NDArray[np.float64] = seen / total if len(seen) else seen
    return shares
