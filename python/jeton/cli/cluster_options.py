"""Options of commands that can do their work on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from jeton.cli.declaring import OptionSet, option
from jeton.cli.kinds import BYTES, COUNT
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.cluster import RayTasks

_F = TypeVar("_F", bound=Callable[..., Any])


class ClusterOptions(OptionSet, title="Cluster"):
    """The place of the work, and the demands of each task of Ray."""

    on: Literal["local", "ray"] = option(
        "Where the work is done: on this machine, or on the cluster of Ray that RAY_ADDRESS "
        "names; without it, on one that is started here.",
        default="local",
    )
    task_cpus: int | None = option(
        "With --on ray: cores (and threads) of each task. 1 by default.", "N", type=COUNT
    )
    task_memory: int | None = option(
        "With --on ray: memory of each task, as in 500MB or 2GiB, by which Ray decides how many "
        "tasks a node takes. 512MiB by default.",
        "SIZE",
        type=BYTES,
    )
    task_retries: int | None = option(
        "With --on ray: times that a task is done again whose process or node died; -1: without "
        "end. 5 by default.",
        "N",
        type=click.IntRange(min=-1),
    )

    def tasks(self) -> RayTasks | None:
        """Return the demands of tasks; None: the work is done on this machine.

        Raises:
            UsageError: Demands are made, and there is no cluster.
        """
        if self.on == "local":
            given = self.first_given(but=("on",))
            if given is not None:
                raise UsageError(f"{given} is for tasks on a cluster\nhint: --on ray makes them")
            return None
        from jeton.cluster import RayTasks

        asked = {
            "num_cpus": self.task_cpus,
            "memory_bytes": self.task_memory,
            "max_retries": self.task_retries,
        }
        return RayTasks(**{name: value for name, value in asked.items() if value is not None})
