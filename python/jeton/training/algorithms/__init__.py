"""The algorithms that ``train`` knows, one module each.

An algorithm is an ``Algorithm``: which of the shared settings it takes, a frozen dataclass of its
own options, how it cuts text, and how it learns from the counts. To add one, write a module with an
``ALGORITHM`` and put its name into ``_MODULES``; ``train``, the command line and the training card
need no change. A module is imported when its algorithm is asked for.
"""

from __future__ import annotations

import importlib

from jeton.errors import UsageError
from jeton.training.algorithms.base import Algorithm

__all__ = ["ALGORITHMS", "Algorithm", "find_algorithm"]

_MODULES = {
    "bpe": "bpe",
    "superbpe": "superbpe",
    "parity-bpe": "parity",
    "trimmed-bpe": "trimmed",
    "min-token-unigram": "min_token",
    "char-bpe": "characters",
    "wordpiece": "characters",
    "wordpiece-likelihood": "characters",
    "unigram": "sentencepiece",
    "sentencepiece-bpe": "sentencepiece",
    "sentencepiece-word": "sentencepiece",
    "sentencepiece-char": "sentencepiece",
    "word": "characters",
    "char": "characters",
}

ALGORITHMS = tuple(_MODULES)
"""Algorithms that ``train`` knows."""


def find_algorithm(name: str) -> Algorithm:
    """The algorithm of this name.

    Raises:
        UsageError: There is none.
    """
    module = _MODULES.get(name)
    if module is None:
        raise UsageError(
            f"unknown training algorithm {name!r}; expected one of {', '.join(ALGORITHMS)}"
        )
    found = importlib.import_module(f"jeton.training.algorithms.{module}")
    algorithms: dict[str, Algorithm] = found.ALGORITHMS
    return algorithms[name]
