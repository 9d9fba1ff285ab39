"""Work on a cluster: the worker of one machine as tasks of Ray. Nothing else imports Ray."""

from __future__ import annotations

from jeton.cluster.tokenizing import pieces_on_ray

__all__ = ["pieces_on_ray"]
