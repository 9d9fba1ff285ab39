"""Request for an audit, judged before anything is read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from jeton.auditing.money.bills import has_limit
from jeton.auditing.options.pipeline import Pipeline
from jeton.catalog import ApiPrice
from jeton.catalog import price as find_price
from jeton.catalog.model_map import ModelMap, read_model_map
from jeton.corpus import read_terms
from jeton.economics.billing.quotas import Quota, quota_from_rate
from jeton.economics.ledger import parse_period
from jeton.errors import UsageError
from jeton.workload.inputs.log_pricing import PricingOptions


def check_number(name: str, value: float | None, *, above_zero: bool) -> None:
    """Refuse a number that is below 0, not finite or, if it must be above 0, 0."""
    if value is None:
        return
    if not math.isfinite(value) or value < 0 or (above_zero and value == 0):
        expected = "a number above 0" if above_zero else "0 or more"
        raise UsageError(f"{name} is {value}; expected {expected}")


def check_quota(quota: Quota | None, growth_per_month: float | None, *, is_timed: bool) -> None:
    """Refuse limits that cannot be judged, before anything is read."""
    if quota is None:
        if growth_per_month is not None:
            raise UsageError(
                "growth_per_month was given without a quota that it could use up\n"
                "hint: say the limits too (--quota-tokens-per-minute)"
            )
        return
    if not has_limit(quota):
        raise UsageError("the quota has no limit; expected at least one")
    if not is_timed:
        raise UsageError(
            "a quota was given, but nothing says how many requests come in a time\n"
            "hint: say requests_per_day (--requests-per-day), or audit logs with times"
        )
    # Judges the numbers by themselves; the traffic is not known yet.
    quota_from_rate(quota, requests_per_day=0, tokens_mean=0, growth_per_month=growth_per_month)


def prices_of(price_model: str | Sequence[str] | None) -> tuple[ApiPrice, ...]:
    """The prices that were asked for, each once.

    Raises:
        UnknownPriceError: A name is not known.
        UsageError: A ``usd:`` price is no number above zero.
    """
    names = [price_model] if isinstance(price_model, str) else list(price_model or ())
    prices = {price.name: price for price in map(find_price, names)}
    return tuple(prices.values())


def pricing_of(
    model_map: ModelMap | Mapping[str, str] | str | os.PathLike[str] | None,
    *,
    strict: bool,
    period: str,
) -> PricingOptions:
    """How logged requests are priced.

    Raises:
        RecordError: The file is no map of names.
        UnknownPriceError: A name is mapped to one that the list does not have.
        UsageError: The period cannot be read.
        OSError: The file cannot be read.
    """
    if isinstance(model_map, str | os.PathLike):
        model_map = read_model_map(Path(model_map))
    elif not isinstance(model_map, ModelMap):
        model_map = ModelMap(dict(model_map or {}))
    if period:
        parse_period(period)
    return PricingOptions(model_map=model_map, strict=strict, period=period)


def tokenizers_of(pipeline: Pipeline | None) -> tuple[str, ...]:
    """Names of the tokenizers that a pipeline says it uses."""
    names = () if pipeline is None else (pipeline.train_tokenizer, pipeline.serve_tokenizer)
    return tuple(name for name in names if name)


def distinct_terms(terms: Iterable[str] | os.PathLike[str] | None) -> list[str]:
    """Terms without blanks and repetitions (case ignored, as they are counted), in their order."""
    if terms is None:
        return []
    if isinstance(terms, str):
        raise UsageError(
            "terms is one str; expected an iterable of terms, or the path of a file\n"
            "hint: pathlib.Path(...) names a file"
        )
    given = read_terms(terms) if isinstance(terms, os.PathLike) else list(terms)
    unique: dict[str, str] = {}
    for term in given:
        stripped = term.strip()
        if stripped:
            unique.setdefault(stripped.casefold(), stripped)
    return list(unique.values())
