"""Cost of requests with other cached tokens, by the ledger of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from jeton.auditing.caching.calls import Call
from jeton.auditing.caching.replay import Use
from jeton.auditing.replaying.requests import with_extras
from jeton.workload.inputs.requests import RequestEvidence


def logged_uses(ordered: Sequence[Call]) -> list[Use]:
    """Return the cached tokens as the log states them."""
    return [Use(c.read, max(c.written, 0), max(c.written_1h, 0)) for c in ordered]


class LogPrices:
    """Prices requests of a log as if their cached tokens were others."""

    def __init__(self, evidence: RequestEvidence) -> None:
        self._evidence = evidence

    def usd(self, ordered: Sequence[Call], uses: Sequence[Use], places: Sequence[int]) -> Decimal:
        """Return the cost of some of the requests."""
        evidence = self._evidence
        if evidence.columns is None or evidence.pricing is None or not len(places):
            return Decimal(0)
        own = evidence.columns.take(np.array([ordered[p].row for p in places], dtype=np.intp))
        numbers = np.array(
            [
                (ordered[p].input_tokens, uses[p].read, uses[p].written, uses[p].written_1h,
                 ordered[p].model)
                for p in places
            ],
            dtype=np.int64,
        )  # fmt: skip
        # Cached tokens that roundings lift above the input would make a row that no one can price.
        numbers[:, 1] = np.minimum(numbers[:, 1], numbers[:, 0])
        room = numbers[:, 0] - np.maximum(numbers[:, 1], 0)
        numbers[:, 2] = np.minimum(numbers[:, 2], room)
        numbers[:, 3] = np.minimum(numbers[:, 3], numbers[:, 2])
        changed = replace(
            own,
            input_tokens=numbers[:, 0],
            cache_read_tokens=numbers[:, 1],
            cache_write_tokens=numbers[:, 2],
            cache_write_1h_tokens=numbers[:, 3],
            model=numbers[:, 4].astype(np.int32),
        )
        changed = with_extras(changed, own)
        return evidence.pricing.ledger_of(changed, evidence.names).usd
