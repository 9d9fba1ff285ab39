"""Checks of the ids of documents, whatever file they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import ShardIds

if TYPE_CHECKING:
    from jeton._core import Tokenizer


# Faults of a data set: each says its kind, the place, and what is wrong there.

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


@dataclass(frozen=True, slots=True)
class IdExpectation:
    """The ids that documents should have.

    Attributes:
        vocab_size: One past the largest id; None: it is not known.
        is_token: bool (vocab_size,): ids that have a token; None: it is not known.
        bos_id: Every document begins with it; None: nothing is expected.
        eos_id: Every document ends with it; None: nothing is expected.
        n_special: Special tokens around each document.
    """

    vocab_size: int | None = None
    is_token: NDArray[np.bool_] | None = None
    bos_id: int | None = None
    eos_id: int | None = None
    n_special: int = 0

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer | None,
        *,
        bos_id: int | None,
        eos_id: int | None,
        n_special: int,
        vocab_size: int | None = None,
    ) -> IdExpectation:
        """The expectation of a tokenizer; without one, of a vocabulary size."""
        if tokenizer is None:
            return cls(vocab_size, None, bos_id, eos_id, n_special)
        mask = tokenizer.is_token_mask()
        return cls(tokenizer.vocab_size, mask, bos_id, eos_id, n_special)


class IdChecker:
    """Looks at the documents of one file after the other, and counts."""

    def __init__(self, expected: IdExpectation, log: FaultLog) -> None:
        self._expected, self._log = expected, log
        self.n_tokens = self.n_documents = self.n_with_bos = self.n_with_eos = 0

    def look(self, file: str, first: int, block: ShardIds) -> None:
        """Check documents; ``first`` is the number of the first one in the file."""
        ids, offsets = block.ids, block.offsets
        n = len(offsets) - 1
        self.n_tokens += len(ids)
        self.n_documents += n
        self._ranges(file, first, ids, offsets)
        lengths = np.diff(offsets)
        for i in np.flatnonzero(lengths == 0).tolist():
            self._log.add(
                "empty_document", file, f"document {first + i:,}", "it has no token at all"
            )
        full = np.flatnonzero(lengths > 0)
        if not len(full):
            return
        self._begin(file, first, ids, offsets[:-1][full], full, lengths[full])
        self._end(file, first, ids, offsets[1:][full] - 1, full, lengths[full])
        expected = self._expected
        if expected.n_special:
            only = full[lengths[full] <= expected.n_special]
            for i in only.tolist():
                self._log.add(
                    "empty_document",
                    file,
                    f"document {first + i:,}",
                    "it has special tokens only",
                )

    def _ranges(
        self, file: str, first: int, ids: NDArray[np.integer], offsets: NDArray[np.int64]
    ) -> None:
        size = self._expected.vocab_size
        if size is None or not len(ids):
            return
        is_bad = (ids < 0) | (ids >= size)
        for at in np.flatnonzero(is_bad).tolist():
            self._log.add(
                "id_out_of_range",
                file,
                self._at(first, offsets, at),
                f"the id {int(ids[at]):,} is not in the vocabulary, whose ids are below {size:,}",
            )
        mask = self._expected.is_token
        if mask is None:
            return
        inside = np.where(is_bad, 0, ids).astype(np.int64)
        for at in np.flatnonzero(~mask[inside] & ~is_bad).tolist():
            self._log.add(
                "id_without_token",
                file,
                self._at(first, offsets, at),
                f"the id {int(ids[at]):,} has no token in this vocabulary",
            )

    @staticmethod
    def _at(first: int, offsets: NDArray[np.int64], at: int) -> str:
        document = int(np.searchsorted(offsets, at, side="right")) - 1
        return f"document {first + document:,}, token {at - int(offsets[document]):,}"

    def _begin(
        self,
        file: str,
        first: int,
        ids: NDArray[np.integer],
        starts: NDArray[np.int64],
        documents: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> None:
        bos = self._expected.bos_id
        if bos is None:
            return
        has = ids[starts] == bos
        self.n_with_bos += int(np.count_nonzero(has))
        for i in documents[~has].tolist():
            self._log.add(
                "missing_bos",
                file,
                f"document {first + i:,}",
                f"it does not begin with the beginning token (id {bos})",
            )
        second = np.minimum(starts + 1, len(ids) - 1)
        is_double = has & (lengths > 1) & (ids[second] == bos)
        for i in documents[is_double].tolist():
            self._log.add(
                "double_bos",
                file,
                f"document {first + i:,}",
                f"the beginning token (id {bos}) stands there twice",
            )

    def _end(
        self,
        file: str,
        first: int,
        ids: NDArray[np.integer],
        lasts: NDArray[np.int64],
        documents: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> None:
        eos = self._expected.eos_id
        if eos is None:
            return
        has = ids[lasts] == eos
        self.n_with_eos += int(np.count_nonzero(has))
        for i in documents[~has].tolist():
            self._log.add(
                "missing_eos",
                file,
                f"document {first + i:,}",
                f"it does not end with the end token (id {eos})",
            )
        is_double = has & (lengths > 1) & (ids[np.maximum(lasts - 1, 0)] == eos)
        for i in documents[is_double].tolist():
            self._log.add(
                "double_eos",
                file,
                f"document {first + i:,}",
                f"the end token (id {eos}) stands there twice",
            )
