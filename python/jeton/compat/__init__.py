"""Stand-ins: programs written for other tokenizer libraries run when one import is changed.

    import jeton.compat.tiktoken as tiktoken
    import jeton.compat.sentencepiece as spm

Each stand-in is a module of its own, named like the library, and is imported when it is asked for.
Its documentation lists its differences (``docs/guides/coming-from-*.md``).
"""

from __future__ import annotations

from importlib import import_module, util
from types import ModuleType

# Libraries that have a stand-in; those not in this installation are left out of `available`.
_LIBRARIES = ("minbpe", "sentencepiece", "tiktoken", "tokenizers", "transformers")

__all__ = ["available"]


def available() -> list[str]:
    """Names of the libraries that have a stand-in here: ``jeton.compat.NAME``."""
    return [name for name in _LIBRARIES if util.find_spec(f"{__name__}.{name}") is not None]


def __getattr__(name: str) -> ModuleType:
    """Import a stand-in on first use (PEP 562)."""
    if name in _LIBRARIES and util.find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names of the stand-ins, whether imported yet or not."""
    return sorted([*__all__, *available()])
