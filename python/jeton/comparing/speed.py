"""How fast each tokenizer encodes the sample: one thread, turns taken, the median of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from time import perf_counter

from jeton._core import TextBatch, Tokenizer
from jeton.comparing.result import Speed

MAX_BYTES = 1 << 20
"""Bytes of the sample: tens of milliseconds for a tokenizer of ten megabytes a second and more."""

N_ROUNDS = 5
"""Odd, so that the median is a round; a disturbance of two rounds does not move it."""


def measure_speed(tokenizers: Sequence[Tokenizer], texts: Sequence[str]) -> tuple[Speed, ...]:
    """Time every tokenizer on the same texts, one thread, after a round that warms the caches.

    Tokenizers take turns, so that what slows the machine for a while slows all of them alike.

    Args:
        tokenizers: In the order of the result.
        texts: The first of them up to `MAX_BYTES` are encoded; at least one.
    """
    batch = TextBatch.from_texts(_within(texts))
    seconds: list[list[float]] = [[] for _ in tokenizers]
    for tokenizer in tokenizers:
        tokenizer.encode_batch(batch, num_threads=1)
    for number in range(N_ROUNDS):
        for turn in range(len(tokenizers)):
            index = (number + turn) % len(tokenizers)
            start = perf_counter()
            tokenizers[index].encode_batch(batch, num_threads=1)
            seconds[index].append(perf_counter() - start)
    return tuple(
        Speed(
            bytes_per_second=batch.n_bytes / median(times),
            low=batch.n_bytes / max(times),
            high=batch.n_bytes / min(times),
            n_rounds=N_ROUNDS,
            n_bytes=batch.n_bytes,
        )
        for times in seconds
    )


def _within(texts: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    room = MAX_BYTES
    for text in texts:
        room -= len(text.encode("utf-8", "replace"))
        if room < 0 and chosen:
            break
        chosen.append(text)
    return chosen
