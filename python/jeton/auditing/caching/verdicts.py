"""One verdict a request: what its prompt cache did, and the cause where it read too little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from jeton.auditing.caching.calls import Call, Calls
from jeton.auditing.caching.replay import Use, replay
from jeton.catalog.caches import CacheRule
from jeton.corpus.requests.sent import PartKind, Reason

_SLACK_TOKENS = 64
_SLACK_SHARE = 0.03
_PIECE_TOKENS = 300
"""Tokens by which a replay of an automatic cache may be off: it knows a prompt piece by piece."""

_LIKE_SHARE = 0.25
"""Largest difference in length of two versions of one short block."""

_FEW_PIECES = 2
_SHARED_SHARE = 0.4
"""Least part of a long block, by its pieces, that two versions of it share."""


class CacheVerdict(StrEnum):
    """Verdicts, each with its id."""

    COLD = "cold"
    HIT = "hit"
    EXPIRED = "expired"
    CHANGED = "changed"
    SWITCHED = "switched"
    BELOW_MINIMUM = "below-minimum"
    NO_MARK = "no-mark"
    MARK_LATE = "mark-late"
    LOOK_BACK = "look-back"
    CONCURRENT = "concurrent"
    WRITE_UNREAD = "write-unread"
    HOUR_UNEARNED = "hour-unearned"
    PROVIDER = "provider"
    NOT_EXAMINABLE = "not-examinable"


_CUT = "the log does not show all of its text: cut, redacted, or tools left out"

FAULTS = frozenset(CacheVerdict) - {
    CacheVerdict.COLD,
    CacheVerdict.HIT,
    CacheVerdict.NOT_EXAMINABLE,
}

_OF_REASON = {
    Reason.model_changed: (CacheVerdict.SWITCHED, "model"),
    Reason.system_changed: (CacheVerdict.CHANGED, "system"),
    Reason.tools_changed: (CacheVerdict.CHANGED, "tools"),
    Reason.messages_changed: (CacheVerdict.CHANGED, "messages"),
    Reason.previous_message_not_found: (CacheVerdict.PROVIDER, ""),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict of one request.

    Attributes:
        verdict: The verdict.
        n_tokens: Tokens that could have been read and were not; of writes, those not read.
        block: Path of the block that changed, or the part that the verdict is about.
        change: Kind of the change: order, schema, wording, history edited, thinking removed, model,
            parameters, key.
        other: Place of the request that it is compared with; -1: none.
        at: Number of the piece that differs; -1: none does.
        reason: Reason why it cannot be judged.
        disagrees: True if the provider states another reason, which then stands here.
    """

    verdict: CacheVerdict
    n_tokens: int = 0
    block: str = ""
    change: str = ""
    other: int = -1
    at: int = -1
    reason: str = ""
    disagrees: bool = False


@dataclass(slots=True)
class _Seen:
    """The last requests with something in common, by the shared thing."""

    by_talk: dict[tuple[int, int, int], int]
    by_session: dict[tuple[int, int], int]
    by_static: dict[tuple[int, int], int]
    by_family: dict[tuple[int, int, int], int]


def judged(
    calls: Calls, ordered: Sequence[Call], uses: Sequence[Use], delays: dict[int, float]
) -> list[Judged]:
    """Return the verdict of each request that shows its blocks.

    Args:
        calls: Their rules.
        ordered: In the order of their times.
        uses: Cached tokens of each: those logged, or those of a replay.
        delays: Seconds from a request until others can read what it writes, by model.
    """
    expected = replay(calls, ordered, delays=delays)
    at_once = replay(calls, ordered, delays={})
    chains = [call.chain for call in ordered]
    seen = _Seen({}, {}, {}, {})
    found = []
    for place, call in enumerate(ordered):
        if not call.blocks:
            words = _CUT if call.is_cut else "the log shows no text"
            found.append(Judged(CacheVerdict.NOT_EXAMINABLE, reason=words))
            continue
        rule = calls.rule(call)
        if 0 < rule.max_break_points < len(call.marks):
            words = f"more than {rule.max_break_points} cache marks, which the provider refuses"
            found.append(Judged(CacheVerdict.NOT_EXAMINABLE, reason=words))
        elif uses[place].read < 0:
            found.append(
                Judged(CacheVerdict.NOT_EXAMINABLE, reason="the log states no cached tokens")
            )
        else:
            own = _Judge(calls, ordered, chains, uses, expected, at_once)
            verdict = own.of(place, seen)
            found.append(_with_reason(verdict, call))
        _remember(seen, place, call, chains[place])
    return _with_writes(calls, ordered, uses, expected, found)


