"""Verdicts from usage alone: reads, writes, times and models of a session that shows no text.

A rebuild is a write larger than half of the prefix that the session had established. The writes of
a growing conversation are none.
"""

from __future__ import annotations

from collections.abc import Sequence

from jeton.auditing.caching.calls import Call, Calls
from jeton.auditing.caching.replay import Use
from jeton.auditing.caching.verdicts import CacheVerdict, Judged
from jeton.corpus.requests.sent import Reason

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
