"""Stands in for ``tiktoken``: ``import jeton.compat.tiktoken as tiktoken``.

The public interface of tiktoken 0.14.0, its submodules included, on Jeton's core. Vocabularies are
found where `jeton.load` finds them, and in tiktoken's own cache; nothing is downloaded unless
``get_encoding(name, download=True)`` says so. Differences: ``docs/guides/coming-from-tiktoken.md``.
"""

from __future__ import annotations

from jeton.compat.tiktoken.core import Encoding
from jeton.compat.tiktoken.model import encoding_for_model, encoding_name_for_model
from jeton.compat.tiktoken.registry import get_encoding, list_encoding_names

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]

__version__ = "0.14.0"
"""The version of tiktoken whose interface this is."""
