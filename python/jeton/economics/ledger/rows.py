"""Rows of usage: what pricing reads of a request, and rows made by hand or from an export.

Logs are read into columns of the same names by `jeton.corpus`; pricing takes both.
"""

# ruff: noqa: D102 - the protocol says of all its columns at once what they are.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jeton.dimensions import DIMENSIONS, FACTS
from jeton.errors import UsageError

UNKNOWN = -1
"""A count that nobody states."""

STANDARD = "standard"
"""Tariff that holds where nobody says otherwise."""


class UsageColumns(Protocol):
    """Facts of requests, one row each; all arrays have shape (n,); -1 is unknown.

    ``extras`` holds every other dimension that occurs, 0 where it is not stated.
    """

    @property
    def domain(self) -> NDArray[np.int32]: ...
    @property
    def model(self) -> NDArray[np.int32]: ...
    @property
    def provider(self) -> NDArray[np.int32]: ...
    @property
    def tariff(self) -> NDArray[np.int16]: ...
    @property
    def n_requests(self) -> NDArray[np.int64]: ...
    @property
    def from_gateway_cache(self) -> NDArray[np.bool_]: ...
    @property
    def time_s(self) -> NDArray[np.float64]: ...
    @property
    def input_tokens(self) -> NDArray[np.int64]: ...
    @property
    def cache_read_tokens(self) -> NDArray[np.int64]: ...
    @property
    def cache_write_tokens(self) -> NDArray[np.int64]: ...
    @property
    def cache_write_1h_tokens(self) -> NDArray[np.int64]: ...
    @property
    def output_tokens(self) -> NDArray[np.int64]: ...
    @property
    def reasoning_tokens(self) -> NDArray[np.int64]: ...
    @property
    def extras(self) -> Mapping[str, NDArray[np.int64]]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class UsageRows:
    """Rows of usage with the names that they refer to.

    Attributes:
        models: Names that ``model`` indexes.
        providers: Names that ``provider`` indexes.
        tariffs: Names that ``tariff`` indexes; the first is ``standard``.
        domains: Names that ``domain`` indexes.
        prompt_tokens: int64, length of prompt that decides the step of the price; -1: the row's
            own input (its mean, where the row stands for several requests).
    """

    domain: NDArray[np.int32]
    model: NDArray[np.int32]
    provider: NDArray[np.int32]
    tariff: NDArray[np.int16]
    n_requests: NDArray[np.int64]
    from_gateway_cache: NDArray[np.bool_]
    time_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    cache_read_tokens: NDArray[np.int64]
    cache_write_tokens: NDArray[np.int64]
    cache_write_1h_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reasoning_tokens: NDArray[np.int64]
    extras: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    prompt_tokens: NDArray[np.int64] | None = None
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    tariffs: tuple[str, ...] = (STANDARD,)
    domains: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.model)


_COUNTS = {
    "input_tokens": "input_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "cache_write_1h_tokens": "cache_write_1h_tokens",
    "output_tokens": "output_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
    "reasoning_tokens": "reasoning_tokens",
    "prompt_tokens": "prompt_tokens",
}
_NAMES = frozenset(
    ("model", "provider", "tariff", "domain", "time_s", "n_requests", "from_gateway_cache")
)


def usage_rows(records: Iterable[Mapping[str, Any]]) -> UsageRows:
    """Return rows from records of plain names.

    A record has ``model`` and amounts by the names of `jeton.dimensions` (seconds in whole
    milliseconds), and may have ``provider``, ``tariff``, ``domain``, ``time_s``, ``n_requests``
    and ``from_gateway_cache``.

    Raises:
        UsageError: If a record has a field that is neither.
    """
    rows = list(records)
    for row in rows:
        known = _NAMES | _COUNTS.keys() | DIMENSIONS.keys() | FACTS.keys()
        strange = [key for key in row if key not in known]
        if strange:
            raise UsageError(
                f"a record of usage has {strange[0]!r}; expected the name of a dimension\n"
                "hint: jeton.dimensions.DIMENSIONS has them all"
            )
    n = len(rows)

    def numbers(name: str, missing: int) -> NDArray[np.int64]:
        values = (row.get(name) for row in rows)
        return np.array([missing if v is None else int(v) for v in values], dtype=np.int64)

    def names(fact: str, first: Sequence[str] = ()) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        table = {name: place for place, name in enumerate(first)}
        numbered = np.full(n, 0 if first else UNKNOWN, dtype=np.int32)
        for place, row in enumerate(rows):
            if row.get(fact):
                numbered[place] = table.setdefault(str(row[fact]), len(table))
        return numbered, tuple(table)

    counts = {column: np.full(n, UNKNOWN, dtype=np.int64) for column in _COUNTS.values()}
    for name, column in _COUNTS.items():
        counts[column] = np.maximum(counts[column], numbers(name, UNKNOWN))
    others = dict.fromkeys(k for row in rows for k in row if k not in _NAMES and k not in _COUNTS)
    (model, models), (provider, providers) = names("model"), names("provider")
    (tariff, tariffs), (domain, domains) = names("tariff", (STANDARD,)), names("domain")
    times = [row.get("time_s") for row in rows]
    return UsageRows(
        domain=domain,
        model=model,
        provider=provider,
        tariff=tariff.astype(np.int16),
        n_requests=numbers("n_requests", 1),
        from_gateway_cache=np.array([bool(r.get("from_gateway_cache")) for r in rows], np.bool_),
        time_s=np.array([np.nan if t is None else float(t) for t in times], np.float64),
        extras={name: numbers(name, 0) for name in others},
        models=models,
        providers=providers,
        tariffs=tariffs,
        domains=domains,
        **counts,
    )
