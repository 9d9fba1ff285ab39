"""Everything an audit says about one tokenizer's cost, as figures with formula and source.

The audit counts tokens; this turns the counts into memory, compute and the money of machines of
one's own, for a model and a GPU. Each is optional: what is not given gives no figure. The charge of
an API is the ledger's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.compute import attended_pairs, attention_flops, prefill_flops
from jeton.economics.serving.latency import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    prefill_seconds,
)
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_figures import MemoryFigures
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.serving.own_gpu import OWN_GPU_FIGURE_NAMES, own_gpu_figures
from jeton.economics.serving.parameters import table_rows
from jeton.economics.serving.request_lengths import RequestLengths
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIGURE_NAMES = (
    "kv_bytes_per_token",
    "kv_bytes_per_request_mean",
    "kv_bytes_per_request_p95",
    "kv_bytes_per_request_full_pages",
    "weights_bytes",
    "embedding_bytes",
    "n_gpus",
    "gpus_needed",
    "kv_cache_tokens",
    "longest_context_tokens",
    "concurrent_requests_mean",
    "concurrent_requests_p95",
    "prefill_linear_flops_per_request",
    "prefill_attention_flops_per_request",
    "prefill_seconds_per_request",
    "usd_per_request",
    "usd_per_day",
    "usd_per_month",
    "usd_per_year",
    *OWN_GPU_FIGURE_NAMES,
)
"""The figures, named as the fields of the audit's ``EconomicsSummary``."""

_FLOPS_SOURCE = "arXiv:2001.08361 section 2.1"


def summarize(
    *,
    tokens_mean: float,
    tokens_p95: int,
    tokens_histogram: tuple[NDArray[np.integer], NDArray[np.integer]],
    vocab_size: int,
    model: ModelFacts | None,
    gpu: GpuFacts | None,
    requests_per_day: float | None,
    output_tokens_per_request: float,
    peak_to_mean: float = 1.0,
    plan: MemoryPlan | None = None,
) -> dict[str, Figure | None]:
    """Return memory and compute under one tokenizer; the bill of an API is the ledger's.

    A request is one document as prompt plus ``output_tokens_per_request``. Means are over the
    histogram, not of its mean: attention is quadratic in the length, windows cap the KV cache and
    prices step. Weights and output head are taken with ``vocab_size`` rows: with the model's own
    tokenizer they are exact; another vocabulary asks "what if", of a model that would have to be
    trained, and their basis is "estimated".

    Args:
        tokens_mean: Tokens per document, mean.
        tokens_p95: Tokens per document, 95th percentile.
        tokens_histogram: Distinct lengths (tokens) and documents of each, two equally long arrays.
        vocab_size: Size of the tokenizer's vocabulary.
        model: Model that reads the tokens.
        gpu: GPU that the model runs on.
        requests_per_day: Traffic.
        output_tokens_per_request: Tokens generated per request; they count for the KV cache.
        peak_to_mean: The busiest hour's traffic over the mean, for which GPUs are rented.
        plan: How the model is held; None: as published, on the engine's defaults.

    Returns:
        A figure or None for each of `FIGURE_NAMES`.

    Raises:
        UsageError: If the histogram is empty or malformed, or a number is negative.
    """
    lengths, documents = _histogram(tokens_histogram)
    if output_tokens_per_request < 0:
        raise UsageError(
            f"output_tokens_per_request is {output_tokens_per_request}; expected at least 0"
        )
    figures: dict[str, Figure | None] = dict.fromkeys(FIGURE_NAMES)
    if model is not None:
        memory = MemoryFigures(model, vocab_size=vocab_size, plan=plan or MemoryPlan())
        figures.update(
            memory.figures(lengths, documents, tokens_mean, tokens_p95, output_tokens_per_request)
        )
        figures.update(_compute_figures(model, lengths, documents, vocab_size))
        if gpu is not None:
            output = output_tokens_per_request
            figures.update(
                memory.gpu_figures(
                    gpu, [length + output for length in lengths], documents, tokens_p95 + output
                )
            )
            figures["prefill_seconds_per_request"] = _prefill_seconds_figure(
                memory, gpu, lengths, documents
            )
            figures.update(
                own_gpu_figures(
                    model,
                    gpu,
                    RequestLengths.from_histogram(lengths, documents, output_tokens=output),
                    plan=memory.plan,
                    requests_per_day=requests_per_day,
                    peak_to_mean=peak_to_mean,
                )
            )
    return figures


