"""Options that say how a model is held on GPUs, for every command that plans memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli.finite import FiniteRange

if TYPE_CHECKING:
    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts
    from jeton.economics.serving.memory_plan import MemoryPlan

_F = TypeVar("_F", bound=Callable[..., Any])
_ABOVE_ZERO = click.IntRange(min=1, max=1 << 53)

# Named here too, so that --help needs no import of the rules; a test compares.
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp")

MEMORY_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="vllm",
        show_default=True,
        help="Engine whose rules hold: what it takes, refuses, and keeps of a GPU.",
    ),
    click.option(
        "--weights",
        metavar="F",
        default="published",
        help="How the weights are written: published, bf16, fp8, int8, int4 (awq, gptq), mxfp4, "
        "nvfp4, nf4, q8_0, q4_k_m ... (`jeton catalog formats`). By default as published.",
    ),
    click.option(
        "--kv-dtype",
        metavar="F",
        default="auto",
        help="How the KV cache is written: bf16, fp8, int8, int4. By default as the checkpoint "
        "asks, else in 16 bits.",
    ),
    click.option(
        "--tensor-parallel",
        type=_ABOVE_ZERO,
        metavar="N",
        help="GPUs that share the model; by default the fewest that hold it.",
    ),
    click.option(
        "--gpu-memory-utilization",
        type=FiniteRange(min=0, max=1, min_open=True),
        metavar="SHARE",
        help="Share of the GPU's memory that the engine takes (SGLang: mem-fraction-static). By "
        "default as the engine: 0.92 of vLLM (0.9 before 0.21).",
    ),
    click.option(
        "--max-batched-tokens",
        type=_ABOVE_ZERO,
        metavar="N",
        help="Tokens of a step at most, which activations grow with; by default as vLLM's server: "
        "2,048, and 8,192 from 70 GiB on.",
    ),
    click.option(
        "--max-requests",
        type=_ABOVE_ZERO,
        metavar="N",
        help="Requests side by side at most; by default as vLLM's server: 256, and 1,024 from 70 "
        "GiB on.",
    ),
    click.option(
        "--full-pages",
        is_flag=True,
        help="The engine gives layers with a window pages for all tokens.",
    ),
    click.option(
        "--max-model-len",
        "max_context_tokens",
        type=_ABOVE_ZERO,
        metavar="N",
        help="Tokens of a request at most; by default the model's context.",
    ),
    click.option(
        "--calibrate",
        metavar="LOG",
        help="Start-up log of your engine, or what --save-log made of it: its memory beats the "
        "formula.",
    ),
)
"""The names are vLLM's where it has the option."""

_ENGINE_OPTIONS = (
    click.option(
        "--pipeline-parallel",
        type=click.IntRange(1, 64),
        default=1,
        metavar="N",
        help="Stages that share the layers, each of --tensor-parallel GPUs.",
    ),
    click.option(
        "--data-parallel",
        type=click.IntRange(1, 1024),
        default=1,
        metavar="N",
        help="Replicas of attention and cache.",
    ),
    click.option(
        "--expert-parallel",
        is_flag=True,
        help="Experts stay whole, each on one GPU of all replicas.",
    ),
    click.option(
        "--draft-tokens",
        type=click.IntRange(0, 64),
        default=0,
        metavar="N",
        help="Tokens that the model's own further layers draft (MTP).",
    ),
    click.option(
        "--kv-bytes-per-token",
        type=_ABOVE_ZERO,
        metavar="N",
        help="Bytes of a cached token in all layers, where the shape is not known here.",
    ),
    click.option(
        "--state-bytes-per-request",
        type=click.IntRange(0, 1 << 53),
        metavar="N",
        help="Bytes of a request's recurrent states, likewise.",
    ),
    click.option(
        "--weights-bytes",
        type=_ABOVE_ZERO,
        metavar="N",
        help="Bytes of all weights, likewise.",
    ),
)

_DEFAULTS: dict[str, Any] = {
    "engine": "vllm",
    "weights": "published",
    "kv_dtype": "auto",
    "tensor_parallel": None,
    "gpu_memory_utilization": None,
    "max_batched_tokens": None,
    "max_requests": None,
    "full_pages": False,
    "max_context_tokens": None,
    "pipeline_parallel": 1,
    "data_parallel": 1,
    "expert_parallel": False,
    "draft_tokens": 0,
    "kv_bytes_per_token": None,
    "state_bytes_per_request": None,
    "weights_bytes": None,
}

MEMORY_SECTION = (*_DEFAULTS, "calibrate")
"""Names of these options, for the section of a command's help."""


def memory_options(function: _F) -> _F:
    """All of these options, in their order."""
    for option in reversed((*MEMORY_OPTIONS, *_ENGINE_OPTIONS)):
        function = option(function)
    return function


def memory_plan(**options: Any) -> MemoryPlan:
    """Return the plan that the options say.

    Raises:
        UsageError: A number is out of range.
        UnknownNumberFormatError: A format is not known.
    """
    from jeton.economics.serving.memory_plan import MemoryPlan

    given = {name: options[name] for name in _DEFAULTS if name in options}
    return MemoryPlan(n_gpus=given.pop("tensor_parallel"), **given)


def plan_for(model: ModelFacts, gpu: GpuFacts, **options: Any) -> MemoryPlan:
    """Return the plan that the options say for a model on a GPU, its log read.

    Raises:
        UsageError: The log contradicts the options or the model.
        FormatError: The log cannot be read as one.
        OSError: The log cannot be read.
    """
    plan = memory_plan(**options)
    path = options.get("calibrate")
    if path is None:
        return plan
    from jeton.economics.serving.calibration import calibrated_plan
    from jeton.economics.serving.engine_log import read_engine_log

    return calibrated_plan(read_engine_log(path), model, gpu, plan)


def no_plan_options(**options: Any) -> str | None:
    """Return the first of the options that was given, for an error; None: none was."""
    for name, default in _DEFAULTS.items():
        if options.get(name, default) != default:
            words = "max_model_len" if name == "max_context_tokens" else name
            return f"--{words.replace('_', '-')}"
    return None
