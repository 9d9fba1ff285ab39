"""Minutes until the memory for requests is full, at the traffic of late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jeton.economics.prediction.memory_forecast import (
    KnownTraffic,
    KvMemory,
    MemoryForecast,
    forecast_memory,
)
from jeton.economics.serving.memory_budget import check_served
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts


@dataclass(frozen=True, slots=True)
class ServedBy:
    """The model and the GPUs that serve the requests.

    Attributes:
        model: The model.
        gpu: The GPU.
        plan: How the model is held, by which engine; None: the defaults.
        horizon_seconds: How far ahead memory is foreseen.
        seconds_per_token: Time of a token of an answer, measured; None: computed.

    Raises:
        DoesNotFitError: The engine refuses the model on these GPUs.
    """

    model: ModelFacts
    gpu: GpuFacts
    plan: MemoryPlan | None = None
    horizon_seconds: float = 600.0
    seconds_per_token: float | None = None

    def __post_init__(self) -> None:
        check_served(self.model, self.gpu, self.plan or MemoryPlan())


def outlook(
    served_by: ServedBy,
    traffic: Sequence[tuple[float, int, int]],
    *,
    since_seconds: float,
    growth: float = 1.0,
) -> MemoryForecast | None:
    """Foresee the memory, as if all of late had been as it is since a change.

    Prompts from before the change teach how long answers take and how often requests come; they are
    taken ``growth`` times as long, since those to come are like the ones since the change.

    Args:
        served_by: Model and GPUs.
        traffic: Time, prompt and output tokens of requests, ascending by time.
        since_seconds: Time of the change.
        growth: Tokens of a prompt since the change over those before.

    Returns:
        The forecast; None where the traffic has no times, or too few ended requests to tell.
    """
    if len(traffic) < 2 or traffic[-1][0] <= traffic[0][0]:
        return None
    times, prompts, outputs = (np.array(column) for column in zip(*traffic, strict=True))
    times = times.astype(np.float64) - traffic[0][0]
    grown = np.where(
        times < since_seconds - traffic[0][0], np.round(prompts * growth), prompts
    ).astype(np.int64)
    memory = KvMemory.of(
        served_by.model,
        served_by.gpu,
        plan=served_by.plan,
        requests_per_second=len(times) / float(times[-1]),
        mean_prompt_tokens=float(grown.mean()),
        mean_output_tokens=float(outputs.mean()),
        seconds_per_token=served_by.seconds_per_token,
    )
    try:
        return forecast_memory(
            KnownTraffic(times, grown, outputs.astype(np.int64)),
            memory,
            now=float(times[-1]),
            horizon_seconds=served_by.horizon_seconds,
        )
    except UsageError:
        return None  # no request had ended: nothing says how long answers are
