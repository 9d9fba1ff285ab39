"""Examination of the prompt caches of a log: verdicts, their cost, sessions, and agents' waste."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from jeton.auditing.caching.agents import agent_uses, names_of
from jeton.auditing.caching.calls import Call, Calls, calls_of
from jeton.auditing.caching.mending import Excerpts, ways_to_mend
from jeton.auditing.caching.replay import LogPrices, Use, delays_of, logged_uses, replay
from jeton.auditing.caching.result import CacheReport, MendedUse, VerdictGroup
from jeton.auditing.caching.sessions import figures_of, judged_by_usage, read_instead, sessions_of
from jeton.auditing.caching.verdicts import FAULTS, CacheVerdict, Judged, judged
from jeton.corpus.requests.blocks import BlockKind
from jeton.economics.ledger import Ledger
from jeton.workload.inputs.requests import RequestEvidence
from jeton.workload.sampling.deep_sample import SampleDocument

MIN_SHARE = Decimal("0.0005")
"""Least share of the bill that a mended fault saves; less is rounding."""

_ROUNDS = 6
_GROUPS = 5
_MANY_CALLS = 20_000
_SAMPLED_SHARE = 0.3
_MIN_UNWRITTEN = 3
_ERROR_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class _State:
    """Requests and their use after the faults mended so far."""

    ordered: tuple[Call, ...]
    uses: tuple[Use, ...]
    expected: tuple[Use, ...]
    delays: dict[int, float]


@dataclass(frozen=True, slots=True)
class _Step:
    """One fault, mended; ``behind``: the fault that hides it."""

    fault: Judged
    usd: Decimal
    remedy: str
    places: tuple[int, ...]
    state: _State
    behind: CacheVerdict | None = None


def examined(
    evidence: RequestEvidence, documents: Sequence[SampleDocument], *, year_per_usd: Decimal | None
) -> CacheReport | None:
    """Return what happened to the requests of a log; None where none can be examined.

    Args:
        evidence: The requests.
        documents: Requests of the sample, whose text is at hand.
        year_per_usd: Dollars of a year for each of the log's time; None: not known.
    """
    calls = calls_of(evidence)
    if not calls.calls:
        return None
    delays = delays_of(calls)
    ordered, uses = calls.calls, tuple(logged_uses(calls.calls))
    expected = tuple(replay(calls, ordered, delays=delays))
    found = judged_by_usage(calls, ordered, judged(calls, ordered, uses, delays))
    found = _without_guesses(calls, uses, expected, found)
    prices = LogPrices(evidence)
    everything = range(len(ordered))
    bill = prices.usd(ordered, uses, everything)
    steps = _mended(calls, _State(ordered, uses, expected, delays), found, prices, bill)
    excerpts = Excerpts(evidence, documents)
    groups = _groups(calls, found, steps, excerpts, year_per_usd)
    names = names_of(
        list({text for d in documents for kind, text in d.blocks if kind == BlockKind.TOOL})
    )
    return CacheReport(
        predicted_error=_error(calls, expected, delays),
        verdicts=groups,
        sessions=sessions_of(ordered, uses, found, prices),
        agents=agent_uses(ordered, uses, prices, names),
        figures=figures_of(ordered, uses, found, steps, bill),
        mended=tuple(_mended_use(step, ordered, uses) for step in steps),
    )


def examined_of(
    evidence: RequestEvidence | None, documents: Sequence[SampleDocument], ledger: Ledger | None
) -> CacheReport | None:
    """Return what happened to the requests of a log, with dollars of a year by its ledger."""
    if evidence is None:
        return None
    year = None if ledger is None or not ledger.usd else ledger.per_year()
    factor = None if year is None or ledger is None else year / ledger.usd
    return examined(evidence, documents, year_per_usd=factor)


def _without_guesses(
    calls: Calls, uses: Sequence[Use], expected: Sequence[Use], found: list[Judged]
) -> list[Judged]:
    """Return the verdicts without those that need every request, where the log lacks many.

    A read of what no logged request has written proves that others were sent.
    """
    places = [p for p, call in enumerate(calls.calls) if call.blocks and uses[p].read > 0]
    n_unwritten = sum(
        uses[p].read > expected[p].read + _ERROR_SHARE * calls.calls[p].input_tokens
        and found[p].verdict in (CacheVerdict.COLD, CacheVerdict.HIT)
        for p in places
    )
    if n_unwritten <= _SAMPLED_SHARE * len(places) or n_unwritten < _MIN_UNWRITTEN:
        return found
    reason = "the log holds a part of the requests: prefixes are read that none of them wrote"
    return [
        Judged(CacheVerdict.NOT_EXAMINABLE, judgement.n_tokens, reason=reason)
        if judgement.verdict in _NEEDS_ALL
        else judgement
        for judgement in found
    ]


_NEEDS_ALL = frozenset(
    {
        CacheVerdict.EXPIRED,
        CacheVerdict.CONCURRENT,
        CacheVerdict.WRITE_UNREAD,
        CacheVerdict.HOUR_UNEARNED,
        CacheVerdict.PROVIDER,
        CacheVerdict.LOOK_BACK,
    }
)


def _slot(found: Judged) -> tuple[str, str, str]:
    if found.verdict is not CacheVerdict.CHANGED:
        return found.verdict.value, "", found.change
    part = found.block if found.block.startswith("system") else found.block.partition("[")[0]
    return found.verdict.value, part, found.change


def _by_fault(found: Sequence[Judged]) -> dict[tuple[str, str, str], list[int]]:
    groups: dict[tuple[str, str, str], list[int]] = {}
    for place, own in enumerate(found):
        if own.verdict in FAULTS:
            groups.setdefault(_slot(own), []).append(place)
    return dict(sorted(groups.items(), key=lambda item: -sum(found[p].n_tokens for p in item[1])))


def _mended(
    calls: Calls,
    state: _State,
    found: list[Judged],
    prices: LogPrices,
    bill: Decimal,
) -> list[_Step]:
    """Return the faults mended one after another, the one that saves most first.

    Where a fault hides another one, neither saves anything alone: they are mended together and
    share what both save, less what the first edit costs.
    """
    steps: list[_Step] = []
    waiting: list[_Step] = []
    n_rounds, n_groups = (_ROUNDS, _GROUPS) if len(state.ordered) <= _MANY_CALLS else (3, 2)
    done: set[tuple[str, str, str]] = set()
    for _ in range(n_rounds):
        groups = {key: own for key, own in _by_fault(found).items() if key not in done}
        tried: list[_Step] = []
        for own in list(groups.values())[:n_groups]:
            tried += _tries(calls, state, found, own, prices)
        if not tried:
            break
        best = max(tried, key=lambda step: step.usd)
        net = best.usd + sum(step.usd for step in waiting)
        if net <= bill * MIN_SHARE:
            # The largest fault may hide another: go on behind it.
            best = tried[0]
            if len(waiting) >= 2:
                break
            waiting.append(best)
        else:
            share = net / (len(waiting) + 1)
            for step in (*waiting, best):
                first = waiting[0].fault.verdict if waiting and step is not waiting[0] else None
                steps.append(replace(step, usd=share, behind=first))
            waiting = []
        done.add(_slot(best.fault))
        # The provider's reason was that of the request as it was.
        own_places = set(best.places)
        mended = [
            replace(call, reason=0) if call.reason and place in own_places else call
            for place, call in enumerate(best.state.ordered)
        ]
        state = replace(best.state, ordered=tuple(mended))
        again = judged(calls, state.ordered, state.uses, state.delays)
        found = judged_by_usage(calls, state.ordered, again)
    return steps


def _tries(
    calls: Calls,
    state: _State,
    found: list[Judged],
    own: list[int],
    prices: LogPrices,
) -> list[_Step]:
    fault = max((found[p] for p in own), key=lambda judged: judged.n_tokens)
    if fault.verdict is CacheVerdict.CHANGED:
        fault = found[own[0]]  # the first block that changed is the one to look at
    is_routed = fault.verdict is CacheVerdict.PROVIDER or fault.change == "key"
    if is_routed or not state.ordered[own[0]].blocks:
        return [_as_read(calls, state, found, own, fault, prices)]
    tried = []
    for mended, remedy in ways_to_mend(calls, state.ordered, found, fault):
        free = {} if fault.verdict is CacheVerdict.CONCURRENT else state.delays
        after = tuple(replay(calls, mended, delays=free))
        uses, changed = [], []
        for place, (before, now) in enumerate(zip(state.expected, after, strict=True)):
            call, logged = state.ordered[place], state.uses[place]
            is_same = (before.read, before.written, before.written_1h) == (
                now.read, now.written, now.written_1h,
            )  # fmt: skip
            if not call.blocks or (
                is_same
                and (mended[place].model, mended[place].input_tokens)
                == (call.model, call.input_tokens)
            ):
                uses.append(logged)
                continue
            if calls.rule(call).is_automatic:
                # The provider may miss: only the difference of two replays is promised.
                more = max(logged.read, 0) + now.read - before.read
                now = replace(now, read=min(max(more, 0), mended[place].input_tokens))
            uses.append(now)
            changed.append(place)
        usd = prices.usd(state.ordered, state.uses, changed) - prices.usd(mended, uses, changed)
        tried.append(
            _Step(fault, usd, remedy, tuple(own), _State(mended, tuple(uses), after, free))
        )
    return sorted(tried, key=lambda step: -step.usd)[:1]


def _as_read(
    calls: Calls,
    state: _State,
    found: list[Judged],
    own: list[int],
    fault: Judged,
    prices: LogPrices,
) -> _Step:
    """Return the requests with missed tokens read instead, where no edit can be replayed."""
    uses = list(state.uses)
    rule = calls.rule(state.ordered[own[0]])
    for place in own:
        read = max(uses[place].read, 0)
        now = (read + found[place].n_tokens) // rule.step_tokens * rule.step_tokens
        uses[place] = read_instead(uses[place], max(now - read, 0))
    usd = prices.usd(state.ordered, state.uses, own) - prices.usd(state.ordered, uses, own)
    words = {
        CacheVerdict.PROVIDER: "no edit: the beginning was equal and alive; ask the provider",
        CacheVerdict.EXPIRED: 'ask for "prompt_cache_retention": "24h" where the model has it'
        if rule.is_automatic
        else "mark for an hour, or go on with a session before its cache ends",
        CacheVerdict.SWITCHED: "send one prompt_cache_key with all requests that share a beginning"
        if fault.change == "key"
        else "keep one model for a whole session",
        CacheVerdict.CHANGED: f"keep {fault.block or 'the beginning'} as it was; append only",
    }
    return _Step(
        fault, usd, words.get(fault.verdict, ""), tuple(own), replace(state, uses=tuple(uses))
    )


def _groups(
    calls: Calls,
    found: Sequence[Judged],
    steps: Sequence[_Step],
    excerpts: Excerpts,
    year: Decimal | None,
) -> tuple[VerdictGroup, ...]:
    groups: list[VerdictGroup] = []
    by_step = {_slot(step.fault): step for step in steps}
    own = _by_fault(found)
    for key in dict.fromkeys((*by_step, *own)):
        step = by_step.get(key)
        is_hidden = key not in own
        places = list(step.places) if is_hidden and step else own[key]
        fault = step.fault if step else max((found[p] for p in places), key=lambda f: f.n_tokens)
        state_calls = calls.calls
        shown = excerpts.of(state_calls, fault, places)
        n_tokens = sum(found[p].n_tokens for p in places if found[p].verdict is fault.verdict)
        usd = step.usd if step else Decimal(0)
        groups.append(
            VerdictGroup(
                verdict=fault.verdict.value,
                n_requests=0 if is_hidden else len(places),
                n_tokens=n_tokens or fault.n_tokens * len(places),
                usd=usd,
                usd_per_year=None if year is None else usd * year,
                block=fault.block,
                before=shown.before,
                after=shown.after,
                change=shown.kind or fault.change,
                remedy=step.remedy if step else "",
                behind=step.behind.value if step and step.behind else "",
                n_disagreeing=sum(found[p].disagrees for p in places),
            )
        )
    groups.sort(key=lambda group: (-group.usd, bool(group.behind), -group.n_tokens))
    reasons: Counter[tuple[str, str]] = Counter()
    for judgement in found:
        if judgement.verdict not in FAULTS:
            reasons[judgement.verdict.value, judgement.reason] += 1
    for reason, n in calls.unexamined.items():
        reasons[CacheVerdict.NOT_EXAMINABLE.value, reason] += n
    groups += [
        VerdictGroup(verdict, n, reason=reason, usd_per_year=None if year is None else Decimal(0))
        for (verdict, reason), n in sorted(reasons.items())
    ]
    return tuple(groups)


def _mended_use(step: _Step, ordered: Sequence[Call], uses: Sequence[Use]) -> MendedUse:
    rows = {}
    for place, (call, use) in enumerate(zip(step.state.ordered, step.state.uses, strict=True)):
        if use != uses[place] or call.model != ordered[place].model:
            rows[call.row] = (
                call.input_tokens, max(use.read, 0), use.written, use.written_1h, call.model,
            )  # fmt: skip
    return MendedUse((step.behind or step.fault.verdict).value, rows)


def _error(calls: Calls, expected: Sequence[Use], delays: dict[int, float]) -> dict[str, object]:
    """Return how well the replay tells the reads of the log, and rules that the log contradicts."""
    n = n_near = off = total = 0
    against: Counter[str] = Counter()
    for call, use in zip(calls.calls, expected, strict=True):
        if not call.blocks or call.read < 0:
            continue
        rule = calls.rule(call)
        n += 1
        off += abs(use.read - call.read)
        total += call.input_tokens
        n_near += abs(use.read - call.read) <= _ERROR_SHARE * max(call.input_tokens, 1)
        if 0 < call.read < rule.min_tokens:
            against[f"{rule.name}: least length of {rule.min_tokens:,} tokens"] += 1
        if call.read % rule.step_tokens:
            against[f"{rule.name}: steps of {rule.step_tokens} tokens"] += 1
        if call.read > use.read + _ERROR_SHARE * call.input_tokens and call.read >= rule.min_tokens:
            against[f"{rule.name}: life of {rule.ttl_seconds:,.0f} seconds or look-back"] += 1
    return {
        "n_requests": n,
        "mean_share_of_input": off / total if total else 0.0,
        "share_within_5_percent": n_near / n if n else 0.0,
        "first_token_seconds": max(delays.values(), default=0.0),
        "contradicted_rules": [
            {"rule": rule, "n_requests": count} for rule, count in against.most_common()
        ],
    }
