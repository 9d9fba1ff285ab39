"""Does the model fit the GPU, and the traffic the GPU and the limits of the API?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import analysis, finding_of
from jeton.economics.billing.quotas import QuotaReport
from jeton.economics.serving.compute import prefill_flops
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import changed_plan
from jeton.economics.traffic import TrafficReport
from jeton.findings import Basis, Finding, Severity

MIN_ATTENTION_SHARE = 0.1
"""Attention's share of the prefill FLOPs at p95 from which length costs visibly more than linearly.
Our choice: at 10%, twice the tokens cost 2.2 times the work instead of 2."""

_FACTOR = 4
"""The popular claim is that 4 times the tokens cost 16 times the compute."""


@analysis("gpu-does-not-fit")
def gpu_does_not_fit(evidence: Evidence) -> Iterator[Finding]:
    """The model leaves no room for requests on the GPUs that were asked for: one, or a group.

    An error where the weights alone are larger than what may be used, else a warning: weights,
    activations and the engine together are.
    """
    weights, gpu = evidence.current.report.economics.weights_bytes, evidence.gpu
    model = evidence.model
    if weights is None or gpu is None or model is None:
        return
    plan = changed_plan(evidence.plan, vocab_size=evidence.current.tokenizer.vocab_size)
    plan = changed_plan(plan, n_gpus=plan.n_gpus or 1)
    budget = memory_budget(model, gpu, plan)
    if budget.fits:
        return
    n_bytes = int(weights.value)
    is_weights = budget.weight_bytes > budget.usable_bytes
    where = f"one {gpu.name}" if budget.n_gpus == 1 else f"{budget.n_gpus} x {gpu.name}"
    usable = budget.n_gpus * budget.usable_bytes
    beside = "" if is_weights else " beside activations and the engine's own memory"
    needed = budget.needed_gpus
    more = (
        "no number of these GPUs holds it" if needed is None else f"at least {needed} of these GPUs"
    )
    fewer = "" if is_weights else "smaller batches (--max-requests, --max-batched-tokens), "
    yield finding_of(
        severity=Severity.ERROR if is_weights else Severity.WARNING,
        title=f"The weights of {model.name} ({n_bytes / 1e9:,.1f} GB) do not fit on {where} "
        f"({usable / 1e9:,.1f} GB usable){beside}"
        + ("" if needed is None else f": {needed} are needed"),
        where=f"{model.name} on {gpu.name}",
        value=-budget.kv_bytes,
        unit="bytes too many on each GPU",
        basis=Basis.ESTIMATED,
        formula=f"{gpu.memory_bytes:,} bytes of memory, {plan.share_on(gpu):g} of it for "
        f"the engine: {budget.in_words}",
        source=f"{model.cited_source}; {gpu.cited_source}; {gpu.memory_source}",
        cause=f"Before any request, the model needs more memory than there is: {weights.formula}.",
        remedy=f"Use {more}, fewer bits per weight (--weights fp8, int4), {fewer}or a smaller "
        "model.",
        evidence={
            "weights_bytes": n_bytes,
            "memory_bytes": gpu.memory_bytes,
            "usable_bytes": budget.usable_bytes,
            "n_gpus": needed if needed is not None else "none",
        },
    )


@analysis("quadratic-attention")
def quadratic_attention(evidence: Evidence) -> Iterator[Finding]:
    """Attention's share of the prefill: small at most lengths, large only at long ones."""
    model, lengths = evidence.model, evidence.current.lengths
    p95 = lengths.quantile(0.95)
    if model is None or p95 < 1:
        return
    flops = prefill_flops(model, p95)
    longer = prefill_flops(model, p95 * _FACTOR)
    share = flops.attention / flops.total
    growth = longer.total / flops.total
    matters = share >= MIN_ATTENTION_SHARE
    yield finding_of(
        severity=Severity.INFO if matters else Severity.GOOD,
        title=f"{_FACTOR} times the tokens cost {growth:.1f} times the compute, not {_FACTOR**2}: "
        f"at {p95:,} tokens (p95) attention is {percent(share)} of the work in {model.name}",
        where=model.name,
        value=share,
        unit="share of prefill FLOPs",
        formula=f"{flops.attention:,} attention / ({flops.linear:,} linear + {flops.attention:,} "
        f"attention) FLOPs, one causal pass over {p95:,} tokens",
        source=model.cited_source,
        cause="Only the work of attention grows with the square of the length. All other work, and "
        "the memory, grow in proportion.",
        remedy="Shorten or split the longest prompts: they cost more than their share."
        if matters
        else "Nothing to do: at these lengths the work is nearly proportional to the tokens.",
        evidence={
            "p95_tokens": p95,
            "linear_flops": flops.linear,
            "attention_flops": flops.attention,
            "growth_at_4x": growth,
        },
    )


