"""Options of ``jeton audit`` for traffic, prices and the limits of an API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.economics.billing.quotas import Quota

_TOKENS = click.IntRange(min=1)


@dataclass(slots=True)
class PriceSettings:
    """The options as they were given."""

    price_models: tuple[str, ...] = ()
    requests_per_day: float | None = None
    output_tokens_per_request: float | None = None
    closed_model: str | None = None
    quota_tokens_per_minute: int | None = None
    quota_requests_per_minute: int | None = None
    quota_requests_per_day: int | None = None
    growth_per_month: float | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        growth = self.growth_per_month
        return {
            "price_model": self.price_models,
            "requests_per_day": self.requests_per_day,
            "output_tokens_per_request": self.output_tokens_per_request,
            "closed_model": self.closed_model,
            "quota": self._quota(),
            "growth_per_month": None if growth is None else growth / 100,
        }

    def _quota(self) -> Quota | None:
        limits = (
            self.quota_tokens_per_minute,
            self.quota_requests_per_minute,
            self.quota_requests_per_day,
        )
        if all(limit is None for limit in limits):
            return None
        from jeton.economics.billing.quotas import Quota

        return Quota(*limits)


PRICE = OptionGroup(
    title="Price",
    name="price",
    settings=PriceSettings,
    options=(
        click.option(
            "--price-model",
            "price_models",
            metavar="P",
            multiple=True,
            help="API price: MODEL, PROVIDER:MODEL, or usd:INPUT/OUTPUT per million tokens; "
            "`jeton catalog prices` lists them. Repeat it to compare models by price per document.",
        ),
        click.option(
            "--requests-per-day",
            type=FiniteRange(min=0),
            metavar="N",
            help="Requests like these in a day, for the cost of a day, month and year. By default "
            "as in the logs.",
        ),
        click.option(
            "--output-tokens-per-request",
            type=FiniteRange(min=0),
            metavar="N",
            help="Mean tokens of an answer. By default as in the logs, else 0.",
        ),
        click.option(
            "--closed-model",
            metavar="M",
            help="Model whose provider counts the tokens (claude-..., gemini-...); by default that "
            "of the price. Learned from the usage in logs, else estimated with a range.",
        ),
        click.option(
            "--quota-tokens-per-minute",
            type=_TOKENS,
            metavar="N",
            help="Limit of your API: tokens (input and output) in any minute.",
        ),
        click.option(
            "--quota-requests-per-minute",
            type=_TOKENS,
            metavar="N",
            help="Limit of your API: requests in any minute.",
        ),
        click.option(
            "--quota-requests-per-day",
            type=_TOKENS,
            metavar="N",
            help="Limit of your API: requests in any day.",
        ),
        click.option(
            "--growth-per-month",
            type=FiniteRange(min=-100, min_open=True),
            metavar="PERCENT",
            help="Growth of the traffic, to say when it reaches these limits.",
        ),
    ),
)
