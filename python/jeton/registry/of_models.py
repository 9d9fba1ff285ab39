"""From the name of a model, or its ``config.json``, to the vocabulary that it reads text with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import UnknownTokenizerError
from jeton.registry.finding import find
from jeton.registry.model_families import FAMILIES, SharedTokenizer, family_of, is_not_public

CONFIG = "config.json"

_TEXT_CONFIGS = ("text_config", "llm_config", "language_config")
"""Where models that also see or hear keep the configuration of their language model."""


def at_hand(family: SharedTokenizer) -> str | None:
    """The first vocabulary of a family that is at hand; None where none is."""
    return next((name for name in family.vocabularies if find(name) is not None), None)


def vocabulary_of_model(model: str, *, download: bool = False) -> str | None:
    """The name of a model's vocabulary, at hand; None where the model is not known.

    Args:
        model: Its name, as its provider or a hub writes it.
        download: True if a published vocabulary will do that is not at hand.

    Raises:
        UnknownTokenizerError: The vocabulary is known and not at hand, or not public.
    """
    family = family_of(model)
    if family is not None:
        found = at_hand(family)
        if found is None and download:
            found = next((name for name in family.vocabularies if _can_be_fetched(name)), None)
        if found is None:
            raise _missing(model, family)
        return found
    if is_not_public(model):
        raise _error(
            model,
            f"the tokenizer of {model!r} is not public\n"
            "hint: an audit counts for it with a public stand-in: give the model as --price-model, "
            "without --tokenizer",
        )
    return None


def vocabulary_of_config(path: Path) -> str | None:
    """The vocabulary that a model's ``config.json``, or the folder of one, means.

    None where the configuration does not say.

    Raises:
        UnknownTokenizerError: It is known and not at hand.
    """
    # A folder's own tokenizer, where it has one, is the business of whoever asks.
    place = path / CONFIG if path.is_dir() else path
    if place.name != CONFIG or not place.is_file():
        return None
    try:
        config = json_of(place.read_text(encoding="utf-8"))
    except ValueError:
        return None
    name = _model_of(config) if isinstance(config, dict) else None
    return None if name is None else vocabulary_of_model(name)


def _model_of(config: dict[str, Any]) -> str | None:
    """A model with the configuration's tokenizer."""
    parts = [config, *(config[key] for key in _TEXT_CONFIGS if isinstance(config.get(key), dict))]
    # The shape says more than a name: the folder of a model may be called anything.
    for part in reversed(parts):
        kind, n_rows = part.get("model_type"), part.get("vocab_size")
        for family in FAMILIES:
            for model, known, first, last in family.configs:
                if kind == known and isinstance(n_rows, int) and first <= n_rows <= last:
                    return model
    for part in parts:
        name = part.get("_name_or_path")
        if isinstance(name, str) and family_of(name) is not None:
            return name
    return None


def _can_be_fetched(name: str) -> bool:
    from jeton._published import published_vocabularies

    published = published_vocabularies().get(name)
    return published is not None and published.rank_file.url is not None


def _missing(model: str, family: SharedTokenizer) -> UnknownTokenizerError:
    from jeton._published import published_vocabularies
    from jeton.registry.places import how_to_get

    published = published_vocabularies()
    name = next((n for n in family.vocabularies if n in published), family.vocabularies[0])
    how = how_to_get(name) if name in published else f"jeton vocab add FILE --name {name}"
    of = f"the tokenizer of {model!r} is {name}, which is" if model != name else f"{model!r} is"
    return _error(
        model,
        f"{of} not at hand\n"
        f"hint: `{how}` brings it; $JETON_VOCAB_DIR may name a folder that has it",
    )


def _error(model: str, message: str) -> UnknownTokenizerError:
    error = UnknownTokenizerError(model)
    # The class builds the message for names that mean nothing; this one does mean something.
    error.args = (message,)
    return error