_FRACTIONS = ((0.08, 0.115, "a tenth"), (0.18, 0.225, "a fifth"), (0.225, 0.28, "a quarter"),
              (0.3, 0.36, "a third"), (0.46, 0.54, "half"), (0.63, 0.7, "two thirds"),
              (0.72, 0.78, "three quarters"))  # fmt: skip
"""Shares that people say as a fraction: from, to, words."""


@analysis("gpu-overloaded")
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
    yield finding_of(
        severity=Severity.ERROR,
        title=f"{server} serves about {_share(share)} of this traffic{needed}",
        where=f"{report.model} on {report.gpu}",
        value=share,
        unit="share of the traffic",
        basis=Basis.ESTIMATED,
        formula=f"{report.trace.duration_seconds:,.0f} s of requests / {run.end_seconds:,.0f} s of "
        f"work, replayed under the policy {run.policy}; servers: the fewest with which a "
        "replay of every n-th request keeps up",
        cause=f"{_minutes(report.trace.duration_seconds)} of requests take "
        f"{_minutes(run.end_seconds)} of work. Half of the requests wait "
        f"{_minutes(run.wait_seconds.p50)} or longer, and {run.n_backlog:,} are waiting when "
        "the last one comes.",
        remedy="Use more or faster GPUs, send fewer tokens per request, or move part of the "
        "traffic "
        "to quiet hours."
        if capacity.n_groups is None
        else f"Plan {_groups(report, capacity.n_groups)} for this traffic, use faster GPUs, or "
        "send fewer tokens per request.",
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


MONTHS_AHEAD = 3
"""Months before which a quota that growth uses up is said. Our choice: a higher limit has to be
applied for, and a pipeline needs weeks to change."""

_WORDS = {
    "tokens_per_minute": "tokens per minute",
    "requests_per_minute": "requests per minute",
    "requests_per_day": "requests per day",
}


@analysis("quota-exceeded")
def quota_exceeded(evidence: Evidence) -> Iterator[Finding]:
    """The busiest minute or day is above a limit of the API, or soon will be.

    Threshold: the peak above the limit; with a growth, above it within `MONTHS_AHEAD`.
    """
    report = evidence.quota
    if report is None or report.binding is None:
        return
    months = report.months_until_exhausted
    is_over = report.used_share > 1
    if not is_over and (months is None or months > MONTHS_AHEAD):
        return
    words, limit, peak = _limit(report)
    reached = f"Your peak of {peak:,.0f} {words} is {percent(report.used_share)} of the {limit:,}"
    refused = ""
    if report.n_refused:
        refused = f"; {report.n_refused:,} requests of the log would be refused"
    title = (
        f"{reached} that are allowed{refused}"
        if is_over
        else f"{reached} that are allowed; growth reaches the limit in {months:.1f} months"
    )
    # Fewer tokens a request help against a limit on tokens alone.
    factor = report.tokens_factor_that_fits
    fewer = ""
    if factor < 1:
        fewer = f", or send {percent(1 - factor)} fewer tokens per request (see the other findings)"
    yield finding_of(
        severity=Severity.WARNING if is_over else Severity.INFO,
        title=title,
        where=words,
        value=report.used_share,
        unit="share of the limit",
        basis=report.basis,
        formula=f"{peak:,.0f} {words} / {limit:,}; {report.formula}",
        cause="Requests come in bursts, and the limit holds for every minute, not for the average."
        if report.binding != "requests_per_day"
        else "More requests come in a day than the account may send.",
        remedy="Delay what can wait (a queue, or a batch tariff with its own limits), or ask for a "
        f"higher limit{fewer}.",
        evidence={
            "limit": words,
            "peak": round(peak, 1),
            "allowed": limit,
            "used_share": report.used_share,
            "n_refused": report.n_refused if report.n_refused is not None else "not known",
            "months_until_exhausted": months if months is not None else "not known",
        },
    )


def _limit(report: QuotaReport) -> tuple[str, int, float]:
    """The binding limit in words, its value, and the peak against it."""
    binding = report.binding or "tokens_per_minute"
    limit: int = getattr(report.quota, binding)
    peak: float = getattr(report, f"peak_{binding}")
    return _WORDS[binding], limit, peak
