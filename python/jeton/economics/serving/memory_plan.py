"""How a model is held on GPUs: formats, number of GPUs, and what the engine keeps for itself.

One object for every function that asks what fits, so that no two of them reserve differently.
Defaults are vLLM's for its server (``vllm/engine/arg_utils.py``, read 2026-11-27).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.weight_formats import WeightFormat, uniform_weights, weight_format
from jeton.economics.serving.memory import Bytes, WeightBytes, kv_element_bytes, weight_bytes
from jeton.errors import UsageError

__all__ = ["PAGE_TOKENS", "MemoryPlan", "PlanChanges", "changed_plan"]

PAGE_TOKENS = 16
"""Tokens of a page of the KV cache: vLLM's default ``block_size`` on GPUs (vLLM documentation,
cache configuration; arXiv:2309.06180 section 7.2 found 16 large enough)."""

GPU_MEMORY_UTILIZATION = 0.9
"""Share of a GPU's memory that the engine takes (vLLM, ``--gpu-memory-utilization``)."""

_LARGE_GPU_BYTES = 70 * 2**30
"""From here on vLLM's server takes larger batches, A100s left out."""

_BATCHED_TOKENS = {False: 2048, True: 8192}
_REQUESTS = {False: 256, True: 1024}
"""Tokens of a step and requests at most (``--max-num-batched-tokens``, ``--max-num-seqs``), on
small and large GPUs."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How a model is held on GPUs.

    Attributes:
        n_gpus: GPUs of a tensor-parallel group; None: the fewest that hold the model.
        weights: ``"published"``, a format (``"fp8"``, ``"int4"``, ``"q4_k_m"`` ...), or one's own.
        kv_dtype: Format of the KV cache; ``"auto"``: 16 bits.
        gpu_memory_utilization: Share of the memory that the engine takes.
        max_batched_tokens: Tokens of a step at most; None: the engine's default on the GPU.
        max_requests: Requests side by side at most; None: the engine's default on the GPU.
        engine_share: True if activations, CUDA graphs and the engine's own memory are taken off.
        page_tokens: Tokens of a page of the KV cache; 0: memory is handed out by the token.
        full_pages: True if layers with a window are given pages for all tokens.
        vocab_size: Another vocabulary than the model's own; None: its own.
        kv_bytes_per_element: Bytes of a cached element, where not a format names it.
    """

    n_gpus: int | None = None
    weights: str | WeightFormat = "published"
    kv_dtype: str = "auto"
    gpu_memory_utilization: float = GPU_MEMORY_UTILIZATION
    max_batched_tokens: int | None = None
    max_requests: int | None = None
    engine_share: bool = True
    page_tokens: int = PAGE_TOKENS
    full_pages: bool = False
    vocab_size: int | None = None
    kv_bytes_per_element: Fraction | None = None

    def __post_init__(self) -> None:
        if not 0 < self.gpu_memory_utilization <= 1:
            raise UsageError(
                f"gpu_memory_utilization is {self.gpu_memory_utilization}; expected a share above "
                "0, at most 1"
            )
        for name in ("n_gpus", "max_batched_tokens", "max_requests", "vocab_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}; expected at least 1")
        if self.page_tokens < 0:
            raise UsageError(f"page_tokens is {self.page_tokens}; expected at least 0")
        if isinstance(self.weights, str) and self.weights != "published":
            weight_format(self.weights)
        kv_element_bytes(self.kv_dtype)

    @property
    def kv_element(self) -> Fraction:
        """Bytes of a cached element."""
        return self.kv_bytes_per_element or kv_element_bytes(self.kv_dtype)

    @property
    def kv_name(self) -> str:
        """Format of the cache in words."""
        if self.kv_bytes_per_element is not None:
            return f"{float(self.kv_bytes_per_element):g} bytes"
        return "bf16" if self.kv_dtype == "auto" else self.kv_dtype

    def weight_bytes(self, model: ModelFacts) -> WeightBytes:
        """Return the bytes of a model's weights under this plan."""
        return weight_bytes(model, vocab_size=self.vocab_size, weights=self.weights)

    def batched_tokens(self, gpu: GpuFacts) -> int:
        """Return the tokens of a step at most."""
        return self.max_batched_tokens or _BATCHED_TOKENS[_is_large(gpu)]

    def requests(self, gpu: GpuFacts) -> int:
        """Return the requests side by side at most."""
        return self.max_requests or _REQUESTS[_is_large(gpu)]


class PlanChanges(TypedDict, total=False):
    """Changes that a call makes to its plan, by the names of `MemoryPlan`.

    ``reserved_share`` is 1 less ``gpu_memory_utilization``; ``dtype_bytes`` and ``kv_dtype_bytes``
    are formats as bytes of an element.
    """

    n_gpus: int | None
    weights: str | WeightFormat
    kv_dtype: str
    gpu_memory_utilization: float
    max_batched_tokens: int | None
    max_requests: int | None
    engine_share: bool
    page_tokens: int
    full_pages: bool
    vocab_size: int | None
    reserved_share: float
    dtype_bytes: Bytes | None
    kv_dtype_bytes: Bytes | None


def changed_plan(plan: MemoryPlan | None = None, **changes: Unpack[PlanChanges]) -> MemoryPlan:
    """Return a plan with some of its fields replaced; None: the defaults.

    Raises:
        UsageError: If a number is out of range.
        UnknownNumberFormatError: If a format is not known.
    """
    given: dict[str, Any] = dict(changes)
    reserved = changes.get("reserved_share")
    size, cached = changes.get("dtype_bytes"), changes.get("kv_dtype_bytes")
    for name in ("reserved_share", "dtype_bytes", "kv_dtype_bytes"):
        given.pop(name, None)
    if reserved is not None:
        if not 0 <= reserved < 1:
            raise UsageError(f"reserved_share is {reserved}; expected 0 <= share < 1")
        given["gpu_memory_utilization"] = 1 - reserved
    if size is not None:
        given["weights"] = uniform_weights(_fraction("dtype_bytes", size) * 8)
    if cached is not None or size is not None:
        # Where only one is given, it is that of weights and cache alike.
        name = "kv_dtype_bytes" if cached is not None else "dtype_bytes"
        given["kv_bytes_per_element"] = _fraction(name, size if cached is None else cached)
    return replace(plan or MemoryPlan(), **given)


def _fraction(name: str, value: Bytes | None) -> Fraction:
    try:
        found = Fraction(value or 0)
    except (ValueError, OverflowError):
        found = Fraction(0)
    if found <= 0:
        raise UsageError(f"{name} is {value}; expected bytes per element above 0")
    return found


def _is_large(gpu: GpuFacts) -> bool:
    return gpu.memory_bytes >= _LARGE_GPU_BYTES and not gpu.name.startswith("A100")
