"""Everything an audit says about one tokenizer's cost, as figures with formula and source.

The audit counts tokens; this turns the counts into memory, compute and the money of machines of
one's own, for a model and a GPU. Each is optional: what is not given gives no figure. The charge of
an API is the ledger's.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.capacity import RequestLengths, cached_tokens, longest_context
from jeton.economics.serving.compute import attended_pairs, attention_flops, prefill_flops
from jeton.economics.serving.latency import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    prefill_seconds,
)
from jeton.economics.serving.memory import (
    full_page_bytes,
    kv_bytes_per_token,
    request_bytes,
    request_group_bytes,
    state_bytes,
)
from jeton.economics.serving.memory_budget import MemoryBudget, memory_budget
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.serving.own_gpu import OWN_GPU_FIGURE_NAMES, own_gpu_figures
from jeton.economics.serving.parameters import table_rows
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


_KV_SOURCE = "arXiv:1911.02150, 2305.13245, 2405.04434"


class MemoryFigures:
    """Figures of one model's memory under one vocabulary."""

    def __init__(self, model: ModelFacts, *, vocab_size: int, plan: MemoryPlan) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self.plan = changed_plan(plan, vocab_size=vocab_size)
        self.rows = table_rows(model, vocab_size)
        self.weights = self.plan.weight_bytes(model)
        # A tokenizer that uses the model's table as it stands leaves the weights as they are.
        self.basis = Basis.EXACT if self.rows == model.vocab_size else Basis.ESTIMATED

    def figures(
        self,
        lengths: Sequence[int],
        documents: Sequence[int],
        tokens_mean: float,
        tokens_p95: int,
        output_tokens: float,
    ) -> dict[str, Figure | None]:
        """KV cache, weights and tables."""
        model, b = self.model, self.plan.element(self.model)
        per_token = kv_bytes_per_token(model, dtype_bytes=b)
        kv_total = sum(
            n * request_bytes(model, length + output_tokens, dtype_bytes=b)
            for length, n in zip(lengths, documents, strict=True)
        )
        source = f"{_KV_SOURCE}; {model.cited_source}"
        rest = self.weights.rest
        n_tables = 1 if model.tied_embeddings else 2
        tables = self.weights.input_embedding + self.weights.output_head
        table_bits = self._table_bits()
        figures: dict[str, Figure | None] = {
            "kv_bytes_per_token": Figure(
                per_token, "bytes per token", Basis.EXACT, self._kv_formula(), source
            ),
            "kv_bytes_per_request_mean": Figure(
                kv_total / sum(documents),
                "bytes per request",
                Basis.EXACT,
                f"mean over {sum(documents):,} documents of {per_token:,} x (tokens + "
                f"{output_tokens:g} output); mean {tokens_mean:,.1f} tokens{self._window()}",
                source,
            ),
            "kv_bytes_per_request_p95": Figure(
                request_bytes(model, tokens_p95 + output_tokens, dtype_bytes=b),
                "bytes per request",
                Basis.EXACT,
                f"{per_token:,} x ({tokens_p95:,} + {output_tokens:g} output){self._window()}",
                source,
            ),
            "weights_bytes": Figure(
                self.weights.total,
                "bytes",
                self.basis,
                f"{rest:,} without tables + {n_tables} x {self.rows:,} x {model.table_width:,} "
                f"x {table_bits} bytes; {self._formats()}{self._vocabulary()}",
                "; ".join(filter(None, (model.cited_source, self._weights_source()))),
            ),
            "embedding_bytes": Figure(
                tables,
                "bytes",
                self.basis,
                f"{n_tables} x {self.rows:,} x {model.table_width:,} x {table_bits} bytes "
                f"({'tied' if n_tables == 1 else 'input table and output head'})"
                f"{self._vocabulary()}",
                model.cited_source,
            ),
        }
        if model.n_sliding_layers:
            full = sum(
                n * full_page_bytes(model, length + output_tokens, dtype_bytes=b)
                for length, n in zip(lengths, documents, strict=True)
            )
            figures["kv_bytes_per_request_full_pages"] = Figure(
                full / sum(documents),
                "bytes per request where an engine gives every layer pages for all tokens",
                Basis.EXACT,
                f"mean over {sum(documents):,} documents of {per_token:,} x (tokens + "
                f"{output_tokens:g} output)",
                source,
            )
        return figures

    def gpu_figures(
        self, gpu: GpuFacts, lengths: Sequence[float], documents: Sequence[int], p95: float
    ) -> dict[str, Figure | None]:
        """Figures of what fits on the fewest GPUs that hold the model; each names their number.

        Args:
            gpu: The GPU.
            lengths: Distinct lengths of requests, output included, tokens.
            documents: Requests of each.
            p95: Length of the 95th percentile, output included.
        """
        budget = memory_budget(self.model, gpu, self.plan)
        group = f"{budget.n_gpus} x {gpu.name}"

        def bytes_of(tokens: float) -> float:
            return request_group_bytes(self.model, tokens, plan=self.plan, n_gpus=budget.n_gpus)

        total = sum(n * bytes_of(tokens) for tokens, n in zip(lengths, documents, strict=True))
        sizes = {"mean": total / sum(documents), "p95": bytes_of(p95)}
        source = f"docs/guides/serving-memory.md; {gpu.cited_source}; {self.model.cited_source}"
        how = self._needed(gpu, budget) + budget.in_words
        result: dict[str, Figure | None] = {
            "n_gpus": Figure(
                budget.n_gpus,
                f"{gpu.name}, for which all that fits is counted",
                Basis.EXACT,
                how if self.plan.n_gpus is None else f"given; {how}",
                source,
            ),
            "gpus_needed": None
            if budget.needed_gpus is None
            else Figure(
                budget.needed_gpus,
                f"{gpu.name} to hold the model",
                Basis.ESTIMATED,
                f"fewest GPUs with room for requests: {how}",
                source,
            ),
            "kv_cache_tokens": Figure(
                cached_tokens(self.model, gpu, budget, self.plan),
                f"tokens on {group}",
                Basis.ESTIMATED,
                f"({how}) = {budget.group_kv_bytes / 1e9:,.2f} GB over what a token takes"
                f"{self._copies(budget.kv_copies)}",
                source,
            ),
            "longest_context_tokens": Figure(
                longest_context(
                    self.model, gpu, plan=changed_plan(self.plan, n_gpus=budget.n_gpus)
                ),
                f"tokens of one request alone on {group}",
                Basis.ESTIMATED,
                f"{how}; the model's own limit is {self.model.context_tokens:,}",
                source,
            ),
        }
        for name, size in sizes.items():
            if size <= 0:
                continue
            n_requests = int(budget.group_kv_bytes // size)
            formula = (
                f"({how}) = {budget.group_kv_bytes:,} bytes / {size:,.0f} per request"
                f"{self._copies(budget.kv_copies)}"
            )
            if n_requests == 0:
                formula += "; not even one request of this length fits"
            result[f"concurrent_requests_{name}"] = Figure(
                n_requests, f"requests on {group}", Basis.ESTIMATED, formula, source
            )
        return result

    def _needed(self, gpu: GpuFacts, budget: MemoryBudget) -> str:
        """Number of GPUs that the model needs, if more than it was given."""
        if budget.n_gpus == 1 and budget.fits:
            return ""
        if budget.fits and self.plan.n_gpus is not None:
            return ""
        needed = budget.needed_gpus
        many = "no number of them holds it" if needed is None else f"{needed} are needed"
        given = "one" if budget.fits else f"{budget.n_gpus} x"
        return (
            f"the model ({self.weights.total / 1e9:,.1f} GB of weights) does not fit {given} "
            f"{gpu.name}, {many}: "
        )

    def _copies(self, copies: Fraction) -> str:
        if copies == 1:
            return ""
        return f"; each key-value head is held {float(copies):g} times"

    def _table_bits(self) -> str:
        tables = self.weights.input_embedding + self.weights.output_head
        n_tables = 1 if self.model.tied_embeddings else 2
        n_elements = n_tables * self.rows * self.model.table_width
        return f"{tables / n_elements:.4g}" if n_elements else "0"

    def _formats(self) -> str:
        return self.weights.in_words()

    def _weights_source(self) -> str:
        return self.weights.source

    def _kv_formula(self) -> str:
        element = self.plan.element(self.model)
        terms = []
        for row, n in self.model.cache_rows.items():
            entry = f" for each {row.rate} tokens" if row.rate > 1 else ""
            terms.append(f"{n} layers x {float(row.size(element)):g} bytes{entry}")
        return f"{' + '.join(terms) or 'no cache'}{self._window()}"

    def _window(self) -> str:
        model = self.model
        if model.n_state_layers:
            state = state_bytes(model)
            return (
                f"; {model.n_state_layers} of {model.n_layers} layers keep {state:,} bytes "
                "whatever the length"
            )
        if model.sliding_window_tokens is None:
            return ""
        return (
            f"; {model.n_sliding_layers} of {model.n_layers} layers hold at most "
            f"{model.sliding_window_tokens:,} tokens"
        )

    def _vocabulary(self) -> str:
        if self.vocab_size == self.model.vocab_size:
            return ""
        if self.rows == self.model.vocab_size:
            return f"; a vocabulary of {self.vocab_size:,} fits the model's table of {self.rows:,}"
        return (
            f"; what if: {self.model.name} has a vocabulary of {self.model.vocab_size:,} and would "
            f"have to be trained with {self.vocab_size:,}"
        )
