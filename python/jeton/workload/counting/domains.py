"""Documents, bytes and exact histograms of token lengths by domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton.corpus.names import Names
from jeton.metrics import LengthCounts
from jeton.metrics.lengths import LengthSummary

NO_DOMAIN = "(no domain)"
"""The name under which documents without a domain are counted, where others have one."""

_DOMAIN_SHIFT = np.uint64(44)
"""Histogram cells are ``domain << 44 | tokens``: lengths to 17 tera-tokens, a million domains."""

_MAX_WAITING_CELLS = 1 << 20
"""Cells of batches that wait to be put together: 16 MB."""

Cells = tuple[NDArray[np.uint64], NDArray[np.int64]]


class LengthHistograms:
    """How many documents of each domain have each length, for one tokenizer."""

    def __init__(self) -> None:
        self._cells: list[Cells] = []
        self._n_waiting = 0

    def add(self, domains: NDArray[np.int64], n_tokens: NDArray[np.int64]) -> None:
        """Count documents, each int64 (n,)."""
        cells = (domains.astype(np.uint64) << _DOMAIN_SHIFT) | n_tokens.astype(np.uint64)
        values, counts = np.unique(cells, return_counts=True)
        self.add_cells((values, counts.astype(np.int64)))

    def add_cells(self, cells: Cells) -> None:
        """Count documents that were counted elsewhere."""
        self._cells.append(cells)
        self._n_waiting += len(cells[0])
        if self._n_waiting > _MAX_WAITING_CELLS:
            self._put_together()

    def _put_together(self) -> None:
        if len(self._cells) > 1:
            values = np.concatenate([values for values, _ in self._cells])
            counts = np.concatenate([counts for _, counts in self._cells])
            unique, inverse = np.unique(values, return_inverse=True)
            sums = np.zeros(len(unique), dtype=np.int64)
            np.add.at(sums, inverse, counts)
            self._cells = [(unique, sums)]
        self._n_waiting = 0

    def cells(self) -> Cells:
        """All cells, ascending by domain and length."""
        self._put_together()
        if not self._cells:
            return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
        return self._cells[0]

    def of(self, domain: int) -> LengthCounts:
        """The exact histogram of one domain."""
        values, counts = self.cells()
        first, last = np.searchsorted(
            values,
            np.array([domain, domain + 1], dtype=np.uint64) << _DOMAIN_SHIFT,
        )
        lengths = values[first:last] & ((np.uint64(1) << _DOMAIN_SHIFT) - np.uint64(1))
        return LengthCounts(lengths, counts[first:last].astype(np.uint64))

    def of_all(self) -> LengthCounts:
        """The exact histogram of all domains together."""
        values, counts = self.cells()
        lengths = values & ((np.uint64(1) << _DOMAIN_SHIFT) - np.uint64(1))
        different, places = np.unique(lengths, return_inverse=True)
        sums = np.zeros(len(different), dtype=np.uint64)
        np.add.at(sums, places, counts.astype(np.uint64))
        return LengthCounts(different, sums)


@dataclass(frozen=True, slots=True)
class DomainTokens:
    """Domain under one tokenizer."""

    tokenizer: str
    n_tokens: int
    tokens_per_document: LengthSummary
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class DomainReport:
    """One domain of the workload: a value of the domain field, a file or a folder.

    Attributes:
        name: Its name.
        n_documents: Its documents.
        n_bytes: Their bytes as UTF-8.
        n_chars: Their code points.
        tokenizers: In the order of the report's tokenizers.
    """

    name: str
    n_documents: int
    n_bytes: int
    n_chars: int
    tokenizers: tuple[DomainTokens, ...]


class DomainCounts:
    """Counts by domain, of all tokenizers. Mergeable in any order."""

    def __init__(self, tokenizers: Sequence[str], *, more: Sequence[str] = ()) -> None:
        """Begin without counts.

        Args:
            tokenizers: The tokenizers that reports are about.
            more: Further ones that only lengths are counted with; their places come behind.
        """
        self._tokenizers = (*tokenizers, *more)
        self._n_reported = len(tokenizers)
        self._names = Names()
        self._sums: NDArray[np.int64] = np.zeros((0, 3), dtype=np.int64)
        self._histograms = tuple(LengthHistograms() for _ in self._tokenizers)
        self._token_sums: NDArray[np.int64] = np.zeros((0, len(self._tokenizers)), dtype=np.int64)

    def numbered(
        self, domains: NDArray[np.int32] | None, names: Sequence[str], n_documents: int
    ) -> NDArray[np.int64]:
        """The numbers of this object for domains that are numbered by ``names``; int64 (n,)."""
        if domains is None:
            return np.full(n_documents, self._names.number(NO_DOMAIN)[0], dtype=np.int64)
        used, inverse = np.unique(domains, return_inverse=True)
        own = [
            self._names.number(NO_DOMAIN if number < 0 else names[number])[0]
            for number in used.tolist()
        ]
        return np.array(own, dtype=np.int64)[inverse]

    def add_documents(
        self, domains: NDArray[np.int64], n_bytes: NDArray[np.int64], n_chars: NDArray[np.int64]
    ) -> None:
        """Count documents, their bytes and characters, each int64 (n,).

        ``domains`` as `numbered` gives them.
        """
        sums = np.zeros((len(self._names.names), 3), dtype=np.int64)
        sums[: len(self._sums)] = self._sums
        np.add.at(sums[:, 0], domains, 1)
        np.add.at(sums[:, 1], domains, n_bytes)
        np.add.at(sums[:, 2], domains, n_chars)
        self._sums = sums

    def add_tokens(
        self,
        tokenizer: int,
        domains: NDArray[np.int64],
        n_tokens: NDArray[np.int64],
        overhead_tokens: NDArray[np.int64] | None,
    ) -> None:
        """Count the tokens of documents under one tokenizer.

        Args:
            tokenizer: Its place.
            domains: As `numbered` gives them.
            n_tokens: Tokens of the text, int64 (n,).
            overhead_tokens: Tokens that a chat format adds to them.
        """
        sums = np.zeros((len(self._names.names), len(self._tokenizers)), dtype=np.int64)
        sums[: len(self._token_sums)] = self._token_sums
        np.add.at(sums[:, tokenizer], domains, n_tokens)
        self._token_sums = sums
        lengths = n_tokens if overhead_tokens is None else n_tokens + overhead_tokens
        self._histograms[tokenizer].add(domains, lengths)

    def lengths_by_domain(self, tokenizer: int) -> dict[str, LengthCounts]:
        """Tokens per document of each domain under the tokenizer at a place."""
        return {
            name: self._histograms[tokenizer].of(number)
            for number, name in enumerate(self._names.names)
        }

    def lengths_of_all(self, tokenizer: int) -> LengthCounts:
        """Tokens per document of all domains together under the tokenizer at a place."""
        return self._histograms[tokenizer].of_all()

    def merge(self, other: Self) -> DomainCounts:
        """The counts of both."""
        n = self._n_reported
        merged = DomainCounts(self._tokenizers[:n], more=self._tokenizers[n:])
        for part in (self, other):
            numbers = np.array(
                [merged._names.number(name)[0] for name in part._names.names], dtype=np.int64
            )
            merged._sums = _added(merged._sums, numbers, part._sums, len(merged._names.names))
            merged._token_sums = _added(
                merged._token_sums, numbers, part._token_sums, len(merged._names.names)
            )
            for mine, theirs in zip(merged._histograms, part._histograms, strict=True):
                values, counts = theirs.cells()
                domains = numbers[(values >> _DOMAIN_SHIFT).astype(np.int64)].astype(np.uint64)
                lengths = values & ((np.uint64(1) << _DOMAIN_SHIFT) - np.uint64(1))
                mine.add_cells(((domains << _DOMAIN_SHIFT) | lengths, counts))
        return merged

    def reports(self) -> tuple[DomainReport, ...]:
        """The domains, the largest by bytes first; none if no document has one."""
        if not any(name != NO_DOMAIN for name in self._names.names):
            return ()
        order = sorted(enumerate(self._names.names), key=lambda d: (-self._sums[d[0], 1], d[1]))
        return tuple(self._report(number, name) for number, name in order)

    def _report(self, number: int, name: str) -> DomainReport:
        n_documents, n_bytes, n_chars = self._sums[number].tolist()
        tokenizers = []
        for index, tokenizer in enumerate(self._tokenizers[: self._n_reported]):
            lengths = self._histograms[index].of(number)
            n_text_tokens = int(self._token_sums[number, index])
            tokenizers.append(
                DomainTokens(
                    tokenizer=tokenizer,
                    n_tokens=lengths.total,
                    tokens_per_document=lengths.summary(),
                    bytes_per_token=n_bytes / n_text_tokens if n_text_tokens else 0.0,
                )
            )
        return DomainReport(name, n_documents, n_bytes, n_chars, tuple(tokenizers))


def _added(
    sums: NDArray[np.int64], numbers: NDArray[np.int64], more: NDArray[np.int64], n_rows: int
) -> NDArray[np.int64]:
    """Rows of ``more`` added to the rows of ``sums`` that ``numbers`` names."""
    total = np.zeros((n_rows, more.shape[1]), dtype=np.int64)
    total[: len(sums)] = sums
    np.add.at(total, numbers[: len(more)], more)
    return total
