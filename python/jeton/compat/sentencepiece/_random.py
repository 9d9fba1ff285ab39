"""Seeds of drawn segmentations: one stream for the process, as sentencepiece has one."""

from __future__ import annotations

import random
import threading

__all__ = ["next_seed", "set_seed"]

_lock = threading.Lock()
# Not for secrets; without a seed it begins anywhere.
_stream = random.Random()


def set_seed(seed: int) -> None:
    """Begin the stream anew: the same draws for the same seed and calls."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be int, not {seed!r}")
    if not 0 <= seed < 2**32:
        raise TypeError(f"seed is {seed}; expected 0 to 2**32 - 1")
    with _lock:
        _stream.seed(seed)


def next_seed() -> int:
    """The seed of one draw."""
    with _lock:
        return _stream.getrandbits(64)
