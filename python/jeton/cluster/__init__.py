"""Work on a cluster: the worker of one machine as tasks of Ray. Nothing else imports Ray."""

from __future__ import annotations

from jeton.cluster.sessions import RayTasks
from jeton.cluster.tokenizing import pieces_on_ray

__all__ = ["RayTasks", "pieces_on_ray"]
