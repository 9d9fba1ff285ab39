"""Admission of requests to a server: who starts, with how much memory, and who is preempted.

The decisions of every policy are compiled (``crates/jeton-serving``). The simulator
(`jeton.economics.traffic`) asks them, and so does `Admission`, which a server calls for each
request.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

from jeton._core import AdmissionBooks
from jeton.errors import UsageError

PolicyName: TypeAlias = Literal[
    "static",
    "maximum",
    "dynamic",
    "mean",
    "p95",
    "prediction",
    "conformal",
    "refine",
    "peak",
]

QueueOrder: TypeAlias = Literal["first-come", "shortest"]

POLICIES: tuple[PolicyName, ...] = ("static", "dynamic", "prediction")
"""Policies that an audit compares, in the order of reports."""

ADMISSION_POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
"""All of them, in the order of reports."""

ORDERS: tuple[QueueOrder, ...] = ("first-come", "shortest")

PREDICTED_QUANTILE = 0.9
"""Quantile of the output length that is reserved: one request in ten outgrows it. A judgement."""

AGEING_TOKENS_PER_SECOND = 500.0
"""Tokens that a second of waiting takes off a request's predicted length. A judgement: a request of
5,000 tokens goes before a fresh one of 100 after some ten seconds."""

_MAX_AGEING = 1e9


@dataclass(frozen=True, slots=True)
class Policy:
    """How memory is handed out, and to whom first.

    Attributes:
        name: ``static`` reserves ``reserved_tokens`` for each request in one piece, as engines
            without paging do (arXiv:2309.06180, "Orca (Max)"). ``maximum`` reserves the prompt and
            the longest answer that is allowed, in pages. ``dynamic`` hands out pages as tokens come
            and preempts the request that was admitted last when they run out (vLLM). ``mean``,
            ``p95`` and ``prediction`` reserve the prompt and a figure of finished requests: their
            mean answer, its 95% quantile, the quantile of those with a prompt of like length.
            ``conformal`` reserves the upper end of the conformal interval. ``refine`` counts on its
            lower end, and on more as the answer grows (after A_min, arXiv:2508.14544). ``peak``
            draws lengths from recent answers and admits a request if the memory's future peak fits
            (after Past-Future, arXiv:2507.10150). All but ``static`` go on by pages beyond.
        reserved_tokens: Tokens for ``static``; None: the longest request of the trace that the
            model's context holds.
        quantile: Quantile of ``prediction``; coverage of the intervals of ``conformal`` and
            ``refine``.
        max_output_tokens: Answer that ``maximum`` reserves; None: the longest of the trace.
        order: ``first-come``, or ``shortest`` predicted request first.
        ageing_tokens_per_second: Tokens that a second of waiting takes off a request's predicted
            length under ``shortest``, so that no request waits for ever; 0: none.
        seed: Seed of the lengths that ``peak`` draws.
    """

    name: PolicyName
    reserved_tokens: int | None = None
    quantile: float = PREDICTED_QUANTILE
    max_output_tokens: int | None = None
    order: QueueOrder = "first-come"
    ageing_tokens_per_second: float = AGEING_TOKENS_PER_SECOND
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in ADMISSION_POLICIES:
            raise UsageError(
                f"the policy is {self.name!r}; expected one of {', '.join(ADMISSION_POLICIES)}"
            )
        for name in ("reserved_tokens", "max_output_tokens"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= _MAX_TOKENS:
                raise UsageError(f"{name} is {value}; expected from 1 to {_MAX_TOKENS:,}")
        if not 0 < self.quantile < 1:
            raise UsageError(f"quantile is {self.quantile}; expected between 0 and 1")
        if self.order not in ORDERS:
            raise UsageError(f"the order is {self.order!r}; expected one of {', '.join(ORDERS)}")
        if not 0 <= self.ageing_tokens_per_second <= _MAX_AGEING:
            raise UsageError(
                f"ageing_tokens_per_second is {self.ageing_tokens_per_second}; expected from 0 to "
                f"{_MAX_AGEING:,.0f}"
            )
        if not 0 <= self.seed < 1 << 63:
            raise UsageError(f"seed is {self.seed}; expected a whole number from 0")

    @property
    def label(self) -> str:
        """The name, and the order where it is not the usual one."""
        return self.name if self.order == "first-come" else f"{self.name}, {self.order} first"


_K = TypeVar("_K", bound=Hashable)

Answer: TypeAlias = Literal["queued", "too_long", "too_large"]
"""Answer to an offer: in the queue, beyond the model's context, or beyond the memory."""

