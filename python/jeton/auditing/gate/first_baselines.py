"""Baselines as the first version wrote them (``jeton.baseline/1``).

They have five rewritings in place of today's, in another order, so what features cost cannot be
compared. Tokens, lengths, domains and documents can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jeton.auditing.gate.rewriting import STEPS

__all__ = ["FIRST_SCHEMA", "as_today"]

FIRST_SCHEMA = "jeton.baseline/1"

_N_TEXTS = len(STEPS) + 1
_LISTS = ("n_bytes", "n_chars", "n_tokens")


def as_today(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A baseline of the first version in the form of today: no step changed anything.

    Raises:
        KeyError, TypeError, IndexError: It is damaged.
    """
    statistics, documents = plain["statistics"], plain["documents"]
    n_documents = len(documents["text"])
    nothing = [0] * n_documents
    return {
        **plain,
        "steps": list(STEPS),
        "statistics": {
            **statistics,
            "cells": [
                {**cell, **{name: [cell[name][0]] * _N_TEXTS for name in _LISTS}}
                for cell in statistics["cells"]
            ],
            "lengths": [
                {**entry, "steps": [entry["steps"][0], *[None] * len(STEPS)]}
                for entry in statistics["lengths"]
            ],
        },
        "documents": {
            **documents,
            "line": nothing,
            "record": ["0"] * n_documents,
            # A wording that no document of today has.
            "wording": ["0"] * n_documents,
            "n_tokens": documents["n_tokens"][0],
            "n_taken_tokens": [nothing] * len(STEPS),
        },
    }