def _keys(call: Call, chain: tuple[int, ...]) -> tuple[tuple[int, int, int], tuple[int, int], int]:
    n_static = call.n_static()
    first = call.blocks[n_static].hash if n_static < len(call.blocks) else 0
    static = chain[n_static - 1] if n_static else 0
    return (call.session, call.agent, first), (call.session, call.agent), static


def family_of(call: Call) -> tuple[int, int, int]:
    """Return model, tools and instructions: requests of one kind have the same numbers."""
    n_tools = n_parts = 0
    for block in call.blocks[: call.n_static()]:
        if not block.goes_on:
            n_tools += block.role == 0
            n_parts += block.role == 1
    return call.model, n_tools, n_parts


def prompt_of(call: Call) -> tuple[int, int]:
    """Return model, and tools and instructions word for word."""
    n_static = call.n_static()
    return call.model, call.chain[n_static - 1] if n_static else 0


def _remember(seen: _Seen, place: int, call: Call, chain: tuple[int, ...]) -> None:
    talk, session, static = _keys(call, chain)
    if len(call.blocks) > call.n_static():
        seen.by_talk[talk] = place
    if call.session:
        seen.by_session[session] = place
    if static:
        seen.by_static[call.model, static] = place
        seen.by_family[family_of(call)] = place