_MAX_TOKENS = 1 << 40

_TOO_LONG = -1
"""Answer of the books to a request beyond the context; the other refusal is of its memory."""


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

    The decisions are compiled (``crates/jeton-serving``), and the simulator of
    ``jeton plan admission`` asks the same ones. Nothing is read or written, and no clock is looked
    at.

    Every call takes constant amortised time, with two exceptions. An offer takes O(log n) of the n
    that wait under ``shortest``. A decision of ``refine`` and ``peak`` looks at each request that
    runs, once for each that has ended since.

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
                raise UsageError(f"{name} is {value}; expected from 1 to {_MAX_TOKENS:,}")
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
        self._context = context_tokens
        self._books = AdmissionBooks(
            chosen,
            capacity_tokens=capacity_tokens,
            max_requests=max_requests,
            page_tokens=page_tokens,
            context_tokens=context_tokens,
            watermark_share=watermark_share,
        )
        # The books know requests by number.
        self._numbers: dict[_K, int] = {}
        self._requests: dict[int, _K] = {}

    @property
    def capacity_tokens(self) -> int:
        """Tokens that the KV cache holds, in whole pages."""
        return self._books.capacity_tokens

    @property
    def free_tokens(self) -> int:
        """Tokens of the pages that nobody has."""
        return self._books.free_tokens

    @property
    def n_waiting(self) -> int:
        """Requests that wait."""
        return self._books.n_waiting

    @property
    def n_running(self) -> int:
        """Requests that run."""
        return self._books.n_running

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
        if request in self._numbers:
            raise UsageError(f"request {request!r} was offered before; expected each once")
        if not 1 <= prompt_tokens <= _MAX_TOKENS or prompt_tokens % 1:
            raise UsageError(
                f"prompt_tokens of request {request!r} is {prompt_tokens!r}; expected a whole "
                f"number from 1 to {_MAX_TOKENS:,}"
            )
        if not abs(at_seconds) < float("inf"):
            raise UsageError(f"at_seconds of request {request!r} is {at_seconds}; expected a time")
        number = self._books.offer(prompt_tokens, at_seconds, group)
        if number < 0:
            return "too_long" if number == _TOO_LONG else "too_large"
        self._numbers[request] = number
        self._requests[number] = request
        return "queued"

    def decide(self) -> Start[_K] | None:
        """Return the next request that starts now; None: there is none, or it has to wait.

        To be asked again until it returns None, whenever a step ended.
        """
        found = self._books.decide()
        return None if found is None else Start(self._requests[found[0]], *found[1:])

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
        numbers = [self._running(request) for request in requests]
        return tuple(self._requests[number] for number in self._books.step(numbers))

    def finish(self, request: _K) -> None:
        """Take a request that is answered out, and learn from its length.

        Raises:
            UsageError: The request does not run.
        """
        self._books.finish(self._running(request))
        self._forget(request)

    def cancel(self, request: _K) -> None:
        """Take a request out whose client went away; nothing is learned. O(n) if it waits.

        Raises:
            UsageError: The request is not known.
        """
        if request not in self._numbers:
            raise UsageError(f"request {request!r} is not known; expected one that was offered")
        self._books.cancel(self._numbers[request])
        self._forget(request)

    def _running(self, request: _K) -> int:
        """The number of a request that runs."""
        number = self._numbers.get(request)
        if number is None or not self._books.is_running(number):
            raise UsageError(
                f"request {request!r} does not run; expected one that `decide` returned"
            )
        return number

    def _forget(self, request: _K) -> None:
        del self._requests[self._numbers.pop(request)]


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
