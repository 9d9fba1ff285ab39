"""Decisions of a policy: memory for a request, whether it starts now, and who is preempted.

One object serves the simulator, which counts memory in bytes and goes many steps at once, and a
server, which goes token by token. So it holds no books of memory: it is told what is free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from jeton.economics.admission import Policy
from tests.economics.serving_reference.conformal import ConformalEnd
from tests.economics.serving_reference.history import (
    LengthForecast,
    LengthSample,
    MeanLength,
    OutputPredictor,
    OutputQuantile,
)
from tests.economics.serving_reference.queueing import RequestQueue, ShortestFirst

__all__ = ["Decider", "SequencePages"]

_K = TypeVar("_K", bound=Hashable)

_STATIC_QUANTILE = 0.95
_MEDIAN = 0.5


class SequencePages(Protocol):
    """Memory of a sequence in pages."""

    page_tokens: int

    def of(self, context: int) -> int:
        """Memory of a sequence of so many tokens."""

    def growth(self, context: int) -> int:
        """Memory of the next page of such a sequence."""


class _Expected:
    """A running request as the look ahead sees it."""

    __slots__ = ("output", "prompt")

    def __init__(self, prompt: int, output: int) -> None:
        self.prompt, self.output = prompt, output


class Decider(Generic[_K]):
    """The policy at work.

    Attributes:
        fixed: Tokens that each request is reserved; 0: what it needs, or is foreseen to.
        are_bare: True if a request is given memory for its prompt alone, and nothing is learned.
        heeds_arrivals: True if a request that comes may go before those that wait.
        predicted: Output tokens that the last decision counted on; None: nothing was foreseen.
        running: Requests that run, in the order of admission; the owner may keep a value of each.
    """

    __slots__ = (
        "_ahead",
        "_budget",
        "_expected",
        "_forecast",
        "_given_of",
        "_least_first",
        "_longest",
        "_order_forecast",
        "_pages",
        "_policy",
        "_refused",
        "_sample",
        "_top",
        "are_bare",
        "fixed",
        "heeds_arrivals",
        "predicted",
        "running",
    )

    def __init__(
        self,
        policy: Policy,
        *,
        pages: SequencePages,
        budget: int,
        given_of: Callable[[_K], int],
        longest: int = 1,
        longest_output: int = 1,
        context_tokens: int | None = None,
    ) -> None:
        """Return the policy before any request has come.

        Args:
            policy: The policy.
            pages: Memory of a sequence.
            budget: Memory for all of them, in the unit of ``pages``.
            given_of: Tokens that a running request has been given.
            longest: Tokens that ``static`` reserves where the policy does not say.
            longest_output: Answer that ``maximum`` reserves where the policy does not say.
            context_tokens: The model's context; None: without end.
        """
        name = policy.name
        self._policy, self._pages, self._budget = policy, pages, budget
        self._given_of = given_of
        self.fixed = (policy.reserved_tokens or longest) if name == "static" else 0
        self._longest = (policy.max_output_tokens or longest_output) if name == "maximum" else 0
        self._top = context_tokens
        self.running: dict[_K, float] = {}
        self.predicted: int | None = None
        self._sample = LengthSample(seed=policy.seed) if name == "peak" else None
        self._forecast: LengthForecast | None = self._sample or _forecast(policy)
        self.heeds_arrivals = policy.order == "shortest"
        self._order_forecast = OutputPredictor(quantile=_MEDIAN) if self.heeds_arrivals else None
        # Requests that run, as the look ahead sees them; None: the policy does not look ahead.
        self._ahead: dict[_K, _Expected] | None = {} if name in ("refine", "peak") else None
        # Answers of those that run, as long as each was expected to be: at least a page.
        self._expected = 0
        self._least_first = name == "refine"
        self.are_bare = name == "dynamic"
        # The head of the queue for which there was no room; until a request ends there is none.
        self._refused: _K | None = None

    # The queue

    def queue(self, key: Callable[[_K], float]) -> RequestQueue[_K]:
        """Return an empty queue in the policy's order; ``key`` is `place` of a request."""
        return ShortestFirst(key) if self.heeds_arrivals else deque()

    def place(self, prompt: int, arrived: float, group: tuple[str, ...] = ()) -> float:
        """Return the place of a request in the queue: what it needs, less its age.

        All that wait grow older alike, so the difference of two requests never changes.

        Formula: ``prompt + median output + ageing * arrival``.
        """
        expected = None
        if self._order_forecast is not None:
            expected = self._order_forecast.predict(prompt, group)
        return prompt + (expected or 0) + self._policy.ageing_tokens_per_second * arrived

    # Admission

    def grant(
        self,
        request: _K,
        prompt: int,
        given: int,
        *,
        free: int,
        shared: int = 0,
        group: tuple[str, ...] = (),
    ) -> int:
        """Return the tokens for which a request is given memory if it starts now; 0: it waits.

        Args:
            request: The head of the queue.
            prompt: Its prompt, tokens.
            given: Tokens of its answer that it was given before it was preempted.
            free: Memory that is free for it.
            shared: Memory of its prompt that others hold already.
            group: Names that like requests share.
        """
        running = self.running
        ahead = self._ahead
        if ahead is None:
            tokens = prompt + given if self.are_bare else self._tokens(prompt, given, group)
            return 0 if running and self._pages.of(tokens) - shared > free else tokens
        if running and request == self._refused:
            return 0
        tokens = prompt + given
        needed = self._pages.of(tokens) - shared
        if running and needed > free:
            return 0
        foreseen = None if self._forecast is None else self._forecast.predict(prompt, group)
        self.predicted = foreseen
        output = max(foreseen or 1, self._pages.page_tokens)
        new = _Expected(prompt, output if output > given else self._longer_than(given))
        # Where all answers fit beside the memory in use, there is no peak to look for.
        answers = self._pages.growth(0) * (self._expected + new.output) // self._pages.page_tokens
        if running and needed + answers > free and not self._fits_ahead(new, given):
            self._refused = request
            return 0
        ahead[request] = new
        self._expected += new.output
        self._refused = None
        return tokens

    def _tokens(self, prompt: int, given: int, group: tuple[str, ...]) -> int:
        """Tokens to reserve."""
        if self.fixed:
            return self.fixed
        bare = prompt + given
        if self._longest:
            wanted = prompt + max(self._longest, given)
            if self._top is not None:
                wanted = min(wanted, max(self._top, bare))
            return wanted if self._pages.of(wanted) <= self._budget else bare
        predicted = None if self._forecast is None else self._forecast.predict(prompt, group)
        self.predicted = predicted
        if predicted is not None:
            # The last token that is given is never read again: it needs no place.
            wanted = prompt + max(predicted - 1, given)
            if self._pages.of(wanted) <= self._budget:
                return wanted
        return bare

    def _fits_ahead(self, new: _Expected, given: int) -> bool:
        """Say whether the memory's future peak fits, if every request ends when it is expected to.

        Formula: with the requests by what they have yet to be given, most first, r of the k-th:
        the peak is the largest ``sum over the first k of (held + r x growth)``, since the k-th is
        there with those before it when it ends.

        Source: arXiv:2507.10150, future required memory.
        """
        pages, given_of = self._pages, self._given_of
        page = pages.page_tokens
        context = new.prompt + given
        rows = [(new.output - given, pages.of(context), pages.growth(context))]
        for request, one in (self._ahead or {}).items():
            given = given_of(request)
            if given >= one.output:
                longer = self._longer_than(given)
                self._expected += longer - one.output
                one.output = longer
            context = one.prompt + given
            rows.append((one.output - given, pages.of(context), pages.growth(context)))
        rows.sort(reverse=True)
        held = growth = 0
        budget = self._budget
        for rest, own, step in rows:
            held += own
            growth += step
            if held + growth * rest // page > budget:
                return False
        return True

    def _longer_than(self, given: int) -> int:
        """The answer to expect of a request that was given more than was expected."""
        longer = self._sample.longer_than(given) if self._sample is not None else None
        return longer or given + self._pages.page_tokens

    # Ends and preemptions

    def finished(self, request: _K, prompt: int, output: int, group: tuple[str, ...] = ()) -> float:
        """Learn from a request that has its last token; return the value kept of it."""
        if self._forecast is not None:
            self._forecast.learn(prompt, output, group)
        if self._order_forecast is not None:
            self._order_forecast.learn(prompt, output, group)
        return self.left(request)

    def left(self, request: _K) -> float:
        """Note that a request runs no more; return the value kept of it."""
        if self._ahead is not None:
            self._expected -= self._ahead.pop(request).output
            self._refused = None
        return self.running.pop(request)

    def victim(self) -> _K:
        """The request to be preempted: the last admitted, or that with the least answer so far.

        Source: arXiv:2309.06180 (last admitted); arXiv:2508.14544 (least, under ``refine``).
        """
        newest = reversed(self.running)
        return min(newest, key=self._given_of) if self._least_first else next(newest)


def _forecast(policy: Policy) -> LengthForecast | None:
    """Forecast of a policy that reserves what it foresees."""
    match policy.name:
        case "mean":
            return MeanLength()
        case "p95":
            return OutputQuantile(quantile=_STATIC_QUANTILE)
        case "prediction":
            return OutputPredictor(quantile=policy.quantile)
        case "conformal":
            return ConformalEnd(coverage=policy.quantile, end="upper")
        case "refine":
            return ConformalEnd(coverage=policy.quantile, end="lower")
        case _:
            return None
