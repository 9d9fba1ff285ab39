"""Other hours of the same traffic: windows of a trace, drawn with replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace

WINDOW_SECONDS = 60.0
"""Length of a window: bursts of seconds stay whole, and an hour has 60 of them. A judgement."""

_MIN_WINDOWS = 8
"""A shorter trace has shorter windows, so that there is something to draw from."""

MIN_REQUESTS = 20
"""Requests of a trace from which something can be learned about a queue."""

_MAX_DRAWN = 1_000_000


def drawn_windows(
    trace: Trace,
    *,
    n_requests: int,
    seed: int,
    window_seconds: float | None = None,
    with_blocks: bool = False,
) -> Trace:
    """Return traffic like a trace's: windows of it in a random order, each as often as drawn.

    Within a window, times, lengths and their order are the trace's own. So bursts shorter than a
    window stay, and what lies further apart becomes independent. Windows without a request are left
    out: the rate is scaled anyway, and a trace with a long gap has few others.

    Source: moving-block bootstrap, Kuensch, Annals of Statistics 17 (1989),
    doi:10.1214/aos/1176347265; here with windows that do not overlap.

    Args:
        trace: The trace.
        n_requests: Requests at least, of which the first so many are kept.
        seed: Seed of the draws.
        window_seconds: Length of a window; None: a minute, or an eighth of a short trace.
        with_blocks: Keep the blocks that say which prompts begin alike.

    Raises:
        UsageError: The trace is too short, all its requests came at once, or a number is below 1.
    """
    import numpy as np

    check_traffic(trace)
    if not 1 <= n_requests <= _MAX_DRAWN:
        raise UsageError(f"n_requests is {n_requests}; expected from 1 to {_MAX_DRAWN:,}")
    duration = trace.duration_seconds
    width = window_seconds or min(WINDOW_SECONDS, duration / _MIN_WINDOWS)
    if not 0 < width <= duration:
        raise UsageError(
            f"window_seconds is {width:g}; expected above 0 and at most the trace's {duration:g} s"
        )
    n_windows = int(duration / width + 1e-9)
    number = (trace.arrival_seconds // width).astype(np.int64)
    filled, first = np.unique(number[number < n_windows], return_index=True)
    last = np.searchsorted(number, filled, side="right")
    rng = np.random.default_rng(seed)
    rows: list[NDArray[np.int64]] = []
    repeats: list[NDArray[np.int64]] = []
    n_drawn = np.zeros(len(filled), dtype=np.int64)
    times: list[NDArray[np.float64]] = []
    n = place = 0
    while n < n_requests:
        drawn = int(rng.integers(len(filled)))
        chosen = np.arange(first[drawn], last[drawn])
        rows.append(chosen)
        repeats.append(np.full(len(chosen), n_drawn[drawn]))
        n_drawn[drawn] += 1
        times.append(trace.arrival_seconds[chosen] + (place - int(filled[drawn])) * width)
        n += len(chosen)
        place += 1
    index = np.concatenate(rows)[:n_requests]
    return trace.rows(
        index,
        arrivals=np.concatenate(times)[:n_requests],
        with_blocks=with_blocks,
        repeats=np.concatenate(repeats)[:n_requests],
    )


def check_traffic(trace: Trace) -> None:
    """Refuse a trace that says nothing of a queue.

    Raises:
        UsageError: It is too short, or all its requests came at once.
    """
    if len(trace) < MIN_REQUESTS:
        raise UsageError(
            f"{trace.path}: the trace has {len(trace):,} "
            f"{'request' if len(trace) == 1 else 'requests'}; expected at least {MIN_REQUESTS}, "
            "or nothing can be said of a queue\nhint: record a longer stretch of traffic"
        )
    if trace.duration_seconds <= 0:
        raise UsageError(
            f"{trace.path}: all {len(trace):,} requests of the trace have one time; expected times "
            "that say when each came\nhint: give a rate to draw times with (--rate), and a trace "
            "without times"
        )
