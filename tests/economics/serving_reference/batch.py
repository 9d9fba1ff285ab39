"""The requests that decode: the sums that a step's time and memory need, and what is due when.

Every decoding request goes one token a step. So its context is a fixed number plus the step's, and
whatever happens to it - it passes its window, outgrows what was reserved, ends - has a step that is
known when it begins. Events wait in a heap; between two of them all sums grow evenly.
"""

from __future__ import annotations

from heapq import heappop, heappush

from jeton.economics.traffic.engine import PageBytes
from jeton.economics.traffic.step_times import StepTimes

__all__ = ["DecodingBatch"]

_MOST, _WINDOW_PAGES, _OUTGROWN, _FINISH = 0, 1, 2, 3
"""Events, in the order in which those of one step are handled: a context reaches the most of
a term; its pages pass the window; what was reserved is used up; the last token is given."""

_EPOCH_BITS, _REQUEST_BITS = 32, 32
_KIND_BITS = _REQUEST_BITS + _EPOCH_BITS
_STEP_BITS = _KIND_BITS + 2
_MASK = (1 << 32) - 1
_NEVER = 1 << 62
"""An event is one number: from its highest bits its step, kind, request and the request's epoch."""


class DecodingBatch:
    """Requests that are decoding, and their sums.

    Attributes:
        n: How many.
        step: Steps so far.
        tokens: Their cached tokens, each request up to the most of a term.
        growth: Tokens that a step adds, for each term.
        page_demand: Bytes of the pages that a step takes, by its number modulo the page's size.
        cycle_demand: Sum of ``page_demand``.
        due: Step of the next event; perhaps of a request that is gone.
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
        "due",
        "growth",
        "n",
        "page_demand",
        "step",
        "tokens",
    )

    def __init__(self, n_requests: int, *, times: StepTimes, pages: PageBytes) -> None:
        self._times, self._pages, self._page = times, pages, pages.page_tokens
        self.n = self.step = self.cycle_demand = 0
        self.tokens, self.growth = ([0] * len(times.terms) for _ in range(2))
        self.due = _NEVER
        self.page_demand = [0] * self._page
        # Each one number, so that the heap holds nothing for the garbage collector to walk.
        self._events: list[int] = []
        # A request's context less the step's number; and how often it has left, which tells its
        # events from those of an earlier stay.
        self._base = [0] * n_requests
        self._epoch = [0] * n_requests
        self._growing: dict[int, int] = {}

    def context(self, i: int) -> int:
        """Cached tokens of a request."""
        return self._base[i] + self.step

    def add(self, i: int, *, context: int, rest: int, held: int) -> None:
        """Let a request decode ``rest`` more tokens; it has memory for ``held`` tokens."""
        step, events = self.step, self._events
        who = i << _EPOCH_BITS | self._epoch[i]
        self._base[i] = context - step
        heappush(events, (step + rest) << _STEP_BITS | _FINISH << _KIND_BITS | who)
        self.n += 1
        for k, term in enumerate(self._times.terms):
            self.tokens[k] += min(context, term.most_tokens)
            to_most = term.most_tokens - context
            if to_most > 0:
                self.growth[k] += 1
                if to_most <= rest:
                    heappush(events, (step + to_most) << _STEP_BITS | _MOST << _KIND_BITS | who)
        beyond = held - context
        if beyond < self._page:
            self._grow(i, held if held > context else context)
        elif beyond < rest:
            heappush(events, (step + beyond) << _STEP_BITS | _OUTGROWN << _KIND_BITS | who)
        self.due = events[0] >> _STEP_BITS

    def remove(self, i: int) -> int:
        """Take a request out of all sums; return its context."""
        context = self._base[i] + self.step
        self.n -= 1
        self._epoch[i] += 1
        for k, term in enumerate(self._times.terms):
            self.tokens[k] -= min(context, term.most_tokens)
            self.growth[k] -= context < term.most_tokens
        self._stop_growing(i, self._growing.pop(i, 0))
        return context

    def finished(self) -> list[tuple[int, int]]:
        """Handle what is due by now; return the requests that end, each with its context."""
        events, step = self._events, self.step
        end = (step + 1) << _STEP_BITS
        ended = []
        while events and events[0] < end:
            event = heappop(events)
            i = event >> _EPOCH_BITS & _MASK
            if event & _MASK != self._epoch[i]:
                continue
            kind = event >> _KIND_BITS & 3
            if kind == _FINISH:
                ended.append((i, self.remove(i)))
            elif kind == _MOST:
                context = self._base[i] + step
                for k, term in enumerate(self._times.terms):
                    self.growth[k] -= context == term.most_tokens
            elif kind == _WINDOW_PAGES:
                self._stop_growing(i, self._pages.window)
                self._growing[i] -= self._pages.window
            else:
                self._grow(i, self._base[i] + step)
        self.due = events[0] >> _STEP_BITS if events else _NEVER
        return ended

    def demand(self, n_steps: int) -> int:
        """Bytes of the pages that the next steps take."""
        if not self.cycle_demand:
            return 0
        page, demand = self._page, self.page_demand
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
        return n if n < most else most

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
            who = i << _EPOCH_BITS | self._epoch[i]
            heappush(self._events, last << _STEP_BITS | _WINDOW_PAGES << _KIND_BITS | who)

    def _stop_growing(self, i: int, by: int) -> None:
        if by:
            self.page_demand[-self._base[i] % self._page] -= by
            self.cycle_demand -= by
