"""Options of ``jeton audit`` for work on a cluster."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from jeton.cli.cluster_options import cluster_options, tasks_of
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.cluster import RayTasks


@dataclass(slots=True)
class ClusterSettings:
    """The options as they were given."""

    on: str = "local"
    task_cpus: int | None = None
    task_memory: int | None = None
    task_retries: int | None = None

    def tasks(self) -> RayTasks | None:
        """Return the demands of tasks; None: the work is done on this machine."""
        return tasks_of(asdict(self))


CLUSTER = OptionGroup(
    title="Cluster (request logs)",
    name="cluster",
    settings=ClusterSettings,
    options=(cluster_options,),
)
