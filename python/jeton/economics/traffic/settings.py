"""Settings of a serving engine beside its policy of admission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jeton.economics.serving.memory_plan import PAGE_TOKENS
from jeton.errors import UsageError

MAX_REQUESTS = 256
"""Requests in a batch at most: what vLLM's server takes on an A100 and on GPUs below 70 GiB; on
larger ones it takes 1,024 (``EngineArgs.get_batch_defaults`` in vllm/engine/arg_utils.py; until
version 0.8, 256 on all: the same file at 001999d, read 2026-11-22)."""

STEP_TOKENS = 2048
"""Tokens of a step, prompts and output together: what vLLM's server takes on an A100 and on GPUs
below 70 GiB, and ``DEFAULT_MAX_NUM_BATCHED_TOKENS`` (vllm/config/scheduler.py at 01230b4); on
larger GPUs the server takes 8,192 (arg_utils.py, as above; read 2026-11-22)."""

WATERMARK_SHARE = 0.01
"""Share of the cache that stays free when a request is admitted, so that it is not preempted at
once: the default of vLLM's first engine (vllm/core/block_manager.py at 006a839, ``watermark``).
Its second engine keeps none unless told (vllm/v1/core/kv_cache_manager.py at 003df29; read
2026-11-22)."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of a serving engine.

    Attributes:
        page_tokens: Tokens of a page of the KV cache.
        max_requests: Requests in a batch at most.
        step_tokens: Tokens of a step at most, prompts and output together.
        prefill: ``chunked``: prompts are read in parts beside decoding; ``whole``: a prompt is read
            in one step, and decoding waits.
        watermark_share: Share of the cache that stays free when a request is admitted.
        step_overhead_seconds: Time of each step beside the roofline: scheduling, launches,
            sampling. 0, because engines hide more and more of it behind the GPU's work; for
            Llama-3-8B on an H100, vLLM 0.5.3 spent 29% of the time on scheduling where the GPU
            worked 38% (blog.vllm.ai/2024/09/05/perf-update.html), so three quarters of the GPU's
            time were added to each step: some 4 ms where a step takes 5 ms.
        prefix_cache: Prompts that begin alike share the memory of that beginning, and it is read
            once as long as it is in memory; needs a trace that says which do (``Trace.blocks``).
            vLLM's default (``enable_prefix_caching``, vllm/config/cache.py at 002f10e, read
            2026-11-22). Without effect under ``static``, which reserves each request its own piece.
        clients: Requests under way at once where a fixed number of clients each wait for an
            answer before they send the next request (a closed loop, as load tests have it); None:
            requests come when the trace says.
    """

    page_tokens: int = PAGE_TOKENS
    max_requests: int = MAX_REQUESTS
    step_tokens: int = STEP_TOKENS
    prefill: Literal["chunked", "whole"] = "chunked"
    watermark_share: float = WATERMARK_SHARE
    step_overhead_seconds: float = 0.0
    prefix_cache: bool = False
    clients: int | None = None

    def __post_init__(self) -> None:
        for name in ("page_tokens", "max_requests", "step_tokens", "clients"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 1 << 30:
                raise UsageError(f"{name} is {value}; expected at least 1")
        if self.prefill not in ("chunked", "whole"):
            raise UsageError(f"prefill is {self.prefill!r}; expected chunked or whole")
        if not 0 <= self.watermark_share < 1 or not 0 <= self.step_overhead_seconds < 60:
            raise UsageError(
                f"watermark_share is {self.watermark_share} and step_overhead_seconds "
                f"{self.step_overhead_seconds}; expected a share below 1 and seconds from 0"
            )
        if self.prefill == "chunked" and self.step_tokens <= self.max_requests:
            raise UsageError(
                f"step_tokens is {self.step_tokens} and max_requests {self.max_requests}; expected "
                "more tokens in a step than requests, or prompts would never be read"
            )
