"""What request logs say beside their text, gathered while they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jeton.auditing.evidence import RequestEvidence
from jeton.corpus import RequestColumns, RequestsSummary
from jeton.economics.bill import catalog_price
from jeton.economics.usage import UsageRecord, usage_records

if TYPE_CHECKING:
    from jeton.corpus import RequestBatch, RequestStream

__all__ = ["MAX_REQUEST_ROWS", "RequestCollector"]

MAX_REQUEST_ROWS = 1_000_000
"""Requests whose columns are kept for the checks, 61 bytes each; sums are over all of them. The
first ones are kept, not a draw: how long a cache must live shows in requests that follow one
another."""

_SUMS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "n_requests",
)

_Key = tuple[str, object, str, int | None]


class RequestCollector:
    """Keeps the columns up to a limit, and for a bill the sums of all usage."""

    def __init__(self, *, with_usage: bool, max_rows: int = MAX_REQUEST_ROWS) -> None:
        self._with_usage = with_usage
        self._max_rows = max_rows
        self._parts: list[RequestColumns] = []
        self._n_rows = 0
        self._is_complete = True
        self._usage: dict[_Key, UsageRecord] = {}
        self._domains: tuple[str, ...] = ()
        self._models: tuple[str, ...] = ()
        self.summary: RequestsSummary | None = None
        self.n_unusable = 0
        """Requests whose usage cannot be priced: without a model or a count."""

    @property
    def usage(self) -> tuple[UsageRecord, ...]:
        """All usage, by model, day and price tier."""
        return tuple(self._usage.values())

    def add(self, batch: RequestBatch, stream: RequestStream) -> None:
        """Take the columns of one batch.

        Raises:
            UnknownPriceError: Usage is summed up, and a model has no price.
        """
        columns = batch.columns
        if self._with_usage:
            self._add_usage(columns, stream.models)
        room = self._max_rows - self._n_rows
        if len(columns) > room:
            self._is_complete = False
            columns = columns.take(np.arange(room))
        self._n_rows += len(columns)
        self._parts.append(columns)

    def finish(self, stream: RequestStream) -> None:
        """Take the summary of a log that has been read."""
        self._domains, self._models = tuple(stream.domains), tuple(stream.models)
        self.summary = stream.summary()

    def evidence(self) -> RequestEvidence | None:
        """What the checks may look at; None before `finish`."""
        if self.summary is None:
            return None
        columns = RequestColumns.concatenate(self._parts)
        return RequestEvidence(
            summary=self.summary,
            domain=columns.domain,
            model=columns.model,
            time_s=columns.time_s,
            input_tokens=columns.input_tokens,
            cache_read_tokens=columns.cache_read_tokens,
            cache_write_tokens=columns.cache_write_tokens,
            output_tokens=columns.output_tokens,
            reasoning_tokens=columns.reasoning_tokens,
            domains=self._domains,
            models=self._models,
            is_complete=self._is_complete,
        )

    def _add_usage(self, columns: RequestColumns, models: list[str]) -> None:
        records, n_unusable = usage_records(
            models=models,
            model=columns.model,
            input_tokens=columns.input_tokens,
            output_tokens=columns.output_tokens,
            cache_read_tokens=columns.cache_read_tokens,
            cache_write_tokens=columns.cache_write_tokens,
            reasoning_tokens=columns.reasoning_tokens,
            time_s=columns.time_s,
            prices=catalog_price,
        )
        self.n_unusable += n_unusable
        for record in records:
            key = (record.model, record.day, record.tariff, record.above_input_tokens)
            known = self._usage.get(key)
            if known is not None:
                sums = {name: getattr(known, name) + getattr(record, name) for name in _SUMS}
                record = replace(known, **sums)
            self._usage[key] = record
