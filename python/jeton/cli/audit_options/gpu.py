"""Options of ``jeton audit`` for a model that runs on your own GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from jeton.cli.option_groups import OptionGroup

__all__ = ["GPU", "GpuSettings"]


@dataclass(slots=True)
class GpuSettings:
    """The options as they were given."""

    model: str | None = None
    gpu: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        return {"model": self.model, "gpu": self.gpu}


GPU = OptionGroup(
    title="GPU",
    name="serving",
    settings=GpuSettings,
    options=(
        click.option(
            "--model",
            metavar="M",
            help="Model for memory and compute; `jeton catalog models` lists them.",
        ),
        click.option(
            "--gpu",
            metavar="G",
            help="GPU that the model runs on; `jeton catalog gpus` lists them.",
        ),
    ),
)
