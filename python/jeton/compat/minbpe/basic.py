"""``BasicTokenizer`` where minbpe has it."""

from __future__ import annotations

from jeton.compat.minbpe.base import BasicTokenizer

__all__ = ["BasicTokenizer"]
