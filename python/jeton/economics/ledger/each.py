"""Money of each request by itself, by the same arithmetic as that of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from jeton.catalog.model_map import ModelMap
from jeton.economics.ledger.builder import LedgerBuilder
from jeton.economics.ledger.prices import Prices
from jeton.economics.ledger.result import Ledger

if TYPE_CHECKING:
    from jeton.corpus.requests.columns import RequestColumns


@dataclass(frozen=True, slots=True)
class UsdOfEach:
    """Requests that were priced one by one.

    Attributes:
        usd: Dollars of each row; None where it has no price.
        ledger: Ledger of all rows: its sum is that of ``usd``, and it names what has no price.
    """

    usd: tuple[Decimal | None, ...]
    ledger: Ledger


def usd_of_each(
    columns: RequestColumns,
    *,
    models: Sequence[str],
    providers: Sequence[str],
    tariffs: Sequence[str],
    prices: Prices | None = None,
    model_map: ModelMap | Mapping[str, str] | None = None,
    on: date | None = None,
) -> UsdOfEach:
    """Returns the dollars of each row of requests.

    Args:
        columns: The rows.
        models: Names that ``columns.model`` indexes.
        providers: Names that ``columns.provider`` indexes.
        tariffs: Names that ``columns.tariff`` indexes; the first is ``standard``.
        prices: Prices by name; None: the installed list.
        model_map: Names of one's own for models.
        on: Day whose prices hold for requests without a time; today (UTC) by default.
    """
    builder = LedgerBuilder(prices=prices, model_map=model_map, on=on)
    # Each row is a domain of its own, so that the ledger itself says what it costs.
    names = [str(row) for row in range(len(columns))]
    builder.add(
        replace(columns, domain=np.arange(len(columns), dtype=np.int32)),
        models=models,
        providers=providers,
        tariffs=tariffs,
        domains=names,
    )
    ledger = builder.build()
    by_name = {use.domain: use.usd for use in ledger.by_domain}
    return UsdOfEach(tuple(by_name.get(name) for name in names), ledger)
