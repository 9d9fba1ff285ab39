"""Which encoding OpenAI's models use.

Source: the tables of tiktoken 0.14.0 (``tiktoken/model.py``), read on 2026-11-21.
"""

from __future__ import annotations

from jeton._nearest import nearest
from jeton.compat.tiktoken._building import UnmappedModelError
from jeton.compat.tiktoken.core import Encoding
from jeton.compat.tiktoken.registry import get_encoding

__all__ = [
    "MODEL_PREFIX_TO_ENCODING",
    "MODEL_TO_ENCODING",
    "encoding_for_model",
    "encoding_name_for_model",
]

_GENERATIONS = ("davinci", "curie", "babbage", "ada")

# Names that begin like this, the first that fits: dates and deployments are appended to them.
MODEL_PREFIX_TO_ENCODING: dict[str, str] = {
    prefix: encoding
    for encoding, prefixes in (
        ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
        ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
        ("o200k_harmony", "gpt-oss-"),
        ("o200k_base", "ft:gpt-4o"),
        ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
    )
    for prefix in prefixes.split()
}

MODEL_TO_ENCODING: dict[str, str] = {
    model: encoding
    for encoding, models in (
        ("o200k_base", ("o1", "o3", "o4-mini", "gpt-5", "gpt-4.1", "gpt-4o")),
        ("cl100k_base", ("gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo")),
        ("cl100k_base", ("davinci-002", "babbage-002")),
        ("cl100k_base", ("text-embedding-ada-002",)),
        ("cl100k_base", ("text-embedding-3-small", "text-embedding-3-large")),
        ("p50k_base", ("text-davinci-003", "text-davinci-002")),
        ("r50k_base", tuple(f"text-{name}-001" for name in _GENERATIONS)),
        ("r50k_base", _GENERATIONS),
        ("p50k_base", tuple(f"code-{n}-00{i}" for n in ("davinci", "cushman") for i in (2, 1))),
        ("p50k_base", ("davinci-codex", "cushman-codex")),
        ("p50k_edit", ("text-davinci-edit-001", "code-davinci-edit-001")),
        ("r50k_base", tuple(f"text-similarity-{name}-001" for name in _GENERATIONS)),
        ("r50k_base", tuple(f"text-search-{name}-doc-001" for name in _GENERATIONS)),
        ("r50k_base", ("code-search-babbage-code-001", "code-search-ada-code-001")),
        ("gpt2", ("gpt2", "gpt-2")),
    )
    for model in models
}


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding that a model uses.

    Raises:
        UnmappedModelError: It is not known (a ``KeyError``).
    """
    if not isinstance(model_name, str):
        raise TypeError(f"the name of a model must be str, not {type(model_name).__name__}")
    known = MODEL_TO_ENCODING.get(model_name)
    if known is not None:
        return known
    for prefix, encoding in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return encoding
    near = ", ".join(nearest(model_name, MODEL_TO_ENCODING)) or "none"
    raise UnmappedModelError(
        f"it is not known which encoding the model {model_name!r} uses; the nearest names: {near}\n"
        "hint: get_encoding takes the name of an encoding"
    )


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding that a model uses. Raises as `encoding_name_for_model` and `get_encoding` do."""
    return get_encoding(encoding_name_for_model(model_name))
