"""Does a server keep up with its traffic, and how many like it would?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from jeton.economics.admission.policies import Policy
from jeton.economics.traffic.result import ServerCapacity, TrafficRun
from jeton.economics.traffic.settings import EngineSettings

if TYPE_CHECKING:
    from jeton.corpus.traces import Trace
    from jeton.economics.traffic.simulate import Server

MAX_LATENESS = 0.1
"""Part of the traffic's duration that the work may go on after the last request. Our choice: the
answers to the last requests take their time even on an idle server."""

MAX_WAIT = 0.02
"""Median wait over the traffic's duration from which a queue grows. Our choice: where requests come
faster than they are served, the wait grows with time, and its median is half of the lateness."""

MIN_WAIT_SECONDS = 1.0
"""A shorter median wait is no queue, however short the traffic."""

MAX_REPLAYS = 8
"""Replays that look for the number of servers."""


def keeps_up(run: TrafficRun, *, duration_seconds: float) -> bool:
    """Say whether a run served its requests as fast as they came."""
    if not run.n_answered:
        return False
    late = run.end_seconds > (1 + MAX_LATENESS) * duration_seconds
    queued = run.wait_seconds.p50 > max(MIN_WAIT_SECONDS, MAX_WAIT * duration_seconds)
    return not (late and queued)


def capacity_of(
    trace: Trace,
    server: Server,
    run: TrafficRun,
    *,
    policy: Policy,
    settings: EngineSettings,
) -> ServerCapacity:
    """Find how many servers keep up with a trace, by replaying the part that each would get.

    Formula: the n-th request goes to server ``n mod N``; N is the least number from about
    ``end / duration`` on with which the replay keeps up.

    Args:
        trace: The trace as it was replayed.
        server: One server.
        run: The replay on it.
        policy: The policy of that replay.
        settings: The engine's settings.
    """
    duration = trace.duration_seconds
    served = min(1.0, duration / run.end_seconds) if run.end_seconds > 0 else 1.0
    if not run.n_answered or keeps_up(run, duration_seconds=duration):
        n_groups = 1 if run.n_answered else None
        share = 1.0 if run.n_answered else 0.0
        return ServerCapacity(bool(n_groups), share, n_groups, run.policy, run.tokenizer)
    return ServerCapacity(
        keeps_up=False,
        served_share=served,
        n_groups=_groups_that_keep_up(trace, server, run, policy=policy, settings=settings),
        policy=run.policy,
        tokenizer=run.tokenizer,
    )


def _groups_that_keep_up(
    trace: Trace, server: Server, run: TrafficRun, *, policy: Policy, settings: EngineSettings
) -> int | None:
    import numpy as np

    from jeton.economics.traffic.simulate import simulate_traffic

    duration = trace.duration_seconds
    if duration <= 0:
        return None
    needed = max(2, math.floor(run.end_seconds / duration))
    for _ in range(MAX_REPLAYS):
        if needed > len(trace):
            return None
        part = simulate_traffic(
            trace.rows(np.arange(0, len(trace), needed)),
            server,
            policy=replace(policy, reserved_tokens=run.reserved_tokens or policy.reserved_tokens),
            settings=settings,
        )
        if keeps_up(part, duration_seconds=duration):
            return needed
        needed += max(1, math.ceil(needed * (part.end_seconds / duration - 1) / 2))
    return None
