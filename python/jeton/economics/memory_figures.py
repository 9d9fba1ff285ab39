"""Figures of memory: KV cache, weights, and the requests that fit beside them."""

from __future__ import annotations

from collections.abc import Sequence

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import AttentionKind, ModelFacts
from jeton.economics.memory import kv_bytes_per_token, request_bytes, state_bytes, weight_bytes
from jeton.economics.parameters import table_rows
from jeton.economics.serving import RESERVED_MEMORY_SHARE, GpuFit, fit_requests
from jeton.findings import Basis, Figure

__all__ = ["MemoryFigures"]

_KV_SOURCE = "arXiv:1911.02150, 2305.13245, 2405.04434"


class MemoryFigures:
    """Figures of one model's memory under one vocabulary."""

    def __init__(self, model: ModelFacts, *, vocab_size: int, dtype_bytes: int) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self.dtype_bytes = dtype_bytes
        self.rows = table_rows(model, vocab_size)
        self.weights = weight_bytes(model, vocab_size=vocab_size, dtype_bytes=dtype_bytes)
        self.basis = Basis.EXACT if vocab_size == model.vocab_size else Basis.ESTIMATED

    def figures(
        self,
        lengths: Sequence[int],
        documents: Sequence[int],
        tokens_mean: float,
        tokens_p95: int,
        output_tokens: float,
    ) -> dict[str, Figure]:
        """KV cache, weights and tables."""
        model, b = self.model, self.dtype_bytes
        per_token = kv_bytes_per_token(model, dtype_bytes=b)
        kv_total = sum(
            n * request_bytes(model, length + output_tokens, dtype_bytes=b)
            for length, n in zip(lengths, documents, strict=True)
        )
        source = f"{_KV_SOURCE}; {model.cited_source}"
        rest = self.weights.rest
        n_tables = 1 if model.tied_embeddings else 2
        tables = self.weights.input_embedding + self.weights.output_head
        return {
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
                f"{rest:,} without tables + {n_tables} x {self.rows:,} x {model.hidden_size:,} "
                f"x {b}{self._vocabulary()}",
                model.cited_source,
            ),
            "embedding_bytes": Figure(
                tables,
                "bytes",
                self.basis,
                f"{n_tables} x {self.rows:,} x {model.hidden_size:,} x {b} "
                f"({'tied' if n_tables == 1 else 'input table and output head'})"
                f"{self._vocabulary()}",
                model.cited_source,
            ),
        }

    def gpu_figures(
        self, gpu: GpuFacts, figures: dict[str, Figure | None]
    ) -> dict[str, Figure | None]:
        """Requests that fit beside the weights; None where a request has no tokens."""
        result: dict[str, Figure | None] = {}
        for name in ("mean", "p95"):
            per_request = figures[f"kv_bytes_per_request_{name}"]
            if per_request is None or per_request.value <= 0:
                continue
            fit = self.fit(gpu, float(per_request.value))
            result[f"concurrent_requests_{name}"] = Figure(
                fit.n_requests,
                f"requests on {fit.n_gpus} x {gpu.name}",
                Basis.ESTIMATED,
                self._fit_formula(gpu, fit),
                f"reserved share: vLLM's default; {gpu.cited_source}; {self.model.cited_source}",
            )
        return result

    def fit(self, gpu: GpuFacts, kv_bytes_per_request: float) -> GpuFit:
        """What fits on the fewest GPUs that hold the weights."""
        return fit_requests(
            self.model,
            gpu,
            kv_bytes_per_request=kv_bytes_per_request,
            vocab_size=self.vocab_size,
            dtype_bytes=self.dtype_bytes,
        )

    def _fit_formula(self, gpu: GpuFacts, fit: GpuFit) -> str:
        formula = (
            f"({fit.n_gpus} x {gpu.memory_bytes:,} x (1 - {RESERVED_MEMORY_SHARE:g} reserved) - "
            f"{fit.weight_bytes:,} weights) / {fit.kv_bytes_per_request:,.0f} per request"
        )
        if fit.needs_more_gpus:
            usable = fit.usable_bytes / fit.n_gpus
            formula = (
                f"the weights alone ({fit.weight_bytes / 1e9:,.1f} GB) do not fit one {gpu.name} "
                f"({usable / 1e9:,.1f} GB usable), {fit.n_gpus} are needed: {formula}"
            )
        if fit.n_requests == 0:
            formula += "; not even one request of this length fits"
        return formula

    def _kv_formula(self) -> str:
        model, b = self.model, self.dtype_bytes
        if model.attention is AttentionKind.LATENT and model.latent_attention is not None:
            latent = model.latent_attention
            formula = f"({latent.kv_latent_size} latent + {latent.rotary_size} rotary)"
            return f"{formula} x {model.n_attention_layers} layers x {b} bytes"
        return (
            f"2 x {model.n_attention_layers} layers x {model.n_kv_heads} KV heads x "
            f"{model.head_size} x {b} bytes{self._window()}"
        )

    def _window(self) -> str:
        model = self.model
        if model.recurrent is not None:
            state = state_bytes(model, dtype_bytes=self.dtype_bytes)
            return (
                f"; {model.recurrent.n_layers} of {model.n_layers} layers keep {state:,} bytes "
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
            f"; {self.model.name} has a vocabulary of {self.model.vocab_size:,} and would have to "
            f"be trained with {self.vocab_size:,}"
        )
