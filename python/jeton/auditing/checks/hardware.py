"""Does the model fit the GPU, and does attention's quadratic term matter at these lengths?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.economics.serving.compute import prefill_flops
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import changed_plan
from jeton.findings import Basis, Figure, Finding, Severity

MIN_ATTENTION_SHARE = 0.1
"""Attention's share of the prefill FLOPs at p95 from which length costs visibly more than linearly.
Our choice: at 10%, twice the tokens cost 2.2 times the work instead of 2."""

_FACTOR = 4
"""The popular claim is that 4 times the tokens cost 16 times the compute."""


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
    yield Finding(
        id="gpu-does-not-fit",
        severity=Severity.ERROR if is_weights else Severity.WARNING,
        title=(
            f"The weights of {model.name} ({n_bytes / 1e9:,.1f} GB) do not fit on {where} "
            f"({usable / 1e9:,.1f} GB usable){beside}"
            + ("" if needed is None else f": {needed} are needed")
        ),
        where=f"{model.name} on {gpu.name}",
        figure=Figure(
            value=-budget.kv_bytes,
            unit="bytes too many on each GPU",
            basis=Basis.ESTIMATED,
            formula=(
                f"{gpu.memory_bytes:,} bytes of memory, {plan.share_on(gpu):g} of it for "
                f"the engine: {budget.in_words}"
            ),
            source=f"{model.cited_source}; {gpu.cited_source}; {gpu.memory_source}",
        ),
        cause=(
            f"Before any request, the model needs more memory than there is: {weights.formula}."
        ),
        remedy=(
            f"Use {more}, fewer bits per weight (--weights fp8, int4), {fewer}or a smaller model."
        ),
        evidence={
            "weights_bytes": n_bytes,
            "memory_bytes": gpu.memory_bytes,
            "usable_bytes": budget.usable_bytes,
            "n_gpus": needed if needed is not None else "none",
        },
    )


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
    yield Finding(
        id="quadratic-attention",
        severity=Severity.INFO if matters else Severity.GOOD,
        title=(
            f"{_FACTOR} times the tokens cost {growth:.1f} times the compute, not {_FACTOR**2}: "
            f"at {p95:,} tokens (p95) attention is {percent(share)} of the work in {model.name}"
        ),
        where=model.name,
        figure=Figure(
            value=share,
            unit="share of prefill FLOPs",
            basis=Basis.EXACT,
            formula=(
                f"{flops.attention:,} attention / ({flops.linear:,} linear + {flops.attention:,} "
                f"attention) FLOPs, one causal pass over {p95:,} tokens"
            ),
            source=model.cited_source,
        ),
        cause=(
            "Only the work of attention grows with the square of the length. All other work, and "
            "the memory, grow in proportion."
        ),
        remedy=(
            "Shorten or split the longest prompts: they cost more than their share."
            if matters
            else "Nothing to do: at these lengths the work is nearly proportional to the tokens."
        ),
        evidence={
            "p95_tokens": p95,
            "linear_flops": flops.linear,
            "attention_flops": flops.attention,
            "growth_at_4x": growth,
        },
    )
