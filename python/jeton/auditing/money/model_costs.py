"""Models by price per document: each counted with its own tokenizer."""

from __future__ import annotations

from decimal import Decimal

from jeton.auditing.measures.measuring import Facts
from jeton.auditing.money.ledgers import ledger_of_documents
from jeton.auditing.result import ModelCost, TokenizerReport
from jeton.catalog import model as find_model
from jeton.errors import CatalogError
from jeton.findings import Basis, Figure
from jeton.workload.counting.counts import Counts


def model_costs(
    counts: Counts, facts: Facts, tokenizers: tuple[TokenizerReport, ...]
) -> tuple[ModelCost, ...]:
    """The prices that were asked for, in their order; none without one.

    Raises:
        UnknownPriceError: Output is asked for, and a price has none for it.
    """
    selection = facts.selection
    if selection is None or "price_model" in facts.taken_from_logs:
        return ()
    found: list[ModelCost] = []
    first = Decimal(0)
    for money in selection.money:
        ledger = ledger_of_documents(counts, facts, money)
        each, month = ledger.per_request(), ledger.per_month()
        if each is None:
            continue
        first = first or each
        belongs = money.belongs
        is_exact = money.is_right and (belongs is None or belongs.is_own)
        basis = Basis.EXACT if is_exact else Basis.ESTIMATED
        n_tokens, n = ledger.amounts.get("input_tokens", 0), ledger.n_requests
        source = ledger.price_source
        name = selection.counted[money.place].name
        found.append(
            ModelCost(
                name=money.price.name,
                provider=money.price.provider,
                model=money.price.model,
                tokenizer=name,
                tokens_per_document=Figure(
                    n_tokens / n,
                    "tokens per document",
                    basis,
                    f"{n_tokens:,} tokens as {money.price.model} counts ({name}) / {n:,} documents",
                ),
                output_tokens_per_document=facts.output_tokens,
                usd_per_document=Figure(
                    each,
                    "USD per document",
                    basis,
                    f"{ledger.usd:,.6g} USD / {n:,} documents",
                    source,
                ),
                usd_per_month=None
                if month is None
                else Figure(
                    month,
                    "USD per month",
                    basis,
                    f"{each:,.6g} USD x {facts.requests_per_day or 0:,g} requests per day x 365 "
                    "/ 12",
                    source,
                ),
                seconds_per_document=_seconds(money.price.model, facts, tokenizers, name),
                change=float(each / first) - 1 if first else 0.0,
                price_date=money.price.price_date.isoformat(),
            )
        )
    return tuple(found)


def _seconds(
    model: str, facts: Facts, tokenizers: tuple[TokenizerReport, ...], tokenizer: str
) -> Figure | None:
    """Time on the GPU asked for, if the priced model is the planned one."""
    try:
        is_planned = facts.model is not None and find_model(model) == facts.model
    except CatalogError:
        return None
    own = next((t for t in tokenizers if t.name == tokenizer), None)
    return own.economics.own_gpu_seconds_per_request if is_planned and own is not None else None
