"""Can the GPU serve the traffic that was replayed on it?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.economics.traffic import TrafficReport
from jeton.findings import Basis, Figure, Finding, Severity

_FRACTIONS = ((0.08, 0.115, "a tenth"), (0.18, 0.225, "a fifth"), (0.225, 0.28, "a quarter"),
              (0.3, 0.36, "a third"), (0.46, 0.54, "half"), (0.63, 0.7, "two thirds"),
              (0.72, 0.78, "three quarters"))  # fmt: skip
"""Shares that people say as a fraction: from, to, words."""


def gpu_overloaded(evidence: Evidence) -> Iterator[Finding]:
    """Requests come faster than the GPU serves them, and the queue grows.

    Threshold: `jeton.economics.traffic.compare.keeps_up`.
    """
    report = evidence.replay
    capacity = None if report is None else report.capacity
    if report is None or capacity is None or capacity.keeps_up:
        return
    run = next(
        r for r in report.runs if r.policy == capacity.policy and r.tokenizer == capacity.tokenizer
    )
    server = _server(report.n_gpus, report.gpu, report.model)
    share = capacity.served_share
    needed = "" if capacity.n_groups is None else f"; you need {_groups(report, capacity.n_groups)}"
    yield Finding(
        id="gpu-overloaded",
        severity=Severity.ERROR,
        title=f"{server} serves about {_share(share)} of this traffic{needed}",
        where=f"{report.model} on {report.gpu}",
        figure=Figure(
            value=share,
            unit="share of the traffic",
            basis=Basis.ESTIMATED,
            formula=(
                f"{report.trace.duration_seconds:,.0f} s of requests / {run.end_seconds:,.0f} s of "
                f"work, replayed under the policy {run.policy}; servers: the fewest with which a "
                "replay of every n-th request keeps up"
            ),
        ),
        cause=(
            f"{_minutes(report.trace.duration_seconds)} of requests take "
            f"{_minutes(run.end_seconds)} of work. Half of the requests wait "
            f"{_minutes(run.wait_seconds.p50)} or longer, and {run.n_backlog:,} are waiting when "
            "the last one comes."
        ),
        remedy=(
            "Use more or faster GPUs, send fewer tokens per request, or move part of the traffic "
            "to quiet hours."
            if capacity.n_groups is None
            else f"Plan {_groups(report, capacity.n_groups)} for this traffic, use faster GPUs, or "
            "send fewer tokens per request."
        ),
        evidence={
            "n_groups": capacity.n_groups,
            "n_gpus_per_group": report.n_gpus,
            "n_backlog": run.n_backlog,
            "wait_seconds_p50": run.wait_seconds.p50,
        },
    )


def _server(n_gpus: int, gpu: str, model: str) -> str:
    return f"One {gpu} with {model}" if n_gpus == 1 else f"A group of {n_gpus} {gpu} with {model}"


def _groups(report: TrafficReport, n_groups: int) -> str:
    one = report.n_gpus == 1
    return f"{n_groups:,} {report.gpu}" if one else f"{n_groups:,} groups of {report.n_gpus}"


def _share(share: float) -> str:
    words = next((name for low, high, name in _FRACTIONS if low <= share <= high), None)
    return words or percent(share)


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:,.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:,.0f} minutes"
    return f"{seconds / 3600:,.1f} hours"
