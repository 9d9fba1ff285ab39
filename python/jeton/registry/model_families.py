"""Which published vocabulary a model reads its text with, by the model's name.

One entry is a family of models that share a tokenizer exactly. A name that no entry matches is not
guessed at: its tokenizer is not known here.

The families stand in ``model_families.toml``.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

from jeton._foreign import toml_of

_TABLE = toml_of(
    files("jeton.registry").joinpath("model_families.toml").read_text(encoding="utf-8")
)


class SharedTokenizer(NamedTuple):
    """Models with one tokenizer.

    Attributes:
        name: Name of the tokenizer's family.
        pattern: Matches the models' names, whole, in the forms of `plain_names`.
        vocabularies: Names under which the vocabulary is found, the usual one first.
        source: Where the pair is published.
        configs: Configurations with it: name of a model, ``model_type``, and the first and the last
            ``vocab_size``.
    """

    name: str
    pattern: str
    vocabularies: tuple[str, ...]
    source: str
    configs: tuple[tuple[str, str, int, int], ...] = ()


FAMILIES = tuple(
    SharedTokenizer(
        entry["name"],
        entry["pattern"] if isinstance(entry["pattern"], str) else "|".join(entry["pattern"]),
        tuple(entry["vocabularies"]),
        entry["source"],
        tuple(tuple(config) for config in entry.get("configs", ())),
    )
    for entry in _TABLE["families"]
)
"""All families; later entries are only asked where no earlier one matches."""

NOT_PUBLIC: str = _TABLE["not_public"]
"""Models whose providers keep the tokenizer to themselves."""

_KNOWN_WORDS = frozenset(_TABLE["known_words"])
"""Words that a name may have beside those of its family: sizes, uses, number formats, routes."""

_OPENAI = ("gpt-3", "gpt-4", "gpt-5", "chatgpt", "o1", "o3", "o4")

_RUN_OF_LETTERS = re.compile(r"[a-z]{3,}")

_VENDOR = re.compile(
    r"(?:(?:us|eu|apac|ap|jp|au|ca|global|us-gov)\.)?"
    r"(?:meta|mistral|anthropic|amazon|cohere|ai21|qwen|deepseek|openai|google|moonshot)\."
)
_BEDROCK_VERSION = re.compile(r"(?:-v\d+)?:\d+(?::\S+)?$")
_SEPARATORS = re.compile(r"[\s_]+")
_JOINED = re.compile(r"(?<=^gpt)(?=\d)")


def plain_names(name: str) -> tuple[str, ...]:
    """The forms of a model's name that families are looked for by, whole before its last part.

    Lower case; without folders, a provider before ``:``, Bedrock's vendor and version, and with
    ``-`` for spaces, underscores and the ``:`` of a tag, and where people leave it out (``gpt4o``).
    """
    forms = list(_typed(name))
    forms += [_SEPARATORS.sub("-", form) for form in forms]
    forms += [_JOINED.sub("-", form) for form in forms]
    return tuple(dict.fromkeys(forms))


def _typed(name: str) -> tuple[str, ...]:
    """The forms whose letters and separators are those of the name as it was given."""
    whole = name.strip().casefold()
    last = whole.rstrip("/").rpartition("/")[2]
    bare = _BEDROCK_VERSION.sub("", _VENDOR.sub("", last, count=1))
    forms = [whole, last, bare, last.replace(":", "-"), last.rpartition(":")[2]]
    forms.append(last.partition(":")[2])
    # A model tuned at OpenAI: ft:MODEL:ORGANIZATION:NAME:ID.
    forms += [last.split(":")[1]] if last.startswith("ft:") else []
    return tuple(dict.fromkeys(form for form in forms if form))


def family_of(model: str) -> SharedTokenizer | None:
    """The family of a model; None where its tokenizer is not known here.

    Each word of three letters or more has to be a known one (`are_words_known`).

    Example:
        >>> family_of("llama3-8b-instruct").name
        'llama3'
        >>> family_of("llama3-banana") is None
        True
    """
    for form in plain_names(model):
        for family in FAMILIES:
            if re.fullmatch(family.pattern, form) and are_words_known(form, family.pattern):
                return family
    return None


def known_model(name: str) -> str | None:
    """The longest beginning of a name, up to a separator, that is a known model; None: none is.

    Example:
        >>> known_model("gpt-5-banana")
        'gpt-5'
    """
    ends = [match.start() for match in re.finditer(r"[-_:. ]", name)]
    return next((name[:end] for end in reversed(ends) if family_of(name[:end])), None)


def are_words_known(form: str, pattern: str) -> bool:
    """True if each word of a model's name is one of its family's, or says a size, use or route.

    Args:
        form: A name in a form of `plain_names`.
        pattern: Pattern of the family's names.
    """
    # Only Llama's and other open models have a "base"; of OpenAI's it is an encoding's name.
    known = _KNOWN_WORDS - {"base"} if form.startswith(_OPENAI) else _KNOWN_WORDS
    own = set(_RUN_OF_LETTERS.findall(pattern))
    return all(word in own or word in known for word in _RUN_OF_LETTERS.findall(form))


def is_not_public(model: str) -> bool:
    """True if the model's provider keeps its tokenizer to itself."""
    return any(re.fullmatch(NOT_PUBLIC, form) for form in plain_names(model))
