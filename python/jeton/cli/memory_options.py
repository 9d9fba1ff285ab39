"""Options that say how a model is held on GPUs, for every command that plans memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli.finite import FiniteRange

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

__all__ = [
    "MEMORY_OPTIONS",
    "MEMORY_SECTION",
    "memory_options",
    "memory_plan",
    "no_plan_options",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_ABOVE_ZERO = click.IntRange(min=1)

MEMORY_OPTIONS = (
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
        help="How the KV cache is written: bf16, fp8, int8, int4. By default in 16 bits.",
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
        default=0.9,
        show_default=True,
        metavar="SHARE",
        help="Share of the GPU's memory that the engine takes.",
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
)
"""The names are vLLM's where it has the option."""

_DEFAULTS: dict[str, Any] = {
    "weights": "published",
    "kv_dtype": "auto",
    "tensor_parallel": None,
    "gpu_memory_utilization": 0.9,
    "max_batched_tokens": None,
    "max_requests": None,
    "full_pages": False,
}


MEMORY_SECTION = (
    "weights",
    "kv_dtype",
    "tensor_parallel",
    "gpu_memory_utilization",
    "max_batched_tokens",
    "max_requests",
    "full_pages",
)
"""Names of these options, for the section of a command's help."""


def memory_options(function: _F) -> _F:
    """All of these options, in their order."""
    for option in reversed(MEMORY_OPTIONS):
        function = option(function)
    return function


def memory_plan(**options: Any) -> MemoryPlan:
    """Return the plan that the options say.

    Raises:
        UsageError: A number is out of range.
        UnknownNumberFormatError: A format is not known.
    """
    from jeton.economics.serving.memory_plan import MemoryPlan

    given = {name: options[name] for name in _DEFAULTS}
    return MemoryPlan(n_gpus=given.pop("tensor_parallel"), **given)


def no_plan_options(**options: Any) -> str | None:
    """Return the first of the options that was given, for an error; None: none was."""
    for name, default in _DEFAULTS.items():
        if options[name] != default:
            return f"--{name.replace('_', '-')}"
    return None
