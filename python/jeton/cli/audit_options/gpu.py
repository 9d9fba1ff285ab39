"""Options of ``jeton audit`` for a model that runs on your own GPUs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import click

from jeton.cli.finite import FiniteRange
from jeton.cli.memory_options import MEMORY_OPTIONS, memory_plan, no_plan_options, plan_for
from jeton.cli.option_groups import OptionGroup


@dataclass(slots=True)
class GpuSettings:
    """The options as they were given."""

    model: str | None = None
    gpu: str | None = None
    engine: str = "vllm"
    weights: str = "published"
    kv_dtype: str = "auto"
    tensor_parallel: int | None = None
    gpu_memory_utilization: float | None = None
    max_batched_tokens: int | None = None
    max_requests: int | None = None
    full_pages: bool = False
    max_context_tokens: int | None = None
    calibrate: str | None = None
    peak_factor: float | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without a model or a GPU.
        """
        given = asdict(self)
        option = no_plan_options(**given)
        if option is not None and self.model is None:
            raise click.UsageError(f"{option} is for a model; name one with --model")
        if self.peak_factor is not None and self.gpu is None:
            raise click.UsageError("--peak-factor is for GPUs of your own; name one with --gpu")
        plan = memory_plan(**given)
        if self.calibrate is not None:
            if self.model is None or self.gpu is None:
                raise click.UsageError("--calibrate is for a model on a GPU: --model and --gpu")
            from jeton.catalog import gpu, model

            plan = plan_for(model(self.model), gpu(self.gpu), **given)
        return {
            "model": self.model,
            "gpu": self.gpu,
            "memory": plan,
            "peak_to_mean": self.peak_factor,
        }


GPU = OptionGroup(
    title="GPU",
    name="serving",
    settings=GpuSettings,
    options=(
        click.option(
            "--model",
            metavar="M",
            help="Model for memory and compute: a name (`jeton catalog models`), a name as its "
            "page has it, or a folder with a config.json.",
        ),
        click.option(
            "--gpu",
            metavar="G",
            help="GPU that the model runs on; `jeton catalog gpus` lists them.",
        ),
        *MEMORY_OPTIONS,
        click.option(
            "--peak-factor",
            type=FiniteRange(min=1),
            metavar="N",
            help="The busiest hour's traffic over the mean, for which GPUs are rented; by default "
            "that of the logs, else 1.",
        ),
    ),
)
