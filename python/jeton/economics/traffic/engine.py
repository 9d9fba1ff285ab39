"""The discrete-event simulation of one serving group: continuous batching over a paged KV cache.

Requests wait in the order of their arrival. A step gives each decoding request one token and reads
prompt tokens of those that were admitted; memory is handed out by the policy; where it runs out,
the request admitted last loses its cache, waits at the head of the queue and reads everything again
(vLLM's recompute, arXiv:2309.06180). Between two events - a request ends, one comes, memory runs
out - the batch stays as it is, and its steps are one sum in closed form.

Cost: O(log n) an event, a handful of events a request, whatever the lengths.
"""

from __future__ import annotations

from array import array
from collections import deque
from heapq import heappop, heappush

from jeton.economics.traffic.outcome import DONE, TOO_LARGE, TOO_LONG, Outcome
from jeton.economics.traffic.policies import EngineSettings, Policy
from jeton.economics.traffic.pool import PageBytes
from jeton.economics.traffic.prediction import OutputPredictor
from jeton.economics.traffic.recording import Recorder
from jeton.economics.traffic.step_times import StepTimes, steps_seconds, steps_until

__all__ = ["Engine"]

_WINDOW, _WINDOW_PAGES, _OUTGROWN, _FINISH = 0, 1, 2, 3
"""Events of a decoding request, in the order in which those of one step are handled: its context
passes the window; its pages do; it has used up what was reserved for it; it ends."""


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
    ) -> None:
        n = len(arrivals)
        self._context = context_tokens
        nan = float("nan")
        self._prompts, self._outputs, self._trace_arrivals = prompts, outputs, arrivals
        self._times, self._pages, self._settings = times, pages, settings
        self._budget = self._free = budget_bytes
        self._recorder = recorder
        self._page = pages.page_tokens
        self._watermark = int(budget_bytes * settings.watermark_share)
        self._policy = policy.name
        self._reserved = policy.reserved_tokens or max(
            (p + o for p, o in zip(prompts, outputs, strict=True)), default=1
        )
        self._predictor = (
            OutputPredictor(quantile=policy.quantile) if policy.name == "prediction" else None
        )
        self._out = Outcome(
            arrived=array("d", arrivals),
            admitted=array("d", [nan]) * n,
            first_token=array("d", [nan]) * n,
            finished=array("d", [nan]) * n,
            status=bytearray(n),
            n_preempted=array("i", [0]) * n,
            waits=(array("d"), array("d")),
            runs=(array("d"), array("d")),
            memory_out=array("d"),
        )
        self._now = 0.0
        self._step = 0
        self._next = 0
        self._n_under_way = 0
        self._waiting: deque[int] = deque()
        self._queued_at = array("d", [0.0]) * n
        # Of a request that was admitted: how many tokens it had been given before (again after a
        # preemption), its prompt tokens already read, and what it holds beyond its context.
        self._given = array("q", [0]) * n
        self._held = array("q", [0]) * n
        self._base = array("q", [0]) * n
        self._running: dict[int, float] = {}
        self._prefilling: deque[int] = deque()
        self._read: dict[int, int] = {}
        # Of those that decode: the batch's sums, and their events by step.
        self._n_decoding = 0
        self._layer_tokens = 0
        self._growth = 0
        self._page_demand = [0] * self._page
        self._cycle_demand = 0
        self._events: list[tuple[int, int, int, int]] = []
        self._epoch = array("q", [0]) * n
        self._growing: dict[int, int] = {}

    def run(self) -> Outcome:
        """Run until every request has ended."""
        arrivals = self._trace_arrivals
        n_requests = len(arrivals)
        while True:
            if self._next < n_requests and arrivals[self._next] <= self._now:
                self._receive()
            if self._waiting:
                self._admit()
            if self._prefilling:
                self._mixed_step()
            elif self._n_decoding:
                self._decode_steps()
            elif self._next < n_requests:
                self._idle_until(arrivals[self._next])
            else:
                break
        out = self._out
        out.end_seconds = self._now
        out.allocated_bytes_at_end = self._budget - self._free
        out.n_steps += self._step
        return out

    # Arrivals and admission

    def _receive(self) -> None:
        """Put what has come by now into the queue."""
        arrivals, now, n = self._trace_arrivals, self._now, self._next
        clients = self._settings.clients
        while n < len(arrivals) and arrivals[n] <= now:
            if clients is not None:
                if self._n_under_way >= clients:
                    break
                self._out.arrived[n] = now
            refused = self._refusal(n)
            if refused:
                self._out.status[n] = refused
            else:
                self._waiting.append(n)
                self._queued_at[n] = self._out.arrived[n]
                self._n_under_way += 1
            n += 1
        self._next = n

    def _refusal(self, i: int) -> int:
        longest = self._prompts[i] + self._outputs[i]
        if self._context is not None and longest > self._context:
            return TOO_LONG
        if self._policy == "static":
            if longest > self._reserved:
                return TOO_LONG
            longest = self._reserved
        # The last token that is given is never read again: it needs no place.
        elif self._outputs[i]:
            longest -= 1
        return TOO_LARGE if self._pages.of(longest) > self._budget else DONE

    def _to_reserve(self, i: int) -> int:
        """Tokens that a request is given memory for when it is admitted."""
        context = self._prompts[i] + self._given[i]
        if self._policy == "static":
            return self._reserved
        if self._predictor is not None:
            predicted = self._predictor.predict(self._prompts[i])
            if predicted is not None:
                if not self._given[i]:
                    self._out.predicted.append(predicted)
                    self._out.predicted_actual.append(self._outputs[i])
                wanted = self._prompts[i] + max(predicted - 1, self._given[i])
                if self._pages.of(wanted) <= self._budget:
                    return wanted
        return context

    def _admit(self) -> None:
        """Admit from the queue as long as memory, the batch and the step have room."""
        waiting, settings = self._waiting, self._settings
        if len(self._running) >= settings.max_requests:
            return
        chunked = settings.prefill == "chunked"
        room = settings.step_tokens - (self._n_decoding if chunked else 0)
        for i in self._prefilling:
            room -= self._prompts[i] + self._given[i] - self._read[i]
        while waiting and room > 0 and len(self._running) < settings.max_requests:
            i = waiting[0]
            context = self._prompts[i] + self._given[i]
            if not chunked and context > room and self._prefilling:
                return
            tokens = self._to_reserve(i)
            needed = self._pages.of(tokens)
            # What decodes gets its pages first.
            kept = max(self._watermark, self._page_demand[self._step % self._page])
            if self._running and needed > self._free - kept:
                if self._predictor is not None and not self._given[i]:
                    self._forget_prediction()
                return
            waiting.popleft()
            self._free -= needed
            # Whole pages are held, so that a page's end is where the next one is needed.
            self._held[i] = -(-tokens // self._page) * self._page
            self._running[i] = self._now
            self._prefilling.append(i)
            self._read[i] = 0
            room -= context
            self._out.waits[0].append(self._queued_at[i])
            self._out.waits[1].append(self._now)
            if self._out.admitted[i] != self._out.admitted[i]:
                self._out.admitted[i] = self._now

    def _forget_prediction(self) -> None:
        # It is predicted anew when there is room: only what was acted on counts.
        if self._out.predicted and self._predictor is not None:
            self._out.predicted.pop()
            self._out.predicted_actual.pop()

    # Steps

    def _mixed_step(self) -> None:
        """One step that reads prompts, and decodes beside them if prompts are read in chunks."""
        chunked = self._settings.prefill == "chunked"
        if chunked:
            self._make_room(1)
            if not self._prefilling:
                # The prompts lost their places. A step follows all the same, or they would be
                # admitted and preempted in turn for ever.
                if self._n_decoding:
                    self._decode_steps()
                return
        n_decoding = self._n_decoding if chunked else 0
        room = self._settings.step_tokens - n_decoding
        n_tokens = n_scored = pairs = past = gained = n_parts = 0
        times = self._times
        ended: list[int] = []
        for i in self._prefilling:
            whole = self._prompts[i] + self._given[i]
            start = self._read[i]
            take = whole - start
            if take > room and chunked:
                take = room
            n_tokens += take
            pairs += times.prompt_pairs(start, start + take)
            before = times.layer_tokens(start)
            past += before
            gained += times.layer_tokens(start + take) - before
            n_parts += 1
            self._read[i] = start + take
            if self._given[i]:
                self._out.recomputed_tokens += take
            room -= take
            if start + take == whole:
                ended.append(i)
                n_scored += 1
            if room <= 0:
                break
        seconds = times.mixed_seconds(
            n_decoding=n_decoding,
            layer_tokens=self._layer_tokens if n_decoding else 0,
            growth=self._growth if n_decoding else 0,
            n_prompt_tokens=n_tokens,
            n_scored=n_scored,
            prompt_pairs=pairs,
            past_layer_tokens=past,
            n_prompts=n_parts,
        )
        self._out.prompt_tokens_read += n_tokens
        self._out.prompt_seconds += seconds
        if n_decoding:
            self._advance(1, seconds, past, gained)
        else:
            self._stand_still(seconds, past, gained)
        for i in ended:
            self._prefilling.remove(i)
            del self._read[i]
            self._start_decoding(i)

    def _decode_steps(self) -> None:
        """As many steps as pass without an event."""
        times, n = self._times, self._n_decoding
        most = self._events[0][0] - self._step
        if most < 1:  # an event of a request that is gone
            self._handle_events()
            return
        a = times.weights(n) + times.state_seconds * n + times.cache_seconds * self._layer_tokens
        b = times.cache_seconds * self._growth
        c = times.decode_flop_seconds * n + times.decode_pair_seconds * (
            self._layer_tokens + self._growth
        )
        d = times.decode_pair_seconds * self._growth
        a += times.overhead_seconds
        c += times.overhead_seconds
        is_blocked = bool(self._waiting)
        clients = self._settings.clients
        if (
            not is_blocked
            and self._next < len(self._trace_arrivals)
            and (clients is None or self._n_under_way < clients)
            and len(self._running) < self._settings.max_requests
        ):
            pause = self._trace_arrivals[self._next] - self._now
            most = steps_until(pause, most, a, b, c, d)
        if self._cycle_demand:
            fitting = self._steps_that_fit(most)
            if fitting == 0:
                self._make_room(1)
                if self._n_decoding:  # another batch, whose next step has its pages
                    self._decode_steps()
                return
            most = min(most, fitting)
        seconds = steps_seconds(most, a, b, c, d)
        self._out.decode_seconds += seconds
        if is_blocked and len(self._running) < self._settings.max_requests:
            self._out.blocked_seconds += seconds
        self._advance(most, seconds)

    def _advance(self, n_steps: int, seconds: float, past: int = 0, gained: int = 0) -> None:
        """Let the decoding requests go on by some steps.

        ``past`` and ``gained`` are layer tokens of prompts that are read beside them.
        """
        demand = self._demand(n_steps)
        self._recorder.add(
            self._now,
            seconds,
            self._budget - self._free,
            demand,
            self._layer_tokens + past,
            self._growth * n_steps + gained,
        )
        self._free -= demand
        self._now += seconds
        self._layer_tokens += self._growth * n_steps
        self._out.output_tokens += self._n_decoding * n_steps
        self._step += n_steps
        self._handle_events()

    def _stand_still(self, seconds: float, past: int, gained: int) -> None:
        """A step that only reads prompts."""
        used = self._budget - self._free
        self._recorder.add(self._now, seconds, used, 0, self._layer_tokens + past, gained)
        self._now += seconds
        # Not a step of the decoding requests, whose events are counted in their own steps.
        self._out.n_steps += 1

    def _idle_until(self, time: float) -> None:
        if time > self._now:
            self._recorder.add(self._now, time - self._now, self._budget - self._free, 0, 0, 0)
            self._now = time

    # The decoding requests

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
            self._free += self._pages.of(max(self._held[i], context))
            self._end(i)
            return
        step, epoch, times = self._step, self._epoch[i], self._times
        self._base[i] = context - step
        heappush(self._events, (step + rest, _FINISH, i, epoch))
        self._n_decoding += 1
        self._layer_tokens += times.layer_tokens(context)
        self._growth += times.n_layers
        if times.n_window_layers:
            to_window = times.window_tokens - context
            if to_window <= 0:
                self._growth -= times.n_window_layers
            elif to_window <= rest:
                heappush(self._events, (step + to_window, _WINDOW, i, epoch))
        beyond = self._held[i] - context
        if beyond < self._page:
            self._grow(i, context)
        elif beyond < rest:
            heappush(self._events, (step + beyond, _OUTGROWN, i, epoch))

    def _grow(self, i: int, context: int) -> None:
        """From now on a request takes a page whenever its context passes a page's end."""
        pages = self._pages
        growth = pages.growth(max(context, self._held[i]))
        self._growing[i] = growth
        if growth:
            self._page_demand[-self._base[i] % self._page] += growth
            self._cycle_demand += growth
        if growth != pages.full:
            # Until its windowed layers hold all the pages that they ever do.
            last = self._step + pages.window_pages * self._page - context
            heappush(self._events, (last, _WINDOW_PAGES, i, self._epoch[i]))

    def _stop_growing(self, i: int, by: int) -> None:
        if by:
            self._page_demand[-self._base[i] % self._page] -= by
            self._cycle_demand -= by

    def _handle_events(self) -> None:
        events, step = self._events, self._step
        while events and events[0][0] <= step:
            _, kind, i, epoch = heappop(events)
            if epoch != self._epoch[i]:
                continue
            if kind == _FINISH:
                self._given[i] = self._outputs[i]
                self._leave_batch(i)
                self._end(i)
            elif kind == _WINDOW:
                self._growth -= self._times.n_window_layers
            elif kind == _WINDOW_PAGES:
                self._stop_growing(i, self._pages.window)
                self._growing[i] -= self._pages.window
            else:
                self._grow(i, self._base[i] + step)

    def _leave_batch(self, i: int) -> None:
        """Take a decoding request out of all sums and give its memory back."""
        context = self._base[i] + self._step
        self._n_decoding -= 1
        self._layer_tokens -= self._times.layer_tokens(context)
        self._growth -= self._times.n_layers
        if self._times.n_window_layers and context >= self._times.window_tokens:
            self._growth += self._times.n_window_layers
        self._stop_growing(i, self._growing.pop(i, 0))
        self._free += self._pages.of(max(self._held[i], context))
        self._epoch[i] += 1

    def _end(self, i: int) -> None:
        out = self._out
        out.finished[i] = self._now
        out.runs[0].append(self._running.pop(i))
        out.runs[1].append(self._now)
        self._n_under_way -= 1
        if self._predictor is not None:
            self._predictor.learn(self._prompts[i], self._outputs[i])

    # Memory

    def _demand(self, n_steps: int) -> int:
        """Bytes of the pages that the next steps take."""
        if not self._cycle_demand:
            return 0
        page, demand = self._page, self._page_demand
        cycles, rest = divmod(n_steps, page)
        total = cycles * self._cycle_demand
        if rest:
            start = self._step % page
            end = start + rest
            if end <= page:
                total += sum(demand[start:end])
            else:
                total += sum(demand[start:]) + sum(demand[: end - page])
        return total

    def _steps_that_fit(self, most: int) -> int:
        """Steps whose pages are free, at most ``most``."""
        page = self._page
        if (most // page + 1) * self._cycle_demand <= self._free:
            return most
        cycles, left = divmod(self._free, self._cycle_demand)
        n = cycles * page
        while n < most:
            left -= self._page_demand[(self._step + n) % page]
            if left < 0:
                break
            n += 1
        return min(n, most)

    def _make_room(self, n_steps: int) -> None:
        """Preempt those admitted last until the pages of the next steps are free."""
        while self._demand(n_steps) > self._free:
            self._preempt(next(reversed(self._running)))

    def _preempt(self, i: int) -> None:
        """Take a request's cache away: it reads everything again, before all that wait."""
        out = self._out
        if i in self._read:
            self._prefilling.remove(i)
            del self._read[i]
            self._free += self._pages.of(self._held[i])
        else:
            self._given[i] = self._base[i] + self._step + 1 - self._prompts[i]
            self._leave_batch(i)
        out.runs[0].append(self._running.pop(i))
        out.runs[1].append(self._now)
        out.n_preempted[i] += 1
        out.memory_out.append(self._now)
        self._waiting.appendleft(i)
        self._queued_at[i] = self._now
