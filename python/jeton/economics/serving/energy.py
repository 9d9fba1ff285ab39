"""Energy and carbon of a workload: seconds of GPUs, their power, the building around them.

An estimate by nature: power is taken as a share of the thermal design power, the building's
overhead and the grid's carbon are means that the caller should replace by his own.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton.catalog.gpu_facts import GpuFacts
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

POWER_SHARE = 1.0
"""Power while working, as a share of the thermal design power: the upper bound, not a measurement.
`jeton.catalog.live_gpu` reads the real one where there is a GPU."""

POWER_USAGE_EFFECTIVENESS = 1.56
"""Energy of a data centre over that of its computers: mean of the Uptime Institute's Global Data
Center Survey 2024. Large providers report about 1.1."""

GRID_GRAMS_CO2_PER_KWH = 473.0
"""Carbon of electricity, world mean of 2024, grams of CO2 per kWh: Ember, Global Electricity Review
2025. Regions differ by a factor of more than ten."""

_JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy and carbon of one request or of any stretch of GPU time.

    Attributes:
        kwh: Electricity at the meter of the building, kWh.
        grams_co2: Carbon dioxide of that electricity, grams.
        kwh_figure: The first as a figure with formula and source.
        co2_figure: The second.
    """

    kwh: float
    grams_co2: float
    kwh_figure: Figure
    co2_figure: Figure


def gpu_energy(
    gpu: GpuFacts,
    *,
    gpu_seconds: float,
    n_gpus: int = 1,
    watts: float | None = None,
    power_usage_effectiveness: float = POWER_USAGE_EFFECTIVENESS,
    grams_co2_per_kwh: float = GRID_GRAMS_CO2_PER_KWH,
    per: str = "request",
) -> Energy:
    """Return energy and carbon of ``gpu_seconds`` on ``n_gpus`` GPUs.

    Formula: ``kWh = seconds x GPUs x watts x PUE / 3.6e6``, ``g = kWh x g per kWh``. Only the GPUs
    are counted, not the host's processors nor what making the hardware took.

    Source: definition; the constants' own sources.

    Args:
        gpu: The GPU.
        gpu_seconds: Seconds of the group (from `own_gpu_cost`).
        n_gpus: GPUs of the group.
        watts: Measured power of one GPU; None: thermal design power x `POWER_SHARE`.
        power_usage_effectiveness: Building over computers, at least 1.
        grams_co2_per_kwh: Carbon of the electricity.
        per: The unit that the seconds belong to.

    Raises:
        UsageError: If a number is out of range.
    """
    power = gpu.tdp_watts * POWER_SHARE if watts is None else watts
    if (
        not 0 <= gpu_seconds < 1e15
        or n_gpus < 1
        or not 0 <= power < 1e6
        or not 1 <= power_usage_effectiveness < 10
        or not 0 <= grams_co2_per_kwh < 1e5
    ):
        raise UsageError(
            f"cannot work out the energy of {gpu_seconds} s on {n_gpus} GPU(s) of {power} W with a "
            f"power usage effectiveness of {power_usage_effectiveness} and {grams_co2_per_kwh} g "
            "CO2 per kWh. Expected are numbers of at least 0, and an effectiveness of at least 1"
        )
    kwh = gpu_seconds * n_gpus * power * power_usage_effectiveness / _JOULES_PER_KWH
    grams = kwh * grams_co2_per_kwh
    basis = Basis.ESTIMATED if watts is None else Basis.CALIBRATED
    kind = "thermal design power" if watts is None else "measured"
    return Energy(
        kwh=kwh,
        grams_co2=grams,
        kwh_figure=Figure(
            kwh,
            f"kWh per {per}",
            basis,
            f"{gpu_seconds:.4g} s x {n_gpus} GPU x {power:g} W ({kind}) x "
            f"{power_usage_effectiveness:g} / 3.6e6",
            f"{gpu.cited_source}; effectiveness: Uptime Institute survey 2024 unless given",
        ),
        co2_figure=Figure(
            grams,
            f"g CO2 per {per}",
            Basis.ESTIMATED,
            f"{kwh:.4g} kWh x {grams_co2_per_kwh:g} g per kWh",
            "Ember, Global Electricity Review 2025 (world mean of 2024) unless given",
        ),
    )
