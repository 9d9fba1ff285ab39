"""Tokenizers of endpoints: as stated, else the model's own; each different one is loaded once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from jeton._core import Tokenizer
from jeton.economics.billing.closed import stand_in
from jeton.errors import CatalogError, UsageError
from jeton.planning.routing.endpoints import Endpoint
from jeton.registry import TokenizerLike, resolve
from jeton.registry.model_families import family_of
from jeton.registry.of_models import at_hand

_SAMPLE: Final = "The 3,141 words of a sample: don't split naïve Tokenizer::encode(x) 漢字 alike."
"""Text that different tokenizers cut differently."""


def endpoint_tokenizers(
    endpoints: Sequence[Endpoint],
) -> tuple[tuple[Tokenizer, ...], tuple[int, ...]]:
    """Return the different tokenizers, and the place of each endpoint's among them.

    Raises:
        UsageError: None is stated, and the model's own is not public or not known.
        UnknownTokenizerError: A tokenizer is not known, or not at hand.
    """
    different: list[Tokenizer] = []
    by_name: dict[str, int] = {}
    by_content: dict[str, int] = {}
    found: list[int] = []
    for endpoint in endpoints:
        given = _own(endpoint) if endpoint.tokenizer is None else endpoint.tokenizer
        place = by_name.get(given) if isinstance(given, str) else None
        if place is None:
            tokenizer = resolve(given)
            if endpoint.tokenizer is not None:
                _check(endpoint, tokenizer)
            place = by_content.setdefault(tokenizer.fingerprint, len(different))
            if place == len(different):
                different.append(tokenizer)
            if isinstance(given, str):
                by_name[given] = place
        found.append(place)
    return tuple(different), tuple(found)


def _check(endpoint: Endpoint, stated: Tokenizer) -> None:
    """Raise where the stated tokenizer is not that of the endpoint's model."""
    family = family_of(endpoint.model)
    own = None if family is None else at_hand(family)
    if family is None or own is None:
        return  # Nothing is known that could be contradicted.
    if stated.encode(_SAMPLE) != resolve(own).encode(_SAMPLE):
        raise UsageError(
            f"endpoint {endpoint.name!r}: the stated tokenizer contradicts the model: "
            f"{endpoint.model} reads text with {family.vocabularies[0]}\n"
            "hint: leave tokenizer out, or state another model"
        )


def _own(endpoint: Endpoint) -> TokenizerLike:
    """Return the tokenizer that belongs to an endpoint's model."""
    family = family_of(endpoint.model)
    if family is not None:
        return at_hand(family) or family.vocabularies[0]
    hint = 'state tokenizer = "NAME", "FILE" or "FOLDER"'
    with suppress(CatalogError):
        entry = stand_in(endpoint.model)
        hint += f'; a stand-in is "{entry.tokenizer}" ({entry.source})'
    raise UsageError(
        f"endpoint {endpoint.name!r}: no public tokenizer is known of {endpoint.model}\n"
        f"hint: {hint}"
    )
