"""Figures of request logs beside their text, gathered and priced while they are read.

A number of our own for each request of a log, to stand beside what the provider reported.

Requests by hour, model and domain, counted while a log is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from jeton.corpus import RequestColumns, RequestsSummary
from jeton.corpus.names import Names
from jeton.corpus.requests.sent import SentBlocks
from jeton.corpus.requests.summary import LogFacts
from jeton.workload.inputs.log_pricing import ColumnNames, LogPricing

if TYPE_CHECKING:
    from jeton.corpus import RequestBatch, RequestStream
    from jeton.corpus.requests.columns import Correction


SUMS = ("n_requests", "input_tokens", "output_tokens", "n_bytes", "n_tokens_of_bytes", "n_stated")
"""Sums: requests, tokens as reported, bytes of the text of requests whose tokens are known, those
tokens, and requests that state their input."""

_HOUR_S = 3_600
_MAX_CELLS = 2_000_000
"""Cells at most: a log with more domains is counted without them."""

_Key = tuple[int, str, str]


class TimeTally:
    """Sums by (hour since 1970-01-01 UTC, model, domain); mergeable."""

    def __init__(self) -> None:
        self.cells: dict[_Key, NDArray[np.int64]] = {}

    def add(
        self,
        columns: RequestColumns,
        n_bytes: NDArray[np.int64],
        *,
        models: Sequence[str],
        domains: Sequence[str],
        tokens: NDArray[np.int64] | None = None,
        sign: int = 1,
    ) -> None:
        """Count requests that have a time.

        Args:
            columns: The requests.
            n_bytes: int64 (n,), bytes of what each sent.
            models: Names that ``columns.model`` indexes.
            domains: Names that ``columns.domain`` indexes.
            tokens: int64 (n,), input tokens; by default as reported.
            sign: -1 takes them out again.
        """
        sent = columns.input_tokens if tokens is None else tokens
        timed = np.isfinite(columns.time_s) & (np.abs(columns.time_s) < 1e11)
        if not timed.any():
            return
        known = sent >= 0
        has_both = known & columns.has_text & (n_bytes > 0)
        matrix = np.stack(
            [
                columns.n_requests,
                np.where(known, sent, 0),
                np.maximum(columns.output_tokens, 0),
                np.where(has_both, n_bytes, 0),
                np.where(has_both, sent, 0),
                np.where(known, columns.n_requests, 0),
            ],
            axis=1,
        )[timed]
        hours = np.floor(columns.time_s[timed] / _HOUR_S).astype(np.int64)
        model, domain = columns.model[timed], columns.domain[timed]
        order = np.lexsort((domain, model, hours))
        rows = np.stack([hours, model.astype(np.int64), domain.astype(np.int64)], axis=1)[order]
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.flatnonzero(is_first)
        sums = np.add.reduceat(matrix[order], starts, axis=0) * sign
        for (hour, number, place), own in zip(rows[starts].tolist(), sums, strict=True):
            name = models[number] if number >= 0 else ""
            where = domains[place] if place >= 0 and len(self.cells) < _MAX_CELLS else ""
            self._add((hour, name, where), own)

    def _add(self, key: _Key, sums: NDArray[np.int64]) -> None:
        known = self.cells.get(key)
        self.cells[key] = sums.copy() if known is None else known + sums

    def merge(self, other: Self) -> TimeTally:
        """The requests of both."""
        merged = TimeTally()
        for part in (self, other):
            for key, sums in part.cells.items():
                merged._add(key, sums)
        return merged


class RequestTokens:
    """Numbers (tokens, a digest) of the first requests that show their text, in their order.

    Memory: 8 bytes for each number, up to a limit of requests.

    Args:
        max_rows: Requests that are kept.
        width: Numbers of each request; 0: one number, in arrays of one dimension.
    """

    def __init__(self, *, max_rows: int, width: int = 0) -> None:
        self._max_rows = max_rows
        self._width = width
        self._parts: list[NDArray[np.int64]] = []
        self._n_rows = 0

    def add(self, n_tokens: NDArray[np.int64]) -> None:
        """Take the counts of one batch."""
        kept = n_tokens[: self._max_rows - self._n_rows]
        if len(kept):
            self._parts.append(kept)
            self._n_rows += len(kept)

    def merge(self, other: Self) -> RequestTokens:
        """The requests of two shards, those of this one first."""
        merged = RequestTokens(max_rows=self._max_rows, width=self._width)
        for part in (*self._parts, *other._parts):
            merged.add(part)
        return merged

    def by_row(self, has_text: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The counts of requests of which some show no text; -1 for those.

        Args:
            has_text: bool (n,), whether each of the log's first requests shows its text.
        """
        shape = (0, self._width) if self._width else (0,)
        counts = np.concatenate([np.empty(shape, dtype=np.int64), *self._parts])
        rows = np.full((len(has_text), *shape[1:]), -1, dtype=np.int64)
        places = np.flatnonzero(has_text)[: len(counts)]
        rows[places] = counts[: len(places)]
        return rows


