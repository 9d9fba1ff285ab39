"""Figures of an audit about one's own GPUs: what fits, how long a request takes, what it costs."""

from __future__ import annotations

from dataclasses import replace

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.energy import gpu_energy
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.economics.serving.request_lengths import RequestLengths
from jeton.errors import UsageError
from jeton.findings import Figure

__all__ = ["OWN_GPU_FIGURE_NAMES", "own_gpu_figures"]

OWN_GPU_FIGURE_NAMES = (
    "concurrent_requests_safe",
    "own_gpu_seconds_per_request",
    "own_gpu_usd_per_request",
    "own_gpu_usd_per_mtok",
    "own_gpu_usd_per_month",
    "own_gpu_watt_hours_per_request",
    "own_gpu_grams_co2_per_request",
)
"""The figures, named as the fields of the audit's ``EconomicsSummary``."""


def own_gpu_figures(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    plan: MemoryPlan,
    requests_per_day: float | None,
    peak_to_mean: float,
) -> dict[str, Figure | None]:
    """Return what the workload takes of one's own GPUs; all None where it does not fit them.

    The month is for whole groups of GPUs, as many as the busiest hour needs.

    Source: `jeton.economics.serving.own_gpu`, `jeton.economics.serving.energy`.
    """
    figures: dict[str, Figure | None] = dict.fromkeys(OWN_GPU_FIGURE_NAMES)
    try:
        cost = own_gpu_cost(
            model,
            gpu,
            workload,
            requests_per_day=requests_per_day,
            peak_to_mean=peak_to_mean,
            plan=plan,
        )
    except UsageError:
        return figures
    per_request = cost.figures["usd_per_request"]
    seconds = cost.figures["gpu_seconds_per_request"]
    spent = gpu_energy(gpu, gpu_seconds=cost.gpu_seconds_per_request, n_gpus=cost.capacity.n_gpus)
    tokens = workload.prompt_tokens_mean + workload.output_tokens
    figures["concurrent_requests_safe"] = cost.figures["n_concurrent"]
    figures["own_gpu_seconds_per_request"] = replace(
        seconds,
        value=cost.seconds_per_request,
        unit=f"seconds on {cost.capacity.n_gpus} x {gpu.name}",
        formula=f"{cost.prefill_seconds:.4g} s prefill + {workload.output_tokens:g} tokens x "
        f"{cost.decode_step_seconds:.4g} s, {cost.n_concurrent:,} requests side by side",
    )
    figures["own_gpu_usd_per_request"] = per_request
    figures["own_gpu_usd_per_mtok"] = replace(
        per_request,
        value=cost.usd_per_mtok,
        unit="USD per million tokens, prompt and output alike, at full load",
        formula=f"{per_request.formula} / {tokens:,.1f} tokens x 1,000,000",
    )
    figures["own_gpu_usd_per_month"] = cost.figures.get("usd_per_month")
    figures["own_gpu_watt_hours_per_request"] = replace(
        spent.kwh_figure,
        value=spent.kwh * 1000,
        unit="Wh per request",
        formula=spent.kwh_figure.formula.replace("3.6e6", "3,600"),
    )
    figures["own_gpu_grams_co2_per_request"] = spent.co2_figure
    return figures
