"""Domain tokenizers, plain and with superwords, under two splits: see studies/domain_tokenizers."""

from __future__ import annotations

from pathlib import Path

from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "COMMAND", "KIND", "WORK", "measure"]

ABOUT = "Tokens, steps, terms, costs and agreement of domain tokenizers, plain and with superwords"
KIND = "named"
COMMAND = "python -m studies.domain_tokenizers --write"

WORK = Path(__file__).resolve().parents[3] / "build" / "domain-tokenizers"
"""Folder of trained tokenizers and measurements, so that a run goes on where another ended."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    from studies.domain_tokenizers.measuring import measure

    return measure(data, WORK)