MAX_REQUEST_ROWS = 1_000_000
"""Requests whose columns are kept for the checks, 69 bytes each; sums are over all of them. The
first ones are kept, not a draw: how long a cache must live shows in requests that follow one
another."""

MAX_SENT_WORDS = 40_000_000
"""Words of hashes and lengths of what was sent that are kept, 8 bytes each, of the first requests:
some 16 blocks for each of a million requests. Later requests cannot be examined block by block."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestEvidence:
    """The request logs beside their text, one row a request.

    Attributes:
        summary: The summary that the report shows.
        domain: int32 (n,), index into ``domains``; -1: none.
        model: int32 (n,), index into ``models``; -1: none.
        time_s: float64 (n,), seconds since 1970; NaN: not known.
        input_tokens: int64 (n,), as reported, cached ones included; -1: not known. So are the rest.
        cache_read_tokens: int64 (n,), of the input.
        cache_write_tokens: int64 (n,), of the input.
        output_tokens: int64 (n,), reasoning included.
        reasoning_tokens: int64 (n,), of the output.
        counted_tokens: int64 (n,), input tokens as the tokenizer in use counts what was sent; -1:
            the log does not show it. Empty: not counted.
        domains: Names of the domains.
        models: Names of the models.
        is_complete: True if every request of the workload has its row.
        conversation: int64 (n,), a hash of the conversation; 0: not stated. Empty: not known.
        digest: int64 (n,), a digest of what was sent. Empty: not known.
        beginning: int64 (n,), a key of the first block of what was sent; 0: it is shorter, -1: not
            shown. Empty: not known.
        has_text: bool (n,), whether the log shows what was sent. Empty: not known.
        block_numbers: int64 (n, `N_BLOCK_NUMBERS`), tokens of each request by kind of block, its
            earlier messages and its passages; -1: the log does not show it. Empty: not counted.
        row_numbers: int64 (n,), the number of each request in the log, rising.
        columns: All facts of the requests, as they are priced. None: not kept.
        sent: Blocks of each request. None: not kept.
        names: Names that the columns refer to.
        pricing: Prices them.
    """

    summary: RequestsSummary
    domain: NDArray[np.int32]
    model: NDArray[np.int32]
    time_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    cache_read_tokens: NDArray[np.int64]
    cache_write_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reasoning_tokens: NDArray[np.int64]
    domains: tuple[str, ...]
    models: tuple[str, ...]
    is_complete: bool
    counted_tokens: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    conversation: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    digest: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    beginning: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    has_text: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    block_numbers: NDArray[np.int64] = field(
        default_factory=lambda: np.empty((0, 0), dtype=np.int64)
    )
    row_numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    columns: RequestColumns | None = None
    names: ColumnNames = field(default_factory=lambda: ColumnNames())
    pricing: LogPricing | None = None
    sent: SentBlocks | None = None


class RequestCollector:
    """Prices every request, and keeps the columns up to a limit."""

    def __init__(self, *, pricing: LogPricing, max_rows: int = MAX_REQUEST_ROWS) -> None:
        self.pricing = pricing
        self._max_rows = max_rows
        self._parts: list[RequestColumns] = []
        self._sent: list[SentBlocks] = []
        self._n_words = 0
        self._n_rows = 0
        self._gone: set[int] = set()
        self._changed: dict[int, RequestColumns] = {}
        self._elsewhere: list[tuple[int, int, RequestColumns | None]] = []
        """Rows of parts before this one, by part and number there, and what became of them."""
        self._first_rows: dict[int, int] = {}
        """Number of the first row of each part of the log."""
        self._n_bytes: list[NDArray[np.int64]] = []
        self.times = TimeTally()
        self._is_complete = True
        self._names = ColumnNames()
        self.facts: LogFacts | None = None

    def add(self, batch: RequestBatch, stream: RequestStream) -> None:
        """Take the columns of one batch."""
        n_bytes = np.diff(batch.texts.offsets)
        kept = self._add_columns(batch.columns)
        self._n_bytes.append(n_bytes[:kept])
        self._add_sent(batch.sent, kept)
        self.pricing.add(batch, stream)
        self.times.add(batch.columns, n_bytes, models=stream.models, domains=stream.domains)
        for change in batch.corrections:
            self._correct(change, stream)

    def _correct(self, change: Correction, stream: RequestStream) -> None:
        """Take out a row that was no request of its own, or put another in its place."""
        names: dict[str, Any] = {"models": stream.models, "domains": stream.domains}
        n_bytes = np.array([change.n_bytes])
        self.times.add(change.before, n_bytes, sign=-1, **names)
        if change.columns is not None:
            self.times.add(change.columns, n_bytes, **names)
        if change.part is None:
            self._set(change.row, change.columns)
        else:
            self._elsewhere.append((change.part, change.row, change.columns))

    def _set(self, row: int, columns: RequestColumns | None) -> None:
        if row >= self._n_rows:
            return  # not kept
        if columns is None:
            self._gone.add(row)
        else:
            self._changed[row] = columns

    def finish(self, stream: RequestStream) -> None:
        """Take the facts of a log, or of a part of it, that has been read."""
        self._names = ColumnNames.of(stream)
        self.facts = stream.facts()
        self.pricing.joined = dict(stream.joined)
        if stream.part is not None:
            self._first_rows[stream.part] = 0

    @property
    def summary(self) -> RequestsSummary | None:
        """The log in figures; None before `finish`."""
        return None if self.facts is None else self.facts.summary()

    @property
    def n_rows(self) -> int:
        """Requests read, whether or not their columns are kept."""
        return self._n_rows if self.facts is None else self.facts.n_rows

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that the log has."""
        return self._names.models

    def counted(self, counted: RequestTokens) -> NDArray[np.int64]:
        """Tokens of each row as we count them, by its number; -1: not counted."""
        has_text = [part.has_text for part in self._parts]
        return counted.by_row(np.concatenate([np.empty(0, dtype=np.bool_), *has_text]))

    def evidence(
        self,
        counted: RequestTokens,
        digests: RequestTokens,
        beginnings: RequestTokens,
        blocks: RequestTokens,
    ) -> RequestEvidence | None:
        """Requests that the checks may see, beside our numbers; None before `finish`."""
        summary = self.summary
        if summary is None:
            return None
        columns = RequestColumns.concatenate(self._parts)
        columns = self._as_corrected(columns)
        own = [part.by_row(columns.has_text) for part in (counted, digests, beginnings, blocks)]
        rows = np.arange(len(columns), dtype=np.int64)
        sent = SentBlocks.concatenate(self._sent)
        gone = [row for row in self._gone if row < len(columns)]
        if gone:
            # Rows that later records showed to be no requests of their own.
            kept = np.ones(len(columns), dtype=np.bool_)
            kept[gone] = False
            columns, own = columns.take(kept), [numbers[kept] for numbers in own]
            rows = rows[kept]
            sent = sent.take(rows)
        return RequestEvidence(
            summary=summary,
            domain=columns.domain,
            model=columns.model,
            time_s=columns.time_s,
            input_tokens=columns.input_tokens,
            cache_read_tokens=columns.cache_read_tokens,
            cache_write_tokens=columns.cache_write_tokens,
            output_tokens=columns.output_tokens,
            reasoning_tokens=columns.reasoning_tokens,
            domains=self._names.domains,
            models=self._names.models,
            is_complete=self._is_complete,
            counted_tokens=own[0],
            conversation=columns.conversation,
            digest=own[1],
            beginning=own[2],
            has_text=columns.has_text,
            block_numbers=own[3],
            row_numbers=rows,
            columns=columns,
            names=self._names,
            pricing=self.pricing,
            sent=sent,
        )

    def timeline_tally(self, counted: RequestTokens) -> TimeTally:
        """Requests by hour; those without usage with the tokens that we count."""
        if not any((part.has_text & (part.input_tokens < 0)).any() for part in self._parts):
            return self.times
        columns = self._as_corrected(RequestColumns.concatenate(self._parts))
        tokens = counted.by_row(columns.has_text)
        waits = (columns.input_tokens < 0) & (tokens >= 0)
        if self._gone:
            waits[[row for row in self._gone if row < len(waits)]] = False
        if not waits.any():
            return self.times
        n_bytes = np.concatenate(self._n_bytes)[waits]
        own = columns.take(waits)
        names: dict[str, Any] = {
            "models": self._names.models,
            "domains": self._names.domains,
        }
        merged = self.times.merge(TimeTally())
        merged.add(own, n_bytes, sign=-1, **names)
        merged.add(own, n_bytes, tokens=tokens[waits], **names)
        return merged

    def _as_corrected(self, columns: RequestColumns) -> RequestColumns:
        """The kept rows with what later records changed in them."""
        changed = [row for row in self._changed if row < len(columns) and row not in self._gone]
        if not changed:
            return columns
        last = RequestColumns.concatenate([self._changed[row] for row in changed])
        both = RequestColumns.concatenate([columns, last])
        order = np.arange(len(columns))
        order[changed] = len(columns) + np.arange(len(changed))
        return both.take(order)

    def merge(self, other: Self) -> RequestCollector:
        """The requests of two shards, those of this one first; the first ones are kept."""
        n_rows = self.n_rows
        merged = RequestCollector(
            pricing=self.pricing.merge(other.pricing, n_rows=n_rows), max_rows=self._max_rows
        )
        names = {kind: Names() for kind in ColumnNames._fields}
        for name in (*self._names.tariffs, *other._names.tariffs):
            names["tariffs"].number(name)
        for part, first in ((self, 0), (other, n_rows)):
            columns = part._as_corrected(RequestColumns.concatenate(part._parts))
            kept = merged._add_columns(part._names.renumbered(columns, names))
            merged._n_bytes.append(np.concatenate([np.empty(0, np.int64), *part._n_bytes])[:kept])
            merged._add_sent(SentBlocks.concatenate(part._sent), kept)
            merged._gone.update(row + first for row in part._gone if row < kept)
            merged._first_rows.update({p: row + first for p, row in part._first_rows.items()})
            merged._is_complete &= part._is_complete
        for part in (self, other):
            for number, row, changed in part._elsewhere:
                own = None if changed is None else part._names.renumbered(changed, names)
                merged._set_elsewhere(number, row, own)
        merged.times = self.times.merge(other.times)
        merged._names = ColumnNames(*(tuple(names[kind].names) for kind in ColumnNames._fields))
        if self.facts is not None and other.facts is not None:
            merged.facts = self.facts.merge(other.facts)
        return merged

    def _set_elsewhere(self, part: int, row: int, columns: RequestColumns | None) -> None:
        first = self._first_rows.get(part)
        if first is None:
            self._elsewhere.append((part, row, columns))
            return
        self._set(first + row, columns)
        self.pricing.no_longer_waits(first + row)

    def _add_columns(self, columns: RequestColumns) -> int:
        """Keep the first rows that there is room for; returns how many."""
        room = self._max_rows - self._n_rows
        if len(columns) > room:
            self._is_complete = False
            columns = columns.take(np.arange(room))
        self._n_rows += len(columns)
        self._parts.append(columns)
        return len(columns)

    def _add_sent(self, sent: SentBlocks | None, n_rows: int) -> None:
        """Keep the blocks of the first requests that there is room for."""
        own = SentBlocks.of([b""] * n_rows)
        if sent is not None and self._n_words + len(sent.words) <= MAX_SENT_WORDS:
            own = sent.take(np.arange(n_rows))
        self._n_words += len(own.words)
        self._sent.append(own)
