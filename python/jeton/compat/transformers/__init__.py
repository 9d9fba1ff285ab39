"""The tokenizers of the library ``transformers`` over Jeton's core.

A program changes its import::

    from jeton.compat.transformers import AutoTokenizer

``AutoTokenizer`` loads what ``transformers`` loads and puts Jeton's core in place of the backend;
the result is an instance of the same class of ``transformers``. Any tokenizer class of
``transformers`` can be imported from here by its name, and all else that it has is what it is
there. Which calls there are, and what is
different, stands in ``docs/guides/coming-from-transformers.md``.
"""

from __future__ import annotations

from typing import Any

from jeton.errors import MissingExtraError

try:
    import transformers as _transformers
except ImportError as error:
    raise MissingExtraError("jeton.compat.transformers", extra="transformers") from error

from transformers import AddedToken, BatchEncoding, PreTrainedTokenizerBase

from jeton.compat.transformers.auto import AutoTokenizer
from jeton.compat.transformers.backend import (
    JetonBackend,
    JetonTokenizer,
    class_over_jeton,
    from_transformers,
)

__all__ = [
    "AddedToken",
    "AutoTokenizer",
    "BatchEncoding",
    "JetonBackend",
    "JetonTokenizer",
    "PreTrainedTokenizerBase",
    "PreTrainedTokenizerFast",
    "class_over_jeton",
    "from_transformers",
]

# The name that the library's generic tokenizer is imported by.
PreTrainedTokenizerFast = JetonTokenizer


# The bases of the classes that the core cannot stand in for: programs ask for them by isinstance.
_BASES = ("PreTrainedTokenizer", "PythonBackend", "SentencePieceBackend")


def __getattr__(name: str) -> Any:
    """A name of ``transformers``; a tokenizer class of it is over Jeton's core."""
    found = None if name.startswith("_") else getattr(_transformers, name, None)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, nor has transformers")
    is_tokenizer = isinstance(found, type) and issubclass(found, PreTrainedTokenizerBase)
    return class_over_jeton(found) if is_tokenizer and name not in _BASES else found
