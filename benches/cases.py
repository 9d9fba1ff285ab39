"""Timed cases: one operation, one vocabulary, one text, and the libraries that take part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benches.contenders import TIMEOUT_S
from benches.peers.base import VocabularyFiles
from benches.texts import Sample

__all__ = ["ARRAYS", "LISTS", "Case"]

ARRAYS = "one by one, into arrays"
LISTS = "one by one, into lists"


@dataclass(frozen=True, slots=True)
class Case:
    """One table of the page.

    Attributes:
        files: the vocabulary.
        sample: the text.
        targets: the bars that it belongs to.
        operation: what is done, one of ``operations.OPERATIONS``.
        fresh: whether each round is the first call of a process; else the same text is encoded
            again and again by one.
        all_cores: whether all cores may be used; else one.
        title: what the page calls it; by itself the operation, and warm or first pass.
        options: for the operation.
        libraries: who takes part; None for all of the settings.
        figure: how a reader sees a row, as in ``record.case``.
        before: text that a fresh process encodes first, outside the clock.
        fallback: the library whose ids are right where the reference fails.
        rounds: of a fresh case, if others than the settings'.
        takes_memory: whether each round of a warm case takes some megabytes anew, so that they are
            made ready before each, as they are before fresh ones.
        timeout_s: what one run of a fresh case may take.
        group: cases of one group with one vocabulary are alike: a library that is hopeless in the
            first of them, warm or fresh, is left out of the others, which the page says.
    """

    files: VocabularyFiles
    sample: Sample
    targets: Sequence[str]
    operation: str = ARRAYS
    fresh: bool = False
    all_cores: bool = False
    title: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    libraries: Sequence[str] | None = None
    figure: str = "MB/s"
    before: Sample | None = None
    fallback: str | None = None
    rounds: int | None = None
    takes_memory: bool = False
    timeout_s: float = TIMEOUT_S
    group: str | None = None

    @property
    def words(self) -> str:
        """Name of the case on the page."""
        return self.title or f"{self.operation}, {'first pass' if self.fresh else 'warm'}"
