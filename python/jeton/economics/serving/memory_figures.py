"""Figures of memory: KV cache, weights, and the requests that fit beside them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.capacity import cached_tokens, longest_context
from jeton.economics.serving.group_bytes import request_group_bytes
from jeton.economics.serving.memory import (
    full_page_bytes,
    kv_bytes_per_token,
    request_bytes,
    state_bytes,
)
from jeton.economics.serving.memory_budget import MemoryBudget, memory_budget
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.serving.parameters import table_rows
from jeton.findings import Basis, Figure

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
        """How many GPUs the model needs, where that is more than it was given."""
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
