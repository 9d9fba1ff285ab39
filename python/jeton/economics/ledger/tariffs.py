"""Tariffs as logs name them, and the context that the price list knows them by."""

from __future__ import annotations

from collections.abc import Mapping

from jeton.economics.ledger.rows import STANDARD

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
