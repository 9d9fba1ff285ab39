"""A ledger of documents that were not sent yet: lengths, a price, and the traffic expected."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from jeton.catalog.api_price import ApiPrice
from jeton.economics.ledger.builder import LedgerBuilder
from jeton.economics.ledger.result import Ledger
from jeton.economics.ledger.rows import UsageRows
from jeton.errors import UnknownPriceError, UsageError

__all__ = ["ledger_of_lengths"]


def ledger_of_lengths(
    price: ApiPrice,
    *,
    input_tokens: Sequence[int],
    requests: Sequence[int],
    output_tokens_per_request: int | float | Decimal = 0,
    cached_share: int | float | Decimal = 0,
    requests_per_day: int | float | Decimal | None = None,
) -> Ledger:
    """Return what documents cost if each is sent as one request.

    Args:
        price: Price of every request.
        input_tokens: Distinct lengths of prompts.
        requests: Requests of each length.
        output_tokens_per_request: Output tokens of every request; a mean may have a fraction.
        cached_share: Part of every prompt that is read from a cache, 0 to 1.
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
    lengths, counts = lengths[used], counts[used]
    n = len(lengths)
    zeros, unknown = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    rows = UsageRows(
        domain=unknown.astype(np.int32),
        model=zeros.astype(np.int32),
        provider=unknown.astype(np.int32),
        tariff=zeros.astype(np.int16),
        n_requests=counts,
        from_gateway_cache=zeros.astype(np.bool_),
        time_s=np.full(n, np.nan),
        input_tokens=lengths * counts,
        cache_read_tokens=_shares(lengths * counts, share),
        cache_write_tokens=zeros,
        cache_write_1h_tokens=zeros,
        output_tokens=_shares(counts, output),
        reasoning_tokens=unknown,
        prompt_tokens=lengths,
        models=(price.model,),
        tariffs=(price.tariff,),
    )
    builder = LedgerBuilder(prices=lambda model, day, tariff: price, on=price.valid_on)
    builder.add(rows)
    return builder.build(requests_per_day=requests_per_day)


def _shares(whole: np.ndarray, factor: Decimal) -> np.ndarray:
    """Multiply whole numbers by a factor, so that the sum is off by half a unit at most."""
    ends = [int((Decimal(int(n)) * factor).to_integral_value()) for n in np.cumsum(whole)]
    return np.diff(np.array([0, *ends], dtype=np.int64))
