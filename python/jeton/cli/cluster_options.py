"""Options of commands that can do their work on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli.corpus_options import SIZE
from jeton.cli.training_corpus import is_given, option_of
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.cluster import RayTasks

_F = TypeVar("_F", bound=Callable[..., Any])

CLUSTER_OPTIONS = ("on", "task_cpus", "task_memory", "task_retries")
"""Names of the options, in the order of ``--help``."""


def cluster_options(function: _F) -> _F:
    """``--on`` and the demands of each task of Ray."""
    for option in (
        click.option(
            "--task-retries",
            type=click.IntRange(min=-1),
            metavar="N",
            help="With --on ray: times that a task is done again whose process or node died; -1: "
            "without end. 5 by default.",
        ),
        click.option(
            "--task-memory",
            type=SIZE,
            metavar="SIZE",
            help="With --on ray: memory of each task, as in 500MB or 2GiB, by which Ray decides "
            "how many tasks a node takes. 512MiB by default.",
        ),
        click.option(
            "--task-cpus",
            type=click.IntRange(min=1),
            metavar="N",
            help="With --on ray: cores (and threads) of each task. 1 by default.",
        ),
        click.option(
            "--on",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Where the work is done: on this machine, or on the cluster of Ray that "
            "RAY_ADDRESS names; without it, on one that is started here.",
        ),
    ):
        function = option(function)
    return function


def tasks_of(given: Mapping[str, Any]) -> RayTasks | None:
    """Return the demands of tasks; None: the work is done on this machine.

    Raises:
        UsageError: Demands are made, and there is no cluster.
    """
    if given["on"] == "local":
        for name in CLUSTER_OPTIONS[1:]:
            if is_given(name):
                raise UsageError(
                    f"{option_of(name)} is for tasks on a cluster\nhint: --on ray makes them"
                )
        return None
    from jeton.cluster import RayTasks

    asked = {
        "num_cpus": given["task_cpus"],
        "memory_bytes": given["task_memory"],
        "max_retries": given["task_retries"],
    }
    return RayTasks(**{name: value for name, value in asked.items() if value is not None})
