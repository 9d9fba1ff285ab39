"""``jeton plan``: who is admitted, in which steps, on how many GPUs."""

from __future__ import annotations

import click

from jeton.cli.lazy_group import LazyGroup

__all__ = ["plan"]

_LINES = {
    "admission": "Say which policy of admission serves a trace best, and the settings that come "
    "closest.",
    "chunks": "Say how many prompt tokens a step reads best, and where the edges of buckets lie.",
    "fleet": "Say how many servers of which GPU answer a trace in time, peaks included, and the "
    "bill.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_LINES)
def plan() -> None:
    """Plan serving: who is admitted, in which steps, on how many GPUs.

    Each plan is judged by replays of real traffic on the model and the GPU, not by a formula alone.

    \b
    Examples:
      jeton plan admission trace.csv --model llama-3.1-8b --gpu h100-sxm
      jeton plan chunks trace.csv --model llama-3.1-8b --gpu h100-sxm
      jeton plan fleet trace.csv --model llama-3.1-8b --gpus h100-sxm,a100-80gb,l40s
    """
