"""Work on a cluster: the worker of one machine as tasks of Ray. Nothing else imports Ray."""

from __future__ import annotations

from jeton.cluster.arrow_batches import ArrowTokenizer
from jeton.cluster.counting import count_pretokens_on_ray
from jeton.cluster.sessions import RayTasks
from jeton.cluster.token_counting import count_logs_on_ray, count_tokens_on_ray
from jeton.cluster.tokenizing import pieces_on_ray

__all__ = [
    "ArrowTokenizer",
    "RayTasks",
    "count_logs_on_ray",
    "count_pretokens_on_ray",
    "count_tokens_on_ray",
    "pieces_on_ray",
]
