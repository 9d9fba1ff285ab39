"""Sessions of a log by missed tokens, and verdicts of requests whose text is not known.

A rebuild is a write larger than half of the prefix that the session had established. The writes of
a growing conversation are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from jeton.auditing.caching.calls import Call, Calls
from jeton.auditing.caching.replay import LogPrices, Use
from jeton.auditing.caching.result import SessionReport, Turn
from jeton.auditing.caching.verdicts import FAULTS, CacheVerdict, Judged
from jeton.corpus.requests.sent import Reason

MAX_SESSIONS = 50
_WITH_TURNS = 5
_MAX_TURNS = 300
_COMPACTED_SHARE = 0.5


class _Saved(Protocol):
    @property
    def usd(self) -> Decimal: ...


def sessions_of(
    ordered: Sequence[Call], uses: Sequence[Use], found: Sequence[Judged], prices: LogPrices
) -> tuple[SessionReport, ...]:
    """Return the sessions that missed most, the worst first."""
    by_session: dict[int, list[int]] = {}
    for place, call in enumerate(ordered):
        if call.session:
            by_session.setdefault(call.session, []).append(place)

    def missed(places: Sequence[int]) -> int:
        return sum(found[p].n_tokens for p in places if found[p].verdict in FAULTS)

    ranked = sorted(
        by_session.items(), key=lambda item: (-missed(item[1]), ordered[item[1][0]].time)
    )[:MAX_SESSIONS]
    reports = []
    for rank, (session, places) in enumerate(ranked):
        report = _session(session, places, ordered, uses, found, prices)
        if rank < _WITH_TURNS:
            report = replace(report, turns=_turns(places[:_MAX_TURNS], ordered, uses, found))
        reports.append(report)
    return tuple(reports)


def _session(
    session: int,
    places: list[int],
    ordered: Sequence[Call],
    uses: Sequence[Use],
    found: Sequence[Judged],
    prices: LogPrices,
) -> SessionReport:
    agents = sorted({ordered[p].agent for p in places} - {0})
    last: dict[int, int] = {}
    n_compactions = 0
    for p in places:
        call = ordered[p]
        before = last.get(call.agent, 0)
        n_compactions += call.input_tokens < _COMPACTED_SHARE * before
        last[call.agent] = call.input_tokens
    read = sum(max(uses[p].read, 0) for p in places)
    written = sum(uses[p].written for p in places)
    total = sum(ordered[p].input_tokens for p in places)
    usd = prices.usd(ordered, uses, places)
    of_agents = prices.usd(ordered, uses, [p for p in places if ordered[p].agent])
    return SessionReport(
        session=f"{session & 0xFFFFFFFF:08x}",
        n_requests=len(places),
        n_agents=len(agents),
        n_compactions=n_compactions,
        context_tokens=max(ordered[p].input_tokens for p in places),
        read_tokens=read,
        written_tokens=written,
        fresh_tokens=max(0, total - read - written),
        usd=usd,
        missed_tokens=sum(found[p].n_tokens for p in places if found[p].verdict in FAULTS),
        agent_share=float(of_agents / usd) if usd else 0.0,
        verdicts=dict(Counter(found[p].verdict.value for p in places).most_common()),
    )


def _turns(
    places: Sequence[int], ordered: Sequence[Call], uses: Sequence[Use], found: Sequence[Judged]
) -> tuple[Turn, ...]:
    start = ordered[places[0]].time
    agents = sorted({ordered[p].agent for p in places} - {0})
    turns = []
    for p in places:
        call, use = ordered[p], uses[p]
        read = max(use.read, 0)
        turns.append(
            Turn(
                seconds=round(call.time - start, 3),
                read=read,
                written=use.written,
                fresh=max(0, call.input_tokens - read - use.written),
                output=max(call.output_tokens, 0),
                verdict=found[p].verdict.value,
                block=found[p].block,
                agent=agents.index(call.agent) + 1 if call.agent else 0,
            )
        )
    return tuple(turns)


def figures_of(
    ordered: Sequence[Call],
    uses: Sequence[Use],
    found: Sequence[Judged],
    steps: Sequence[_Saved],
    bill: Decimal,
) -> dict[str, float]:
    """Return shares and factors of a log that a gate may limit.

    ``cache_read_share``: read of all input; ``unread_write_share``: written and not read
    afterwards, of what was written; ``rewrite_factor``: written over the largest contexts of the
    conversations; ``waste_share``: cost of all faults over the bill.
    """
    total = sum(call.input_tokens for call in ordered)
    read = sum(max(use.read, 0) for use in uses)
    written = sum(use.written for use in uses)
    largest: dict[tuple[int, int, int], int] = {}
    for call in ordered:
        key = _talk(call)
        largest[key] = max(largest.get(key, 0), call.input_tokens)
    unread = sum(
        min(use.written, own.n_tokens)
        for use, own in zip(uses, found, strict=True)
        if own.verdict in FAULTS
    )
    return {
        "cache_read_share": read / total if total else 0.0,
        "unread_write_share": unread / written if written else 0.0,
        "rewrite_factor": written / sum(largest.values()) if largest else 0.0,
        "waste_share": float(sum((s.usd for s in steps), Decimal(0)) / bill) if bill else 0.0,
    }


def _talk(call: Call) -> tuple[int, int, int]:
    """Return a key of a conversation; requests of one turn that begin alike have one key."""
    if call.session:
        return call.session, call.agent, 0
    n_static = call.n_static()
    rest = call.blocks[n_static:]
    if not rest or rest[-1].place == rest[0].place:
        return -1, call.model, n_static
    return 0, 0, rest[0].hash


_REBUILT_SHARE = 0.5


def judged_by_usage(calls: Calls, ordered: Sequence[Call], found: list[Judged]) -> list[Judged]:
    """Return the verdicts with those of requests that show no text.

    Args:
        calls: Their rules.
        ordered: In the order of their times.
        found: Verdicts so far.
    """
    last: dict[tuple[int, int], int] = {}
    for place, call in enumerate(ordered):
        if call.blocks:
            continue
        if not call.session:
            if not call.is_cut:
                found[place] = Judged(
                    CacheVerdict.NOT_EXAMINABLE, reason="the log shows neither text nor a session"
                )
            continue
        if call.read < 0:
            continue
        key = (call.session, call.agent)
        before = last.get(key)
        last[key] = place
        found[place] = (
            Judged(CacheVerdict.COLD)
            if before is None
            else _against(calls, call, ordered[before], before)
        )
    return found


def _against(calls: Calls, call: Call, before: Call, place: int) -> Judged:
    rule = calls.rule(call)
    established = before.input_tokens
    if not rule.is_automatic:
        established = max(before.read, 0) + max(before.written, 0)
    if established < rule.min_tokens or call.input_tokens < _REBUILT_SHARE * established:
        # The context was compacted, or there was nothing to read.
        return Judged(CacheVerdict.COLD)
    missed = min(established, call.input_tokens) - call.read
    is_rebuilt = missed > _REBUILT_SHARE * established
    if not rule.is_automatic:
        is_rebuilt &= call.written > _REBUILT_SHARE * established
    if not is_rebuilt:
        return Judged(CacheVerdict.HIT)
    life = rule.ttl_seconds
    if before.written_1h > 0:
        life = calls.rules[call.model][-1].ttl_seconds
    is_late = call.time - before.time > life
    parts = {
        Reason.tools_changed: "tools",
        Reason.system_changed: "system",
        Reason.messages_changed: "messages",
    }
    reason = Reason(call.reason)
    if reason in parts:
        return Judged(CacheVerdict.CHANGED, missed, parts[reason], other=place)
    if call.model != before.model or reason is Reason.model_changed:
        return Judged(CacheVerdict.SWITCHED, missed, "", "model", place)
    if is_late:
        return Judged(CacheVerdict.EXPIRED, missed, other=place)
    if reason is Reason.previous_message_not_found:
        return Judged(CacheVerdict.PROVIDER, missed, other=place)
    if call.read >= rule.min_tokens:
        return Judged(CacheVerdict.CHANGED, missed, "messages", "history edited", place)
    return Judged(
        CacheVerdict.NOT_EXAMINABLE,
        missed,
        reason="a rebuild, and the log shows neither text nor the provider's reason",
    )


def read_instead(use: Use, n_tokens: int) -> Use:
    """Return a use with missed tokens read instead of written, or sent fresh."""
    less = min(n_tokens, use.written) if use.written > 0 else 0
    hour = round(use.written_1h * less / use.written) if less else 0
    return Use(use.read + n_tokens, use.written - less, use.written_1h - hour)
