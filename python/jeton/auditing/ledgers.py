"""The ledger of an audit: of logged requests as they were, of documents as they would be sent."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.counts import Counts
from jeton.auditing.log_pricing import with_traffic
from jeton.auditing.measuring import Facts
from jeton.auditing.selection import MoneyTokenizer
from jeton.economics import stand_in
from jeton.economics.ledger import Ledger, LedgerBuilder, UsageRows
from jeton.errors import UnknownPriceError
from jeton.metrics import LengthCounts

__all__ = ["factor_of", "ledger_of_documents", "ledger_of_lengths"]


def factor_of(money: MoneyTokenizer) -> Decimal:
    """Tokens of the model for each counted one: 1 for its own tokenizer, else a stand-in's."""
    if money.belongs is None or money.belongs.is_own or not money.is_right:
        return Decimal(1)
    return Decimal(str(stand_in(money.belongs.model).factor("any").value))


def ledger_of_documents(counts: Counts, facts: Facts, money: MoneyTokenizer) -> Ledger:
    """What the documents cost if each is sent once, in the tokens of the priced model.

    Raises:
        UnknownPriceError: Output is asked for, and its price is not known.
    """
    lengths = {"": counts.counted_lengths(money.place)}
    by_domain = counts.domains.lengths_by_domain(money.place)
    if sum(entry.n_documents for entry in by_domain.values()) == lengths[""].n_documents:
        lengths = by_domain
    return ledger_of_lengths(
        money,
        lengths,
        factor=factor_of(money),
        output_tokens_per_request=facts.output_tokens,
        requests_per_day=facts.requests_per_day,
    )


def ledger_of_lengths(
    money: MoneyTokenizer,
    lengths: Mapping[str, LengthCounts],
    *,
    factor: Decimal = Decimal(1),
    output_tokens_per_request: float = 0.0,
    requests_per_day: float | None = None,
) -> Ledger:
    """What requests of these lengths cost.

    Args:
        money: The price and what it is counted with.
        lengths: Counted tokens per request, by domain.
        factor: Tokens of the model for each counted one.
        output_tokens_per_request: Generated tokens, mean.
        requests_per_day: Traffic.

    Raises:
        UnknownPriceError: Output is asked for, and its price is not known.
    """
    price = money.price
    if output_tokens_per_request and price.usd_per_mtok_output is None:
        raise UnknownPriceError(
            price.name,
            hint="this price has no output rate; a price of your own is written "
            "usd:INPUT/OUTPUT, in USD per million tokens",
        )
    domains = tuple(lengths)
    counted = [entry.lengths.astype(np.int64) for entry in lengths.values()]
    requests = np.concatenate([e.documents.astype(np.int64) for e in lengths.values()])
    domain = np.repeat(np.arange(len(domains), dtype=np.int32), [len(own) for own in counted])
    length = np.concatenate(counted)
    n = len(length)
    unknown, zeros = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    rows = UsageRows(
        domain=domain,
        model=zeros.astype(np.int32),
        provider=unknown.astype(np.int32),
        tariff=zeros.astype(np.int16),
        n_requests=requests,
        from_gateway_cache=zeros.astype(np.bool_),
        time_s=np.full(n, np.nan),
        input_tokens=_scaled(length * requests, factor),
        cache_read_tokens=zeros,
        cache_write_tokens=zeros,
        cache_write_1h_tokens=zeros,
        output_tokens=_scaled(requests, Decimal(str(output_tokens_per_request))),
        reasoning_tokens=unknown,
        prompt_tokens=np.rint(length * float(factor)).astype(np.int64),
        models=(price.model,),
        tariffs=(price.tariff,),
        domains=domains,
    )
    builder = LedgerBuilder(prices=lambda model, day, tariff: price, on=price.valid_on)
    builder.add(rows)
    return with_traffic(builder.build(), requests_per_day)


def _scaled(whole: NDArray[np.int64], factor: Decimal) -> NDArray[np.int64]:
    """Whole numbers times a factor, rounded so that the sum is off by half a unit at most."""
    if factor == 1:
        return whole
    ends = [int((Decimal(int(n)) * factor).to_integral_value()) for n in np.cumsum(whole)]
    bounds = np.array([0, *ends], dtype=np.int64)
    return bounds[1:] - bounds[:-1]