def _compute_figures(
    model: ModelFacts, lengths: Sequence[int], documents: Sequence[int], vocab_size: int
) -> dict[str, Figure]:
    """Mean FLOPs of reading a prompt, linear and attention part apart."""
    n_documents = sum(documents)
    linear = attention = 0
    for length, n in zip(lengths, documents, strict=True):
        flops = prefill_flops(model, length, vocab_size=vocab_size)
        linear += n * flops.linear
        attention += n * flops.attention
    n_tokens = sum(length * n for length, n in zip(lengths, documents, strict=True))
    per_pair = attention_flops(model, 1) // max(model.n_attention_layers, 1)
    pairs = sum(n * attended_pairs(length) for length, n in zip(lengths, documents, strict=True))
    per_token = prefill_flops(model, 2).linear - prefill_flops(model, 1).linear
    rows = table_rows(model, vocab_size)
    source = f"{_FLOPS_SOURCE}; {model.cited_source}"
    windowed = "" if model.sliding_window_tokens is None else ", fewer within sliding windows"
    return {
        "prefill_linear_flops_per_request": Figure(
            linear / n_documents,
            "FLOP per request",
            Basis.EXACT if rows == model.vocab_size else Basis.ESTIMATED,
            f"{per_token:,} per token x {n_tokens / n_documents:,.1f} tokens + 2 x {rows:,} x "
            f"{model.hidden_size:,} for the output head at the last token",
            source,
        ),
        "prefill_attention_flops_per_request": Figure(
            attention / n_documents,
            "FLOP per request",
            Basis.EXACT,
            f"{per_pair:,} per pair and layer x {model.n_attention_layers} layers x "
            f"{pairs / n_documents:,.1f} causal pairs (mean of n (n + 1) / 2){windowed}",
            source,
        ),
    }


def _prefill_seconds_figure(
    memory: MemoryFigures, gpu: GpuFacts, lengths: Sequence[int], documents: Sequence[int]
) -> Figure:
    """Mean seconds of reading a prompt on the fewest GPUs that hold the model."""
    model = memory.model
    tensor = memory_budget(model, gpu, memory.plan).tensor_parallel
    plan = changed_plan(memory.plan, n_gpus=tensor)
    n_gpus = plan.all_gpus
    total = sum(
        n * prefill_seconds(model, gpu, length, plan=plan)
        for length, n in zip(lengths, documents, strict=True)
    )
    return Figure(
        total / sum(documents),
        f"seconds per request on {n_gpus} x {gpu.name}",
        Basis.ESTIMATED,
        f"mean of max(FLOP / ({n_gpus} x {gpu.bf16_dense_flops_per_s:.4g} x "
        f"{PREFILL_FLOPS_SHARE:g}), weight bytes read / ({n_gpus} x "
        f"{gpu.memory_bandwidth_bytes_per_s:.4g} x {DECODE_BANDWIDTH_SHARE:g})), "
        "one prompt at a time",
        f"roofline, doi:10.1145/1498765.1498785; shares assumed (arXiv:2407.21783, 2211.05102); "
        f"{gpu.cited_source}",
    )


def _histogram(
    histogram: tuple[NDArray[np.integer], NDArray[np.integer]],
) -> tuple[list[int], list[int]]:
    """Return lengths and documents as Python ints, whose products do not overflow."""
    lengths, documents = ([int(value) for value in part] for part in histogram)
    if len(lengths) != len(documents):
        raise UsageError(
            f"the histogram has {len(lengths)} lengths and {len(documents)} counts; "
            "expected as many of each"
        )
    if any(value < 0 for value in (*lengths, *documents)) or sum(documents) == 0:
        raise UsageError(
            "the histogram of lengths is empty or has a negative number; "
            "expected at least one document"
        )
    return lengths, documents
