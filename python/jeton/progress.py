"""Progress of long work: one type for reading, counting, training, searching and planning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["OnProgress", "Progress", "tell_step"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one stage of long work.

    Attributes:
        stage: The work at hand: ``"read"`` while inputs are read, ``"write"`` while the output is
            written, ``"count"`` while text is counted
            for training, ``"merge"`` while tokens are made, ``"prune"`` while Unigram's candidates
            become fewer, ``"search"`` while tokenizers are compared text by text, ``"replay"``
            while traffic is replayed, ``"step"`` at the beginning of a step of several.
        done: Units done so far.
        total: Units in all; None where the number is not known (a pipe, an iterable).
        unit: The unit: ``"bytes"`` as stored, ``"tokens"``, ``"texts"`` or ``"steps"``.
        n_documents: Documents handed out so far, while inputs are read.
        detail: Words for the step, or the kind of texts that is searched.

    Example:
        >>> Progress("read", 512, 1024, "bytes", n_documents=3).share
        0.5
    """

    stage: Literal["read", "write", "count", "merge", "prune", "search", "replay", "step"]
    done: int
    total: int | None
    unit: Literal["bytes", "tokens", "texts", "steps"]
    n_documents: int = 0
    detail: str = ""

    @property
    def share(self) -> float | None:
        """Share that is done, 0 to 1; None where the total is not known or nothing."""
        return self.done / self.total if self.total else None


def tell_step(on_progress: OnProgress | None, detail: str) -> None:
    """Tell the beginning of a step, in words."""
    if on_progress is not None:
        on_progress(Progress("step", 0, None, "steps", detail=detail))


OnProgress: TypeAlias = Callable[[Progress], None]
"""A function that is told about progress now and then."""
