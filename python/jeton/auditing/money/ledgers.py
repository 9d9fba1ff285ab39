"""The ledger of an audit: of logged requests as they were, of documents as they would be sent."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from jeton.auditing.measures.measuring import Facts
from jeton.auditing.options.selection import MoneyTokenizer
from jeton.economics.billing.closed import stand_in
from jeton.economics.ledger import Ledger
from jeton.economics.ledger import ledger_of_lengths as priced_lengths
from jeton.metrics import LengthCounts
from jeton.workload.counting.counts import Counts
from jeton.workload.inputs.log_pricing import with_traffic


def factor_of(money: MoneyTokenizer) -> Decimal:
    """Tokens of the model for each counted one: 1 for its own tokenizer, else a stand-in's."""
    if money.belongs is None or money.belongs.is_own or not money.is_right:
        return Decimal(1)
    return Decimal(str(stand_in(money.belongs.model).factor("any").value))


def ledger_of_documents(counts: Counts, facts: Facts, money: MoneyTokenizer) -> Ledger:
    """Ledger of documents that are each sent once, in the tokens of the priced model.

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
    """Ledger of requests of these lengths.

    Args:
        money: The price and what it is counted with.
        lengths: Counted tokens per request, by domain.
        factor: Tokens of the model for each counted one.
        output_tokens_per_request: Generated tokens, mean.
        requests_per_day: Traffic.

    Raises:
        UnknownPriceError: Output is asked for, and its price is not known.
    """
    counted = [entry.lengths.astype(np.int64) for entry in lengths.values()]
    ledger = priced_lengths(
        money.price,
        input_tokens=np.concatenate(counted),
        requests=np.concatenate([e.documents.astype(np.int64) for e in lengths.values()]),
        output_tokens_per_request=output_tokens_per_request,
        factor=factor,
        domain=np.repeat(np.arange(len(lengths), dtype=np.int32), [len(own) for own in counted]),
        domains=tuple(lengths),
    )
    return with_traffic(ledger, requests_per_day)
