"""Result of a proof that a model is what a change makes of its base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton.checkpoint.belonging import Contradiction

_MAX_PROBLEMS = 100
"""Most contradictions that a result lists."""


@dataclass(frozen=True)
class Verification:
    """Counts of all that was read, and every contradiction in it.

    Attributes:
        n_tables: Tensors with a vocabulary axis.
        n_kept_rows: Rows that were compared with those of the base, over all tables.
        n_new_rows: Rows that the base does not have, over all tables.
        n_copied: Other tensors, compared byte by byte.
        n_bytes: Bytes that were compared.
        problems: Contradictions; the first 100.
    """

    n_tables: int
    n_kept_rows: int
    n_new_rows: int
    n_copied: int
    n_bytes: int
    problems: tuple[Contradiction, ...]

    @property
    def is_proven(self) -> bool:
        """True if nothing contradicts."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as JSON can hold it."""
        return {
            "is_proven": self.is_proven,
            "tables": self.n_tables,
            "kept_rows": self.n_kept_rows,
            "new_rows": self.n_new_rows,
            "copied_tensors": self.n_copied,
            "compared_bytes": self.n_bytes,
            "problems": [{"where": p.where, "what": p.what} for p in self.problems],
        }


class Verifier:
    """Counts equal parts and notes unequal ones; the comparison of a format extends it."""

    def __init__(self) -> None:
        self.problems: list[Contradiction] = []
        self._n_tables = self._n_kept = self._n_new = self._n_copied = self._n_bytes = 0

    def note(self, where: str, what: str) -> None:
        """Notes a contradiction, unless there are very many already."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Contradiction(where, what))

    def result(self) -> Verification:
        """Returns the counts and contradictions so far."""
        return Verification(
            self._n_tables,
            self._n_kept,
            self._n_new,
            self._n_copied,
            self._n_bytes,
            tuple(self.problems[:_MAX_PROBLEMS]),
        )
