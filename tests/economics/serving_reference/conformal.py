"""Ends of the conformal interval of an answer's length, as a policy counts on them."""

from __future__ import annotations

from typing import Literal

from tests.economics.serving_reference.output_lengths import OutputLengths

__all__ = ["ConformalEnd"]


class ConformalEnd:
    """Foresees one end of the interval that `OutputLengths` learns by group and prompt length."""

    def __init__(self, *, coverage: float, end: Literal["lower", "upper"]) -> None:
        self._lengths = OutputLengths(coverage=coverage)
        self._is_upper = end == "upper"

    def predict(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """The end, tokens; None without history."""
        if self._is_upper:
            return self._lengths.upper(prompt_tokens, group)
        found = self._lengths.interval(prompt_tokens, group)
        return None if found is None else found.lower_tokens

    def learn(self, prompt_tokens: int, output_tokens: int, group: tuple[str, ...] = ()) -> None:
        """Take a finished request into the history."""
        self._lengths.learn(prompt_tokens, output_tokens, group)
