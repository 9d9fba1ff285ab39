"""The ledgers of an audit: as logged, by model, and of documents not sent yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from jeton._core import Tokenizer
from jeton.auditing.measures.measuring import Facts, Money
from jeton.auditing.options.model_tokenizers import is_same, load_or_none, tokenizer_of_model
from jeton.auditing.options.selection import MoneyTokenizer
from jeton.auditing.result import ModelCost, TokenizerReport
from jeton.catalog import model as find_model
from jeton.catalog.api_price import USER_PROVIDER
from jeton.economics.billing.closed import stand_in
from jeton.economics.ledger import Ledger
from jeton.economics.ledger import ledger_of_lengths as priced_lengths
from jeton.economics.waterfall import usd_of_kinds, weakest
from jeton.errors import CatalogError
from jeton.findings import Basis, Figure
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


@dataclass(frozen=True, slots=True)
class Books:
    """The ledger and what it rests on.

    Attributes:
        counts: The counts.
        facts: With what it is priced.
        ledger: The usage, priced; None: nothing is priced.
        is_own_model: True if no provider's price is in it.
        notices: Sentences that must be said first.
    """

    counts: Counts
    facts: Facts
    ledger: Ledger | None
    is_own_model: bool
    notices: tuple[str, ...]

    @classmethod
    def of(cls, counts: Counts, facts: Facts) -> Books:
        """Close the books on what was counted.

        Raises:
            UnknownPriceError: A model has no price and that is an error, or output has none.
        """
        selection = facts.selection
        notices = () if selection is None else selection.notices
        listed = any(price.provider != USER_PROVIDER for price in facts.prices)
        if counts.requests is not None:
            ledger, said = _of_logs(counts, facts)
            providers = {use.provider for use in ledger.by_model if use.usd}
            is_own = not listed and providers <= {USER_PROVIDER, ""}
            return cls(counts, facts, ledger, is_own, (*notices, *said))
        money = _first(facts)
        if money is None:
            return cls(counts, facts, None, not listed, notices)
        return cls(counts, facts, ledger_of_documents(counts, facts, money), not listed, notices)

    def money(self, place: int) -> Money | None:
        """Cost of the workload under the tokenizer at a place; None where nothing is priced."""
        ledger, facts, money = self.ledger, self.facts, _first(self.facts)
        if ledger is None or not ledger.n_requests:
            return None
        current = self.counts.setup.current
        basis = weakest(*(use.basis for use in ledger.by_model))
        if self.counts.requests is not None:
            return self._in_proportion(place, current, basis)
        if money is None:
            return None
        if money.belongs is not None and not (money.belongs.is_own and money.is_right):
            basis = Basis.ESTIMATED
        if place in (current, money.place):
            return Money(ledger.usd, ledger, basis)
        if money.belongs is None:
            # A price of one's own is for whatever tokenizer the model has: step by step.
            lengths = {"": self.counts.counted_lengths(place)}
            own = ledger_of_lengths(money, lengths, output_tokens_per_request=facts.output_tokens)
            return Money(own.usd, ledger, basis)
        return self._in_proportion(place, money.place, basis)

    def _in_proportion(self, place: int, right: int, basis: Basis) -> Money:
        """The ledger with prompts as long as another tokenizer makes them."""
        ledger = self.ledger or Ledger()
        if place == right or place == self.counts.setup.current:
            return Money(ledger.usd, ledger, basis)
        own, base = (self.counts.counted_lengths(p).total for p in (place, right))
        ratio = Decimal(own) / base if base else Decimal(1)
        prompts = usd_of_kinds(ledger, "full", "read", "write")
        said = f"prompts x {own:,} / {base:,} tokens, if the model had this tokenizer"
        return Money(ledger.usd + prompts * (ratio - 1), ledger, Basis.ESTIMATED, said)


def _first(facts: Facts) -> MoneyTokenizer | None:
    selection = facts.selection
    return selection.money[0] if selection is not None and selection.money else None


def _of_logs(counts: Counts, facts: Facts) -> tuple[Ledger, tuple[str, ...]]:
    """The ledger of the requests, and what to say of those that state no usage."""
    requests = counts.requests
    if requests is None:
        return Ledger(), ()
    chosen = counts.setup.chosen[counts.setup.current]
    factors = {name: _factor(name, chosen.name, chosen.tokenizer) for name in requests.models}
    ledger, n_counted = requests.pricing.ledger(
        requests.counted(counts.request_tokens)
        if requests.pricing.waits
        else np.empty(0, dtype=np.int64),
        factors=factors,
        output_tokens=facts.output_tokens_per_request,
        requests_per_day=(
            None if "requests_per_day" in facts.taken_from_logs else facts.requests_per_day
        ),
    )
    if not n_counted:
        return ledger, ()
    return ledger, (
        f"{n_counted:,} of {ledger.n_requests:,} requests state no usage: their tokens are counted "
        f"with {chosen.name}.",
    )


def _factor(model: str, name: str, tokenizer: Tokenizer) -> Decimal:
    """Tokens of a logged model for each that we count."""
    belongs = tokenizer_of_model(model) if model else None
    if belongs is None or belongs.is_own:
        return Decimal(1)
    if name != belongs.vocabulary:
        own = load_or_none(belongs.vocabulary)
        if own is None or not is_same(tokenizer, own):
            return Decimal(1)
    return Decimal(str(stand_in(model).factor("any").value))


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