class _Judge:
    def __init__(
        self,
        calls: Calls,
        ordered: Sequence[Call],
        chains: list[tuple[int, ...]],
        uses: Sequence[Use],
        expected: Sequence[Use],
        at_once: Sequence[Use],
    ) -> None:
        self._calls = calls
        self._ordered = ordered
        self._chains = chains
        self._uses = uses
        self._expected = expected
        self._at_once = at_once

    def _common(self, place: int, other: int) -> int:
        count = 0
        for a, b in zip(self._chains[place], self._chains[other], strict=False):
            if a != b:
                break
            count += 1
        return count

    def of(self, place: int, seen: _Seen) -> Judged:
        call = self._ordered[place]
        talk, session, static = _keys(call, self._chains[place])
        before = self._talk_before(place, seen.by_talk.get(talk), seen.by_session.get(session))
        same = [
            other
            for other in (
                before,
                seen.by_static.get((call.model, static)),
                seen.by_family.get(family_of(call)),
            )
            if other is not None and self._ordered[other].model == call.model
        ]
        n_static = call.n_static()
        holder, n_common = -1, 0
        for other in dict.fromkeys(same):
            count = self._common(place, other)
            if count > n_common or (count == n_common and other > holder):
                holder, n_common = other, count
        want = n_static if same else 0
        reference = holder
        if before is not None:
            want = min(len(self._ordered[before].blocks), len(call.blocks))
            reference = before
            if self._is_last_turn_alone(before, self._common(place, before)):
                want = max(n_common, n_static)
        if reference < 0 or want == 0:
            return Judged(CacheVerdict.COLD)
        return self._explained(place, holder, n_common, reference, max(want, n_common))

    def _talk_before(self, place: int, talk: int | None, session: int | None) -> int | None:
        """Return the request that a conversation goes on from."""
        call = self._ordered[place]
        n_own = len(call.blocks) - call.n_static()
        for other in (talk, session):
            if other is None:
                continue
            before = self._ordered[other]
            n_before = len(before.blocks) - before.n_static()
            if n_before < 2 and n_own < 2 and other == session:
                continue  # requests of one turn that share no more than a session
            if n_own >= n_before:
                return other
        return None

    def _is_last_turn_alone(self, before: int, n_common: int) -> bool:
        """True if no more than the last message of the request before differs."""
        blocks = self._ordered[before].blocks
        if n_common >= len(blocks) or blocks[n_common].is_static:
            return False
        return blocks[n_common].place == blocks[-1].place and blocks[-1].role in (2, 4)

    def _explained(
        self, place: int, holder: int, n_common: int, reference: int, want: int
    ) -> Judged:
        call, use = self._ordered[place], self._uses[place]
        rule = self._calls.rule(call)
        equal, wanted = call.tokens_until(n_common), call.tokens_until(want)
        slack = _SLACK_TOKENS + _SLACK_SHARE * wanted + rule.step_tokens - 1
        if rule.is_automatic:
            slack += _PIECE_TOKENS
        if use.read + slack >= wanted:
            return Judged(CacheVerdict.HIT)
        missed = int(wanted - use.read)
        other = self._ordered[reference]
        if other.model != call.model:
            n_shared = self._common(place, reference)
            if call.tokens_until(n_shared) >= rule.min_tokens:
                return Judged(CacheVerdict.SWITCHED, missed, "", "model", reference)
        n_static = call.n_static()
        if (
            rule.needs_equal_parameters
            and other.parameters != call.parameters
            and wanted > call.tokens_until(n_static) + slack
        ):
            return Judged(CacheVerdict.SWITCHED, missed, "", "parameters", reference)
        changed = wanted - equal
        unread = equal - use.read if equal >= rule.min_tokens else 0.0
        # Marks of the request before that stand behind the change are lost by it.
        is_lost = any(mark.at >= n_common for mark in other.marks) and not rule.is_automatic
        at = self._common(place, reference)
        # A mark behind changing instructions or tools stands behind its own prompt alone.
        is_own = is_lost and at < n_static and not any(m.at < n_common for m in other.marks)
        if is_own or (changed > slack and (is_lost or changed >= unread)):
            if self._is_version(call, other, at):
                change = _kind_of_change(call, other, at)
                path = call.blocks[at].path if at < len(call.blocks) else ""
                return Judged(CacheVerdict.CHANGED, missed, path, change, reference, at)
            if equal < rule.min_tokens:
                return Judged(CacheVerdict.COLD)
        if unread <= slack and equal >= rule.min_tokens:
            return Judged(CacheVerdict.HIT)
        return self._unread(place, holder, n_common, rule, slack)

    def _is_version(self, call: Call, other: Call, at: int) -> bool:
        """True if a block is another version of the one at the same place, not another prompt."""
        if at >= len(call.blocks) or at >= len(other.blocks):
            return False
        block, old = call.blocks[at], other.blocks[at]
        if not block.is_static:
            return True
        if (block.role, block.place) != (old.role, old.place):
            return False
        if block.role == 0 and _tools(call) == _tools(other):
            return True
        own, old_own = ([b for b in c.blocks if (b.role, b.place) == (block.role, block.place)]
                        for c in (call, other))  # fmt: skip
        size, old_size = (sum(b.tokens for b in blocks) for blocks in (own, old_own))
        if len(own) > _FEW_PIECES and len(old_own) > _FEW_PIECES:
            # Two long texts that share no passage are two prompts, not one that changed.
            shared = {b.hash for b in own} & {b.hash for b in old_own}
            return sum(b.tokens for b in own if b.hash in shared) >= _SHARED_SHARE * size
        return abs(size - old_size) <= _LIKE_SHARE * max(size, old_size)

    def _unread(
        self, place: int, holder: int, n_common: int, rule: CacheRule, slack: float
    ) -> Judged:
        """Explain why an equal beginning was not read."""
        call, use = self._ordered[place], self._uses[place]
        equal = call.tokens_until(n_common)
        missed = int(equal - use.read)
        if equal < rule.min_tokens:
            return Judged(CacheVerdict.BELOW_MINIMUM, missed, _part(call, n_common), other=holder)
        old = self._ordered[holder]
        part = _part(call, n_common)
        gap = call.time - old.time
        if rule.is_automatic:
            late = self._at_once[place].read - self._expected[place].read > slack
            if gap < rule.first_token_seconds and late:
                return Judged(CacheVerdict.CONCURRENT, missed, part, other=holder)
            is_late = gap > max((mark.life_seconds for mark in old.marks), default=rule.ttl_seconds)
            if not is_late and old.parameters != call.parameters:
                # Other keys and tiers are served by other machines, with caches of their own.
                return Judged(CacheVerdict.SWITCHED, missed, part, "key", holder)
            return Judged(CacheVerdict.EXPIRED if is_late else CacheVerdict.PROVIDER, missed, part,
                          other=holder)  # fmt: skip
        if not call.marks:
            return Judged(CacheVerdict.NO_MARK, missed, part, other=holder)
        if (
            self._at_once[place].read - use.read
            > slack
            >= abs(self._expected[place].read - use.read)
        ):
            return Judged(CacheVerdict.CONCURRENT, missed, part, other=holder)
        usable = [mark for mark in old.marks if mark.at < n_common]
        if not usable:
            verdict = CacheVerdict.MARK_LATE if old.marks else CacheVerdict.NO_MARK
            return Judged(verdict, missed, part, other=holder)
        if gap > usable[-1].life_seconds:
            return Judged(CacheVerdict.EXPIRED, missed, part, other=holder)
        if self._expected[place].read > use.read + slack:
            return Judged(CacheVerdict.PROVIDER, missed, part, other=holder)
        reach = call.tokens_until(usable[-1].at + 1)
        if reach <= use.read + slack:
            # All that was marked was read; the rest of what is equal has no mark.
            return Judged(CacheVerdict.NO_MARK, missed, part, other=holder)
        return Judged(CacheVerdict.LOOK_BACK, missed, part, other=holder)


