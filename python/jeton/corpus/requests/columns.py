"""Requests as columns: amounts by dimension and facts of each, beside its text.

Rows that were handed out, for corrections: the columns are those that the caller has.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch
from jeton.corpus.requests.usage import Usage

if TYPE_CHECKING:
    from jeton.corpus.inputs import InputFile
    from jeton.corpus.places import RecordPlaces
    from jeton.corpus.requests.blocks import Blocks
    from jeton.corpus.requests.sent import SentBlocks


UNKNOWN: Final = -1
"""A count that the log does not state."""

STANDARD: Final = "standard"
"""Tariff number 0: the one that holds where a log says nothing."""

NO_EXTRAS: Final[Mapping[str, int]] = {}

_UNKNOWN_USAGE: Final = (UNKNOWN,) * 6


@dataclass(frozen=True, slots=True)
class RequestColumns:
    """Facts of requests, one row each; all arrays have shape (n,).

    Token counts are what the provider reported, in one convention whatever the log's was: input
    includes what was read from and written to a cache, output includes reasoning. -1 is unknown.

    Attributes:
        domain: int32, index into ``stream.domains``; -1: in no domain.
        model: int32, index into ``stream.models``, the model that answered, else the one asked
            for; -1: not stated.
        model_asked: int32, index into ``stream.models``, the model asked for; -1: not stated.
        provider: int32, index into ``stream.providers``, as the log names it or its shape proves;
            -1: unknown.
        tariff: int16, index into ``stream.tariffs``; 0 is ``standard``.
        conversation: int64, a hash of the conversation, trace or session; 0: not stated.
        n_requests: int64, requests that the row stands for: 1, or more for a row of an export.
        from_gateway_cache: bool, True if the gateway answered from a cache of its own, for free.
        time_s: float64, seconds since 1970-01-01 UTC; NaN: not stated.
        input_tokens: int64, all input tokens, cached ones included.
        cache_read_tokens: int64, input tokens read from a cache.
        cache_write_tokens: int64, input tokens written to a cache.
        cache_write_1h_tokens: int64, of the written tokens, those that live an hour.
        output_tokens: int64, all output tokens, reasoning included.
        reasoning_tokens: int64, output tokens of reasoning.
        overhead_tokens: int64, tokens to add to those of the text for what the provider's chat
            format writes around messages (0 for prompts and for chats rendered by a template).
        has_text: bool, False for a record of usage alone, whose text is empty.
        extras: Every other amount that occurs, by its name (``jeton.dimensions``), int64 each;
            0 where it is not stated. Parts of the input and output, searches, seconds; and the
            facts of ``jeton.dimensions.FACTS`` (the cost that the log states, for one).
    """

    domain: NDArray[np.int32]
    model: NDArray[np.int32]
    model_asked: NDArray[np.int32]
    provider: NDArray[np.int32]
    tariff: NDArray[np.int16]
    conversation: NDArray[np.int64]
    n_requests: NDArray[np.int64]
    from_gateway_cache: NDArray[np.bool_]
    time_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    cache_read_tokens: NDArray[np.int64]
    cache_write_tokens: NDArray[np.int64]
    cache_write_1h_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reasoning_tokens: NDArray[np.int64]
    overhead_tokens: NDArray[np.int64]
    has_text: NDArray[np.bool_]
    extras: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.domain)

    @classmethod
    def empty(cls) -> RequestColumns:
        """Columns of no request."""
        return ColumnsBuilder().build()

    @classmethod
    def concatenate(cls, parts: Iterable[RequestColumns]) -> RequestColumns:
        """Columns of several batches of the same stream, one after another."""
        given = list(parts) or [cls.empty()]
        names = dict.fromkeys(name for part in given for name in part.extras)
        extras = {name: np.concatenate([part.extra(name) for part in given]) for name in names}
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in given]) for name in _ARRAYS},
            extras=extras,
        )

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> RequestColumns:
        """Some of the rows, by index or by mask."""
        return RequestColumns(
            **{name: getattr(self, name)[rows] for name in _ARRAYS},
            extras={name: values[rows] for name, values in self.extras.items()},
        )

    def extra(self, name: str) -> NDArray[np.int64]:
        """One of the other amounts; zeros where no row states it."""
        values = self.extras.get(name)
        return np.zeros(len(self), dtype=np.int64) if values is None else values


_ARRAYS: Final = tuple(entry.name for entry in fields(RequestColumns) if entry.name != "extras")


@dataclass(frozen=True, slots=True)
class Correction:
    """A change to a row that was handed out before.

    Attributes:
        row: Number of the row in the stream (``batch.first_row`` and the place in the batch).
        columns: One row that replaces it; None: the row is no request of its own and goes.
        before: The row as it was.
        n_bytes: Bytes of its text, UTF-8.
        part: Number of the part of the log that has the row, by its number there; None: the stream.
    """

    row: int
    columns: RequestColumns | None
    before: RequestColumns
    n_bytes: int
    part: int | None = None


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Some requests of one input.

    Attributes:
        file: The input that they come from.
        texts: The sent texts, one for each request; empty where ``columns.has_text`` is False.
        columns: Their facts.
        responses: The answers, one text for each request (empty where none was logged); None if no
            request of the batch has one.
        first_row: Number of the first row in the stream.
        corrections: Facts that became known about rows of earlier batches, or of this one; to be
            applied after the rows were taken, in order.
        places: Line and id of the record that each request comes from; None: not known.
        blocks: Tools, instructions, messages and passages inside each text; None: not known.
        sent: Hashes and lengths of what was sent, block by block; None: not known.
    """

    file: InputFile
    texts: TextBatch
    columns: RequestColumns
    responses: TextBatch | None
    first_row: int = 0
    corrections: tuple[Correction, ...] = ()
    places: RecordPlaces | None = None
    blocks: Blocks | None = None
    sent: SentBlocks | None = None

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.columns)


