"""Find the price of each name in a log, once each: by the list, a map of one's own, or given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from jeton.catalog.api_price import ApiPrice
from jeton.catalog.model_map import ModelMap
from jeton.catalog.model_names import find_listed, runs_on_own_machines
from jeton.catalog.prices import nearest_prices
from jeton.economics.ledger.rates import GivenPrice, ListPrice, PriceOf, free_price
from jeton.economics.ledger.rows import STANDARD
from jeton.errors import UnknownPriceError

Prices = Mapping[str, ApiPrice] | Callable[[str, date | None, str], ApiPrice]
"""Prices by model name (and ``NAME@TARIFF`` for another tariff than the standard one), or a
function of model, day and tariff."""


_OPENROUTER = "openrouter"
_FREE = ":free"
"""Suffix of OpenRouter's variants that cost nothing; the list has them without rates, or not."""


@dataclass(frozen=True, slots=True)
class NoPrice:
    """A name without a price, and why."""

    kind: str
    why: str
    nearest: tuple[str, ...] = ()


class PriceBook:
    """Answers which price a logged name has; each is looked up once."""

    def __init__(self, prices: Prices | None = None, model_map: ModelMap | None = None) -> None:
        self._given = prices
        self._map = model_map or ModelMap()
        self._found: dict[tuple[str, str, str], PriceOf | NoPrice] = {}

    @property
    def is_given(self) -> bool:
        """True if the prices are the caller's and not the list's."""
        return self._given is not None

    def find(self, model: str, provider: str, tariff: str) -> PriceOf | NoPrice:
        """Return the price of a model as logged; the provider is empty where not known."""
        key = (model, provider, tariff)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._look_up(model, provider, tariff)
        return found

    def _look_up(self, model: str, provider: str, tariff: str) -> PriceOf | NoPrice:
        if not model:
            return NoPrice("no_model", "the log names no model")
        mapped = self._map.target(model, provider)
        if mapped is not None:
            model, provider = mapped, ""
        if self._given is not None:
            return self._from_given(model, tariff)
        if mapped is not None and mapped.casefold().startswith("usd:"):
            from jeton.catalog.prices import price

            given = price(mapped)
            return GivenPrice(mapped, lambda day: given)
        listed = find_listed(model, provider or None)
        if model.endswith(_FREE) and "/" in model and provider.casefold() in ("", _OPENROUTER):
            return free_price(_OPENROUTER, model)
        if listed is None:
            if runs_on_own_machines(provider):
                why = f"{provider} runs on machines of one's own: nobody charges by the token"
                return NoPrice("own_machine", why)
            if model.casefold().startswith("ft:"):
                why = "a fine-tuned model whose own price the list lacks"
                return NoPrice("unknown_model", why, nearest_prices(model.split(":")[1]))
            why = "the price list has no such name"
            return NoPrice("unknown_model", why, nearest_prices(model))
        found = ListPrice(listed, price_contexts(tariff))
        if not found.has_rates:
            why = f"the list has {listed.name} without a price"
            return NoPrice("no_price", why, nearest_prices(model))
        return found

    def _from_given(self, model: str, tariff: str) -> PriceOf | NoPrice:
        given = self._given
        standard = not price_contexts(tariff)
        try:
            if callable(given):
                find = given
                word = "standard" if standard else tariff
                return GivenPrice(model, lambda day: find(model, day, word))
            assert given is not None
            name = model if standard else f"{model}@{tariff}"
            own = given.get(name)
            if own is None:
                from jeton._nearest import nearest

                raise UnknownPriceError(name, nearest=nearest(name, given))
            return GivenPrice(model, lambda day: own)
        except UnknownPriceError as error:
            return NoPrice("unknown_model", "no price was given for this name", error.nearest)


_STANDARD_WORDS = frozenset(
    ("", STANDARD, "default", "auto", "on_demand", "on-demand", "ondemand", "standard_only", "none")
)
"""Words for the tariff that holds where nothing is said; ``auto`` is an answer of some providers
that do not say which one it was."""

_WORDS: Mapping[str, Mapping[str, str]] = {
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    # Two providers use the word: for a tier, and for a mode of the model. Each has only its own.
    "fast": {"service_tier": "fast", "speed": "fast"},
}


def price_contexts(tariff: str) -> tuple[Mapping[str, str], ...]:
    """Return the contexts of a tariff's parts; none for the standard one.

    Parts are joined by ``+`` (``batch+fast``); a part is a word or ``key=value`` as the list has it
    (``search_type=fast``, ``route=mistral/eu``, ``speed=fast``). An unknown word gets a context
    that no price has, so that it is reported and not lost.
    """
    found: list[Mapping[str, str]] = []
    for part in tariff.split("+"):
        word = part.strip().casefold()
        if word in _STANDARD_WORDS:
            continue
        key, equals, value = word.partition("=")
        if equals:
            if value.strip() not in _STANDARD_WORDS:
                found.append({key.strip(): value.strip()})
            continue
        found.append(_WORDS.get(word, {"service_tier": word}))
    return tuple(found)
