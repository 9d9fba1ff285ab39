"""The requests that decode: the sums that a step's time and memory need, and what is due when.

Every decoding request goes one token a step. So its context is a fixed number plus the step's, and
whatever happens to it - it passes its window, outgrows what was reserved, ends - has a step that is
known when it begins. Events wait in a heap; between two of them all sums grow evenly.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush

from jeton.economics.traffic.pool import PageBytes
from jeton.economics.traffic.step_times import StepTimes

__all__ = ["DecodingBatch"]

_WINDOW, _WINDOW_PAGES, _OUTGROWN, _FINISH = 0, 1, 2, 3
"""Events, in the order in which those of one step are handled: a context passes the window; its
pages do; what was reserved is used up; the last token is given."""


class DecodingBatch:
    """Who decodes, and what they add up to.

    Attributes:
        n: How many.
        step: Steps so far.
        layer_tokens: Their cached tokens, over all layers (`StepTimes.layer_tokens`).
        growth: Layer tokens that a step adds.
        page_demand: Bytes of the pages that a step takes, by its number modulo the page's size.
        cycle_demand: Sum of ``page_demand``.
    """

    __slots__ = (
        "_base",
        "_epoch",
        "_events",
        "_growing",
        "_page",
        "_pages",
        "_times",
        "cycle_demand",
        "growth",
        "layer_tokens",
        "n",
        "page_demand",
        "step",
    )

    def __init__(self, n_requests: int, *, times: StepTimes, pages: PageBytes) -> None:
        self._times, self._pages, self._page = times, pages, pages.page_tokens
        self.n = self.step = self.layer_tokens = self.growth = self.cycle_demand = 0
        self.page_demand = [0] * self._page
        self._events: list[tuple[int, int, int, int]] = []
        # A request's context less the step's number; and how often it has left, which tells its
        # events from those of an earlier stay.
        self._base = array("q", [0]) * n_requests
        self._epoch = array("q", [0]) * n_requests
        self._growing: dict[int, int] = {}

    @property
    def due(self) -> int:
        """Step of the next event; perhaps of a request that is gone."""
        return self._events[0][0]

    def context(self, i: int) -> int:
        """Cached tokens of a request."""
        return self._base[i] + self.step

    def add(self, i: int, *, context: int, rest: int, held: int) -> None:
        """Let a request decode ``rest`` more tokens; it has memory for ``held`` tokens."""
        step, epoch, times, events = self.step, self._epoch[i], self._times, self._events
        self._base[i] = context - step
        heappush(events, (step + rest, _FINISH, i, epoch))
        self.n += 1
        self.layer_tokens += times.layer_tokens(context)
        self.growth += times.n_layers
        if times.n_window_layers:
            to_window = times.window_tokens - context
            if to_window <= 0:
                self.growth -= times.n_window_layers
            elif to_window <= rest:
                heappush(events, (step + to_window, _WINDOW, i, epoch))
        beyond = held - context
        if beyond < self._page:
            self._grow(i, max(context, held))
        elif beyond < rest:
            heappush(events, (step + beyond, _OUTGROWN, i, epoch))

    def remove(self, i: int) -> int:
        """Take a request out of all sums; return its context."""
        times = self._times
        context: int = self._base[i] + self.step
        self.n -= 1
        self.layer_tokens -= times.layer_tokens(context)
        self.growth -= times.n_layers
        if times.n_window_layers and context >= times.window_tokens:
            self.growth += times.n_window_layers
        self._stop_growing(i, self._growing.pop(i, 0))
        self._epoch[i] += 1
        return context

    def advance(self, n_steps: int) -> None:
        """Give each request so many tokens; no event may lie between."""
        self.layer_tokens += self.growth * n_steps
        self.step += n_steps

    def finished(self) -> list[tuple[int, int]]:
        """Handle what is due by now; return the requests that end, each with its context."""
        events, step = self._events, self.step
        ended = []
        while events and events[0][0] <= step:
            _, kind, i, epoch = heappop(events)
            if epoch != self._epoch[i]:
                continue
            if kind == _FINISH:
                ended.append((i, self.remove(i)))
            elif kind == _WINDOW:
                self.growth -= self._times.n_window_layers
            elif kind == _WINDOW_PAGES:
                self._stop_growing(i, self._pages.window)
                self._growing[i] -= self._pages.window
            else:
                self._grow(i, self._base[i] + step)
        return ended

    def demand(self, n_steps: int) -> int:
        """Bytes of the pages that the next steps take."""
        if not self.cycle_demand:
            return 0
        page, demand = self._page, self.page_demand
        if n_steps == 1:
            return demand[self.step % page]
        cycles, rest = divmod(n_steps, page)
        total = cycles * self.cycle_demand
        if rest:
            start = self.step % page
            end = start + rest
            if end <= page:
                total += sum(demand[start:end])
            else:
                total += sum(demand[start:]) + sum(demand[: end - page])
        return total

    def steps_that_fit(self, most: int, free: int) -> int:
        """Steps whose pages ``free`` bytes hold, at most ``most``."""
        page = self._page
        if (most // page + 1) * self.cycle_demand <= free:
            return most
        cycles, left = divmod(free, self.cycle_demand)
        n = cycles * page
        while n < most:
            left -= self.page_demand[(self.step + n) % page]
            if left < 0:
                break
            n += 1
        return min(n, most)

    def _grow(self, i: int, held: int) -> None:
        """From now on a request takes a page whenever its context passes a page's end."""
        pages = self._pages
        growth = pages.growth(held)
        self._growing[i] = growth
        if growth:
            self.page_demand[-self._base[i] % self._page] += growth
            self.cycle_demand += growth
        if growth != pages.full:
            # Until its windowed layers hold all the pages that they ever do.
            last = pages.window_pages * self._page - self._base[i]
            heappush(self._events, (last, _WINDOW_PAGES, i, self._epoch[i]))

    def _stop_growing(self, i: int, by: int) -> None:
        if by:
            self.page_demand[-self._base[i] % self._page] -= by
            self.cycle_demand -= by