class ColumnsBuilder:
    """Rows appended one by one or many at once, columns built at the end."""

    __slots__ = ("_extras", "_facts", "_n_rows", "_usage")

    def __init__(self) -> None:
        self._facts: dict[str, list[Any]] = {name: [] for name in _FACTS}
        self._usage: list[tuple[int, int, int, int, int, int]] = []
        self._extras: dict[str, dict[int, int]] = {}
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(
        self,
        *,
        usage: tuple[int, int, int, int, int, int] = _UNKNOWN_USAGE,
        extras: Mapping[str, int] = NO_EXTRAS,
        **facts: Any,
    ) -> None:
        """One more row: usage is input, read, written, written for an hour, output, reasoning.

        Args:
            usage: Token counts; -1 is unknown.
            extras: Other amounts.
            facts: By the names of the columns; what is left out is unknown.
        """
        self.extend(
            usage=[usage],
            extras=[extras],
            **{name: [facts.pop(name, default)] for name, (_, default) in _FACTS.items()},
        )
        if facts:
            raise TypeError(f"no column {next(iter(facts))!r}")

    def extend(
        self,
        *,
        usage: Sequence[tuple[int, int, int, int, int, int]],
        extras: Sequence[Mapping[str, int]],
        **facts: Sequence[Any],
    ) -> None:
        """Many more rows, column by column; all columns are given."""
        for row, amounts in enumerate(extras, start=self._n_rows):
            if amounts:
                for name, amount in amounts.items():
                    self._extras.setdefault(name, {})[row] = amount
        self._usage.extend(usage)
        for name, column in self._facts.items():
            column.extend(facts[name])
        self._n_rows += len(usage)

    def build(self) -> RequestColumns:
        """The rows as arrays."""
        usage = np.ascontiguousarray(np.asarray(self._usage, dtype=np.int64).reshape(-1, 6).T)
        extras: dict[str, NDArray[np.int64]] = {}
        for name, amounts in self._extras.items():
            column = np.zeros(self._n_rows, dtype=np.int64)
            column[list(amounts)] = list(amounts.values())
            extras[name] = column
        facts = {
            name: np.asarray(self._facts[name], dtype=kind) for name, (kind, _) in _FACTS.items()
        }
        return RequestColumns(
            **facts,
            input_tokens=usage[0],
            cache_read_tokens=usage[1],
            cache_write_tokens=usage[2],
            cache_write_1h_tokens=usage[3],
            output_tokens=usage[4],
            reasoning_tokens=usage[5],
            extras=extras,
        )


