"""How far training has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["TrainProgress"]


@dataclass(frozen=True, slots=True)
class TrainProgress:
    """How far training has come.

    Attributes:
        stage: ``"count"`` while text is read, ``"merge"`` while tokens are made, ``"prune"`` while
            Unigram's candidates become fewer.
        done: So much is done, in ``unit``.
        total: Of so much; None where that is not known (a pipe, an iterable).
        unit: ``"bytes"`` as stored while counting, ``"tokens"`` after that.
    """

    stage: Literal["count", "merge", "prune"]
    done: int
    total: int | None
    unit: Literal["bytes", "tokens"]
