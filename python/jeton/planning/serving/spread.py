"""Requests dealt out to the servers of a fleet: in turn, or to the server that has their prefix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace

Spread = Literal["turns", "prefix"]

SPREADS: tuple[Spread, ...] = ("turns", "prefix")
"""Round robin; or the server that read most of the prompt before, unless it is too busy."""

_BUSY = 1.5
"""Load over the mean from which a server gets no request for its cache's sake: SGLang's router
has this ratio (``--balance-rel-threshold``, sgl-router/README.md)."""

_LOAD_SECONDS = 30.0
"""Time in which the load of a request fades to 1/e. A judgement: a request takes some seconds."""


def dealt_out(trace: Trace, n: int, spread: Spread) -> list[NDArray[np.int64]]:
    """Return the places of the requests that each of ``n`` servers gets.

    A balancer sees lengths and prefixes of prompts, and nothing of the future. Servers that are as
    good get requests in their order. O(requests x servers).

    Example:
        >>> from jeton.corpus.traces import Trace
        >>> trace = Trace.of([0, 1, 2, 3], [10] * 4, [5] * 4)
        >>> [part.tolist() for part in dealt_out(trace, 2, "turns")]
        [[0, 2], [1, 3]]
    """
    import numpy as np

    if spread == "turns" or trace.blocks is None or n == 1:
        return [np.arange(first, len(trace), n) for first in range(n)]
    places: list[list[int]] = [[] for _ in range(n)]
    load = np.zeros(n)
    owner: dict[int, int] = {}
    last = 0.0
    tokens = trace.prompt_tokens.tolist()
    for i, blocks in enumerate(trace.prompt_blocks()):
        now = float(trace.arrival_seconds[i])
        load *= math.exp((last - now) / _LOAD_SECONDS)
        last = now
        # A number stands for a block and all before it: the deepest known one is the longest match.
        depth = next((k for k in range(len(blocks), 0, -1) if blocks[k - 1] in owner), 0)
        server = owner[blocks[depth - 1]] if depth else -1
        if server < 0 or load[server] > _BUSY * (float(load.mean()) + tokens[i]):
            server, depth = int(load.argmin()), 0
        load[server] += max(tokens[i] - depth * trace.block_tokens, 0) + 1
        places[server].append(i)
        owner.update(dict.fromkeys(blocks, server))
    return [np.array(part, dtype=np.int64) for part in places]
