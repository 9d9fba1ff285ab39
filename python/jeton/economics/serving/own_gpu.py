"""Cost of serving a workload on one's own GPUs: per request, per million tokens, per month.

Time comes from the roofline with a stated share of the datasheet's rates, concurrency from memory
for the distribution of lengths (`serving.capacity`), money from the hourly price. Whole
groups of GPUs are rented by the month, so that idle hours are paid too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.money import DAYS_PER_YEAR, MONTHS_PER_YEAR, SECONDS_PER_HOUR, TOKENS_PER_MTOK
from jeton.economics.serving.capacity import Capacity, RequestLengths, workload_capacity
from jeton.economics.serving.compute import decode_flops_per_token, gpu_energy
from jeton.economics.serving.latency import (
    BATCHED_PROMPT_TOKENS,
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    prefill_seconds,
    read_weight_bytes,
    roofline_seconds,
)
from jeton.economics.serving.memory import read_group_bytes
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

HOURS_PER_MONTH = DAYS_PER_YEAR * 24 / MONTHS_PER_YEAR
"""730 hours: a twelfth of 365 days."""

_SECONDS_PER_DAY = 86_400

_USD = Decimal("1e-12")
"""Estimated money is written to this many USD: time is a float and gives no more digits."""


@dataclass(frozen=True, slots=True)
class OwnGpuCost:
    """A workload on rented GPUs.

    Attributes:
        capacity: Requests that fit at once.
        n_concurrent: Requests that are generated side by side (the safe number).
        prefill_seconds: Reading a prompt, mean over the lengths.
        decode_step_seconds: One token for each of the concurrent requests.
        seconds_per_request: Latency: reading the prompt, then all steps.
        gpu_seconds_per_request: Time of the whole group that a request takes up, per request.
        requests_per_second: Requests of one group that never waits.
        tokens_per_second: Prompt and output tokens of that.
        n_groups: Groups that the traffic's peak needs; None without traffic.
        busy_share: Share of the rented time in which they work; None without traffic.
        usd_per_request: At full load, USD.
        usd_per_mtok: Prompt and output tokens alike, at full load, USD.
        usd_per_month: Cost of the whole groups, idle hours included, USD; None without traffic.
        usd_per_hour: Price of one GPU and hour that was taken, USD.
        figures: The result as figures, with formula and source.
    """

    capacity: Capacity
    n_concurrent: int
    prefill_seconds: float
    decode_step_seconds: float
    seconds_per_request: float
    gpu_seconds_per_request: float
    requests_per_second: float
    tokens_per_second: float
    n_groups: int | None
    busy_share: float | None
    usd_per_request: Decimal
    usd_per_mtok: Decimal
    usd_per_month: Decimal | None
    usd_per_hour: Decimal
    figures: dict[str, Figure]


def own_gpu_cost(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    requests_per_day: float | None = None,
    peak_to_mean: float = 1.0,
    usd_per_hour: Decimal | None = None,
    n_concurrent: int | None = None,
    flops_share: float = PREFILL_FLOPS_SHARE,
    bandwidth_share: float = DECODE_BANDWIDTH_SHARE,
    shares_are_measured: bool = False,
    prompts_in_batches: bool = False,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> OwnGpuCost:
    """Return what a workload costs on one's own GPUs.

    Formula: a request takes ``t = prefill + output x step(R) / R`` of its group, R requests side by
    side; ``usd = t x N x price / 3600``; a month is ``ceil(peak x t) x N x price x 730``.

    Source: roofline (doi:10.1145/1498765.1498785) with the shares of `serving.latency`;
    price: the catalog's low list price, if none is given.

    Args:
        model: The model.
        gpu: The GPU.
        workload: Lengths and output.
        requests_per_day: Traffic; None: no monthly sum.
        peak_to_mean: The busiest hour's traffic over the mean; groups are bought for the peak.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
        n_concurrent: Requests side by side; None: as many as safely fit, and as the engine takes.
        flops_share: Share of the arithmetic rate that prefill reaches.
        bandwidth_share: Share of the bandwidth that decoding reaches.
        shares_are_measured: True if those shares were measured on this machine and workload; times
            are then calibrated and not estimated.
        prompts_in_batches: Price prompts as engines read them at full load: several at once, up to
            `BATCHED_PROMPT_TOKENS`, so that short ones share the reading of the weights.
        plan: How the model is held; None: as published, on the engine's defaults.
        changes: Fields of the plan that are different.

    Raises:
        UsageError: If nothing fits, a number is out of range, or the workload is empty of tokens.
    """
    if peak_to_mean < 1 or (requests_per_day is not None and not 0 <= requests_per_day < 1e15):
        raise UsageError(
            f"peak_to_mean is {peak_to_mean} and requests_per_day {requests_per_day}; expected at "
            "least 1 and 0"
        )
    plan = changed_plan(plan, **changes)
    fits = workload_capacity(model, gpu, workload, plan=plan)
    plan = changed_plan(plan, n_gpus=fits.budget.tensor_parallel)
    n = n_concurrent or min(fits.n_requests_safe, plan.requests(gpu))
    if n < 1:
        raise UsageError(
            f"{model.name} serves no request of this workload: {fits.first_limit}\n"
            "hint: more GPUs per group, a GPU with more memory, or shorter requests"
        )
    tokens = workload.prompt_tokens_mean + workload.output_tokens
    if tokens == 0:
        raise UsageError("the workload has no tokens; expected prompts or output")
    prefill = workload.mean(
        lambda length: prefill_seconds(
            model,
            gpu,
            length,
            plan=plan,
            flops_share=flops_share,
            bandwidth_share=bandwidth_share,
        )
    )
    step = _step_seconds(
        model,
        gpu,
        workload,
        n=n,
        plan=plan,
        flops_share=flops_share,
        bandwidth_share=bandwidth_share,
    )
    shared = prefill
    if prompts_in_batches:
        shared = workload.mean(
            lambda length: prefill_seconds(
                model,
                gpu,
                length,
                batch_tokens=BATCHED_PROMPT_TOKENS,
                plan=plan,
                flops_share=flops_share,
                bandwidth_share=bandwidth_share,
            )
        )
    gpu_seconds = shared + workload.output_tokens * step / n
    per_second = 1 / gpu_seconds
    price = gpu.price_low.usd_per_hour if usd_per_hour is None else usd_per_hour
    group_usd_per_second = price * fits.n_gpus / SECONDS_PER_HOUR
    usd_per_request = (group_usd_per_second * Decimal(str(gpu_seconds))).quantize(_USD)
    n_groups = busy = month = None
    if requests_per_day is not None:
        load = requests_per_day / _SECONDS_PER_DAY * gpu_seconds
        # Rounded before rounding up: 3.0000000001 groups are three.
        n_groups = max(1, math.ceil(round(load * peak_to_mean, 9)))
        busy = load / n_groups
        month = price * fits.n_gpus * n_groups * HOURS_PER_MONTH
    return OwnGpuCost(
        capacity=fits,
        n_concurrent=n,
        prefill_seconds=prefill,
        decode_step_seconds=step,
        seconds_per_request=prefill + workload.output_tokens * step,
        gpu_seconds_per_request=gpu_seconds,
        requests_per_second=per_second,
        tokens_per_second=per_second * tokens,
        n_groups=n_groups,
        busy_share=busy,
        usd_per_request=usd_per_request,
        usd_per_mtok=(usd_per_request * TOKENS_PER_MTOK / Decimal(str(tokens))).quantize(_USD),
        usd_per_month=month,
        usd_per_hour=price,
        figures=_figures(
            gpu,
            workload,
            fits,
            n=n,
            prefill=prefill,
            step=step,
            gpu_seconds=gpu_seconds,
            price=price,
            price_source="given" if usd_per_hour is not None else gpu.price_low.source,
            price_date="" if usd_per_hour is not None else f", {gpu.price_low.date.isoformat()}",
            usd_per_request=usd_per_request,
            n_groups=n_groups,
            month=month,
            requests_per_day=requests_per_day,
            peak_to_mean=peak_to_mean,
            basis=Basis.CALIBRATED if shares_are_measured else Basis.ESTIMATED,
            shares=(flops_share, bandwidth_share),
        ),
    )


def _step_seconds(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    n: int,
    plan: MemoryPlan,
    flops_share: float,
    bandwidth_share: float,
) -> float:
    """Return the seconds of a decoding step of n requests, each halfway through its output."""
    if workload.output_tokens == 0:
        return 0.0
    half = workload.output_tokens / 2
    cache = workload.mean(lambda p: read_group_bytes(model, p + half, plan=plan))
    flops = workload.mean(
        lambda p: decode_flops_per_token(model, round(p + half), vocab_size=plan.vocab_size)
    )
    read = read_weight_bytes(model, n, plan=plan) + n * cache
    return roofline_seconds(gpu, plan, read, n * flops, flops_share, bandwidth_share)


def _figures(
    gpu: GpuFacts,
    workload: RequestLengths,
    fits: Capacity,
    *,
    n: int,
    prefill: float,
    step: float,
    gpu_seconds: float,
    price: Decimal,
    price_source: str,
    price_date: str,
    usd_per_request: Decimal,
    n_groups: int | None,
    month: Decimal | None,
    requests_per_day: float | None,
    peak_to_mean: float,
    basis: Basis,
    shares: tuple[float, float],
) -> dict[str, Figure]:
    roofline = (
        f"roofline at {shares[0]:g} of the rate and {shares[1]:g} of the bandwidth, "
        f"doi:10.1145/1498765.1498785; {gpu.cited_source}"
    )
    money = f"{price_source}{price_date}"
    output = workload.output_tokens
    figures = {
        "n_concurrent": Figure(
            n,
            f"requests on {fits.n_gpus} x {gpu.name}",
            Basis.ESTIMATED,
            f"largest number whose pages fit {fits.budget_bytes / 1e9:,.1f} GB but for "
            f"{fits.overflow_share:.0%} of draws, {fits.n_requests_safe:,}; mean "
            f"{fits.bytes_per_request_mean / 1e6:,.1f} MB; the engine takes {n:,}"
            if n != fits.n_requests_safe
            else f"largest number whose pages fit {fits.budget_bytes / 1e9:,.1f} GB but for "
            f"{fits.overflow_share:.0%} of draws; mean {fits.bytes_per_request_mean / 1e6:,.1f} MB",
            f"arXiv:2309.06180; {gpu.cited_source}",
        ),
        "gpu_seconds_per_request": Figure(
            gpu_seconds,
            f"seconds of {fits.n_gpus} x {gpu.name}",
            basis,
            f"{prefill:.4g} s prefill + {output:g} tokens x {step:.4g} s / {n} side by side",
            roofline,
        ),
        "usd_per_request": Figure(
            usd_per_request,
            "USD per request at full load",
            basis,
            f"{gpu_seconds:.4g} s x {fits.n_gpus} GPU x ${price:f} / 3600",
            money,
        ),
    }
    if n_groups is not None and month is not None and requests_per_day is not None:
        figures["usd_per_month"] = Figure(
            month,
            "USD per month",
            basis,
            f"ceil({requests_per_day:,g} / 86,400 x {peak_to_mean:g} x {gpu_seconds:.4g} s) = "
            f"{n_groups} group(s) x {fits.n_gpus} GPU x ${price:f} x 730 hours",
            money,
        )
    return figures


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

    Source: `jeton.economics.serving.own_gpu`, `jeton.economics.serving.compute`.
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
