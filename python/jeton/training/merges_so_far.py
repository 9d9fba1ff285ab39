"""Learning that was interrupted: the merges so far, and what they were learned from.

The counts and settings of the next run must be those of the one that left it; the core besides
refuses merges that its counts do not have. The merges learned then are those of one run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._core import PretokenCounts
from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.errors import FormatError, UsageError
from jeton.training.settings import TrainSettings

_KIND = "jeton.merges/1"


def merges_path(checkpoint: str | os.PathLike[str]) -> Path:
    """Where the merges of a run lie whose counting has this checkpoint: ``FILE.merges``."""
    path = Path(checkpoint)
    return path.with_name(f"{path.name}.merges")


@dataclass(frozen=True, slots=True)
class MergesSoFar:
    """Where merges lie, and what a run must have in common with the one that left them.

    Attributes:
        path: The file.
        settings: Settings of learning.
        counts: The counts to learn from.
        unit: Counts of a document of weight 1.
    """

    path: Path
    settings: TrainSettings
    counts: PretokenCounts
    unit: int

    @property
    def _run(self) -> Mapping[str, Any]:
        return {
            "settings": self.settings.to_dict(),
            "cutting": self.counts.cutting,
            "n_distinct": len(self.counts),
            "n_pretokens": self.counts.n_pretokens,
            "n_bytes": self.counts.n_bytes,
            "unit": self.unit,
        }

    def read(self) -> list[tuple[int, int]]:
        """The merges of the run that was interrupted; none where there is no file.

        Raises:
            UsageError: They are of a run with other counts or settings.
            FormatError: It is no file of merges.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        try:
            found = json_of(text)
            if found["kind"] != _KIND:
                raise ValueError(f"its kind is {found['kind']!r}")
            run = found["run"]
            merges = [(int(left), int(right)) for left, right in found["merges"]]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{self.path}: these are not the merges of a run that was interrupted: {error}",
                path=str(self.path),
                format="merges so far",
            ) from error
        if run != json.loads(json.dumps(self._run)):
            raise UsageError(
                f"{self.path} was left by a run with other text or settings\n"
                "hint: give the same ones, or remove the file to begin anew"
            )
        return merges

    def write(self, merges: Sequence[tuple[int, int]]) -> None:
        """Write them, whole or not at all."""
        found = {"kind": _KIND, "run": self._run, "merges": merges}
        write_whole(self.path, json.dumps(found))

    def remove(self) -> None:
        """Learning is done."""
        with suppress(FileNotFoundError):
            self.path.unlink()
