"""The tokenizers of the library ``transformers`` over Jeton's core.

A program changes its import::

    from jeton.compat.transformers import AutoTokenizer

``AutoTokenizer`` loads what ``transformers`` loads and puts Jeton's core in place of the backend;
the result is an instance of the same class of ``transformers``. Any tokenizer class of
``transformers`` can be imported from here by its name. Which calls there are, and what is
different, stands in ``docs/coming-from-transformers.md``.
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


def __getattr__(name: str) -> Any:
    """A tokenizer class of ``transformers`` over Jeton's core, by its name there."""
    if "Tokenizer" not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_transformers, name, None)
    if not isinstance(found, type):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, nor has transformers")
    return class_over_jeton(found)
