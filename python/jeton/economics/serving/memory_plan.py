"""A model on GPUs: formats, number of GPUs, the engine and its settings.

One object for every function that asks what fits, so that no two of them reserve differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.weight_formats import WeightFormat, uniform_weights, weight_format
from jeton.economics.serving.engine_rules import EngineRules, engine_rules
from jeton.economics.serving.memory import (
    Bytes,
    WeightBytes,
    kv_element_bytes,
    weight_bytes,
)
from jeton.errors import UsageError

PAGE_TOKENS = 16
"""Tokens of a page of the KV cache: vLLM's default ``block_size`` on GPUs (vLLM documentation,
cache configuration; arXiv:2309.06180 section 7.2 found 16 large enough)."""


@dataclass(frozen=True, slots=True)
class MeasuredMemory:
    """Memory that an engine printed when it started, which beats the formula.

    Attributes:
        name: Name or file that it was read from.
        engine: The engine.
        tensor_parallel: GPUs of a stage.
        weight_bytes: Weights on each GPU; None: the log does not say.
        beside_bytes: Activations, graphs and all else that the engine takes of its share; None: the
            log does not say.
        outside_bytes: Memory that a program does not see of what the driver reports; None: as
            `DRIVER_BYTES`.
        activation_bytes: Activations of `beside_bytes`; None: the log does not say.
        cache_scale: Tokens that the log printed over those that the formula finds in the same
            bytes; 1 where it printed none.
        n_starts: Starts of the engine in the log, of which the last was taken.
    """

    name: str
    engine: str
    tensor_parallel: int
    weight_bytes: int | None = None
    beside_bytes: int | None = None
    outside_bytes: int | None = None
    activation_bytes: int | None = None
    cache_scale: Fraction = Fraction(1)
    n_starts: int = 1


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How a model is held on GPUs.

    Attributes:
        n_gpus: GPUs of a tensor-parallel group; None: the fewest that hold the model.
        weights: ``"published"``, a format (``"fp8"``, ``"int4"``, ``"q4_k_m"`` ...), or one's own.
        kv_dtype: Format of the KV cache; ``"auto"``: as the checkpoint asks, else 16 bits.
        gpu_memory_utilization: Share of the memory that the engine takes; None: its default.
        max_batched_tokens: Tokens of a step at most; None: the engine's default on the GPU.
        max_requests: Requests side by side at most; None: the engine's default on the GPU.
        engine_share: True if activations, CUDA graphs and the engine's own memory are taken off.
        page_tokens: Tokens of a page of the KV cache; 0: memory is handed out by the token; None:
            the engine's default.
        full_pages: True if layers with a window are given pages for all tokens.
        vocab_size: Another vocabulary than the model's own; None: its own.
        kv_bytes_per_element: Bytes of a cached element, where not a format names it.
        engine: Name of the engine (`jeton.economics.serving.engine_rules.ENGINES`).
        engine_version: Its version; empty: the one that its rules are of.
        pipeline_parallel: Stages that share the layers.
        data_parallel: Replicas that share the experts.
        expert_parallel: True if experts stay whole, each on one GPU.
        max_context_tokens: Tokens of a request at most; None: the model's context.
        eager: True if the engine captures no CUDA graphs.
        draft_tokens: Tokens that the model's own further layers draft; 0: they are not loaded.
        kv_bytes_per_token: Bytes of a cached token in all layers, instead of the formula's.
        state_bytes_per_request: Bytes of a request's states, instead of the formula's.
        weights_bytes: Bytes of all weights, instead of the formula's.
        measured: Memory as the engine printed it; None: by the formula.
    """

    n_gpus: int | None = None
    weights: str | WeightFormat = "published"
    kv_dtype: str = "auto"
    gpu_memory_utilization: float | None = None
    max_batched_tokens: int | None = None
    max_requests: int | None = None
    engine_share: bool = True
    page_tokens: int | None = None
    full_pages: bool = False
    vocab_size: int | None = None
    kv_bytes_per_element: Fraction | None = None
    engine: str = "vllm"
    engine_version: str = ""
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: bool = False
    max_context_tokens: int | None = None
    eager: bool = False
    draft_tokens: int = 0
    kv_bytes_per_token: int | None = None
    state_bytes_per_request: int | None = None
    weights_bytes: int | None = None
    measured: MeasuredMemory | None = None

    def __post_init__(self) -> None:
        share = self.gpu_memory_utilization
        if share is not None and not 0 < share <= 1:
            raise UsageError(
                f"gpu_memory_utilization is {share}; expected a share above 0, at most 1"
            )
        for name in (
            "n_gpus", "max_batched_tokens", "max_requests", "vocab_size", "pipeline_parallel",
            "data_parallel", "max_context_tokens", "kv_bytes_per_token", "weights_bytes",
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not 1 <= value < 1 << 53:
                raise UsageError(f"{name} is {value}; expected from 1 to 2^53")
        for name in ("page_tokens", "state_bytes_per_request", "draft_tokens"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1 << 53:
                raise UsageError(f"{name} is {value}; expected from 0 to 2^53")
        if isinstance(self.weights, str) and self.weights != "published":
            weight_format(self.weights)
        kv_element_bytes(self.kv_dtype)
        engine_rules(self.engine)

    @property
    def rules(self) -> EngineRules:
        """Rules of the engine."""
        return engine_rules(self.engine)

    def element(self, model: ModelFacts) -> Fraction:
        """Return the bytes of a cached element of a model."""
        if self.kv_bytes_per_element is not None:
            return self.kv_bytes_per_element
        return kv_element_bytes(self.kv_format(model))

    def kv_format(self, model: ModelFacts) -> str:
        """Return the format of a model's cache."""
        return (model.kv_format or "auto") if self.kv_dtype == "auto" else self.kv_dtype

    def kv_name(self, model: ModelFacts) -> str:
        """Return the format of the cache in words."""
        if self.kv_bytes_per_element is not None:
            return f"{float(self.kv_bytes_per_element):g} bytes"
        name = self.kv_format(model)
        return "bf16" if name == "auto" else name

    def weight_bytes(self, model: ModelFacts) -> WeightBytes:
        """Return the bytes of a model's weights under this plan."""
        return weight_bytes(
            model,
            vocab_size=self.vocab_size,
            weights=self.weights,
            total_bytes=self.weights_bytes,
        )

    def cache_scale(self, tensor: int) -> Fraction:
        """Return the tokens of the engine's log over the formula's; 1 without a log."""
        measured = self.measured
        if measured is None or measured.tensor_parallel != tensor:
            return Fraction(1)
        return measured.cache_scale

    def context_tokens(self, model: ModelFacts) -> int:
        """Return the tokens that a request has at most: prompt and answer."""
        return min(self.max_context_tokens or model.context_tokens, model.context_tokens)

    @property
    def page(self) -> int:
        """Tokens of a page of the cache; 0: memory is handed out by the token."""
        return self.rules.page_tokens if self.page_tokens is None else self.page_tokens

    @property
    def all_gpus(self) -> int:
        """GPUs of all stages and replicas; of one GPU each, where the group is left open."""
        return (self.n_gpus or 1) * self.pipeline_parallel * self.data_parallel

    def share_on(self, gpu: GpuFacts) -> float:
        """Return the share of a GPU's memory that the engine takes."""
        return self.rules.share(gpu, self, self.n_gpus or 1)

    def batched_tokens(self, gpu: GpuFacts) -> int:
        """Return the tokens of a step at most."""
        return self.max_batched_tokens or self.rules.step_tokens(gpu)

    def requests(self, gpu: GpuFacts) -> int:
        """Return the requests side by side at most."""
        return self.max_requests or self.rules.requests(gpu)


class PlanChanges(TypedDict, total=False):
    """Changes that a call makes to its plan, by the names of `MemoryPlan`.

    ``reserved_share`` is 1 less ``gpu_memory_utilization``; ``dtype_bytes`` and ``kv_dtype_bytes``
    are formats as bytes of an element.
    """

    n_gpus: int | None
    weights: str | WeightFormat
    kv_dtype: str
    gpu_memory_utilization: float | None
    max_batched_tokens: int | None
    max_requests: int | None
    engine_share: bool
    page_tokens: int | None
    full_pages: bool
    engine: str
    engine_version: str
    pipeline_parallel: int
    data_parallel: int
    expert_parallel: bool
    max_context_tokens: int | None
    eager: bool
    draft_tokens: int
    measured: MeasuredMemory | None
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
