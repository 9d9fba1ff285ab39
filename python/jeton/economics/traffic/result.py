"""Result of a simulated stretch of traffic: frozen values with units in their names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from jeton.economics.admission import PolicyName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PredictionError:
    """Quality of the predictions, over the requests that had one.

    Attributes:
        n_predicted: Requests for which there was history.
        quantile: Quantile that was predicted.
        covered_share: Share of them whose output was no longer than predicted; near ``quantile``
            where the history speaks for the future.
        mean_excess_tokens: Predicted less actual tokens, mean of those not outgrown.
        mean_shortfall_tokens: Actual less predicted tokens, mean of those outgrown.
        pinball_tokens: Mean quantile loss, tokens: what a better predictor would have less of.
        pinball_tokens_without: The loss of the one constant that suits the trace best: the worth of
            history by prompt length.
    """

    n_predicted: int
    quantile: float
    covered_share: float
    mean_excess_tokens: float
    mean_shortfall_tokens: float
    pinball_tokens: float
    pinball_tokens_without: float


def prediction_error(
    predicted: NDArray[np.int64], actual: NDArray[np.int64], *, quantile: float
) -> PredictionError | None:
    """Return how good predictions were; None without any.

    Formula: pinball loss ``q max(a - p, 0) + (1 - q) max(p - a, 0)``, the loss whose expectation
    the quantile q minimises.

    Source: Koenker and Bassett, Regression Quantiles, Econometrica 46 (1978), doi:10.2307/1913643.
    """
    import numpy as np

    n = len(predicted)
    if n == 0:
        return None
    place = min(n - 1, max(0, math.ceil(quantile * n) - 1))
    constant = int(np.partition(actual, place)[place])
    excess, shortfall = _misses(predicted - actual)
    n_under = int((predicted < actual).sum())
    n_over = n - n_under
    constant_excess, constant_shortfall = _misses(constant - actual)
    return PredictionError(
        n_predicted=n,
        quantile=quantile,
        covered_share=n_over / n,
        mean_excess_tokens=excess / n_over if n_over else 0.0,
        mean_shortfall_tokens=shortfall / n_under if n_under else 0.0,
        pinball_tokens=(quantile * shortfall + (1 - quantile) * excess) / n,
        pinball_tokens_without=((1 - quantile) * constant_excess + quantile * constant_shortfall)
        / n,
    )


def _misses(errors: NDArray[np.int64]) -> tuple[int, int]:
    """Tokens too many and too few, in all."""
    return int(errors[errors > 0].sum()), int(-errors[errors < 0].sum())


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and quantiles of something that each request has (nearest rank).

    Attributes:
        mean: Mean.
        p50: Median.
        p95: All but one in twenty are no larger.
        p99: All but one in a hundred are no larger.
        max: Largest.
    """

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """The traffic that was replayed.

    Attributes:
        path: The trace.
        format: The shape it had.
        n_requests: Requests.
        duration_seconds: From the first to the last arrival.
        requests_per_second: Mean.
        rate_factor: How many times as dense it was replayed as it was recorded.
        prompt_tokens: Tokens of a request, as recorded.
        output_tokens: Tokens of a request, as recorded.
        n_rejected: Rows that cannot be meant; they are not among the requests.
        rejected: Number of them for each reason.
        n_out_of_order: Rows that had to be sorted in.
        has_times: True if the trace said when requests came; else times were drawn.
        domains: Domains that the trace names.
    """

    path: str
    format: str
    n_requests: int
    duration_seconds: float
    requests_per_second: float
    rate_factor: float
    prompt_tokens: Spread
    output_tokens: Spread
    n_rejected: int
    rejected: dict[str, int]
    n_out_of_order: int
    has_times: bool
    domains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrafficSeries:
    """A run over time, in stretches of ``seconds`` each.

    Attributes:
        seconds: Width of a stretch.
        allocated_bytes: Memory handed out to requests, mean.
        peak_bytes: The most of it.
        held_bytes: Memory that holds tokens, mean; the rest is reserved or the end of a page.
        waiting: Requests that wait, mean.
        running: Requests in the batch, mean.
        n_memory_out: Times that a request was preempted for want of memory.
    """

    seconds: float
    allocated_bytes: tuple[int, ...]
    peak_bytes: tuple[int, ...]
    held_bytes: tuple[int, ...]
    waiting: tuple[float, ...]
    running: tuple[float, ...]
    n_memory_out: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrafficRun:
    """One replay: a tokenizer, a policy.

    Attributes:
        tokenizer: Name of the tokenizer; lengths are scaled to it.
        policy: How memory was handed out.
        tokens_ratio: Tokens of all requests over those recorded.
        reserved_tokens: Tokens that ``static`` reserved for each request; None: another policy.
        n_answered: Requests answered.
        n_too_long: Requests refused because they are longer than the model's context, or than what
            is reserved for one.
        n_too_large: Requests refused because they do not fit the GPU even alone.
        end_seconds: When the last one was answered, from the first arrival.
        busy_share: Share of that time in which the GPU worked.
        prompt_share: Share of it spent in steps that read prompts.
        requests_per_second: Answered, over that time.
        output_tokens_per_second: Over that time.
        tokens_per_second: Prompts and output, each counted once, over that time.
        ttft_seconds: From arrival to the first token.
        tpot_seconds: Between the tokens of an answer, mean of each request with at least two.
        wait_seconds: In the queue before the first admission.
        latency_seconds: From arrival to the last token.
        n_backlog: Requests under way when the last one arrived: what the GPU was behind.
        n_preemptions: Times that a request lost its cache for want of memory.
        n_preempted_requests: Requests to which that happened.
        first_memory_out_seconds: When it first did; None: never.
        recomputed_tokens: Tokens read again because of it.
        cached_tokens: Tokens that were not read, because the prefix cache had them.
        blocked_seconds: Time in which the next request had to wait for memory.
        budget_bytes: Memory for requests.
        peak_bytes: The most that was handed out.
        mean_allocated_share: Share of the budget handed out, mean over the time with work.
        mean_held_share: Share of the budget that holds tokens, mean over the time with work.
        waste_share: Share of what was handed out that held no token.
        prediction: How good the predicted lengths were; None without predictions.
        usd_per_request: The group rented from the first arrival to the last answer, per answer;
            None without a price.
        usd_per_request_busy: Cost, paid only while it worked: the cost on a full GPU.
        usd_per_mtok: Per million tokens of prompts and output, as ``usd_per_request``.
        ttft_quantiles_seconds: Times to the first token at the shares 0, 1/40, ... 1.
        series: Over time.
    """

    tokenizer: str
    policy: PolicyName
    tokens_ratio: float
    reserved_tokens: int | None
    n_answered: int
    n_too_long: int
    n_too_large: int
    end_seconds: float
    busy_share: float
    prompt_share: float
    requests_per_second: float
    output_tokens_per_second: float
    tokens_per_second: float
    ttft_seconds: Spread
    tpot_seconds: Spread
    wait_seconds: Spread
    latency_seconds: Spread
    n_backlog: int
    n_preemptions: int
    n_preempted_requests: int
    first_memory_out_seconds: float | None
    recomputed_tokens: int
    cached_tokens: int
    blocked_seconds: float
    budget_bytes: int
    peak_bytes: int
    mean_allocated_share: float
    mean_held_share: float
    waste_share: float
    prediction: PredictionError | None
    usd_per_request: Decimal | None
    usd_per_request_busy: Decimal | None
    usd_per_mtok: Decimal | None
    ttft_quantiles_seconds: tuple[float, ...]
    series: TrafficSeries


