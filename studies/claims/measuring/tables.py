"""Cost of a vocabulary's size for a model: tables, parameters, bytes read in a decoding step."""

from __future__ import annotations

from jeton.catalog import ModelFacts, gpu, model, models
from jeton.economics import count_parameters, decode_seconds, embedding_bytes, fit_requests
from jeton.economics.serving.latency import read_weight_bytes
from jeton.economics.serving.memory import kv_bytes
from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "CLAIMED_SLOWER", "KIND", "measure"]

ABOUT = "Vocabulary sizes against weight reads, parameters, table bytes and requests that fit"
KIND = "arithmetic"

CLAIMED_SLOWER = 0.20
"""The claim: each doubling of the vocabulary slows inference by 20%."""

_TRAINING_BYTES = 16
"""Per parameter, mixed precision with Adam: weight and gradient in 16 bits, weight and two moments
in 32 (arXiv:1910.02054 section 3.1)."""

_MB = 1e6


def measure(_data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    llama = model("llama-3-8b")
    return _doubling() | _parameters(llama) | _rows() | _halving(llama)


def _reads(facts: ModelFacts, factor: float) -> float:
    """Growth of the weight bytes that a step reads, alone, if the vocabulary grows so."""
    rows = round(facts.vocab_size * factor)
    # In one format for all: as some are published, experts have a quarter of the bits of a table.
    now = read_weight_bytes(facts, 1, weights="bf16")
    return read_weight_bytes(facts, 1, weights="bf16", vocab_size=rows) / now - 1


def _doubling() -> dict[str, Figure]:
    figures, slower = {}, []
    for facts in models():
        growth = _reads(facts, 2)
        figures[f"doubling.{facts.name}"] = Figure(growth, "share")
        figures[f"active-billions.{facts.name}"] = Figure(
            count_parameters(facts).active / 1e9, "billion parameters"
        )
        if growth >= CLAIMED_SLOWER:
            slower.append(facts)
    figures["doubling-models"] = Figure(len(models()), "models")
    figures["doubling-slower"] = Figure(len(slower), "models")
    figures["doubling-largest-slower-billions"] = Figure(
        max(count_parameters(facts).active for facts in slower) / 1e9, "billion parameters"
    )
    over = [
        _reads(facts, 2) for facts in models() if count_parameters(facts).active >= 7_000_000_000
    ]
    figures["doubling-max-from-7b"] = Figure(max(over), "share")
    figures["doubling-models-from-7b"] = Figure(len(over), "models")
    llama = model("llama-3-8b")
    for n in (1, 32):
        times = [
            decode_seconds(llama, gpu("h100"), context_tokens=2048, n_requests=n, vocab_size=rows)
            for rows in (llama.vocab_size, 2 * llama.vocab_size)
        ]
        figures[f"doubling-step-llama-3-8b.{n}"] = Figure(times[1] / times[0] - 1, "share")
    return figures


def _parameters(llama: ModelFacts) -> dict[str, Figure]:
    count = count_parameters(llama)
    tables = count.input_embedding + count.output_head
    attention = count.attention_matrices
    return {
        "parameters.total-billions": Figure(count.total / 1e9, "billion parameters"),
        "parameters.embeddings": Figure(tables / count.total, "share"),
        "parameters.attention": Figure(attention / count.total, "share"),
        "parameters.ffn": Figure((count.layer_matrices - attention) / count.total, "share"),
    }


def _rows() -> dict[str, Figure]:
    def megabytes(dtype_bytes: int) -> float:
        return embedding_bytes(vocab_size=1000, hidden_size=4096, dtype_bytes=dtype_bytes) / _MB

    return {
        "thousand.bf16-mb": Figure(megabytes(2), "MB"),
        "thousand.bf16-two-mb": Figure(2 * megabytes(2), "MB"),
        "thousand.fp32-two-mb": Figure(2 * megabytes(4), "MB"),
        "thousand.training-two-mb": Figure(2 * megabytes(_TRAINING_BYTES), "MB"),
    }


def _halving(llama: ModelFacts) -> dict[str, Figure]:
    half = llama.vocab_size // 2
    figures = {"halving.reads": Figure(-_reads(llama, 0.5), "share")}
    for card in ("h100", "l4"):
        fits = [
            fit_requests(
                llama, gpu(card), kv_bytes_per_request=kv_bytes(llama, 8192), vocab_size=rows
            ).n_requests
            for rows in (None, half)
        ]
        figures[f"halving.fit-before.{card}"] = Figure(fits[0], "requests")
        figures[f"halving.fit-after.{card}"] = Figure(fits[1], "requests")
    figures["halving.reads-qwen2.5-0.5b"] = Figure(-_reads(model("qwen2.5-0.5b"), 0.5), "share")
    return figures
