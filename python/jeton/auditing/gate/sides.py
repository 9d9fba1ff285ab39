"""Which of two corpora is the state before, and whether two inputs look like before and after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

COMPARED_FIGURES = (
    "tokens_per_document",
    "tokens_per_document_p50",
    "tokens_per_document_p95",
    "tokens_per_document_p99",
    "tokens_per_document_max",
    "bytes_per_token",
    "bytes_per_document",
    "n_documents",
    "n_tokens",
    "input_tokens_per_request",
    "cached_share",
    "output_tokens_per_request",
    "reasoning_tokens_per_request",
    "usd_per_request",
    "usd_per_day",
    "usd_per_month",
    "usd_per_year",
    "kv_bytes_per_request_mean",
    "kv_bytes_per_request_p95",
    "concurrent_requests_mean",
    "concurrent_requests_p95",
    "concurrent_requests_safe",
)
"""Figures that are shown of two corpora side by side, those that there are."""

_BEFORE = frozenset(
    (
        "before", "old", "older", "prev", "previous", "baseline", "base", "orig", "original",
        "v1", "main", "master", "control", "earlier", "yesterday",
    )
)  # fmt: skip
_AFTER = frozenset(
    (
        "after", "new", "newer", "next", "current", "now", "candidate", "changed", "v2", "branch",
        "head", "pr", "treatment", "today", "updated", "patched",
    )
)  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


def look_like_two_states(inputs: Sequence[str]) -> tuple[str, str] | None:
    """Two inputs whose names say before and after, in that order; None: they do not."""
    if len(inputs) != 2:
        return None
    states = [_state(name) for name in inputs]
    if set(states) != {"before", "after"}:
        return None
    first, second = inputs if states[0] == "before" else reversed(inputs)
    return first, second


def in_order(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both corpora as given, exchanged where their names say the opposite."""
    states = [{_state(name) for name in side} for side in (before, after)]
    if "after" in states[0] and "before" in states[1] and not states[0] & states[1]:
        before, after = after, before
    return tuple(before), tuple(after)


def _state(name: str) -> str:
    path = PurePath(name)
    for part in (path.name, path.parent.name):
        words = {word.lower() for word in _WORD.findall(part)}
        is_before, is_after = bool(words & _BEFORE), bool(words & _AFTER)
        if is_before != is_after:
            return "before" if is_before else "after"
    return ""
