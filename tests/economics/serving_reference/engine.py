"""The discrete-event simulation of one serving group: continuous batching over a paged KV cache.

Requests wait in the order of the policy. A step gives each decoding request one token and reads
prompt tokens of those that were admitted; memory is handed out by the policy; where it runs out,
the request that the policy names loses its cache, waits at the head of the queue and reads
everything again (vLLM's recompute, arXiv:2309.06180). Between two events - a request ends, one
comes, memory runs out - the batch stays as it is, and its steps are one sum in closed form.

Cost: O(log n) an event, a handful of events a request, whatever the lengths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from jeton.economics.admission import Policy
from jeton.economics.traffic.engine import PageBytes, refusals
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.step_times import StepTimes, StepWork
from tests.economics.serving_reference.batch import DecodingBatch
from tests.economics.serving_reference.decider import Decider
from tests.economics.serving_reference.outcome import Outcome
from tests.economics.serving_reference.prefixes import PrefixCache
from tests.economics.serving_reference.recording import Recorder
from tests.economics.serving_reference.steps import (
    Terms,
    held_bytes,
    part,
    plus,
    steps_seconds,
    steps_until,
)

__all__ = ["Engine"]


class Engine:
    """One run: made, run once, and thrown away."""

    def __init__(
        self,
        arrivals: list[float],
        prompts: list[int],
        outputs: list[int],
        *,
        times: StepTimes,
        pages: PageBytes,
        budget_bytes: int,
        policy: Policy,
        settings: EngineSettings,
        recorder: Recorder,
        context_tokens: int | None = None,
        prefixes: PrefixCache | None = None,
        groups: Sequence[tuple[str, ...]] | None = None,
    ) -> None:
        n = len(arrivals)
        self._prompts, self._outputs, self._arrivals = prompts, outputs, arrivals
        self._times, self._pages, self._settings = times, pages, settings
        self._is_chunked = settings.prefill == "chunked"
        self._budget = self._free = budget_bytes
        self._recorder = recorder
        self._page = pages.page_tokens
        self._watermark = int(budget_bytes * settings.watermark_share)
        # Requests that are reserved a place in one piece share none of it.
        self._prefixes = None if policy.name == "static" else prefixes
        self._out = Outcome.of(arrivals)
        self._groups = [()] * n if groups is None else groups
        self._decider: Decider[int] = Decider(
            policy,
            pages=pages,
            budget=budget_bytes,
            given_of=self._given_of,
            longest=max((p + o for p, o in zip(prompts, outputs, strict=True)), default=1),
            longest_output=max(1, max(outputs, default=1)),
            context_tokens=context_tokens,
        )
        status = refusals(
            np.array(prompts),
            np.array(outputs),
            pages=pages,
            budget_bytes=budget_bytes,
            context_tokens=context_tokens,
            reserved_tokens=self._decider.fixed,
        )
        self._out.status = bytearray(status.tobytes())
        self._now = 0.0
        self._next = 0
        self._n_under_way = 0
        self._waiting = self._decider.queue(self._place)
        self._queued_at = [0.0] * n
        # Tokens of an admitted request: the number given before (again after a preemption), and the
        # number that it has memory for, in whole pages.
        self._given = [0] * n
        self._held = [0] * n
        # Since when a request runs; in the order of admission.
        self._running = self._decider.running
        # Prompts that are being read: the progress of each, and the rest of all of them.
        self._prefilling: deque[int] = deque()
        self._read: dict[int, int] = {}
        self._unread = 0
        self._zeros = (0,) * len(times.terms)
        self._batch = DecodingBatch(n, times=times, pages=pages)

    def run(self) -> Outcome:
        """Run until every request has ended."""
        arrivals, waiting, prefilling = self._arrivals, self._waiting, self._prefilling
        n_requests, batch = len(arrivals), self._batch
        while True:
            if self._next < n_requests and arrivals[self._next] <= self._now:
                self._receive()
            if waiting:
                self._admit()
            if prefilling:
                self._mixed_step()
            elif batch.n:
                self._decode_steps()
            elif self._next < n_requests:
                self._idle_until(arrivals[self._next])
            else:
                break
        out = self._out
        out.end_seconds = self._now
        out.allocated_bytes_at_end = self._budget - self._free
        out.n_steps += batch.step
        return out

    # Arrivals and admission

    def _receive(self) -> None:
        """Put what has come by now into the queue."""
        arrivals, now, n = self._arrivals, self._now, self._next
        out, clients = self._out, self._settings.clients
        while n < len(arrivals) and arrivals[n] <= now:
            if clients is not None:
                if self._n_under_way >= clients:
                    break
                out.arrived[n] = now
            if not out.status[n]:
                self._waiting.append(n)
                self._queued_at[n] = out.arrived[n]
                self._n_under_way += 1
            n += 1
        self._next = n

    def _admit(self) -> None:
        """Admit from the queue as long as memory, the batch and the step have room."""
        waiting, running, batch, out = self._waiting, self._running, self._batch, self._out
        most, chunked = self._settings.max_requests, self._is_chunked
        decider, prefixes, groups = self._decider, self._prefixes, self._groups
        room = self._settings.step_tokens - (batch.n if chunked else 0) - self._unread
        while waiting and room > 0 and len(running) < most:
            i = waiting[0]
            context = self._prompts[i] + self._given[i]
            n_found = n_in_use = start = 0
            if prefixes is not None:
                n_found, n_in_use = prefixes.find(i, self._prompts[i], context)
                start = n_found * prefixes.block_tokens
            if not chunked and context - start > room and self._prefilling:
                return
            # A decoding request gets its pages first.
            kept = batch.page_demand[batch.step % self._page]
            if kept < self._watermark:
                kept = self._watermark
            shared = n_in_use * prefixes.block_bytes if prefixes is not None else 0
            tokens = decider.grant(
                i,
                self._prompts[i],
                self._given[i],
                free=self._free - kept,
                shared=shared,
                group=groups[i],
            )
            if not tokens:
                return
            waiting.popleft()
            self._free -= self._pages.of(tokens) - shared
            if decider.predicted is not None and not self._given[i]:
                out.predicted.append(decider.predicted)
                out.predicted_actual.append(self._outputs[i])
            if prefixes is not None:
                prefixes.take(i, n_found)
                prefixes.evict(self._free)
                out.cached_tokens += start
            # Whole pages are held, so that a page's end is where the next one is needed.
            self._held[i] = -(-tokens // self._page) * self._page
            running[i] = self._now
            self._prefilling.append(i)
            self._read[i] = start
            room -= context - start
            self._unread += context - start
            out.waits[0].append(self._queued_at[i])
            out.waits[1].append(self._now)
            if not out.n_preempted[i]:
                out.admitted[i] = self._now

    # Steps

    def _mixed_step(self) -> None:
        """One step that reads prompts, and decodes beside them if prompts are read in chunks."""
        chunked, batch, out = self._is_chunked, self._batch, self._out
        if chunked and batch.page_demand[batch.step % self._page] > self._free:
            self._make_room()
            if not self._prefilling:
                # The prompts lost their places. A step follows all the same, or they would be
                # admitted and preempted in turn for ever.
                if batch.n:
                    self._decode_steps(is_fresh=True)
                return
        n_decoding = batch.n if chunked else 0
        room = self._settings.step_tokens - n_decoding
        n_tokens = n_parts = 0
        pairs = past = gained = self._zeros
        times, read, prefixes = self._times, self._read, self._prefixes
        parts: list[tuple[int, int, int]] = []
        ended: list[int] = []
        for i in self._prefilling:
            whole = self._prompts[i] + self._given[i]
            start = read[i]
            take = whole - start
            if take > room and chunked:
                take = room
            end = start + take
            n_tokens += take
            part_pairs, part_past, part_gained = part(times, start, end)
            pairs, past = plus(pairs, part_pairs), plus(past, part_past)
            gained = plus(gained, part_gained)
            read[i] = end
            n_parts += 1
            if prefixes is not None:
                parts.append((i, start, end))
            if self._given[i]:
                out.recomputed_tokens += take
            room -= take
            if end == whole:
                ended.append(i)
            if room <= 0:
                break
        work = StepWork(
            n_decoding=n_decoding,
            tokens=tuple(batch.tokens) if n_decoding else self._zeros,
            growth=tuple(batch.growth) if n_decoding else self._zeros,
            n_prompt_tokens=n_tokens,
            n_scored=len(ended),
            pairs=pairs,
            past=past,
            n_prompts=n_parts,
        )
        seconds = times.seconds(work)
        self._unread -= n_tokens
        out.prompt_tokens_read += n_tokens
        out.prompt_seconds += seconds
        if n_decoding:
            self._advance(1, seconds, past, gained, n_parts)
        else:
            self._stand_still(seconds, past, gained, n_parts)
        if prefixes is not None:
            for i, start, end in parts:
                prefixes.store(i, self._prompts[i], start, end)
        for i in ended:
            self._prefilling.remove(i)
            del read[i]
            self._start_decoding(i)

    def _decode_steps(self, *, is_fresh: bool = False) -> None:
        """As many steps as pass without an event; ``is_fresh``: somebody was preempted just now."""
        times, batch = self._times, self._batch
        most = batch.due - batch.step
        if most < 1:  # an event of a request that is gone
            self._handle_events()
            return
        if is_fresh and self._prefixes is not None:
            # It may need less than it gave back: others have stored what it had for itself.
            most = 1
        a = times.weights(batch.n) + times.state_seconds * batch.n
        b, c, d = 0.0, times.decode_flop_seconds * batch.n, 0.0
        for term, tokens, growth in zip(times.terms, batch.tokens, batch.growth, strict=True):
            a += term.read_seconds * tokens
            b += term.read_seconds * growth
            c += term.decode_seconds * (tokens + growth)
            d += term.decode_seconds * growth
        a += times.overhead_seconds
        c += times.overhead_seconds
        is_blocked = bool(self._waiting)
        settings = self._settings
        clients = settings.clients
        if (
            (not is_blocked or self._decider.heeds_arrivals)
            and self._next < len(self._arrivals)
            and (clients is None or self._n_under_way < clients)
            and len(self._running) < settings.max_requests
        ):
            pause = self._arrivals[self._next] - self._now
            most = steps_until(pause, most, a, b, c, d)
        if batch.cycle_demand:
            fitting = batch.steps_that_fit(most, self._free)
            if fitting == 0:
                self._make_room()
                if batch.n:  # another batch, whose next step has its pages
                    self._decode_steps(is_fresh=True)
                return
            if fitting < most:
                most = fitting
        seconds = steps_seconds(most, a, b, c, d)
        self._out.decode_seconds += seconds
        if is_blocked and len(self._running) < settings.max_requests:
            self._out.blocked_seconds += seconds
        self._advance(most, seconds, self._zeros, self._zeros, 0)

    def _advance(
        self, n_steps: int, seconds: float, past: Terms, gained: Terms, n_prompts: int
    ) -> None:
        """Let the decoding requests go on by some steps.

        ``past`` and ``gained`` are tokens of ``n_prompts`` prompts that are read beside them.
        """
        batch, free, prefixes = self._batch, self._free, self._prefixes
        if n_steps == 1:
            demand = batch.page_demand[batch.step % self._page]
        else:
            demand = batch.demand(n_steps)
        held = self._present(past, n_prompts)
        new = held_bytes(self._times, plus(gained, batch.growth, n_steps))
        self._recorder.add(self._now, seconds, self._budget - free, demand, held, new)
        self._free = free = free - demand
        self._now += seconds
        self._out.output_tokens += batch.n * n_steps
        batch.tokens = list(plus(batch.tokens, batch.growth, n_steps))
        batch.step += n_steps
        if prefixes is not None:
            prefixes.evict(free)
        if batch.due <= batch.step:
            self._handle_events()

    def _stand_still(self, seconds: float, past: Terms, gained: Terms, n_prompts: int) -> None:
        """A step that only reads prompts."""
        used, held = self._budget - self._free, self._present(past, n_prompts)
        self._recorder.add(self._now, seconds, used, 0, held, held_bytes(self._times, gained))
        self._now += seconds
        # Not a step of the decoding requests, whose events are counted in their own steps.
        self._out.n_steps += 1

    def _present(self, past: Terms, n_prompts: int) -> float:
        """Bytes that hold tokens and states, those that requests share once."""
        batch, times, prefixes = self._batch, self._times, self._prefixes
        held = held_bytes(times, plus(batch.tokens, past))
        held += times.state_bytes * (batch.n + n_prompts)
        if prefixes is None:
            return held
        shared = prefixes.n_shared * prefixes.block_tokens
        return max(0.0, held - held_bytes(times, (shared,) * len(times.terms)))

    def _idle_until(self, time: float) -> None:
        if time > self._now:
            self._recorder.add(self._now, time - self._now, self._budget - self._free, 0, 0, 0)
            self._now = time

    def _start_decoding(self, i: int) -> None:
        """The prompt is read, which gives a token; the rest comes by steps."""
        given = self._given[i]
        context = self._prompts[i] + given
        if self._outputs[i]:
            self._out.output_tokens += 1
            if not given:
                self._out.first_token[i] = self._now
            given += 1
            self._given[i] = given
        rest = self._outputs[i] - given
        if rest <= 0:
            self._release(i, context)
            self._end(i)
        else:
            self._batch.add(i, context=context, rest=rest, held=self._held[i])

    def _handle_events(self) -> None:
        for i, context in self._batch.finished():
            self._given[i] = self._outputs[i]
            self._release(i, context)
            self._end(i)

    def _end(self, i: int) -> None:
        out = self._out
        out.finished[i] = self._now
        decider = self._decider
        out.runs[0].append(decider.finished(i, self._prompts[i], self._outputs[i], self._groups[i]))
        out.runs[1].append(self._now)
        self._n_under_way -= 1

    # Questions of the policy

    def _place(self, i: int) -> float:
        """Place of a request in the queue."""
        return self._decider.place(self._prompts[i], self._out.arrived[i], self._groups[i])

    def _given_of(self, i: int) -> int:
        """Tokens that a running request has been given."""
        if i in self._read:
            return self._given[i]
        return self._batch.context(i) + 1 - self._prompts[i]

    # Memory

    def _release(self, i: int, context: int) -> None:
        """Give a request's memory back, but for what others use too."""
        held = self._held[i]
        self._free += self._pages.of(held if held > context else context)
        if self._prefixes is not None:
            self._free -= self._prefixes.release(i)

    def _make_room(self) -> None:
        """Preempt requests until the pages of the next step are free."""
        batch, page = self._batch, self._page
        while batch.page_demand[batch.step % page] > self._free:
            self._preempt(self._decider.victim())

    def _preempt(self, i: int) -> None:
        """Take a request's cache away: it reads everything again, before all that wait."""
        out, batch = self._out, self._batch
        if i in self._read:
            self._prefilling.remove(i)
            self._unread -= self._prompts[i] + self._given[i] - self._read.pop(i)
            self._release(i, 0)
        else:
            self._given[i] = batch.context(i) + 1 - self._prompts[i]
            self._release(i, batch.remove(i))
        out.runs[0].append(self._decider.left(i))
        out.runs[1].append(self._now)
        out.n_preempted[i] += 1
        out.memory_out.append(self._now)
        self._waiting.appendleft(i)
        self._queued_at[i] = self._now
