"""Measured times and memory of a GPU: what it reaches of its datasheet, and how far that carries.

``studies/measure_gpu.py`` writes the file; half of its points calibrate the shares, the other half
judge the roofline with them. Which is which is fixed before anything is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.measurements import MeasuredPoint
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.activations import logit_bytes, prefill_activation_bytes
from jeton.economics.serving.memory import kv_bytes, weight_bytes
from jeton.economics.serving.parameters import table_rows
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import UsageError

TIME_TOLERANCE = 0.25
MEMORY_TOLERANCE = 0.10
"""Largest deviations that a judged point may have."""


@dataclass(frozen=True, slots=True)
class GpuShares:
    """Shares of its datasheet that a GPU reaches.

    Attributes:
        flops_share: Share of the dense 16-bit rate.
        bandwidth_share: Share of the memory bandwidth.
        overhead_seconds: Time that a step takes beside.
        n_points: Measurements it was fitted to.
    """

    flops_share: float
    bandwidth_share: float
    overhead_seconds: float
    n_points: int


@dataclass(frozen=True, slots=True)
class PointDeviation:
    """A point against what was foreseen; deviations are foreseen over measured, less one."""

    point: MeasuredPoint
    seconds_foreseen: float
    time_deviation: float
    bytes_foreseen: float
    memory_deviation: float | None

    @property
    def is_kept(self) -> bool:
        """True if both deviations are within what is allowed."""
        memory = self.memory_deviation
        return abs(self.time_deviation) <= TIME_TOLERANCE and (
            memory is None or abs(memory) <= MEMORY_TOLERANCE
        )


def foreseen_seconds(
    point: MeasuredPoint, model: ModelFacts, gpu: GpuFacts, shares: GpuShares
) -> float:
    """Return the roofline's time of a measured point.

    Formula: that of `jeton.economics.serving.latency`, for a batch: weights are read once.

    Source: roofline, doi:10.1145/1498765.1498785.
    """
    times = StepTimes.of(
        model,
        gpu,
        flops_share=shares.flops_share,
        bandwidth_share=shares.bandwidth_share,
        overhead_seconds=shares.overhead_seconds,
    )
    n, tokens = point.batch, point.tokens
    if point.phase == "decode":
        return times.seconds(times.decoding(n, tokens))
    return times.seconds(times.reading(n, tokens))


def foreseen_bytes(point: MeasuredPoint, model: ModelFacts) -> float:
    """Return the memory that a measured point should take: weights, cache, activations, scores.

    Formula: `weight_bytes` + batch x `kv_bytes` + `prefill_activation_bytes` of the step's tokens.

    Source: `jeton.economics.serving.memory`, `jeton.economics.serving.activations`.
    """
    n = point.batch
    cached = point.tokens + (point.phase == "decode")
    at_once = n * point.tokens if point.phase == "prefill" else n
    activations = prefill_activation_bytes(model, at_once, n_scored_tokens=0)
    scores = logit_bytes(n, table_rows(model, None))
    return weight_bytes(model).total + n * kv_bytes(model, cached) + activations + scores


def calibrate_shares(
    points: Sequence[MeasuredPoint], gpu: GpuFacts, find_model: Callable[[str], ModelFacts]
) -> GpuShares:
    """Fit the shares to the points that calibrate.

    Formula: least squares of the logarithm of foreseen over measured time, over both shares and the
    overhead of a step, by coordinate search with halving steps: deterministic.

    Source: definition.

    Raises:
        UsageError: Fewer than three points calibrate, or only one phase was measured.
    """
    chosen = [point for point in points if point.half == "calibrate"]
    if len(chosen) < 3 or len({point.phase for point in chosen}) < 2:
        raise UsageError(
            f"{len(chosen)} points calibrate; expected at least 3, of prefill and of decode"
        )
    models = {point.model: find_model(point.model) for point in chosen}

    def loss(values: list[float]) -> float:
        shares = GpuShares(values[0], values[1], values[2], len(chosen))
        total = 0.0
        for point in chosen:
            seconds = foreseen_seconds(point, models[point.model], gpu, shares)
            total += math.log(seconds / point.seconds) ** 2
        return total

    fastest = min(point.seconds for point in chosen)
    limits = [(1e-4, 1.0), (1e-4, 1.0), (0.0, fastest)]
    values = [0.5, 0.6, 0.0]
    best = loss(values)
    step = 1.0
    while step > 1e-5:
        moved = False
        for i, (low, high) in enumerate(limits):
            moves = (
                (values[i] * (1 + step), values[i] / (1 + step))
                if i < 2
                else (values[i] + step * fastest, values[i] - step * fastest)
            )
            for value in moves:
                trial = values.copy()
                trial[i] = min(max(value, low), high)
                found = loss(trial)
                if found < best:
                    values, best, moved = trial, found, True
        if not moved:
            step /= 2
    return GpuShares(values[0], values[1], values[2], len(chosen))


def judge(
    points: Sequence[MeasuredPoint],
    gpu: GpuFacts,
    shares: GpuShares,
    find_model: Callable[[str], ModelFacts],
    *,
    half: Literal["calibrate", "judge"] | None = "judge",
) -> tuple[PointDeviation, ...]:
    """Hold measured points against what is foreseen; by default those kept apart."""
    judged = []
    for point in points:
        if half is not None and point.half != half:
            continue
        model = find_model(point.model)
        seconds = foreseen_seconds(point, model, gpu, shares)
        memory = foreseen_bytes(point, model)
        judged.append(
            PointDeviation(
                point,
                seconds,
                seconds / point.seconds - 1,
                memory,
                memory / point.peak_bytes - 1 if point.peak_bytes else None,
            )
        )
    return tuple(judged)
