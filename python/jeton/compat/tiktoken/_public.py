"""OpenAI's encodings, from Jeton's registry or from tiktoken's cache."""

from __future__ import annotations

from typing import Any

from jeton import registry
from jeton._core import Tokenizer, from_tiktoken
from jeton._published import published_vocabularies
from jeton.compat.tiktoken import load
from jeton.compat.tiktoken.core import Encoding
from jeton.errors import UnknownTokenizerError
from jeton.formats import load_file
from jeton.registry.finding import find

__all__ = ["NAMES", "arguments", "encoding"]

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
