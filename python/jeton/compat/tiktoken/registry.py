"""Names to encodings: OpenAI's, those of plug-ins, and what Jeton's registry knows beyond them.

A plug-in is a module in the namespace package ``tiktoken_ext`` with a table
``ENCODING_CONSTRUCTORS``: names to functions that return the arguments of `Encoding`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jeton import registry
from jeton._core import Tokenizer, from_tiktoken
from jeton._nearest import nearest
from jeton._published import published_vocabularies
from jeton.compat.tiktoken import load
from jeton.compat.tiktoken._building import UnknownEncodingError
from jeton.compat.tiktoken.core import Encoding
from jeton.errors import UnknownTokenizerError
from jeton.formats import load_file
from jeton.registry.finding import find

# OpenAI's encodings, from Jeton's registry or from tiktoken's cache.

# In the order of tiktoken 0.14.0 (`tiktoken_ext/openai_public.py`).
NAMES = (
    "gpt2",
    "r50k_base",
    "p50k_base",
    "p50k_edit",
    "cl100k_base",
    "o200k_base",
    "o200k_harmony",
)

# Special tokens that share their id with another, which Jeton's registry lists once (same source).
_SHARED_IDS = {"o200k_harmony": {"<|reserved_200018|>": 200018}}

# tiktoken checks the number of ids of these (same source).
_N_VOCAB = {"gpt2": 50257, "r50k_base": 50257, "p50k_base": 50281}


def encoding(name: str, *, download: bool = False) -> Encoding:
    """The encoding of a name. Raises as `jeton.load` does."""
    tokenizer = _load(name, download=download)
    special_tokens = tokenizer.special_tokens | _SHARED_IDS.get(name, {})
    return Encoding.from_tokenizer(tokenizer, special_tokens=special_tokens)


def arguments(name: str) -> dict[str, Any]:
    """The arguments that `Encoding` would make it from."""
    made = encoding(name)
    parts = {
        "name": name,
        "pat_str": made._pat_str,
        "mergeable_ranks": dict(made._mergeable_ranks),
        "special_tokens": dict(made._special_tokens),
    }
    return parts | ({"explicit_n_vocab": _N_VOCAB[name]} if name in _N_VOCAB else {})


def _load(name: str, *, download: bool) -> Tokenizer:
    vocabulary = published_vocabularies()[name]
    try:
        tokenizer = registry.load(name)
        if tokenizer.reference == "tiktoken":
            return tokenizer
        # At hand in another library's format ("gpt2" as a tokenizer.json): its rank file is wanted.
        found = find(vocabulary.rank_file.name)
        if found is not None:
            return load_file(found[1], name=name)
    except UnknownTokenizerError:
        pass
    address = vocabulary.rank_file.url
    cached = load.cached_file(address, vocabulary.rank_file.sha256) if address else None
    if cached is not None:
        return from_tiktoken(
            cached,
            pattern=vocabulary.pattern,
            special_tokens=vocabulary.special_tokens,
            normalizer=vocabulary.normalizer,
            name=name,
        )
    if download:
        return load_file(registry.fetch(name), name=name)
    return registry.load(name)


__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

_lock = threading.RLock()

ENCODINGS: dict[str, Encoding] = {}
"""Encodings that were asked for; each is made once."""

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None
"""Names and what makes the arguments of `Encoding`; None until names are asked for."""

# tiktoken's own plug-in: these encodings come from Jeton's registry instead.
_REPLACED = "tiktoken_ext.openai_public"


def get_encoding(encoding_name: str, *, download: bool = False) -> Encoding:
    """The encoding of a name.

    Args:
        encoding_name: One of `list_encoding_names`, or another vocabulary of ranks that
            `jeton.load` knows (``"llama3"``, ``"jeton-general-32k"``).
        download: Fetch the vocabulary if it is not at hand. tiktoken always does.

    Raises:
        UnknownEncodingError: No encoding has this name (a ``ValueError``).
        UnknownTokenizerError: It is known, but its vocabulary is not at hand.
    """
    if not isinstance(encoding_name, str):
        raise UnknownEncodingError(
            f"the name of an encoding must be str, not {type(encoding_name).__name__}"
        )
    with _lock:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = _make(encoding_name, download=download)
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """Names of OpenAI's encodings and of those that plug-ins add."""
    return list(_constructors())


def _make(name: str, *, download: bool) -> Encoding:
    constructors = _constructors()
    if name in NAMES:
        return encoding(name, download=download)
    if name in constructors:
        return Encoding(**constructors[name]())
    if name in published_vocabularies() or name in {
        entry.name for entry in registry.list_vocabularies() if entry.available
    }:
        return Encoding.from_tokenizer(registry.load(name, download=download))
    near = ", ".join(nearest(name, constructors)) or "none"
    plugins = ", ".join(_available_plugin_modules()) or "none"
    raise UnknownEncodingError(
        f"unknown encoding {name!r}; the nearest: {near}; plug-ins found: {plugins}\n"
        "hint: list_encoding_names() lists those that there are"
    )


@functools.cache
def _available_plugin_modules() -> Sequence[str]:
    try:
        import tiktoken_ext
    except ImportError:
        return []
    found = pkgutil.iter_modules(tiktoken_ext.__path__, "tiktoken_ext.")
    return [module.name for module in found if module.name != _REPLACED]


def _constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is None:
            found = {name: functools.partial(arguments, name) for name in NAMES}
            all_found: dict[str, Callable[[], dict[str, Any]]] = dict(found)
            for module_name in _available_plugin_modules():
                module = importlib.import_module(module_name)
                table = getattr(module, "ENCODING_CONSTRUCTORS", None)
                if table is None:
                    raise UnknownEncodingError(
                        f"the plug-in {module_name} has no table ENCODING_CONSTRUCTORS"
                    )
                for name, constructor in table.items():
                    if name in all_found:
                        raise UnknownEncodingError(
                            f"the plug-in {module_name} names an encoding {name!r}, which there is"
                        )
                    all_found[name] = constructor
            ENCODING_CONSTRUCTORS = all_found
        return ENCODING_CONSTRUCTORS