_FACTS: Final[dict[str, tuple[Any, Any]]] = {
    "domain": (np.int32, UNKNOWN), "model": (np.int32, UNKNOWN),
    "model_asked": (np.int32, UNKNOWN), "provider": (np.int32, UNKNOWN),
    "tariff": (np.int16, 0), "conversation": (np.int64, 0), "n_requests": (np.int64, 1),
    "from_gateway_cache": (np.bool_, False), "time_s": (np.float64, math.nan),
    "overhead_tokens": (np.int64, 0), "has_text": (np.bool_, True),
}  # fmt: skip
"""Columns that are no usage: their type, and what stands for unknown."""


MAX_ROWS: Final = 1_000_000
"""Rows before the last batch that can still be corrected, as many as are joined (``answers``).
About 120 bytes each, shared with who keeps the columns."""


class HandedOut(NamedTuple):
    """A row as it stands after the corrections so far.

    Attributes:
        columns: One row.
        n_bytes: Its text, UTF-8.
        has_response: True if an answer was logged.
    """

    columns: RequestColumns
    n_bytes: int
    has_response: bool


class _Part(NamedTuple):
    columns: RequestColumns
    n_bytes: NDArray[np.int64]
    has_response: NDArray[np.bool_]


class History:
    """The last rows, by their numbers in the stream."""

    def __init__(self, *, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._starts: list[int] = []
        self._parts: list[_Part] = []
        self._n_rows = 0
        self._changed: dict[int, HandedOut | None] = {}

    def add(
        self,
        first_row: int,
        columns: RequestColumns,
        n_bytes: NDArray[np.int64],
        has_response: NDArray[np.bool_],
    ) -> None:
        """Keep the rows of a batch; the oldest ones go where there are too many."""
        self._starts.append(first_row)
        self._parts.append(_Part(columns, n_bytes, has_response))
        self._n_rows += len(columns)
        while self._n_rows - len(self._parts[0].columns) - len(columns) >= self._max_rows:
            self._n_rows -= len(self._parts[0].columns)
            del self._starts[0], self._parts[0]

    def row(self, number: int) -> HandedOut | None:
        """A row; None: it went, or it is too old."""
        if number in self._changed:
            return self._changed[number]
        index = bisect_right(self._starts, number) - 1
        if index < 0:
            return None
        part, place = self._parts[index], number - self._starts[index]
        if place >= len(part.columns):
            return None
        columns = part.columns.take(np.array([place], dtype=np.intp))
        return HandedOut(columns, int(part.n_bytes[place]), bool(part.has_response[place]))

    def change(self, number: int, now: HandedOut | None) -> None:
        """Note what became of a row."""
        self._changed[number] = now


def with_usage(columns: RequestColumns, usage: Usage, tariff: int) -> RequestColumns:
    """One row with other counts."""
    builder = ColumnsBuilder()
    builder.append(usage=usage.counts, extras=usage.columns, tariff=tariff)
    new = builder.build()
    return replace(
        columns,
        tariff=new.tariff,
        input_tokens=new.input_tokens,
        cache_read_tokens=new.cache_read_tokens,
        cache_write_tokens=new.cache_write_tokens,
        cache_write_1h_tokens=new.cache_write_1h_tokens,
        output_tokens=new.output_tokens,
        reasoning_tokens=new.reasoning_tokens,
        extras=new.extras,
    )
