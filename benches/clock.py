"""The clock of the benchmarks: one call, the garbage collector at rest."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

__all__ = ["seconds_of"]

T = TypeVar("T")


def seconds_of(call: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that a call takes by the clock, and its result."""
    gc.collect()
    gc.disable()
    start = perf_counter()
    result = call()
    seconds = perf_counter() - start
    gc.enable()
    return seconds, result
