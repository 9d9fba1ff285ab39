"""Faults of a data set: each says its kind, the place, and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_SHOWN = 5
"""Faults of one kind in one file that are listed; the others are counted."""


@dataclass(frozen=True, slots=True)
class DatasetFault:
    """One fault.

    Attributes:
        kind: A short name: ``missing_eos``, ``id_out_of_range`` ...
        place: File, and document or token in it.
        message: The fault in words.
    """

    kind: str
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """The result of reading a data set again.

    Attributes:
        path: The data set.
        n_tokens: Tokens that were read.
        n_documents: Documents that were read.
        n_compared: Documents that were tokenized again and compared.
        n_with_bos: Documents that begin with the beginning token.
        n_with_eos: Documents that end with the end token.
        faults: All faults, those of a kind limited to a few for each file.
        n_faults: Faults in all.
        notes: Checks that could not be made, and why.
    """

    path: str
    n_tokens: int = 0
    n_documents: int = 0
    n_compared: int = 0
    n_with_bos: int = 0
    n_with_eos: int = 0
    faults: tuple[DatasetFault, ...] = ()
    n_faults: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_fine(self) -> bool:
        """True if there is no fault."""
        return self.n_faults == 0

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it."""
        return {
            "path": self.path,
            "n_tokens": self.n_tokens,
            "n_documents": self.n_documents,
            "n_compared": self.n_compared,
            "n_with_bos": self.n_with_bos,
            "n_with_eos": self.n_with_eos,
            "n_faults": self.n_faults,
            "faults": [
                {"kind": fault.kind, "place": fault.place, "message": fault.message}
                for fault in self.faults
            ],
            "notes": list(self.notes),
        }


@dataclass
class FaultLog:
    """Collects faults; of many alike it keeps the first ones."""

    found: list[DatasetFault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n: int = 0
    _by_kind: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, kind: str, file: str, where: str, message: str) -> None:
        """Note a fault at a place of a file."""
        self.n += 1
        seen = self._by_kind[kind, file] = self._by_kind.get((kind, file), 0) + 1
        if seen <= MAX_SHOWN:
            self.found.append(DatasetFault(kind, f"{file}{f', {where}' if where else ''}", message))
