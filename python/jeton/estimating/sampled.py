"""Tokens of a long text from slices of it, with an interval of stated coverage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve

N_SLICES: Final = 16
_SEARCHED: Final = 64
"""Bytes in which the edge of a slice looks for white space."""
_SPACES: Final = b" \n\t\r"


@dataclass(frozen=True, slots=True)
class SampledCount:
    """A count from slices.

    Attributes:
        n_tokens: Tokens expected; exact where the whole text was counted.
        lower_tokens: Lower end.
        upper_tokens: Upper end.
        coverage: Share of draws whose interval holds the count; 1 where all was counted.
        n_bytes: Bytes of the text.
        n_read_bytes: Bytes that were encoded.
    """

    n_tokens: float
    lower_tokens: float
    upper_tokens: float
    coverage: float
    n_bytes: int
    n_read_bytes: int


def sampled_count(
    tokenizer: TokenizerLike,
    read: Callable[[int, int], bytes],
    n_bytes: int,
    *,
    sample_bytes: int = 65_536,
    coverage: float = 0.9,
    seed: int = 0,
) -> SampledCount:
    """Return the count of a text from slices of it.

    The text is divided into 16 stretches, and a slice drawn in each. Formula: tokens over bytes of
    the slices, times the bytes of the text; the interval is Student's with 15 degrees of freedom
    and the correction for a finite text, and a token wider for each slice's edges.

    Source: Cochran, Sampling Techniques (1977), 6.3 (ratio estimate) and 5.6 (strata).

    Args:
        tokenizer: The tokenizer, or its name or path.
        read: Returns bytes between two places of the text.
        n_bytes: Bytes of the text.
        sample_bytes: Bytes to encode; a text that is no longer is counted whole.
        coverage: Share of draws whose interval is to hold the count.
        seed: Seed of the draw.

    Raises:
        UsageError: A number is out of range.

    Example:
        >>> import jeton
        >>> from jeton.estimating.sampled import sampled_count
        >>> text = b"the same sentence again. " * 40_000
        >>> found = sampled_count(
        ...     jeton.load("jeton-general-32k"), lambda a, b: text[a:b], len(text)
        ... )
        >>> found.lower_tokens < found.n_tokens < found.upper_tokens
        True
    """
    tokenizer = resolve(tokenizer)
    if sample_bytes < 1024 or not 0 < coverage < 1:
        raise UsageError(
            f"sample_bytes is {sample_bytes} and coverage {coverage}; expected at least 1,024 "
            "bytes and a share between 0 and 1"
        )
    if n_bytes <= sample_bytes:
        n = tokenizer.count(_text(read(0, n_bytes)))
        return SampledCount(n, n, n, 1.0, n_bytes, n_bytes)
    rng = np.random.default_rng(seed)
    size = sample_bytes // N_SLICES
    edges = np.linspace(0, n_bytes, N_SLICES + 1).astype(np.int64)
    tokens, lengths = [], []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        start = int(rng.integers(first, max(first + 1, last - size)))
        text = _whole(read(max(0, start - 1), min(n_bytes, start + size + _SEARCHED)), size)
        tokens.append(tokenizer.count(text))
        lengths.append(len(text.encode()))
    t, b = np.array(tokens, dtype=np.float64), np.array(lengths, dtype=np.float64)
    ratio = t.sum() / b.sum()
    # Neighbours of strata: less is left of a slow change along the text.
    rest = t - ratio * b
    spread = math.sqrt(float((np.diff(rest) ** 2).sum()) / (2 * (N_SLICES - 1)))
    left = max(0.0, 1 - float(b.sum()) / n_bytes)
    error = spread * math.sqrt(left / N_SLICES) / float(b.mean()) * n_bytes
    width = _student(coverage, N_SLICES - 1) * error + n_bytes / float(b.mean())
    expected = ratio * n_bytes
    return SampledCount(
        n_tokens=expected,
        lower_tokens=max(float(t.sum()), expected - width),
        upper_tokens=expected + width,
        coverage=coverage,
        n_bytes=n_bytes,
        n_read_bytes=int(b.sum()),
    )


def _whole(data: bytes, size: int) -> str:
    """A slice from white space to white space, where there is some near its edges."""
    start = next((i for i in range(1, min(_SEARCHED, len(data))) if data[i] in _SPACES), 1)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    end = next((i for i in range(min(size, len(data)), len(data)) if data[i] in _SPACES), size)
    end = min(end, len(data))
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return _text(data[start:end])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _student(coverage: float, degrees: int) -> float:
    """Student's quantile, by its expansion in 1 / degrees (Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf((1 + coverage) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3
