"""Requests that repeat an earlier one byte for byte, with what they used, by model."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.evidence import Evidence

__all__ = ["copies_by_model"]


def copies_by_model(evidence: Evidence) -> tuple[dict[str, str], ...]:
    """Remainder of each model's requests, input and output, behind a cache of answers.

    A copy is a request of the same text to the same model as an earlier one. Empty where no log, or
    not all of it, says which requests are copies.
    """
    requests, ledger = evidence.requests, evidence.ledger
    if requests is None or ledger is None or not requests.is_complete:
        return ()
    n = len(requests.digest)
    if not n or n != len(requests.has_text):
        return ()
    is_copy = np.zeros(n, dtype=np.bool_)
    # The earliest of equal requests is the one that is sent, whatever the order of the log.
    order = np.lexsort((requests.input_tokens, requests.time_s))
    shown = order[requests.has_text[order]]
    pairs = np.stack([requests.digest[shown], requests.model[shown].astype(np.int64)], axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    is_copy[shown] = True
    is_copy[shown[first]] = False
    effects = []
    for number in np.unique(requests.model[is_copy]).tolist():
        own = requests.model == number
        effect = {"model": requests.models[number] if number >= 0 else ""}
        left = 1 - _share(own, is_copy, np.ones(n, dtype=np.int64))
        effect["request_factor"] = str(left)
        if left:
            tokens = np.where(requests.input_tokens >= 0, requests.input_tokens, _counted(evidence))
            effect["input_factor"] = str((1 - _share(own, is_copy, tokens)) / left)
            effect["output_factor"] = str((1 - _share(own, is_copy, requests.output_tokens)) / left)
        effects.append(effect)
    effects.sort(key=lambda effect: effect["model"])
    # One entry without a name would hold for every model.
    return tuple(effects) if all(e["model"] for e in effects) or len(effects) == 1 else ()


def _counted(evidence: Evidence) -> NDArray[np.int64]:
    requests = evidence.requests
    if requests is None or len(requests.counted_tokens) != len(requests.input_tokens):
        return np.zeros(0 if requests is None else len(requests.input_tokens), dtype=np.int64)
    return requests.counted_tokens


def _share(
    own: NDArray[np.bool_], is_copy: NDArray[np.bool_], amounts: NDArray[np.int64]
) -> Decimal:
    """Share of a model's amount that its copies have."""
    known = np.maximum(amounts, 0)
    total = int(known[own].sum())
    return Decimal(int(known[own & is_copy].sum())) / total if total else Decimal(0)
