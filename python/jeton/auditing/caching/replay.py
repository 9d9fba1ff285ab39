"""Replay of a provider's cache by its rules, and the price of what it reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

import numpy as np

from jeton.auditing.caching.calls import Call, Calls, Mark
from jeton.auditing.replaying.requests import with_extras
from jeton.catalog.caches import CacheRule
from jeton.workload.inputs.requests import RequestEvidence

_N_TIMED = 3_000
"""Requests on which the delay is measured."""


@dataclass(frozen=True, slots=True)
class Use:
    """Cached tokens of one request.

    Attributes:
        read: Tokens read.
        written: Tokens written.
        written_1h: Written tokens that live an hour.
        longest_gap: Seconds since the read prefix was used before; 0: nothing was read.
    """

    read: int
    written: int
    written_1h: int
    longest_gap: float = 0.0


@dataclass(slots=True)
class _Entry:
    visible: float
    touched: float
    life: float


def replay(
    calls: Calls,
    ordered: Sequence[Call],
    *,
    delays: dict[int, float],
    inputs: Sequence[int] | None = None,
) -> list[Use]:
    """Return what each request reads and writes.

    Args:
        calls: Their rules.
        ordered: The requests, in the order of their times.
        delays: Seconds from a request until others can read what it writes, by model.
        inputs: Input tokens of each, where they differ from those billed.
    """
    stores: dict[int, dict[int, _Entry]] = {}
    found = []
    for place, call in enumerate(ordered):
        rule = calls.rule(call)
        total = call.input_tokens if inputs is None else inputs[place]
        store = stores.setdefault(call.model, {})
        own = _automatic if rule.is_automatic else _marked
        found.append(own(call, rule, store, delays.get(call.model, 0.0), total))
    return found


def _chain(call: Call, rule: CacheRule) -> tuple[int, ...]:
    return call.chain_with_parameters if rule.needs_equal_parameters else call.chain


def _alive(entry: _Entry | None, time: float) -> bool:
    return entry is not None and entry.visible <= time <= entry.touched + entry.life


def _automatic(
    call: Call, rule: CacheRule, store: dict[int, _Entry], delay: float, total: int
) -> Use:
    chain, sums = _chain(call, rule), call.sums
    life = max((mark.life_seconds for mark in call.marks), default=rule.ttl_seconds)
    read, gap = 0, 0.0
    for at in range(len(chain) - 1, -1, -1):
        entry = store.get(chain[at])
        if _alive(entry, call.time):
            assert entry is not None
            read = int(min(sums[at] + 0.5, total)) // rule.step_tokens * rule.step_tokens
            gap = call.time - entry.touched
            break
    if read < rule.min_tokens:
        read = 0
    for link in chain:
        known = store.get(link)
        if _alive(known, call.time):
            assert known is not None
            known.touched = call.time
        elif known is None or known.visible <= call.time:
            store[link] = _Entry(call.time + delay, call.time, life)
    return Use(read, 0, 0, gap)


def _marked(call: Call, rule: CacheRule, store: dict[int, _Entry], delay: float, total: int) -> Use:
    marks = call.marks[-rule.max_break_points :]
    if not marks:
        return Use(0, 0, 0)
    chain, sums = _chain(call, rule), call.sums
    hit, gap = -1, 0.0
    for mark in reversed(marks):
        at = _looked_back(call, mark, rule, store, chain)
        if at > hit and sums[at] + 0.5 >= rule.min_tokens:
            hit, gap = at, call.time - store[chain[at]].touched
    read = 0 if hit < 0 else int(sums[hit] + 0.5)
    written = written_1h = 0
    edge = float(read)
    for mark in marks:
        if sums[mark.at] + 0.5 < rule.min_tokens:
            continue
        link = chain[mark.at]
        known = store.get(link)
        if mark.at <= hit:
            # A read refreshes its prefix, and the marked ones inside it.
            if known is not None and known.visible <= call.time:
                known.touched = call.time
            continue
        size = int(sums[mark.at] + 0.5)
        if size > edge:
            written += int(size - edge)
            if mark.life_seconds >= 3600.0:
                written_1h += int(size - edge)
            edge = size
        if known is None or known.visible <= call.time:
            store[link] = _Entry(call.time + delay, call.time, mark.life_seconds)
    if hit >= 0:
        store[chain[hit]].touched = call.time
    read = min(read, total)
    return Use(read, min(written, total - read), min(written_1h, total - read), gap)


def _looked_back(
    call: Call, mark: Mark, rule: CacheRule, store: dict[int, _Entry], chain: tuple[int, ...]
) -> int:
    """Return the last piece up to a mark whose prefix is alive within the look-back; -1: none."""
    n_blocks = 0
    blocks = call.blocks
    for at in range(mark.at, -1, -1):
        is_end = at == mark.at or not blocks[at + 1].goes_on
        if not is_end:
            continue
        n_blocks += 1
        if rule.look_back_blocks and n_blocks > rule.look_back_blocks:
            return -1
        if _alive(store.get(chain[at]), call.time):
            return at
    return -1


def delays_of(calls: Calls) -> dict[int, float]:
    """Return the first-token delay of each model that explains its reads best.

    The rule's own delay holds where no two requests tell: a read after fewer seconds proves less.
    """
    found = {}
    for model, rules in calls.rules.items():
        rule = rules[0]
        own = [call for call in calls.calls if call.model == model and call.read >= 0]
        close = any(b.time - a.time < 2 * rule.first_token_seconds for a, b in pairwise(own))
        if not close:
            found[model] = rule.first_token_seconds
            continue
        own = own[:_N_TIMED]
        errors = {}
        for delay in (rule.first_token_seconds, 1.0, 0.0, 5.0, 8.0):
            uses = replay(calls, own, delays={model: delay})
            errors[delay] = sum(abs(u.read - c.read) for u, c in zip(uses, own, strict=True))
        # The rule's own delay comes first among equals.
        found[model] = min(errors, key=lambda delay: errors[delay])
    return found


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
