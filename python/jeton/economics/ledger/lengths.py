"""Ledgers made of single requests: each request's money, and documents not sent yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton.catalog.api_price import ApiPrice
from jeton.catalog.model_map import ModelMap
from jeton.economics.ledger.builder import LedgerBuilder
from jeton.economics.ledger.prices import Prices
from jeton.economics.ledger.result import Ledger
from jeton.economics.ledger.rows import UsageRows
from jeton.errors import UnknownPriceError, UsageError

if TYPE_CHECKING:
    from jeton.corpus.requests.columns import RequestColumns


Lengths: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]


def ledger_of_lengths(
    price: ApiPrice,
    *,
    input_tokens: Lengths,
    requests: Lengths,
    output_tokens_per_request: int | float | Decimal = 0,
    cached_share: int | float | Decimal = 0,
    factor: Decimal = Decimal(1),
    domain: Lengths = (),
    domains: Sequence[str] = (),
    requests_per_day: int | float | Decimal | None = None,
) -> Ledger:
    """Return what documents cost if each is sent as one request.

    Args:
        price: Price of every request.
        input_tokens: Lengths of prompts, as counted.
        requests: Requests of each length.
        output_tokens_per_request: Output tokens of every request; a mean may have a fraction.
        cached_share: Part of every prompt that is read from a cache, 0 to 1.
        factor: Tokens of the model for each counted one.
        domain: Places in ``domains``, one for each length; empty: in none.
        domains: Names of the domains.
        requests_per_day: Traffic whose lengths are distributed as these.

    Raises:
        UsageError: If there is no request or a number is negative.
        UnknownPriceError: If there is output and its price is not known.
    """
    lengths = np.asarray(input_tokens, dtype=np.int64)
    counts = np.asarray(requests, dtype=np.int64)
    output, share = (Decimal(str(v)) for v in (output_tokens_per_request, cached_share))
    if len(lengths) != len(counts) or counts.sum() <= 0 or min(counts.min(), lengths.min()) < 0:
        raise UsageError("expected lengths with the requests of each, at least one in all")
    if not output.is_finite() or output < 0 or not 0 <= share <= 1:
        raise UsageError(
            f"{output_tokens_per_request} output tokens, {cached_share} of the input cached; "
            "expected at least 0, and a share of 0 to 1"
        )
    if output and price.usd_per_mtok_output is None:
        raise UnknownPriceError(
            price.name,
            hint="this price has no output rate; a price of your own is written "
            "usd:INPUT/OUTPUT, in USD per million tokens",
        )
    used = counts > 0
    places = np.asarray(domain if len(domain) else np.full(len(lengths), -1), dtype=np.int32)
    lengths, counts, places = lengths[used], counts[used], places[used]
    prompts = _shares(lengths * counts, factor)
    n = len(lengths)
    zeros, unknown = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    rows = UsageRows(
        domain=places,
        model=zeros.astype(np.int32),
        provider=unknown.astype(np.int32),
        tariff=zeros.astype(np.int16),
        n_requests=counts,
        from_gateway_cache=zeros.astype(np.bool_),
        time_s=np.full(n, np.nan),
        input_tokens=prompts,
        cache_read_tokens=_shares(prompts, share),
        cache_write_tokens=zeros,
        cache_write_1h_tokens=zeros,
        output_tokens=_shares(counts, output),
        reasoning_tokens=unknown,
        prompt_tokens=np.rint(lengths * float(factor)).astype(np.int64),
        models=(price.model,),
        tariffs=(price.tariff,),
        domains=tuple(domains),
    )
    builder = LedgerBuilder(prices=lambda model, day, tariff: price, on=price.valid_on)
    builder.add(rows)
    return builder.build(requests_per_day=requests_per_day)


def _shares(whole: NDArray[np.int64], factor: Decimal) -> NDArray[np.int64]:
    """Multiply whole numbers by a factor, so that the sum is off by half a unit at most."""
    if factor == 1:
        return whole
    ends = [int((Decimal(int(n)) * factor).to_integral_value()) for n in np.cumsum(whole)]
    bounds = np.array([0, *ends], dtype=np.int64)
    return bounds[1:] - bounds[:-1]


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
) -> UsdOfEach:
    """Returns the dollars of each row of requests.

    Args:
        columns: The rows.
        models: Names that ``columns.model`` indexes.
        providers: Names that ``columns.provider`` indexes.
        tariffs: Names that ``columns.tariff`` indexes; the first is ``standard``.
        prices: Prices by name; None: the installed list.
        model_map: Names of one's own for models.
    """
    builder = LedgerBuilder(prices=prices, model_map=model_map)
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
