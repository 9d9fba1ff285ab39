"""The money of logged requests: each priced as it was used, by its own model.

A user's own price (``usd:``) holds for all requests. A price of the list holds for those that name
no model, or one that the list does not have.

Names that the columns of requests refer to by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from jeton.catalog import ApiPrice
from jeton.catalog.api_price import USER_PROVIDER
from jeton.catalog.model_map import ModelMap
from jeton.corpus import RequestColumns
from jeton.corpus.names import Names
from jeton.economics.ledger import Ledger, LedgerBuilder

if TYPE_CHECKING:
    from jeton.corpus import RequestBatch, RequestStream


class ColumnNames(NamedTuple):
    """Names by number.

    Attributes:
        models: Names for ``columns.model`` and ``columns.model_asked``.
        providers: Names for ``columns.provider``.
        tariffs: Names for ``columns.tariff``; the first is ``standard``.
        domains: Names for ``columns.domain``.
    """

    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    tariffs: tuple[str, ...] = ("standard",)
    domains: tuple[str, ...] = ()

    @classmethod
    def of(cls, stream: RequestStream) -> ColumnNames:
        """Return the names that a stream has met so far."""
        return cls(
            tuple(stream.models),
            tuple(stream.providers),
            tuple(stream.tariffs),
            tuple(stream.domains),
        )

    def renumbered(self, columns: RequestColumns, merged: Mapping[str, Names]) -> RequestColumns:
        """Return columns that refer to the names of several shards.

        Args:
            columns: Columns that refer to these names.
            merged: The names of all shards by the field of this class; new ones are added.
        """
        places = {
            # The last element is the one that -1 names.
            kind: np.array([*(merged[kind].number(name)[0] for name in names), -1])
            for kind, names in zip(self._fields, self, strict=True)
        }

        def renamed(numbers: NDArray[Any], kind: str) -> NDArray[Any]:
            changed: NDArray[Any] = places[kind][numbers].astype(numbers.dtype)
            return changed

        return replace(
            columns,
            model=renamed(columns.model, "models"),
            model_asked=renamed(columns.model_asked, "models"),
            provider=renamed(columns.provider, "providers"),
            tariff=renamed(columns.tariff, "tariffs"),
            domain=renamed(columns.domain, "domains"),
        )


@dataclass(frozen=True, slots=True)
class PricingOptions:
    """Rules for the prices of logged requests.

    Attributes:
        model_map: Names of one's own for models.
        strict: True if a model without a price is an error.
        period: Time that the log covers, as the user says it; empty: by its times.
        price: The price that the user gave; None: none.
    """

    model_map: ModelMap = field(default_factory=ModelMap)
    strict: bool = False
    period: str = ""
    price: ApiPrice | None = None


class LogPricing:
    """Gathers requests into a ledger; those without usage wait until they are counted."""

    def __init__(self, options: PricingOptions) -> None:
        self.options = options
        self.joined: Mapping[str, int] = {}
        price = options.price
        self._unnamed = "" if price is None else price.name
        own = price if price is not None and price.provider == USER_PROVIDER else None
        model_map = options.model_map
        if price is not None and own is None:
            model_map = replace(model_map, default=price.name)

        def make() -> LedgerBuilder:
            return LedgerBuilder(
                prices=None if own is None else (lambda model, day, tariff: own),
                model_map=model_map,
                strict=options.strict,
            )

        self._make = make
        self._builder = self._make()
        self._waiting: list[tuple[RequestColumns, NDArray[np.int64], _Names]] = []
        self._changed: set[int] = set()

    def add(self, batch: RequestBatch, stream: RequestStream) -> None:
        """Price the requests of a batch, and what became known of earlier ones."""
        names = _Names(stream, self._unnamed)
        columns = self._named(batch.columns, names)
        rows = np.arange(batch.first_row, batch.first_row + len(columns), dtype=np.int64)
        waits = _waits(columns)
        if waits.any():
            self._waiting.append((columns.take(waits), rows[waits], names))
            columns = columns.take(~waits)
        self._builder.add(columns, **names.as_arguments())
        for change in batch.corrections:
            if change.part is None:
                self._changed.add(change.row)
            if not _waits(change.before).any():
                before = self._named(change.before, names)
                self._builder.add(before, **names.as_arguments(), sign=-1)
            if change.columns is not None:
                own = self._named(change.columns, names)
                self._builder.add(own, **names.as_arguments())

    def no_longer_waits(self, row: int) -> None:
        """Note that a later part of the log corrected a row, which is no longer counted by us."""
        self._changed.add(row)

    @property
    def waits(self) -> bool:
        """True if requests without usage wait for our own count."""
        return bool(self._waiting)

    def ledger(
        self,
        counted: NDArray[np.int64],
        *,
        factors: Mapping[str, Decimal],
        output_tokens: float | None,
        requests_per_day: float | None,
    ) -> tuple[Ledger, int]:
        """The ledger, and how many requests are in it by our own count.

        Args:
            counted: Tokens of each row as we count them, by its number; -1: not counted.
            factors: Tokens of a model for each counted one, by its logged name.
            output_tokens: Generated tokens of a request without usage, mean; None: not known.
            requests_per_day: Traffic, where the user says it.
        """
        # On a copy: a report may be asked for again.
        builder, n_counted = self._make(), 0
        builder.merge(self._builder)
        for columns, rows, names in self._waiting:
            if self._changed:
                stays = np.array(
                    [row not in self._changed for row in rows.tolist()], dtype=np.bool_
                )
                columns, rows = columns.take(stays), rows[stays]
            known = rows < len(counted)
            own = columns.take(known)
            tokens = counted[rows[known]]
            if output_tokens is None:
                output = own.output_tokens
            else:
                ends = np.rint(np.arange(len(own) + 1) * output_tokens).astype(np.int64)
                output = np.diff(ends)
            scaled = _times(tokens, own.model, names.models, factors)
            n_counted += int((tokens >= 0).sum())
            builder.add(
                replace(own, input_tokens=scaled, output_tokens=output), **names.as_arguments()
            )
            builder.add(columns.take(~known), **names.as_arguments())
        ledger = builder.build(joined=self.joined, period=self.options.period)
        return with_traffic(ledger, requests_per_day), n_counted

    def ledger_of(self, columns: RequestColumns, names: ColumnNames) -> Ledger:
        """Return the ledger of some requests, priced as all of them are.

        Args:
            columns: The requests, with the amounts that they would have.
            names: Names that the columns refer to.
        """
        own = _Names(names, self._unnamed)
        builder = self._make()
        builder.add(self._named(columns, own), **own.as_arguments())
        return builder.build()

    def merge(self, other: Self, *, n_rows: int) -> LogPricing:
        """The requests of both; rows of neither can be corrected any more.

        Args:
            other: Prices of the other shard.
            n_rows: Rows of this shard.
        """
        merged = LogPricing(self.options)
        merged._builder.merge(self._builder)
        merged._builder.merge(other._builder)
        for part, offset in ((self, 0), (other, n_rows)):
            merged._changed.update(row + offset for row in part._changed)
            for columns, rows, names in part._waiting:
                merged._waiting.append((columns, rows + offset, names))
        joined = dict(self.joined)
        for kind, n in other.joined.items():
            joined[kind] = joined.get(kind, 0) + n
        merged.joined = joined
        return merged

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the functions that find prices."""
        return {name: value for name, value in self.__dict__.items() if name != "_make"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        LogPricing.__init__(self, state["options"])
        self._builder.merge(state["_builder"])
        self.__dict__.update({**state, "_builder": self._builder})

    def _named(self, columns: RequestColumns, names: _Names) -> RequestColumns:
        """The columns with a model's name for those that have none, where the user gave a price."""
        if not self._unnamed or (columns.model >= 0).all():
            return columns
        model = np.where(columns.model < 0, len(names.models) - 1, columns.model)
        return replace(columns, model=model.astype(np.int32))


class _Names:
    """Names that columns refer to, with a last one for requests that name no model."""

    def __init__(self, stream: RequestStream | ColumnNames, unnamed: str) -> None:
        self.models: Sequence[str] = [*stream.models, unnamed] if unnamed else stream.models
        self.providers: Sequence[str] = stream.providers
        self.tariffs: Sequence[str] = stream.tariffs
        self.domains: Sequence[str] = stream.domains

    def as_arguments(self) -> dict[str, Any]:
        return {
            "models": self.models,
            "providers": self.providers,
            "tariffs": self.tariffs,
            "domains": self.domains,
        }


def with_traffic(ledger: Ledger, requests_per_day: float | None) -> Ledger:
    """The ledger with the traffic that the user states; it is then a sample of that."""
    if requests_per_day is None:
        return ledger
    rate = Decimal(str(requests_per_day))
    period = replace(
        ledger.period,
        n_days=Decimal(ledger.n_requests) / rate,
        requests_per_day=rate,
        assumption=f"{rate:,} requests a day, as given; the {ledger.n_requests:,} requests here "
        "stand for them",
        override=f"{rate} requests a day",
    )
    return replace(ledger, period=period)


def _waits(columns: RequestColumns) -> NDArray[np.bool_]:
    """Rows that show what was sent and nothing of what the provider counted."""
    unknown: NDArray[np.bool_] = (
        columns.has_text
        & (columns.input_tokens < 0)
        & (columns.output_tokens < 0)
        & ~columns.from_gateway_cache
    )
    return unknown


def _times(
    tokens: NDArray[np.int64],
    model: NDArray[np.int32],
    models: Sequence[str],
    factors: Mapping[str, Decimal],
) -> NDArray[np.int64]:
    """Counted tokens as the models count; -1 stays."""
    scaled = tokens.copy()
    for number in np.unique(model).tolist():
        factor = factors.get(models[number] if number >= 0 else "", Decimal(1))
        if factor != 1:
            own = (model == number) & (tokens >= 0)
            scaled[own] = np.rint(tokens[own] * float(factor)).astype(np.int64)
    return scaled
