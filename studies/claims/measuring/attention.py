"""Cost of length for a model: attention's quadratic part, scores, KV cache, one decoding step."""

from __future__ import annotations

from dataclasses import replace

from jeton.catalog import ModelFacts, gpu, model
from jeton.economics import decode_seconds, kv_bytes, prefill_flops, weight_bytes
from jeton.economics.serving.activations import attention_score_bytes, prefill_activation_bytes
from jeton.economics.serving.latency import read_weight_bytes
from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "KIND", "MODELS", "measure"]

ABOUT = "FLOPs of a prefill by length, attention scores, KV caches, decoding steps"
KIND = "arithmetic"

MODELS = ("qwen2.5-0.5b", "llama-2-7b", "llama-3-8b", "llama-3.1-70b", "gemma-3-12b")
"""Small, multi-head, grouped, large, and mostly sliding windows."""

_SEVEN_B = ("llama-2-7b", "mistral-7b-v0.1", "llama-3-8b", "qwen2.5-7b", "olmo-2-7b")

_LENGTHS = tuple(2**power for power in range(9, 21))
"""512 to 1,048,576 tokens."""

_GB = 1e9

BANDWIDTH = 900_000_000_000
"""Bytes per second: the bandwidth in the claim."""


def measure(_data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for name in MODELS:
        facts = model(name)
        for n in _LENGTHS:
            work = prefill_flops(facts, n)
            four = prefill_flops(facts, 4 * n).total / work.total
            figures[f"four-times.{name}.{n}"] = Figure(four, "ratio")
            figures[f"attention-share.{name}.{n}"] = Figure(work.attention / work.total, "share")
        for factor in (8, 15):
            n = _first_length(facts, factor)
            if n is not None:
                figures[f"first-length.{name}.{factor}x"] = Figure(n, "tokens")
    llama = model("llama-3-8b")
    for n in (2048, 8192, 32_768, 131_072):
        figures[f"scores-gb.{n}"] = Figure(attention_score_bytes(llama, n) / _GB, "GB")
        figures[f"kv-gb.{n}"] = Figure(kv_bytes(llama, n) / _GB, "GB")
        figures[f"activations-gb.{n}"] = Figure(prefill_activation_bytes(llama, n) / _GB, "GB")
    for name in _SEVEN_B:
        figures[f"kv-2048-gb.{name}"] = Figure(kv_bytes(model(name), 2048) / _GB, "GB")
    seven = model("llama-2-7b")
    figures["kv-2048-fp32-gb"] = Figure(kv_bytes(seven, 2048, dtype_bytes=4) / _GB, "GB")
    figures["tokens-in-4-gb"] = Figure(4e9 // kv_bytes(seven, 1), "tokens")
    return figures | _decoding(seven) | _memory(seven)


def _decoding(facts: ModelFacts) -> dict[str, Figure]:
    """One step at the claim's bandwidth, all of it reached."""
    card = replace(gpu("a100-80gb"), memory_bandwidth_bytes_per_s=BANDWIDTH)

    def step(n_tokens: int, n_requests: int = 1) -> float:
        return decode_seconds(
            facts,
            card,
            context_tokens=n_tokens,
            n_requests=n_requests,
            bandwidth_share=1,
            flops_share=1,
        )

    weights = read_weight_bytes(facts, 1)
    figures = {
        "decode.weights-gb": Figure(weights / _GB, "GB"),
        "decode.weights-ms": Figure(1e3 * weights / BANDWIDTH, "ms"),
        "decode.tokens-as-weights": Figure(weights // kv_bytes(facts, 1), "tokens"),
    }
    for n in (512, 2048, 4096):
        figures[f"decode.kv-ms.{n}"] = Figure(1e3 * kv_bytes(facts, n) / BANDWIDTH, "ms")
        figures[f"decode.step-ms.{n}"] = Figure(1e3 * step(n), "ms")
        figures[f"decode.step-ms-32.{n}"] = Figure(1e3 * step(n, 32), "ms")
    figures["decode.longer-2048-4096"] = Figure(step(4096) / step(2048) - 1, "share")
    return figures


def _memory(facts: ModelFacts) -> dict[str, Figure]:
    """Weights and one request of two lengths."""
    weights = weight_bytes(facts).total

    def total(n: int) -> float:
        return weights + kv_bytes(facts, n)

    return {
        "vram.weights-gb": Figure(weights / _GB, "GB"),
        "vram.2048-gb": Figure(total(2048) / _GB, "GB"),
        "vram.6144-gb": Figure(total(6144) / _GB, "GB"),
        "vram.ratio": Figure(total(6144) / total(2048), "ratio"),
    }


def _first_length(facts: ModelFacts, factor: float) -> int | None:
    """The least length from which on four times the tokens are this many times the work."""

    def reached(n: int) -> bool:
        return prefill_flops(facts, 4 * n).total >= factor * prefill_flops(facts, n).total

    high = 1
    while not reached(high):
        high *= 2
        if high > 2**40:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