@dataclass(frozen=True, slots=True)
class ServerCapacity:
    """How a server copes with its traffic.

    Attributes:
        keeps_up: True if it serves the requests as fast as they come.
        served_share: Duration of the requests over that of the work; 1 where it keeps up.
        n_groups: Servers like it that keep up together, each with its part of the requests; None:
            not known.
        policy: Policy of the memory that this holds for.
        tokenizer: Tokenizer that this holds for.
    """

    keeps_up: bool
    served_share: float
    n_groups: int | None
    policy: str
    tokenizer: str


@dataclass(frozen=True, slots=True)
class TrafficReport:
    """A trace replayed under each policy and tokenizer.

    Attributes:
        trace: The traffic.
        model: Model that was served.
        gpu: GPU that served it.
        n_gpus: GPUs of the group.
        weights_bytes: Bytes of the model, with the vocabulary of the tokenizer in use.
        page_tokens: Tokens of a page.
        max_requests: Requests in a batch at most.
        step_tokens: Tokens of a step at most.
        prefill: Mode of reading prompts: in chunks beside decoding, or whole.
        step_overhead_seconds: Time of each step beside the roofline.
        prefix_cache: True if prompts that begin alike share that beginning (not under ``static``).
        usd_per_hour: Price of one GPU and hour; None: not known.
        usd_source: Where the price was read, with its date.
        scaling: How lengths were carried over to the tokenizers, in a sentence.
        seed: Seed of the draws.
        runs: The tokenizer in use first, each with all policies in their order.
        capacity: Verdict on the GPUs, and the number that would keep up; None: not looked at.
    """

    trace: TraceSummary
    model: str
    gpu: str
    n_gpus: int
    weights_bytes: int
    page_tokens: int
    max_requests: int
    step_tokens: int
    prefill: str
    step_overhead_seconds: float
    prefix_cache: bool
    usd_per_hour: Decimal | None
    usd_source: str
    scaling: str
    seed: int
    runs: tuple[TrafficRun, ...]
    capacity: ServerCapacity | None = None
