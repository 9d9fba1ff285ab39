"""The sample of an audit as billed requests: logged ones, or documents that would be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.evidence import Evidence
from jeton.auditing.money.decomposition import BilledBreakdown
from jeton.auditing.replaying.prompts import Prompts
from jeton.auditing.replaying.requests import BilledRequests
from jeton.catalog import ApiPrice
from jeton.catalog.caches import CacheRule, cache_rules_for
from jeton.economics.billed import TextCount
from jeton.economics.ledger import Ledger, LedgerBuilder, UsageRows

_DAY_S = 86_400

ROUNDING = 0.5
"""Tokens by which a provider's count of a request may differ from what it would be unrounded."""

MAX_DOCUMENT_ROWS = 200_000
"""Rows that stand for copies of drawn documents; more copies are taken in proportion."""


def logged_requests(evidence: Evidence, found: BilledBreakdown) -> BilledRequests | None:
    """Return the sampled requests of a log; None where none of them shows its text.

    Args:
        evidence: The measured figures.
        found: Their decomposition, which says how the provider counts.
    """
    requests = evidence.requests
    if requests is None or requests.columns is None or requests.pricing is None:
        return None
    rows, prompt = _rows_of(evidence)
    if not len(rows):
        return None
    columns, pricing, names = requests.columns.take(rows), requests.pricing, requests.names
    counts = [found.counts.get(names.models[m] if m >= 0 else "", TextCount()) for m in
              columns.model.tolist()]  # fmt: skip
    prompts = evidence.prompts
    counted = prompts.per_prompt()[prompt]
    slope, low = (np.array([getattr(c, end) for c in counts]) for end in ("slope", "low"))
    billed = columns.input_tokens
    waits = billed < 0
    if waits.any():
        # Without usage a request is billed by our own count, as the ledger has it.
        own = np.rint(counted * slope).astype(np.int64)
        output = round(evidence.output_tokens_per_request)
        columns = _with_counts(columns, waits, own, output)
        billed = columns.input_tokens
    # Usage never tells a slope exactly, since each request is rounded.
    is_learnt = ~waits & np.array([not count.is_exact for count in counts], dtype=np.bool_)
    slope = np.minimum(slope, billed / np.maximum(counted, 1))
    frame = np.array([count.frame_tokens for count in counts], dtype=np.int64)
    head = np.clip(np.minimum(frame, billed - np.rint(counted * slope)), 0, None)
    rules, rule = _rules_of(columns, names.models, names.providers)
    return BilledRequests(
        columns=columns,
        prompt=prompt,
        slope=slope,
        low=np.where(is_learnt, np.minimum(low, np.nextafter(slope, 0)), slope),
        rounding=np.where(is_learnt, ROUNDING, 0),
        head=head.astype(np.int64),
        times=columns.time_s,
        prompts=prompts,
        rules=rules,
        rule=rule,
        rows=rows.astype(np.int64),
        price=lambda changed, domains: pricing.ledger_of(
            changed, names._replace(domains=tuple(domains)) if domains else names
        ),
    )


def documents_as_requests(
    evidence: Evidence, price: ApiPrice, *, prompts: Prompts, factor: Decimal
) -> BilledRequests | None:
    """Return the sampled documents, each sent as one request.

    Args:
        evidence: The measured figures.
        price: Price of every request.
        prompts: The documents under the tokenizer that the price's tokens are counted with.
        factor: Tokens of the priced model for each counted one.
    """
    copies = np.array([document.n_copies for document in evidence.sample.documents])
    if not len(copies):
        return None
    if copies.sum() > MAX_DOCUMENT_ROWS:
        copies = np.maximum(1, copies * MAX_DOCUMENT_ROWS // copies.sum())
    prompt = np.repeat(np.arange(len(copies)), copies)
    n = len(prompt)
    zeros, unknown = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    slope = np.full(n, float(factor))
    tokens = np.rint(prompts.per_prompt()[prompt] * slope).astype(np.int64)
    output = np.diff(np.rint(np.arange(n + 1) * evidence.output_tokens_per_request))
    columns = UsageRows(
        domain=unknown.astype(np.int32),
        model=zeros.astype(np.int32),
        provider=unknown.astype(np.int32),
        tariff=zeros.astype(np.int16),
        n_requests=zeros + 1,
        from_gateway_cache=zeros.astype(np.bool_),
        time_s=np.full(n, np.nan),
        input_tokens=tokens,
        cache_read_tokens=zeros,
        cache_write_tokens=zeros,
        cache_write_1h_tokens=zeros,
        output_tokens=output.astype(np.int64),
        reasoning_tokens=unknown,
        models=(price.model,),
        tariffs=(price.tariff,),
    )

    # Without times the stated traffic comes evenly.
    rate = evidence.traffic.requests_per_day
    gap = float(_DAY_S / rate) if rate else np.nan
    times = np.arange(n, dtype=np.float64) * gap

    def ledger_of(changed: UsageRows, domains: Sequence[str]) -> Ledger:
        builder = LedgerBuilder(prices=lambda model, day, tariff: price, on=price.valid_on)
        builder.add(replace(changed, domains=tuple(domains)))
        return builder.build()

    return BilledRequests(
        columns=columns,
        prompt=prompt,
        slope=slope,
        low=slope,
        rounding=np.zeros(n),
        head=zeros,
        times=times,
        prompts=prompts,
        rules=(cache_rules_for(price.provider, price.model),),
        rule=zeros,
        rows=unknown,
        price=ledger_of,
    )


def _rows_of(evidence: Evidence) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return places of the sample's requests among the kept ones, in the log's order."""
    requests = evidence.requests
    if requests is None:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int64)
    own = [(row, i) for i, document in enumerate(evidence.sample.documents)
           for row in document.rows]  # fmt: skip
    pairs = np.array(sorted(own), dtype=np.int64).reshape(-1, 2)
    place = np.searchsorted(requests.row_numbers, pairs[:, 0])
    place = np.minimum(place, max(0, len(requests.row_numbers) - 1))
    # Rows that a later record showed to be none, and rows beyond those that are kept.
    kept = np.isin(pairs[:, 0], requests.row_numbers)
    return place[kept], pairs[kept, 1]


def _with_counts(
    columns: Any, waits: NDArray[np.bool_], own: NDArray[np.int64], output: int
) -> Any:
    return replace(
        columns,
        input_tokens=np.where(waits, own, columns.input_tokens),
        output_tokens=np.where(waits & (columns.output_tokens < 0), output, columns.output_tokens),
    )


def _rules_of(
    columns: Any, models: tuple[str, ...], providers: tuple[str, ...]
) -> tuple[tuple[tuple[CacheRule, ...], ...], NDArray[np.int64]]:
    """Return the cache rules of the requests' models, and the number of each request's rules."""
    rules: dict[tuple[CacheRule, ...], int] = {}
    known: dict[tuple[int, int], int] = {}
    rule = np.zeros(len(columns), dtype=np.int64)
    pairs = zip(columns.model.tolist(), columns.provider.tolist(), strict=True)
    for place, (model, provider) in enumerate(pairs):
        number = known.get((model, provider))
        if number is None:
            found = cache_rules_for(
                providers[provider] if provider >= 0 else "", models[model] if model >= 0 else ""
            )
            number = known[model, provider] = rules.setdefault(found, len(rules))
        rule[place] = number
    return tuple(rules), rule
