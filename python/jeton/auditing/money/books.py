"""The books of an audit: its ledger, and what the workload costs under each tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from jeton._core import Tokenizer
from jeton.auditing.measures.measuring import Facts, Money
from jeton.auditing.money.ledgers import ledger_of_documents, ledger_of_lengths
from jeton.auditing.options.model_tokenizers import is_same, load_or_none, tokenizer_of_model
from jeton.auditing.options.selection import MoneyTokenizer
from jeton.catalog.api_price import USER_PROVIDER
from jeton.economics.billing.closed import stand_in
from jeton.economics.ledger import Ledger
from jeton.economics.waterfall import usd_of_kinds, weakest
from jeton.findings import Basis
from jeton.workload.counting.counts import Counts


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