def _part(call: Call, n_common: int) -> str:
    at = min(n_common, len(call.blocks)) - 1
    return call.blocks[at].path if at >= 0 else ""


def _tools(call: Call) -> Counter[int]:
    return Counter(block.hash for block in call.blocks if block.role == 0)


def _kind_of_change(call: Call, other: Call, at: int) -> str:
    block = call.blocks[at]
    if block.role == 0:
        return "order" if _tools(call) == _tools(other) else "schema"
    if block.role == 1:
        return "wording"
    if at < len(other.blocks) and other.blocks[at].kind is PartKind.THINKING:
        rest = (b.hash for b in other.blocks[at:] if b.kind is not PartKind.THINKING)
        if next(rest, None) == block.hash:
            return "thinking removed"
    return "history edited"


def _with_reason(found: Judged, call: Call) -> Judged:
    """Return the verdict with the provider's own reason, which wins."""
    reason = Reason(call.reason)
    if reason not in _OF_REASON:
        return found
    verdict, part = _OF_REASON[reason]
    agrees = found.verdict is verdict and found.block.startswith(part or found.block)
    if verdict is CacheVerdict.PROVIDER and found.verdict is CacheVerdict.EXPIRED:
        return found
    if verdict is CacheVerdict.SWITCHED:
        agrees = found.verdict is verdict
    if agrees:
        return found
    return replace(found, verdict=verdict, block=part, change="", disagrees=True)


def _with_writes(
    calls: Calls,
    ordered: Sequence[Call],
    uses: Sequence[Use],
    expected: Sequence[Use],
    found: list[Judged],
) -> list[Judged]:
    """Judge writes of requests without another fault: never read, or kept for an hour in vain."""
    groups: dict[tuple[int, int, int], list[int]] = {}
    prompts: dict[tuple[int, int], list[int]] = {}
    n_of_family = Counter(family_of(call) for call in ordered)
    quiet = (CacheVerdict.COLD, CacheVerdict.HIT, CacheVerdict.BELOW_MINIMUM)
    for place, call in enumerate(ordered):
        if found[place].verdict in quiet and call.blocks:
            groups.setdefault(family_of(call), []).append(place)
            prompts.setdefault(prompt_of(call), []).append(place)
    for (model, _), places in prompts.items():
        hours = [p for p in places if uses[p].written_1h > 0]
        is_earned = any(expected[p].longest_gap > calls.rules[model][0].ttl_seconds for p in places)
        if hours and not is_earned and any(uses[p].read > 0 for p in places):
            for p in hours:
                found[p] = replace(
                    found[p], verdict=CacheVerdict.HOUR_UNEARNED, n_tokens=uses[p].written_1h
                )
    for family, places in groups.items():
        rules = calls.rules[family[0]]
        written = sum(max(uses[p].written, 0) for p in places)
        hour = sum(max(uses[p].written_1h, 0) for p in places)
        read = sum(max(uses[p].read, 0) for p in places)
        n_writing = sum(uses[p].written > 0 for p in places)
        is_price = n_writing <= _FEW_SHARE * n_of_family[family]
        minutes = rules[0].write_factor - 1
        extra = (written - hour) * minutes + hour * (rules[-1].write_factor - 1)
        if extra > read * _READ_GAIN and not is_price:
            for p in places:
                if uses[p].written > 0 and found[p].verdict is not CacheVerdict.HOUR_UNEARNED:
                    found[p] = replace(
                        found[p], verdict=CacheVerdict.WRITE_UNREAD, n_tokens=uses[p].written
                    )
    return found


_FEW_SHARE = 0.1
"""Share of a model's requests whose writes are the price of a cache that works otherwise."""

_READ_GAIN = 0.5
"""Least part of the input price that a read saves with any provider (50% to 90%, 2026-11)."""
