"""Patterns: plain texts, or regular expressions in Oniguruma's syntax."""

from __future__ import annotations

from typing import Any

from jeton.compat.tokenizers._arguments import as_kind
from jeton.compat.tokenizers._cores import normalize

__all__ = ["Regex", "pattern_of"]


class Regex:
    """A regular expression."""

    def __init__(self, s: str) -> None:
        self._pattern = as_kind(s, str, "s")
        # A pattern that is none is refused now, and not when a tokenizer is made of it.
        normalize({"type": "Replace", "pattern": {"Regex": s}, "content": ""}, "")

    def __repr__(self) -> str:
        return f'Regex("{self._pattern}")'

    def __reduce__(self) -> tuple[type[Regex], tuple[str]]:
        return Regex, (self._pattern,)


def pattern_of(pattern: Any) -> dict[str, str]:
    """A pattern as files have it."""
    if isinstance(pattern, str):
        return {"String": as_kind(pattern, str, "pattern")}
    if isinstance(pattern, Regex):
        return {"Regex": pattern._pattern}
    raise TypeError(f"argument 'pattern': a str or a Regex is needed, not {pattern!r}")
