"""Admission for a server: queue, memory and preemption, request by request and token by token."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from jeton.economics.admission.decider import Decider
from jeton.economics.admission.policies import Policy, PolicyName
from jeton.errors import UsageError

__all__ = ["Admission", "Answer", "Start"]

_K = TypeVar("_K", bound=Hashable)

Answer: TypeAlias = Literal["queued", "too_long", "too_large"]
"""Answer to an offer: in the queue, beyond the model's context, or beyond the memory."""

_MAX_TOKENS = 1 << 40


class _TokenPages:
    """Memory in tokens, handed out in whole pages."""

    __slots__ = ("page_tokens",)

    def __init__(self, page_tokens: int) -> None:
        self.page_tokens = page_tokens

    def of(self, context: int) -> int:
        """Tokens of the pages of a sequence."""
        return -(-context // self.page_tokens) * self.page_tokens

    def growth(self, context: int) -> int:
        """Tokens of a page."""
        return self.page_tokens


class _Request:
    """A request that was offered and has not ended."""

    __slots__ = ("arrived", "given", "group", "held", "prompt")

    def __init__(self, prompt: int, arrived: float, group: tuple[str, ...]) -> None:
        self.prompt, self.arrived, self.group = prompt, arrived, group
        self.given = self.held = 0


@dataclass(frozen=True, slots=True)
class Start(Generic[_K]):
    """A request that starts.

    Attributes:
        request: The request.
        reserved_tokens: Tokens that it has memory for.
        read_tokens: Tokens that it has to read first: the prompt, and after a preemption the answer
            that it had been given.
        predicted_tokens: Answer that the policy counts on; None: nothing was foreseen.
    """

    request: _K
    reserved_tokens: int
    read_tokens: int
    predicted_tokens: int | None


class Admission(Generic[_K]):
    """Decides for a server which request starts, and which one has to make room.

    The decisions are those of `jeton.economics.admission.Decider`, which the simulator of
    ``jeton plan admission`` asks too. Nothing is read or written, and no clock is looked at.

    Every call takes constant amortised time, with two exceptions. An offer takes O(log n) of the n
    that wait under ``shortest``. A decision of ``refine`` and ``peak`` looks at each request that
    runs, once for each that has ended since.

    Attributes:
        capacity_tokens: Tokens that the KV cache holds.
        free_tokens: Tokens of the pages that nobody has.

    Example:
        >>> from jeton.planning import Admission
        >>> admission = Admission("peak", capacity_tokens=4_096, max_requests=64)
        >>> admission.offer("a", prompt_tokens=1_000)
        'queued'
        >>> admission.decide().request
        'a'
        >>> admission.on_tokens("a", 17)
        ()
        >>> admission.finish("a")
        >>> admission.free_tokens
        4096
    """

    def __init__(
        self,
        policy: Policy | PolicyName = "dynamic",
        *,
        capacity_tokens: int,
        max_requests: int = 256,
        page_tokens: int = 16,
        context_tokens: int | None = None,
        watermark_share: float = 0.0,
    ) -> None:
        """Return the admission of a server that is idle.

        Args:
            policy: The policy, or its name.
            capacity_tokens: Tokens that the KV cache holds.
            max_requests: Requests that run side by side at most.
            page_tokens: Tokens of a page of the cache.
            context_tokens: The model's context; None: without end.
            watermark_share: Share of the cache that stays free when a request starts.

        Raises:
            UsageError: A number is out of range, or ``static`` and ``maximum`` have no length.
        """
        chosen = policy if isinstance(policy, Policy) else Policy(policy)
        for name, value in (
            ("capacity_tokens", capacity_tokens),
            ("max_requests", max_requests),
            ("page_tokens", page_tokens),
            ("context_tokens", 1 if context_tokens is None else context_tokens),
        ):
            if not 1 <= value <= _MAX_TOKENS:
                raise UsageError(f"{name} is {value}; expected at least 1")
        if not 0 <= watermark_share < 1:
            raise UsageError(f"watermark_share is {watermark_share}; expected a share below 1")
        if page_tokens > capacity_tokens:
            raise UsageError(
                f"page_tokens is {page_tokens} and capacity_tokens {capacity_tokens}; expected at "
                "least one page"
            )
        if chosen.name == "static" and chosen.reserved_tokens is None:
            chosen = _with_length(chosen, context_tokens, "reserved_tokens")
        if chosen.name == "maximum" and chosen.max_output_tokens is None:
            chosen = _with_length(chosen, context_tokens, "max_output_tokens")
        self._page, self._most = page_tokens, max_requests
        # Only whole pages can be handed out.
        self.capacity_tokens = self.free_tokens = capacity_tokens // page_tokens * page_tokens
        self._watermark = int(self.capacity_tokens * watermark_share)
        self._context = context_tokens
        self._pages = _TokenPages(page_tokens)
        self._requests: dict[_K, _Request] = {}
        self._decider: Decider[_K] = Decider(
            chosen,
            pages=self._pages,
            budget=self.capacity_tokens,
            given_of=self._given_of,
            context_tokens=context_tokens,
        )
        self._queue = self._decider.queue(self._place)
        # Requests whose next token takes a page.
        self._due: set[_K] = set()

    @property
    def n_waiting(self) -> int:
        """Requests that wait."""
        return len(self._queue)

    @property
    def n_running(self) -> int:
        """Requests that run."""
        return len(self._decider.running)

    def offer(
        self,
        request: _K,
        prompt_tokens: int,
        *,
        at_seconds: float = 0.0,
        group: tuple[str, ...] = (),
    ) -> Answer:
        """Put a request into the queue, or refuse what could never start.

        Args:
            request: A name of it, such as its id.
            prompt_tokens: Tokens of its prompt.
            at_seconds: When it came, on any clock; the age of a request under ``shortest``.
            group: Names that like requests share, such as the route: their answers are alike.

        Raises:
            UsageError: The request was offered before, or a number cannot be meant.
        """
        if request in self._requests:
            raise UsageError(f"request {request!r} was offered before; expected each once")
        if not 1 <= prompt_tokens <= _MAX_TOKENS:
            raise UsageError(
                f"prompt_tokens of request {request!r} is {prompt_tokens}; expected at least 1"
            )
        if not abs(at_seconds) < float("inf"):
            raise UsageError(f"at_seconds of request {request!r} is {at_seconds}; expected a time")
        fixed = self._decider.fixed
        if (self._context is not None and prompt_tokens > self._context) or (
            fixed and prompt_tokens > fixed
        ):
            return "too_long"
        if self._pages.of(fixed or prompt_tokens) > self.capacity_tokens:
            return "too_large"
        self._requests[request] = _Request(prompt_tokens, at_seconds, group)
        self._queue.append(request)
        return "queued"

    def decide(self) -> Start[_K] | None:
        """Return the next request that starts now; None: there is none, or it has to wait.

        To be asked again until it returns None, whenever a step ended.
        """
        decider = self._decider
        if not self._queue or len(decider.running) >= self._most:
            return None
        head = self._queue[0]
        known = self._requests[head]
        # A request that runs gets its pages first.
        kept = max(self._watermark, len(self._due) * self._page)
        tokens = decider.grant(
            head,
            known.prompt,
            known.given,
            free=self.free_tokens - kept,
            group=known.group,
        )
        if not tokens:
            return None
        self._queue.popleft()
        known.held = self._pages.of(tokens)
        self.free_tokens -= known.held
        decider.running[head] = 0.0
        return Start(head, tokens, known.prompt + known.given, decider.predicted)

    def on_tokens(self, request: _K, n: int = 1) -> tuple[_K, ...]:
        """Note that a request is given ``n`` more tokens, and make room for them.

        Returns:
            Requests that lost their memory. They are back in the queue, before all others, and have
            to read their prompt and their answer again when they start.

        Raises:
            UsageError: The request does not run, or ``n`` is below 1.
        """
        if n == 1:
            return self.on_step((request,))
        if n < 1:
            raise UsageError(f"request {request!r} is given {n} tokens; expected at least 1")
        gone: list[_K] = []
        for _ in range(n):
            if request in gone:
                break
            gone += self.on_step((request,))
        return tuple(gone)

    def on_step(self, requests: Iterable[_K]) -> tuple[_K, ...]:
        """Note that each of these requests is given a token, and make room for all of them first.

        Returns:
            Requests that lost their memory, as for `on_tokens`. One of them that is among
            ``requests`` is not given its token.

        Raises:
            UsageError: A request does not run.
        """
        running, known, due, page = self._decider.running, self._requests, self._due, self._page
        stepping = list(requests)
        for request in stepping:
            if request not in running:
                raise UsageError(
                    f"request {request!r} does not run; expected one that `decide` returned"
                )
        gone: list[_K] = []
        wanted = [request for request in stepping if request in due]
        while wanted and len(wanted) * page > self.free_tokens:
            victim = self._decider.victim()
            self._preempt(victim)
            gone.append(victim)
            wanted = [request for request in wanted if request != victim]
        for request in wanted:
            known[request].held += page
            self.free_tokens -= page
            due.discard(request)
        for request in stepping:
            if gone and request in gone:
                continue
            one = known[request]
            one.given += 1
            # The token that was just given is not cached yet: the next step writes it.
            if one.prompt + one.given > one.held:
                due.add(request)
        return tuple(gone)

    def finish(self, request: _K) -> None:
        """Take a request that is answered out, and learn from its length.

        Raises:
            UsageError: The request does not run.
        """
        known = self._requests.get(request)
        if known is None or request not in self._decider.running:
            raise UsageError(
                f"request {request!r} does not run; expected one that `decide` returned"
            )
        self._decider.finished(request, known.prompt, known.given, known.group)
        self._give_back(request)
        del self._requests[request]

    def cancel(self, request: _K) -> None:
        """Take a request out whose client went away; nothing is learned. O(n) if it waits.

        Raises:
            UsageError: The request is not known.
        """
        if request not in self._requests:
            raise UsageError(f"request {request!r} is not known; expected one that was offered")
        if request in self._decider.running:
            self._decider.left(request)
            self._give_back(request)
        else:
            self._queue.remove(request)
        del self._requests[request]

    def _preempt(self, request: _K) -> None:
        self._decider.left(request)
        self._give_back(request)
        self._queue.appendleft(request)

    def _give_back(self, request: _K) -> None:
        known = self._requests[request]
        self.free_tokens += known.held
        known.held = 0
        self._due.discard(request)

    def _given_of(self, request: _K) -> int:
        return self._requests[request].given

    def _place(self, request: _K) -> float:
        known = self._requests[request]
        return self._decider.place(known.prompt, known.arrived, known.group)


def _with_length(policy: Policy, context_tokens: int | None, name: str) -> Policy:
    """The policy with the model's context for the length that it lacks."""
    from dataclasses import replace

    if context_tokens is None:
        raise UsageError(
            f"the policy {policy.name} has no length to reserve; expected {name} or context_tokens"
        )
    if name == "reserved_tokens":
        return replace(policy, reserved_tokens=context_tokens)
    return replace(policy, max_output_tokens=context_tokens)
