"""Providers of models: ids of the price list, with the words and addresses that logs have for them.

``providers.json`` is the one table: by id, ``names`` that logs, gateways and frameworks write,
``hosts`` as parts of an address, and beginnings of the ids of answers that only one provider gives.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from importlib.resources import files
from typing import Final

from jeton._foreign import json_of

_TABLE: Final[dict[str, dict[str, list[str]]]] = json_of(
    files("jeton").joinpath("providers.json").read_text(encoding="utf-8")
)

NAMES: Final = {own: tuple(entry["names"]) for own, entry in _TABLE.items()}
"""By the price list's id: other words for it, in small letters, ``-`` for any other sign."""

_ID_OF: Final = {word: own for own, words in NAMES.items() for word in (own, *words)}

# The AI SDK adds the kind of the model to the provider: openai.responses, anthropic.messages.
_KIND: Final = re.compile(
    r"[-.](chat|messages|responses|completions?|embeddings?|textembedding|image|speech|transcription)$"
)
_MAX_CHARS: Final = 60
_NO_PROVIDER: Final = frozenset(
    {"", "litellm", "litellm-proxy", "-other", "other", "unknown", "none", "null", "custom"}
)
"""Words of gateways, and of what is not known: they name nobody who sends a bill."""


@lru_cache(maxsize=1024)
def provider_id(name: str) -> str:
    """The id of a provider; a word in no table stays, in small letters; empty: it names none.

    Example:
        >>> provider_id("Vertex AI"), provider_id("openai.responses"), provider_id("house")
        ('google', 'openai', 'house')
    """
    folded = _KIND.sub("", name.strip().lower()[:_MAX_CHARS])
    word = re.sub(r"[\s._/]+", "-", folded)
    return "" if word in _NO_PROVIDER else _ID_OF.get(word, word)


def listed_provider(name: str, listed: AbstractSet[str]) -> str | None:
    """The id that a provider has in a list of prices; None if it is not there.

    Dotted names of frameworks (``openai.chat``, ``aws.bedrock``, ``google.vertex.chat``) are read
    from their longest known beginning.

    Args:
        name: As a log writes it.
        listed: Ids of the list.
    """
    # Ids of the list may have an underscore (huggingface_groq).
    exact = {folded_name(own): own for own in listed}
    words = folded_name(name.strip()).split("-")
    for n_words in range(len(words), 0, -1):
        start = "-".join(words[:n_words])
        found = _ID_OF.get(start) or exact.get(start)
        if found is not None:
            return found if found in listed else None
    return None


def folded_name(name: str) -> str:
    """A name in small letters, with ``-`` for any other sign."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


_AWS_MODEL: Final = re.compile(
    r"^(?:(?:us|us-gov|eu|apac|ap|jp|au|ca|sa|global)\.)?"
    r"(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai|stability|writer|luma|"
    r"twelvelabs|google|moonshot|minimax|nvidia|zai)\.[a-z0-9]"
)


@lru_cache(maxsize=4096)
def provider_of_model(model: str) -> str:
    """The provider that a model's id proves; empty: it proves none."""
    if model.startswith("arn:aws") or _AWS_MODEL.match(model):
        return "aws"
    return "fireworks" if model.startswith("accounts/fireworks/") else ""


def provider_of_answer(answer: str) -> str:
    """The provider that an answer's id proves; empty: it proves none."""
    if answer.startswith(_OWN_IDS):
        return next(own for start, own in _ANSWER_IDS if answer.startswith(start))
    return ""


@lru_cache(maxsize=1024)
def provider_of_url(url: str) -> str:
    """The provider whose address a call went to; empty: it is in no table."""
    host = url.split("://", 1)[-1].split("/", 1)[0].lower()
    return next((own for part, own in _HOSTS if part in host), "")


def _pairs(key: str) -> tuple[tuple[str, str], ...]:
    return tuple((part, own) for own, entry in _TABLE.items() for part in entry.get(key, ()))


_HOSTS: Final = _pairs("hosts")
_ANSWER_IDS: Final = _pairs("answer_ids")
_OWN_IDS: Final = tuple(start for start, _ in _ANSWER_IDS)
