"""Options that say how a model is held on GPUs, for every command that plans memory."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import click

from jeton.cli.declaring import OptionSet, option
from jeton.cli.kinds import FiniteRange

if TYPE_CHECKING:
    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts
    from jeton.economics.serving.memory_plan import MemoryPlan

_ABOVE_ZERO = click.IntRange(min=1, max=1 << 53)

# Named here too, so that --help needs no import of the rules; a test compares.
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp")


class MemoryOptions(OptionSet):
    """Options for placing a model on GPUs. The names are those of vLLM where it has the option."""

    engine: str = option(
        "Engine whose rules hold: what it takes, refuses, and keeps of a GPU.",
        type=click.Choice(ENGINES),
        default="vllm",
    )
    weights: str = option(
        "How the weights are written: published, bf16, fp8, int8, int4 (awq, gptq), mxfp4, "
        "nvfp4, nf4, q8_0, q4_k_m ... (`jeton catalog formats`). By default as published.",
        "F",
        default="published",
        show_default=False,
    )
    kv_dtype: str = option(
        "How the KV cache is written: bf16, fp8, int8, int4. By default as the checkpoint asks, "
        "else in 16 bits.",
        "F",
        default="auto",
        show_default=False,
    )
    tensor_parallel: int | None = option(
        "GPUs that share the model; by default the fewest that hold it.", "N", type=_ABOVE_ZERO
    )
    gpu_memory_utilization: float | None = option(
        "Share of the GPU's memory that the engine takes (SGLang: mem-fraction-static). By "
        "default as the engine: 0.92 of vLLM (0.9 before 0.21).",
        "SHARE",
        type=FiniteRange(min=0, max=1, min_open=True),
    )
    max_batched_tokens: int | None = option(
        "Tokens of a step at most, which activations grow with; by default as vLLM's server: "
        "2,048, and 8,192 from 70 GiB on.",
        "N",
        type=_ABOVE_ZERO,
    )
    max_requests: int | None = option(
        "Requests side by side at most; by default as vLLM's server: 256, and 1,024 from 70 GiB "
        "on.",
        "N",
        type=_ABOVE_ZERO,
    )
    full_pages: bool = option("The engine gives layers with a window pages for all tokens.")
    max_context_tokens: int | None = option(
        "Tokens of a request at most; by default the model's context.",
        "N",
        names="--max-model-len",
        type=_ABOVE_ZERO,
    )
    calibrate: str | None = option(
        "Start-up log of your engine, or what --save-log made of it: its memory beats the formula.",
        "LOG",
    )

    def plan(self) -> MemoryPlan:
        """Return the plan that the options say.

        Raises:
            UsageError: A number is out of range.
            UnknownNumberFormatError: A format is not known.
        """
        from jeton.economics.serving.memory_plan import MemoryPlan

        of_plan = {field.name for field in fields(MemoryPlan)}
        asked = {name: value for name, value in self.values().items() if name in of_plan}
        return MemoryPlan(n_gpus=self.tensor_parallel, **asked)

    def plan_for(self, model: ModelFacts, gpu: GpuFacts) -> MemoryPlan:
        """Return the plan that the options say for a model on a GPU, its log read.

        Raises:
            UsageError: The log contradicts the options or the model.
            FormatError: The log cannot be read as one.
            OSError: The log cannot be read.
        """
        plan = self.plan()
        if self.calibrate is None:
            return plan
        from jeton.economics.serving.calibration import calibrated_plan
        from jeton.economics.serving.engine_log import read_engine_log

        return calibrated_plan(read_engine_log(self.calibrate), model, gpu, plan)


class EngineOptions(MemoryOptions, title="Memory"):
    """Options for placing a model, with parts that no audit needs."""

    pipeline_parallel: int = option(
        "Stages that share the layers, each of --tensor-parallel GPUs.",
        "N",
        type=click.IntRange(1, 64),
        default=1,
        show_default=False,
    )
    data_parallel: int = option(
        "Replicas of attention and cache.",
        "N",
        type=click.IntRange(1, 1024),
        default=1,
        show_default=False,
    )
    expert_parallel: bool = option("Experts stay whole, each on one GPU of all replicas.")
    draft_tokens: int = option(
        "Tokens that the model's own further layers draft (MTP).",
        "N",
        type=click.IntRange(0, 64),
        default=0,
        show_default=False,
    )
    kv_bytes_per_token: int | None = option(
        "Bytes of a cached token in all layers, where the shape is not known here.",
        "N",
        type=_ABOVE_ZERO,
    )
    state_bytes_per_request: int | None = option(
        "Bytes of a request's recurrent states, likewise.", "N", type=click.IntRange(0, 1 << 53)
    )
    weights_bytes: int | None = option("Bytes of all weights, likewise.", "N", type=_ABOVE_ZERO)
