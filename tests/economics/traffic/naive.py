"""The slow twin of the simulation: one step at a time, every sum taken anew."""

from __future__ import annotations

from dataclasses import dataclass, field

from jeton.economics.admission import Policy
from jeton.economics.traffic.engine import PageBytes
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.step_times import StepTimes, StepWork
from tests.economics.serving_reference.steps import plus


@dataclass
class Running:
    number: int
    reserved: int
    read: int = 0
    whole: int = 0
    context: int = 0
    is_decoding: bool = False
    blocks: list[int] = field(default_factory=list)


@dataclass
class NaiveOutcome:
    admitted: dict[int, float] = field(default_factory=dict)
    first_token: dict[int, float] = field(default_factory=dict)
    finished: dict[int, float] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    n_preempted: dict[int, int] = field(default_factory=dict)
    end: float = 0.0
    n_steps: int = 0
    output_tokens: int = 0
    prompt_tokens: int = 0
    peak_bytes: int = 0
    cached_tokens: int = 0


def simulate_naively(
    arrivals: list[float],
    prompts: list[int],
    outputs: list[int],
    *,
    times: StepTimes,
    pages: PageBytes,
    budget: int,
    policy: Policy,
    settings: EngineSettings,
    blocks: list[list[int]] | None = None,
    block_tokens: int = 1,
) -> NaiveOutcome:
    """Replay under ``static`` or ``dynamic``, with or without a cache of prefixes."""
    out = NaiveOutcome()
    is_shared = blocks is not None and policy.name == "dynamic"
    block_bytes = block_tokens // pages.page_tokens * pages.full
    idle: list[int] = []
    page = pages.page_tokens
    longest = max((p + o for p, o in zip(prompts, outputs, strict=True)), default=1)
    reserve = policy.reserved_tokens or longest
    given = [0] * len(arrivals)
    waiting: list[int] = []
    running: list[Running] = []
    now, following, under_way = 0.0, 0, 0
    chunked = settings.prefill == "chunked"

    def bytes_of(r: Running) -> int:
        return pages.of(max(-(-r.reserved // page) * page, r.context if r.is_decoding else 0))

    def users(block: int) -> int:
        return sum(block in r.blocks for r in running)

    def shared_bytes() -> int:
        uses = [block for r in running for block in r.blocks]
        return (len(uses) - len(set(uses))) * block_bytes

    def used() -> int:
        return sum(bytes_of(r) for r in running) - shared_bytes()

    def after_step() -> int:
        return (
            sum(
                pages.of(max(-(-r.reserved // page) * page, r.context + r.is_decoding))
                for r in running
            )
            - shared_bytes()
        )

    def forget_idle() -> None:
        while len(idle) * block_bytes > budget - used():
            idle.pop(0)

    def leave(r: Running) -> None:
        running.remove(r)
        idle.extend(block for block in reversed(r.blocks) if not users(block))

    def preempt() -> None:
        r = running[-1]
        leave(r)
        if r.is_decoding:
            given[r.number] = r.context - prompts[r.number] + 1
        out.n_preempted[r.number] = out.n_preempted.get(r.number, 0) + 1
        waiting.insert(0, r.number)

    def end(r: Running) -> None:
        nonlocal under_way
        out.finished[r.number] = now
        under_way -= 1

    while True:
        while following < len(arrivals) and arrivals[following] <= now:
            if settings.clients is not None and under_way >= settings.clients:
                break
            p, o = prompts[following], outputs[following]
            if policy.name == "static":
                fits = p + o <= reserve and pages.of(reserve) <= budget
            else:
                fits = pages.of(p + o - (o > 0)) <= budget
            if fits:
                waiting.append(following)
                under_way += 1
            else:
                out.refused.add(following)
            following += 1
        room = settings.step_tokens
        if chunked:
            room -= sum(r.is_decoding for r in running)
        room -= sum(r.whole - r.read for r in running if not r.is_decoding)
        while waiting and room > 0 and len(running) < settings.max_requests:
            i = waiting[0]
            whole = prompts[i] + given[i]
            found: list[int] = []
            if is_shared and blocks is not None:
                for k, block in enumerate(blocks[i]):
                    end_of_block = (k + 1) * block_tokens
                    if end_of_block > min(prompts[i], whole - 1):
                        break
                    if not users(block) and block not in idle:
                        break
                    found.append(block)
            start = len(found) * block_tokens
            if not chunked and whole - start > room and any(not r.is_decoding for r in running):
                break
            reserved = reserve if policy.name == "static" else whole
            watermark = int(budget * settings.watermark_share)
            step_demand = sum(
                pages.of(max(-(-r.reserved // page) * page, r.context + 1)) - bytes_of(r)
                for r in running
                if r.is_decoding
            )
            kept = max(watermark, step_demand) if running else 0
            if pages.of(reserved) - block_bytes * sum(map(bool, map(users, found))) > (
                budget - used() - kept
            ):
                break
            waiting.pop(0)
            running.append(Running(i, reserved, read=start, whole=whole, blocks=found))
            for block in found:
                if block in idle:
                    idle.remove(block)
            forget_idle()
            out.cached_tokens += start
            out.admitted.setdefault(i, now)
            room -= whole - start
        reading = [r for r in running if not r.is_decoding]
        decoding = [r for r in running if r.is_decoding]
        if not running:
            if following >= len(arrivals):
                break
            now = max(now, arrivals[following])
            continue
        if chunked or not reading:
            while after_step() > budget:
                preempt()
            reading = [r for r in running if not r.is_decoding]
            decoding = [r for r in running if r.is_decoding]
        stepping = decoding if chunked or not reading else []
        room = settings.step_tokens - len(stepping)
        n_tokens = n_scored = 0
        pairs = past = (0,) * len(times.terms)
        ended: list[Running] = []
        read_now: list[tuple[Running, int]] = []
        parts = 0
        for r in reading:
            read_now.append((r, r.read))
            take = r.whole - r.read
            if chunked:
                take = min(take, room)
            n_tokens += take
            pairs = plus(pairs, times.pairs(r.read, r.read + take))
            past = plus(past, times.tokens(r.read))
            parts += 1
            r.read += take
            room -= take
            if r.read == r.whole:
                ended.append(r)
                n_scored += 1
            if room <= 0:
                break
        tokens = growth = (0,) * len(times.terms)
        for r in stepping:
            one = times.decoding(1, r.context)
            tokens, growth = plus(tokens, one.tokens), plus(growth, one.growth)
        now += times.seconds(
            StepWork(len(stepping), tokens, growth, n_tokens, n_scored, pairs, past, parts)
        )
        out.n_steps += 1
        out.prompt_tokens += n_tokens
        for r in stepping:
            r.context += 1
            out.output_tokens += 1
        out.peak_bytes = max(out.peak_bytes, used())
        assert used() <= budget
        forget_idle()
        for r in sorted(stepping, key=lambda r: r.number):
            if r.context == prompts[r.number] + outputs[r.number] - 1:
                end(r)
                leave(r)
        if is_shared and blocks is not None:
            for r, begun in read_now:
                for k, block in enumerate(blocks[r.number]):
                    ends = (k + 1) * block_tokens
                    is_read = begun < ends <= min(prompts[r.number], r.read)
                    if is_read and not users(block) and block not in idle:
                        r.blocks.append(block)
        for r in ended:
            i = r.number
            if outputs[i]:
                out.output_tokens += 1
                given[i] += 1
                out.first_token.setdefault(i, now)
            if given[i] >= outputs[i]:
                end(r)
                leave(r)
            else:
                r.is_decoding = True
                r.context = r.whole
    out.end = now
    return out
