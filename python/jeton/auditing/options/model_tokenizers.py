"""The tokenizer that belongs to a model: its own, or the public stand-in of a closed one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jeton._core import Tokenizer
from jeton.catalog import ApiPrice, ModelFacts
from jeton.catalog.api_price import USER_PROVIDER
from jeton.economics.billing.closed import known_stand_in
from jeton.errors import CatalogError
from jeton.findings import Basis
from jeton.registry import load
from jeton.registry.model_families import SharedTokenizer, family_of

_PROBE = (
    "The quick brown fox jumps over the lazy dog; it's 12,345.67 EUR (or 9 %) on 2026-10-31.\n"
    "def add(a: int, b: int) -> int:\n    return a + b  # two spaces\n\n\tTabs, too.\r\n"
    "Größe, naïve, señor, œuvre, İstanbul. Съешь ещё этих мягких французских булок. "
    "Ξεσκεπάζω τὴν ψυχοφθόρα. 我能吞下玻璃而不伤身体。いろはにほへと 안녕하세요 "
    "मैं काँच खा सकता हूँ أنا قادر على أكل الزجاج אני יכול \U0001f600\U0001f469\u200d\U0001f4bb "
    "internationalization antidisestablishmentarianism HTTPServerError camelCase snake_case "
    '{"key": [1, 2, {"x": null}]} <p class="a">b</p> https://example.com/a?b=c&d=%20'
)
"""Two vocabularies that give this text the same ids give them to any text, in practice."""


@dataclass(frozen=True, slots=True)
class ModelTokenizer:
    """Tokenizer that a model's text is counted with.

    Attributes:
        model: The model, as it was named.
        vocabulary: Name of the vocabulary.
        basis: Exact for the model's own; estimated for the stand-in of a closed model.
    """

    model: str
    vocabulary: str
    basis: Basis

    @property
    def is_own(self) -> bool:
        """True if it is the model's own tokenizer."""
        return self.basis is Basis.EXACT


def tokenizer_of_model(model: str) -> ModelTokenizer | None:
    """Return the tokenizer for a model's text; None where nothing is known of it."""
    family = family_of(model)
    if family is not None:
        return ModelTokenizer(model, _usual(family), Basis.EXACT)
    entry = known_stand_in(model)
    return None if entry is None else ModelTokenizer(model, entry.tokenizer, entry.basis)


def tokenizer_family_of_model(model: str) -> str:
    """Name of a model's tokenizer, published or not; the model's where nothing is known of it."""
    entry = known_stand_in(model)
    if entry is not None:
        return entry.family
    family = family_of(model)
    return model if family is None else family.vocabularies[0]


TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt")
"""Files by which a model's folder has its tokenizer."""


def tokenizer_of_facts(model: ModelFacts) -> ModelTokenizer | None:
    """Returns the tokenizer of a planned model: the one in its folder goes first."""
    if model.folder and any((Path(model.folder) / name).is_file() for name in TOKENIZER_FILES):
        return ModelTokenizer(model.name, model.folder, Basis.EXACT)
    return tokenizer_of_model(model.name)


def _usual(family: SharedTokenizer) -> str:
    from jeton.registry.of_models import at_hand

    return at_hand(family) or family.vocabularies[0]


def model_of_price(price: ApiPrice | None) -> str | None:
    """The model that a price is for; None for a price of the user's own."""
    return None if price is None or price.provider == USER_PROVIDER else price.model


def load_or_none(name: str) -> Tokenizer | None:
    """A vocabulary that is at hand; None where it is not."""
    try:
        return load(name)
    except (CatalogError, OSError):
        return None


def is_same(one: Tokenizer, other: Tokenizer) -> bool:
    """True if two tokenizers give the same ids, special tokens aside."""
    if one.fingerprint == other.fingerprint:
        return True
    return bool(np.array_equal(one.encode_array(_PROBE), other.encode_array(_PROBE)))
