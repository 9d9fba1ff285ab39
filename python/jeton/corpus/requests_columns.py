"""Requests as columns: what each one was, beside its text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch

if TYPE_CHECKING:
    from jeton.corpus.inputs import InputFile

__all__ = ["ColumnsBuilder", "RequestBatch", "RequestColumns"]

UNKNOWN = -1
"""A count that the log does not state."""


@dataclass(frozen=True, slots=True)
class RequestColumns:
    """Facts of requests, one row each; all arrays have shape (n,).

    Token counts are what the provider reported, in one convention whatever the log's was: input
    includes what was read from and written to a cache, output includes reasoning. -1 is unknown.

    Attributes:
        domain: int32, index into ``stream.domains``; -1: in no domain.
        model: int32, index into ``stream.models``; -1: not stated.
        time_s: float64, seconds since 1970-01-01 UTC; NaN: not stated.
        input_tokens: int64, all input tokens, cached ones included.
        cache_read_tokens: int64, input tokens read from a cache.
        cache_write_tokens: int64, input tokens written to a cache.
        output_tokens: int64, all output tokens, reasoning included.
        reasoning_tokens: int64, output tokens of reasoning.
        overhead_tokens: int64, tokens to add to those of the text for what the provider's chat
            format writes around messages (0 for prompts and for chats rendered by a template).
        has_text: bool, False for a record of usage alone, whose text is empty.
    """

    domain: NDArray[np.int32]
    model: NDArray[np.int32]
    time_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    cache_read_tokens: NDArray[np.int64]
    cache_write_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reasoning_tokens: NDArray[np.int64]
    overhead_tokens: NDArray[np.int64]
    has_text: NDArray[np.bool_]

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.domain)

    @classmethod
    def empty(cls) -> RequestColumns:
        """Columns of no request."""
        return ColumnsBuilder().build()

    @classmethod
    def concatenate(cls, parts: Iterable[RequestColumns]) -> RequestColumns:
        """Columns of several batches of the same stream, one after another."""
        given = list(parts) or [cls.empty()]
        return cls(
            **{
                field.name: np.concatenate([getattr(part, field.name) for part in given])
                for field in fields(cls)
            }
        )

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> RequestColumns:
        """Some of the rows, by index or by mask."""
        return RequestColumns(
            **{field.name: getattr(self, field.name)[rows] for field in fields(self)}
        )


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Some requests of one input.

    Attributes:
        file: The input that they come from.
        texts: What was sent, one text for each request; empty where ``columns.has_text`` is False.
        columns: Their facts.
        responses: What came back, one text for each request (empty where none was logged); None if
            no request of the batch has one.
    """

    file: InputFile
    texts: TextBatch
    columns: RequestColumns
    responses: TextBatch | None

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.columns)


class ColumnsBuilder:
    """Rows appended one by one, columns built at once."""

    __slots__ = ("_domain", "_has_text", "_model", "_overhead", "_time_s", "_usage")

    def __init__(self) -> None:
        self._domain: list[int] = []
        self._model: list[int] = []
        self._time_s: list[float] = []
        self._usage: list[tuple[int, int, int, int, int]] = []
        self._overhead: list[int] = []
        self._has_text: list[bool] = []

    def __len__(self) -> int:
        return len(self._domain)

    def append(
        self,
        *,
        domain: int = UNKNOWN,
        model: int = UNKNOWN,
        time_s: float = math.nan,
        usage: tuple[int, int, int, int, int] = (UNKNOWN,) * 5,
        overhead_tokens: int = 0,
        has_text: bool = True,
    ) -> None:
        """One more row."""
        self._domain.append(domain)
        self._model.append(model)
        self._time_s.append(time_s)
        self._usage.append(usage)
        self._overhead.append(overhead_tokens)
        self._has_text.append(has_text)

    def build(self) -> RequestColumns:
        """The rows as arrays."""
        usage = np.asarray(self._usage, dtype=np.int64).reshape(-1, 5)
        return RequestColumns(
            domain=np.asarray(self._domain, dtype=np.int32),
            model=np.asarray(self._model, dtype=np.int32),
            time_s=np.asarray(self._time_s, dtype=np.float64),
            input_tokens=np.ascontiguousarray(usage[:, 0]),
            cache_read_tokens=np.ascontiguousarray(usage[:, 1]),
            cache_write_tokens=np.ascontiguousarray(usage[:, 2]),
            output_tokens=np.ascontiguousarray(usage[:, 3]),
            reasoning_tokens=np.ascontiguousarray(usage[:, 4]),
            overhead_tokens=np.asarray(self._overhead, dtype=np.int64),
            has_text=np.asarray(self._has_text, dtype=np.bool_),
        )
