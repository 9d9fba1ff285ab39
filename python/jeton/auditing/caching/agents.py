"""Waste of agents beside caches: results carried again, requests sent again, tools never called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

from jeton._foreign import json_of
from jeton.auditing.caching.calls import Call
from jeton.auditing.caching.replay import LogPrices, Use
from jeton.corpus.requests.sent import PartKind, name_key

_RETRY_SECONDS = 60.0
_MIN_CALLS = 10
_LARGE_SHARE = 0.1
"""A result is large if it has this share of a context; smaller ones are a conversation's substance.
"""
_MIN_TURNS_CARRIED = 3
_LOOP = 3


@dataclass(frozen=True, slots=True)
class AgentUse:
    """One kind of waste.

    Attributes:
        kind: ``results-carried``, ``pictures-carried``, ``tools-unused``, ``retries``, ``loops``,
            ``batchable`` or ``unfinished``.
        name: Name of the tool; empty: of none.
        n_requests: Requests that have it.
        n_tokens: Their tokens, each time they were sent.
        usd: Cost that goes without them, in the time of the log.
        remedy: Smallest change.
        rows: Rows of the evidence, and what each has less: input, read, written, for an hour; an
            input of -1 is a request that is not sent.
    """

    kind: str
    name: str
    n_requests: int
    n_tokens: int
    usd: Decimal
    remedy: str
    rows: Mapping[int, tuple[int, int, int, int]] = field(default_factory=dict)


def agent_uses(
    ordered: Sequence[Call], uses: Sequence[Use], prices: LogPrices, names: Mapping[int, str]
) -> tuple[AgentUse, ...]:
    """Return waste beside caches, the dearest first.

    Args:
        ordered: The requests, in the order of their times.
        uses: Their cached tokens, as logged.
        prices: Prices them.
        names: Names of tools by `name_key`.
    """
    found = [
        *_carried(ordered, uses, prices, names),
        *_unused_tools(ordered, uses, prices, names),
        *_retries(ordered, uses, prices),
        *_loops(ordered, uses, prices, names),
        *_batchable(ordered, uses, prices),
    ]
    return tuple(sorted(found, key=lambda use: -use.usd))


def _without(
    ordered: Sequence[Call],
    uses: Sequence[Use],
    prices: LogPrices,
    gone: Mapping[int, list[tuple[int, float]]],
    edited: frozenset[int] = frozenset(),
) -> tuple[int, Decimal, dict[int, tuple[int, int, int, int]]]:
    """Return tokens, cost and less of each row without blocks: (first piece, tokens) by request.

    The first request of an edited history reads no token behind the edit: they are written again.
    """
    places = list(gone)
    changed, now = list(ordered), list(uses)
    n_tokens = 0
    rows = {}
    for place in places:
        call, use = ordered[place], uses[place]
        read, written = max(use.read, 0), use.written
        less_read = less_written = less = 0.0
        for at, tokens in gone[place]:
            before = call.tokens_until(at)
            less += tokens
            own_read = min(tokens, max(0.0, read - before))
            less_read += own_read
            less_written += min(tokens - own_read, max(0.0, read + written - before - own_read))
        n_tokens += round(less)
        again = 0.0
        if place in edited:
            first = min(call.tokens_until(at) for at, _ in gone[place])
            again = max(0.0, read - less_read - first)
        is_marked = bool(call.marks)
        changed[place] = replace(call, input_tokens=max(0, call.input_tokens - round(less)))
        hour = round(use.written_1h * (1 - less_written / written)) if written else 0
        total = changed[place].input_tokens
        now_read = min(max(0, read - round(less_read + again)), total)
        now_written = max(0, written - round(less_written - again * is_marked))
        # Roundings must not add up to more than the request: the ledger refuses such a row.
        now_written = min(now_written, total - now_read)
        now[place] = Use(
            use.read if use.read < 0 else now_read, now_written, min(max(0, hour), now_written)
        )
        rows[call.row] = (
            call.input_tokens - changed[place].input_tokens,
            read - max(now[place].read, 0),
            written - now[place].written,
            use.written_1h - now[place].written_1h,
        )
    usd = prices.usd(ordered, uses, places) - prices.usd(changed, now, places)
    return n_tokens, usd, rows


def _results_of(call: Call) -> list[tuple[int, int, float, int]]:
    """Return first piece, hash, tokens and tool of each result and picture."""
    called: list[int] = []
    found: list[tuple[int, int, float, int]] = []
    n_results = 0
    for at, block in enumerate(call.blocks):
        if block.kind is PartKind.CALL and not block.goes_on:
            called.append(block.hash >> 44)
        elif block.kind in (PartKind.RESULT, PartKind.PICTURE, PartKind.FILE):
            if block.goes_on and found:
                first, digest, tokens, name = found[-1]
                found[-1] = (first, hash((digest, block.hash)), tokens + block.tokens, name)
                continue
            name = -1
            if block.kind is PartKind.RESULT:
                name = called[n_results] if n_results < len(called) else 0
                n_results += 1
            found.append((at, block.hash, block.tokens, name))
    return found


def _carried(
    ordered: Sequence[Call], uses: Sequence[Use], prices: LogPrices, names: Mapping[int, str]
) -> list[AgentUse]:
    times: Counter[tuple[int, int, int]] = Counter()
    gone: dict[int, dict[int, list[tuple[int, float]]]] = {}
    edited: set[int] = set()
    for place, call in enumerate(ordered):
        for at, digest, tokens, name in _results_of(call):
            key = (call.session, call.agent, digest)
            times[key] += 1
            is_large = tokens > _LARGE_SHARE * call.input_tokens
            if times[key] > _MIN_TURNS_CARRIED and is_large:
                gone.setdefault(name, {}).setdefault(place, []).append((at, tokens))
                if times[key] == _MIN_TURNS_CARRIED + 1:
                    edited.add(place)
    found = []
    for name, own in gone.items():
        n_tokens, usd, rows = _without(ordered, uses, prices, own, frozenset(edited))
        is_picture = name == -1
        found.append(
            AgentUse(
                "pictures-carried" if is_picture else "results-carried",
                "" if is_picture else names.get(name, ""),
                len(own),
                n_tokens,
                usd,
                "send a picture once; afterwards name it in words"
                if is_picture
                else "keep a summary of a large result in the history, and read it again if needed",
                rows,
            )
        )
    return found


def _unused_tools(
    ordered: Sequence[Call], uses: Sequence[Use], prices: LogPrices, names: Mapping[int, str]
) -> list[AgentUse]:
    called = {
        block.hash >> 44
        for call in ordered
        for block in call.blocks
        if block.kind is PartKind.CALL and not block.goes_on
    }
    if not called:
        return []
    gone: dict[int, list[tuple[int, float]]] = {}
    unused: set[int] = set()
    for place, call in enumerate(ordered):
        name = 0
        for at, block in enumerate(call.blocks):
            if block.role != 0:
                break
            if not block.goes_on:
                name = block.hash >> 44
            if name not in called:
                unused.add(name)
                gone.setdefault(place, []).append((at, block.tokens))
    if len(gone) < _MIN_CALLS:
        return []
    n_tokens, usd, rows = _without(ordered, uses, prices, gone)
    shown = sorted(names.get(name, "") for name in unused)
    return [
        AgentUse(
            "tools-unused",
            ", ".join(name for name in shown if name)[:200],
            len(gone),
            n_tokens,
            usd,
            "do not declare tools that no request of the log calls",
            rows,
        )
    ]


def _retries(ordered: Sequence[Call], uses: Sequence[Use], prices: LogPrices) -> list[AgentUse]:
    last: dict[tuple[int, int], float] = {}
    again = []
    for place, call in enumerate(ordered):
        if not call.blocks:
            continue
        key = (call.model, call.chain[-1])
        if key in last and call.time - last[key] <= _RETRY_SECONDS:
            again.append(place)
        last[key] = call.time
    if not again:
        return []
    return [
        AgentUse(
            "retries",
            "",
            len(again),
            sum(ordered[p].input_tokens for p in again),
            prices.usd(ordered, uses, again),
            "raise the client's timeout, wait longer between attempts, and stop after the second",
            {ordered[p].row: (-1, 0, 0, 0) for p in again},
        )
    ]


def _loops(
    ordered: Sequence[Call], uses: Sequence[Use], prices: LogPrices, names: Mapping[int, str]
) -> list[AgentUse]:
    """Return calls of one tool with the same arguments, three times or more in one session."""
    times: Counter[tuple[int, int, int]] = Counter()
    seen: set[tuple[int, int, int, int]] = set()
    again: dict[int, list[int]] = {}
    for place, call in enumerate(ordered):
        for block in call.blocks[::-1]:
            if block.role in (2, 4):
                continue
            if block.kind is not PartKind.CALL:
                break
            key = (call.session, call.agent, block.hash)
            if (*key, block.place) in seen:
                break
            seen.add((*key, block.place))
            times[key] += 1
            if times[key] > _LOOP:
                again.setdefault(block.hash >> 44, []).append(place)
            break
    return [
        AgentUse(
            "loops",
            names.get(name, ""),
            len(places),
            sum(ordered[p].input_tokens for p in places),
            prices.usd(ordered, uses, places),
            "stop an agent that calls a tool with the same arguments again",
        )
        for name, places in again.items()
    ]


def _batchable(ordered: Sequence[Call], uses: Sequence[Use], prices: LogPrices) -> list[AgentUse]:
    """Return requests that no one waits for: no session, one turn, sent at an even pace."""
    of_session = Counter(call.session for call in ordered)
    places = [
        p
        for p, call in enumerate(ordered)
        if (not call.session or of_session[call.session] == 1)
        and call.blocks
        and not any(block.role in (0, 3, 4) for block in call.blocks)
        and max(uses[p].read, 0) == 0
    ]
    if len(places) < _MIN_CALLS or len(places) < len(ordered) * 0.9:
        return []
    gaps = sorted(ordered[b].time - ordered[a].time for a, b in pairwise(places))
    middle = gaps[len(gaps) // 2]
    if middle > 60.0 or gaps[int(len(gaps) * 0.9)] > 2 * middle + 1:
        return []
    usd = prices.usd(ordered, uses, places)
    return [
        AgentUse(
            "batchable",
            "",
            len(places),
            sum(ordered[p].input_tokens for p in places),
            usd / 2,
            "send these by the provider's batch interface, at half the price",
        )
    ]


def names_of(texts: Sequence[str]) -> dict[int, str]:
    """Return names of tools by key, from the text of their definitions."""
    found = {}
    for text in texts:
        try:
            tool = json_of(text)
        except ValueError:
            continue
        if not isinstance(tool, dict):
            continue
        inner = tool.get("function")
        name = (inner if isinstance(inner, dict) else tool).get("name")
        if isinstance(name, str):
            found[name_key(name)] = name
    return found
