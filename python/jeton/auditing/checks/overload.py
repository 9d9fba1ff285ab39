"""Does the GPU keep up with the traffic that was replayed on it?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Basis, Figure, Finding, Severity

__all__ = ["MIN_OVERLOAD", "traffic_overload"]

MIN_OVERLOAD = 1.05
"""Seconds of work for each second of arrivals from which a queue only grows. Above 1 by as much as
the end of a short trace, whose last answers come after the last arrival."""


def traffic_overload(evidence: Evidence) -> Iterator[Finding]:
    """More work arrives than a group of GPUs does, so that the queue grows without end.

    Looked at is the policy that got through the trace first, under the tokenizer in use.
    """
    replay = evidence.replay
    if replay is None or replay.trace.duration_seconds <= 0:
        return
    runs = [run for run in replay.runs if run.tokenizer == replay.runs[0].tokenizer]
    best = min(runs, key=lambda run: run.end_seconds)
    duration = replay.trace.duration_seconds
    load = best.busy_share * best.end_seconds / duration
    if load < MIN_OVERLOAD or not best.n_backlog:
        return
    one = f"one {replay.gpu}" if replay.n_gpus == 1 else f"{replay.n_gpus} x {replay.gpu}"
    n_groups = math.ceil(round(load, 9))
    n_gpus = n_groups * replay.n_gpus
    yield Finding(
        id="traffic-overload",
        severity=Severity.ERROR,
        title=(
            f"{one} {'serves' if replay.n_gpus == 1 else 'serve'} {percent(1 / load)} of this "
            f"traffic; you need {n_gpus}"
        ),
        where=f"{replay.model} on {one}",
        figure=Figure(
            value=load,
            unit="seconds of work for each second of arrivals",
            basis=Basis.ESTIMATED,
            formula=(
                f"{best.busy_share:.3g} busy x {best.end_seconds:,.0f} s until the last answer / "
                f"{duration:,.0f} s of arrivals, policy {best.policy}"
            ),
            source="the trace as replayed; roofline, doi:10.1145/1498765.1498785",
        ),
        cause=(
            f"{best.n_backlog:,} of {replay.trace.n_requests:,} requests were still waiting or "
            f"being answered when the last one arrived; half of all waited longer than "
            f"{best.wait_seconds.p50:,.0f} s"
        ),
        remedy=(
            f"{n_gpus} x {replay.gpu} ({n_groups} groups) and a little more for peaks, a faster "
            "GPU, fewer bits a weight, or shorter requests"
        ),
        evidence={
            "load": load,
            "served_share": 1 / load,
            "n_gpus_needed": n_gpus,
            "n_backlog": best.n_backlog,
            "wait_seconds_p50": best.wait_seconds.p50,
            "policy": best.policy,
        },
    )
