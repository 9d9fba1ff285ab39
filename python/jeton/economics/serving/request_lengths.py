"""A workload as its distribution of lengths: prompts, and what is generated after each.

Means hide what costs money: attention is quadratic, windows cap, pages round up, batches are
padded to their longest. So everything here is summed over the lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RequestLengths:
    """Requests by prompt length.

    Attributes:
        prompt_tokens: Distinct prompt lengths, tokens, ascending.
        n_requests: Requests of each length.
        output_tokens: Tokens generated after each prompt (mean).
    """

    prompt_tokens: tuple[int, ...]
    n_requests: tuple[int, ...]
    output_tokens: float = 0.0

    def __post_init__(self) -> None:
        if len(self.prompt_tokens) != len(self.n_requests):
            raise UsageError(
                f"the workload has {len(self.prompt_tokens)} lengths and {len(self.n_requests)} "
                "counts; expected as many of each"
            )
        if min((*self.prompt_tokens, *self.n_requests), default=0) < 0 or not sum(self.n_requests):
            raise UsageError(
                "the workload is empty or has a negative number; expected at least one request"
            )
        if list(self.prompt_tokens) != sorted(set(self.prompt_tokens)):
            raise UsageError("the lengths of a workload must be distinct and ascending")
        if not 0 <= self.output_tokens < 1e12:
            raise UsageError(f"output_tokens is {self.output_tokens}; expected at least 0")

    @classmethod
    def of(
        cls,
        lengths: Sequence[int] | NDArray[np.integer],
        *,
        output_tokens: float = 0.0,
    ) -> RequestLengths:
        """Return the workload of some prompt lengths, one for each request."""
        counts: dict[int, int] = {}
        for length in lengths:
            counts[int(length)] = counts.get(int(length), 0) + 1
        found = sorted(counts)
        return cls(tuple(found), tuple(counts[length] for length in found), output_tokens)

    @classmethod
    def from_histogram(
        cls,
        lengths: Sequence[int] | NDArray[np.integer],
        counts: Sequence[int] | NDArray[np.integer],
        *,
        output_tokens: float = 0.0,
    ) -> RequestLengths:
        """Return the workload of a histogram, in any order; equal lengths are added up."""
        if len(lengths) != len(counts):
            raise UsageError(
                f"the workload has {len(lengths)} lengths and {len(counts)} counts; "
                "expected as many of each"
            )
        sums: dict[int, int] = {}
        for length, n in zip(lengths, counts, strict=True):
            sums[int(length)] = sums.get(int(length), 0) + int(n)
        found = sorted(length for length, n in sums.items() if n)
        return cls(tuple(found), tuple(sums[length] for length in found), output_tokens)

    @property
    def n(self) -> int:
        """Requests."""
        return sum(self.n_requests)

    @property
    def prompt_tokens_mean(self) -> float:
        """Prompt tokens per request, mean."""
        return self.mean(lambda length: length)

    @property
    def longest(self) -> int:
        """Longest prompt, tokens."""
        return self.prompt_tokens[-1]

    def mean(self, value: Callable[[int], float]) -> float:
        """Return the mean over the requests of something that depends on the prompt's length."""
        total = sum(
            n * value(length) for length, n in zip(self.prompt_tokens, self.n_requests, strict=True)
        )
        return total / self.n

    def quantile(self, share: float) -> int:
        """Return the smallest length that at least this share of the prompts does not exceed."""
        needed = Decimal(str(share)) * self.n
        seen = 0
        for length, n in zip(self.prompt_tokens, self.n_requests, strict=True):
            seen += n
            if seen >= needed:
                return length
        return self.longest

    def longest_of(self, batch_size: int) -> float:
        """Return the expected longest prompt of a batch drawn at random.

        Formula: ``sum over lengths of x (F(x)^B - F(x-)^B)`` with F the share of prompts that are
        no longer.

        Source: distribution of the maximum of B independent draws.
        """
        if batch_size < 1:
            raise UsageError(f"batch_size is {batch_size}; expected at least 1")
        expected = below = 0.0
        seen = 0
        for length, n in zip(self.prompt_tokens, self.n_requests, strict=True):
            seen += n
            upto = (seen / self.n) ** batch_size
            expected += length * (upto - below)
            below = upto
        return expected

    def padding_share(self, batch_size: int) -> float:
        """Return the share of positions that are padding where batches are padded to the longest.

        Formula: ``1 - mean length / expected longest``; 0 for batches of one.

        Source: definition of padding waste.
        """
        longest = self.longest_of(batch_size)
        return 0.0 if longest == 0 else max(0.0, 1 - self.prompt_tokens_mean / longest)
