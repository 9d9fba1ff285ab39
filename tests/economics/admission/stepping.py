"""A server that asks `Admission` step by step: what the simulation does in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field

from jeton.economics.admission import Admission
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.step_times import StepTimes, StepWork
from tests.economics.serving_reference.steps import plus


@dataclass
class Served:
    admitted: dict[int, float] = field(default_factory=dict)
    finished: dict[int, float] = field(default_factory=dict)
    n_preempted: dict[int, int] = field(default_factory=dict)
    n_tokens: int = 0
    n_read: int = 0
    fewest_free: int = 1 << 60
    end: float = 0.0


@dataclass
class _Reading:
    whole: int
    read: int = 0


def serve(
    admission: Admission[int],
    requests: list[tuple[float, int, int]],
    *,
    times: StepTimes,
    settings: EngineSettings,
    refused: set[int],
) -> Served:
    """Replay requests (arrival, prompt, output) with chunked prefill, one step at a time."""
    out = Served()
    reading: dict[int, _Reading] = {}
    context: dict[int, int] = {}
    given = dict.fromkeys(range(len(requests)), 0)
    now, following = 0.0, 0

    def preempted(gone: tuple[int, ...]) -> None:
        for i in gone:
            reading.pop(i, None)
            context.pop(i, None)
            out.n_preempted[i] = out.n_preempted.get(i, 0) + 1

    def end(i: int) -> None:
        admission.finish(i)
        out.finished[i] = now

    def admit() -> None:
        room = settings.step_tokens - len(context)
        room -= sum(one.whole - one.read for one in reading.values())
        while room > 0 and (start := admission.decide()) is not None:
            reading[start.request] = _Reading(start.read_tokens)
            room -= start.read_tokens
            out.admitted.setdefault(start.request, now)

    while True:
        while following < len(requests) and requests[following][0] <= now:
            if following not in refused:
                at, prompt, _ = requests[following]
                assert admission.offer(following, prompt, at_seconds=at) == "queued"
            following += 1
        admit()
        if not reading and not context:
            if following >= len(requests):
                break
            now = max(now, requests[following][0])
            continue
        preempted(admission.on_step(sorted(context)))
        out.fewest_free = min(out.fewest_free, admission.free_tokens)
        stepping = sorted(context)
        tokens = growth = (0,) * len(times.terms)
        for i in stepping:
            one = times.decoding(1, context[i])
            tokens, growth = plus(tokens, one.tokens), plus(growth, one.growth)
        room = settings.step_tokens - len(stepping)
        n_tokens = parts = 0
        pairs = past = (0,) * len(times.terms)
        ended = []
        for i, part in reading.items():
            take = min(part.whole - part.read, room)
            n_tokens += take
            pairs = plus(pairs, times.pairs(part.read, part.read + take))
            past = plus(past, times.tokens(part.read))
            part.read += take
            room -= take
            parts += 1
            if part.read == part.whole:
                ended.append(i)
            if room <= 0:
                break
        now += times.seconds(
            StepWork(len(stepping), tokens, growth, n_tokens, len(ended), pairs, past, parts)
        )
        out.n_read += n_tokens
        for i in stepping:
            context[i] += 1
            given[i] += 1
            out.n_tokens += 1
        for i in stepping:
            if given[i] == requests[i][2]:
                del context[i]
                end(i)
        for i in ended:
            context[i] = reading.pop(i).whole
            if requests[i][2]:
                preempted(admission.on_tokens(i))
                given[i] += 1
                out.n_tokens += 1
            if given[i] >= requests[i][2]:
                del context[i]
                end(i)
    out.end = now
    return out
