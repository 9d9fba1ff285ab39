"""Does the model fit the GPU, and does attention's quadratic term matter at these lengths?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.economics import RESERVED_MEMORY_SHARE, prefill_flops
from jeton.findings import Basis, Figure, Finding, Severity

__all__ = ["MIN_ATTENTION_SHARE", "gpu_does_not_fit", "quadratic_attention"]

MIN_ATTENTION_SHARE = 0.1
"""Attention's share of the prefill FLOPs at p95 from which length costs visibly more than linearly.
Our choice: at 10%, twice the tokens cost 2.2 times the work instead of 2."""

_FACTOR = 4
"""The popular claim is that 4 times the tokens cost 16 times the compute."""


def gpu_does_not_fit(evidence: Evidence) -> Iterator[Finding]:
    """The weights alone are larger than what may be used of the GPU's memory."""
    weights, gpu = evidence.current.report.economics.weights_bytes, evidence.gpu
    model = evidence.model
    if weights is None or gpu is None or model is None:
        return
    n_bytes = int(weights.value)
    n_usable_bytes = round(gpu.memory_bytes * (1 - RESERVED_MEMORY_SHARE))
    if n_bytes <= n_usable_bytes:
        return
    n_gpus = math.ceil(n_bytes / n_usable_bytes)
    yield Finding(
        id="gpu-does-not-fit",
        severity=Severity.ERROR,
        title=(
            f"The weights of {model.name} ({n_bytes / 1e9:,.1f} GB) do not fit on one {gpu.name} "
            f"({n_usable_bytes / 1e9:,.1f} GB usable)"
        ),
        where=f"{model.name} on {gpu.name}",
        figure=Figure(
            value=n_bytes - n_usable_bytes,
            unit="bytes too many",
            basis=weights.basis,
            formula=(
                f"{n_bytes:,} bytes of weights - {gpu.memory_bytes:,} bytes of memory x "
                f"(1 - {RESERVED_MEMORY_SHARE:g} reserved)"
            ),
            source=f"{model.cited_source}; {gpu.cited_source}",
        ),
        cause=(
            f"Before any request, the weights need more memory than there is: {weights.formula}."
        ),
        remedy=(
            f"Use at least {n_gpus} of these GPUs (for the weights alone; requests need memory "
            "too), fewer bits per weight, or a smaller model."
        ),
        evidence={
            "weights_bytes": n_bytes,
            "memory_bytes": gpu.memory_bytes,
            "usable_bytes": n_usable_bytes,
            "n_gpus": n_gpus,
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
