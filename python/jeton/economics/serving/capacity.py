"""Requests as lengths, how many of them fit a GPU at once, and the text that a context holds.

Three numbers of requests are often confused: what fits on average (half the time it does not), what
fits but for a small chance (exact, by convolving the distribution of pages), and what always fits.
And what is lost: the unfilled end of pages, or the whole rest of a context that is reserved in one
piece.

Means hide what costs money: attention is quadratic, windows cap, pages round up, batches are
padded to their longest. So everything here is summed over the lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.memory import request_group_bytes
from jeton.economics.serving.memory_budget import MemoryBudget, memory_budget
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RequestLengths:
    """Requests by prompt length.

    Attributes:
        prompt_tokens: Distinct prompt lengths, tokens, ascending.
        n_requests: Requests of each length.
        output_tokens: Tokens generated after each prompt (mean).
    """

    prompt_tokens: tuple[int, ...]
    n_requests: tuple[int, ...]
    output_tokens: float = 0.0

    def __post_init__(self) -> None:
        if len(self.prompt_tokens) != len(self.n_requests):
            raise UsageError(
                f"the workload has {len(self.prompt_tokens)} lengths and {len(self.n_requests)} "
                "counts; expected as many of each"
            )
        if min((*self.prompt_tokens, *self.n_requests), default=0) < 0 or not sum(self.n_requests):
            raise UsageError(
                "the workload is empty or has a negative number; expected at least one request"
            )
        if list(self.prompt_tokens) != sorted(set(self.prompt_tokens)):
            raise UsageError("the lengths of a workload must be distinct and ascending")
        if not 0 <= self.output_tokens < 1e12:
            raise UsageError(f"output_tokens is {self.output_tokens}; expected at least 0")

    @classmethod
    def of(
        cls,
        lengths: Sequence[int] | NDArray[np.integer],
        *,
        output_tokens: float = 0.0,
    ) -> RequestLengths:
        """Return the workload of some prompt lengths, one for each request."""
        counts: dict[int, int] = {}
        for length in lengths:
            counts[int(length)] = counts.get(int(length), 0) + 1
        found = sorted(counts)
        return cls(tuple(found), tuple(counts[length] for length in found), output_tokens)

    @classmethod
    def from_histogram(
        cls,
        lengths: Sequence[int] | NDArray[np.integer],
        counts: Sequence[int] | NDArray[np.integer],
        *,
        output_tokens: float = 0.0,
    ) -> RequestLengths:
        """Return the workload of a histogram, in any order; equal lengths are added up."""
        if len(lengths) != len(counts):
            raise UsageError(
                f"the workload has {len(lengths)} lengths and {len(counts)} counts; "
                "expected as many of each"
            )
        sums: dict[int, int] = {}
        for length, n in zip(lengths, counts, strict=True):
            sums[int(length)] = sums.get(int(length), 0) + int(n)
        found = sorted(length for length, n in sums.items() if n)
        return cls(tuple(found), tuple(sums[length] for length in found), output_tokens)

    @property
    def n(self) -> int:
        """Requests."""
        return sum(self.n_requests)

    @property
    def prompt_tokens_mean(self) -> float:
        """Prompt tokens per request, mean."""
        return self.mean(lambda length: length)

    @property
    def longest(self) -> int:
        """Longest prompt, tokens."""
        return self.prompt_tokens[-1]

    def mean(self, value: Callable[[int], float]) -> float:
        """Return the mean over the requests of something that depends on the prompt's length."""
        total = sum(
            n * value(length) for length, n in zip(self.prompt_tokens, self.n_requests, strict=True)
        )
        return total / self.n

    def quantile(self, share: float) -> int:
        """Return the smallest length that at least this share of the prompts does not exceed."""
        needed = Decimal(str(share)) * self.n
        seen = 0
        for length, n in zip(self.prompt_tokens, self.n_requests, strict=True):
            seen += n
            if seen >= needed:
                return length
        return self.longest

    def longest_of(self, batch_size: int) -> float:
        """Return the expected longest prompt of a batch drawn at random.

        Formula: ``sum over lengths of x (F(x)^B - F(x-)^B)`` with F the share of prompts that are
        no longer.

        Source: distribution of the maximum of B independent draws.
        """
        if batch_size < 1:
            raise UsageError(f"batch_size is {batch_size}; expected at least 1")
        expected = below = 0.0
        seen = 0
        for length, n in zip(self.prompt_tokens, self.n_requests, strict=True):
            seen += n
            upto = (seen / self.n) ** batch_size
            expected += length * (upto - below)
            below = upto
        return expected

    def padding_share(self, batch_size: int) -> float:
        """Return the share of positions that are padding where batches are padded to the longest.

        Formula: ``1 - mean length / expected longest``; 0 for batches of one.

        Source: definition of padding waste.
        """
        longest = self.longest_of(batch_size)
        return 0.0 if longest == 0 else max(0.0, 1 - self.prompt_tokens_mean / longest)


OVERFLOW_SHARE = 0.01
"""Chance that requests drawn at random do not fit, which the safe number accepts. An engine then
preempts one, so that it costs time and not a failure. A judgement."""

_N_BINS = 1 << 13
"""Resolution of the convolution. A size between two bins is split between them so that its mean
stays; that widens the sum of R requests by half a bin times sqrt(R), a promille for hundreds."""

_MOST_REQUESTS = 1 << 32
"""Where requests take (next to) nothing, no more than this are promised."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity beside the weights on a group of GPUs.

    Attributes:
        n_gpus: GPUs of the group.
        budget: Memory of each GPU, part by part.
        budget_bytes: Memory for requests on the whole group.
        weight_bytes: Weights, without copies.
        page_tokens: Tokens of a page of the KV cache; 0 without paging.
        n_tokens: Tokens that fit, in one request or in many.
        bytes_per_request_mean: Mean of what a request takes on the group, pages rounded up and
            copies of key-value heads included.
        n_requests_mean: Requests whose mean sum fits: about half the time they do not.
        n_requests_safe: Requests that fit but for `overflow_share` of the time.
        n_requests_worst: Requests that fit even if all are the longest.
        n_requests_reserved: Requests that fit where every one reserves the longest in one piece.
        overflow_share: Chance that `n_requests_safe` requests do not fit, as asked.
        paging_waste: Share of the pages' memory that holds no token.
        reserved_waste: Share of memory that holds no token where the longest is reserved.
        longest_tokens: Tokens of the longest request.
        n_too_long: Requests of the workload that do not fit even alone.
        first_limit: Where memory runs out, in a sentence.
    """

    n_gpus: int
    budget: MemoryBudget
    budget_bytes: int
    weight_bytes: int
    page_tokens: int
    n_tokens: int
    bytes_per_request_mean: float
    n_requests_mean: int
    n_requests_safe: int
    n_requests_worst: int
    n_requests_reserved: int
    overflow_share: float
    paging_waste: float
    reserved_waste: float
    longest_tokens: int
    n_too_long: int
    first_limit: str


def workload_capacity(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    reserved_tokens: int | None = None,
    overflow_share: float = OVERFLOW_SHARE,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> Capacity:
    """Return how many requests of a workload fit at once, and what paging or reserving wastes.

    Formula: the largest R with ``P(sum of R requests' bytes <= left) >= 1 - overflow``, with what
    `memory_budget` leaves; the distribution of the sum is the R-fold convolution of one request's,
    so no normal approximation is made. A request takes ``ceil((prompt + output) / page) x page``
    tokens: it is counted at its full length, as at its last step.

    Source: arXiv:2309.06180 (pages; waste of contiguous reservation), definition of convolution.

    Args:
        model: The model.
        gpu: The GPU.
        workload: Lengths.
        reserved_tokens: Tokens that a system without paging reserves for each request; None: the
            longest.
        overflow_share: Accepted chance that the requests do not fit.
        plan: How the model is held; None: as published, on the engine's defaults.
        changes: Fields of the plan that are different.

    Raises:
        UsageError: If a share is outside of its range or a number is negative.
    """
    if not 0 < overflow_share < 1:
        raise UsageError(f"overflow_share is {overflow_share}; expected a share between 0 and 1")
    plan = changed_plan(plan, **changes)
    page_tokens = plan.page
    found = memory_budget(model, gpu, plan)
    group, budget = found.n_gpus, found.group_kv_bytes
    step = max(page_tokens, 1)

    def tokens_of(prompt: int) -> float:
        total = prompt + workload.output_tokens
        return -(-total // step) * step if page_tokens else total

    def bytes_of(tokens: float) -> float:
        return request_group_bytes(model, tokens, plan=plan, n_gpus=group)

    sizes = [bytes_of(tokens_of(prompt)) for prompt in workload.prompt_tokens]
    used = workload.mean(lambda prompt: bytes_of(prompt + workload.output_tokens))
    mean = workload.mean(lambda prompt: bytes_of(tokens_of(prompt)))
    longest = int(-(-(workload.longest + workload.output_tokens) // 1))
    reserved = bytes_of(max(reserved_tokens or 0, longest))
    n_too_long = sum(n for n, size in zip(workload.n_requests, sizes, strict=True) if size > budget)
    return Capacity(
        n_gpus=group,
        budget=found,
        budget_bytes=budget,
        weight_bytes=found.group_weight_bytes,
        page_tokens=page_tokens,
        n_tokens=cached_tokens(model, gpu, found, plan),
        bytes_per_request_mean=mean,
        n_requests_mean=_fit(budget, mean),
        n_requests_safe=_safe(sizes, workload.n_requests, budget, overflow_share),
        n_requests_worst=_fit(budget, sizes[-1]),
        n_requests_reserved=_fit(budget, reserved),
        overflow_share=overflow_share,
        paging_waste=1 - used / mean if mean else 0.0,
        reserved_waste=1 - used / reserved if reserved else 0.0,
        longest_tokens=longest,
        n_too_long=n_too_long,
        first_limit=_first_limit(gpu, found, n_too_long, sizes[-1], longest),
    )


def cached_tokens(model: ModelFacts, gpu: GpuFacts, budget: MemoryBudget, plan: MemoryPlan) -> int:
    """Return how many tokens a group caches at most, as engines print it when they start.

    Formula: the engine's, over what is left; of a model with windows or states, tokens of requests
    as long as its context. 0 for a model that caches none.

    Source: vLLM, ``GPU KV cache size``; SGLang, ``max_total_num_tokens``.
    """
    if not budget.fits:
        return 0
    rules, tensor = plan.rules, budget.tensor_parallel
    if plan.kv_bytes_per_token is not None:
        return budget.group_kv_bytes // (plan.kv_bytes_per_token + rules.state_of(model, plan))
    found = rules.cache_tokens(model, budget.kv_bytes, plan, gpu, tensor)
    return round(found * plan.cache_scale(tensor)) * budget.n_replicas


def longest_context(
    model: ModelFacts,
    gpu: GpuFacts,
    *,
    n_requests: int = 1,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> int:
    """Return the longest context at which ``n_requests`` requests still fit.

    Formula: the largest n with ``R k(n) <= left``, k in the engine's pages and with what
    `memory_budget` leaves, at most the model's own context; 0 if the model does not fit. Without a
    number of GPUs it is for one: it does not take a second unasked.

    Source: `jeton.economics.serving.memory_budget`.

    Args:
        model: The model.
        gpu: The GPU.
        n_requests: Requests side by side.
        plan: How the model is held; None: as published, on the engine's defaults.
        changes: Fields of the plan that are different.

    Raises:
        UsageError: If a number is below 1.
    """
    if n_requests < 1:
        raise UsageError(f"n_requests is {n_requests}; expected at least 1")
    plan = changed_plan(plan, **changes)
    plan = changed_plan(plan, n_gpus=plan.n_gpus or 1)
    budget = memory_budget(model, gpu, plan)
    if not budget.fits:
        return 0
    # A request lies on one replica.
    room = budget.group_kv_bytes / budget.n_replicas / -(-n_requests // budget.n_replicas)
    return plan.rules.longest_tokens(model, plan, gpu, budget.tensor_parallel, room)


def _fit(budget: int, size: float) -> int:
    return int(budget // size) if size > 0 and budget > 0 else 0


def _safe(
    sizes: list[float],
    counts: tuple[int, ...],
    budget: int,
    overflow_share: float,
) -> int:
    """Return the most requests whose sum exceeds the budget with at most this probability."""
    import numpy as np

    if budget <= 0 or max(sizes) == 0:
        return 0
    worst = _fit(budget, max(sizes))
    if len(set(sizes)) == 1:
        return worst
    n_bins = _N_BINS
    one: NDArray[np.float64] = np.zeros(n_bins + 1)
    total = sum(counts)
    for size, n in zip(sizes, counts, strict=True):
        if size > budget:  # what does not fit alone stays outside: the sum of `one` is then < 1
            continue
        place = size / budget * n_bins
        below = min(int(place), n_bins - 1)
        one[below] += n / total * (below + 1 - place)
        one[below + 1] += n / total * (place - below)

    # Sums beyond four budgets come round to the start, where they would pass for small ones. At
    # most two budgets on average are asked for (below), of sizes up to one: what comes round is
    # far less than what lies between one and four budgets, and cannot turn the answer.
    transform = np.fft.rfft(one, 4 * len(one))

    def fits(n: int) -> bool:
        chances = np.fft.irfft(transform**n, 4 * len(one))[: n_bins + 1]
        return float(chances.sum()) >= 1 - overflow_share - 1e-9

    # By Wald's identity R requests that fit with chance c have a mean sum of at most 2 budgets / c.
    kept = float(one.sum())
    mean_bins = float((one * np.arange(len(one))).sum())
    most = int(2 * n_bins / (1 - overflow_share) / mean_bins) + 1 if mean_bins else _MOST_REQUESTS
    if kept < 1 - 1e-12:
        # Each draw must fit alone: kept^R >= 1 - overflow.
        most = min(most, int(np.log1p(-overflow_share) / np.log(kept) + 1e-9)) if kept else 0
    low, high = 0, min(most, _MOST_REQUESTS) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return max(low, worst)


def _first_limit(
    gpu: GpuFacts, budget: MemoryBudget, n_too_long: int, largest: float, longest: int
) -> str:
    where = f"{budget.n_gpus} x {gpu.name}"
    if not budget.fits:
        what = "the weights"
        if budget.weight_bytes <= budget.usable_bytes:
            what = "weights, activations and engine"
        return (
            f"{what} ({budget.group_weight_bytes / 1e9:,.1f} GB) do not fit {where}"
            f"{_needed(budget)}"
        )
    free = budget.group_kv_bytes / 1e9
    if n_too_long:
        return (
            f"{n_too_long:,} request(s) do not fit {where} even alone: the longest of {longest:,} "
            f"tokens takes {largest / 1e9:,.1f} GB, {free:,.1f} GB are free"
        )
    return f"{free:,.1f} GB are free beside the weights on {where}; requests beyond that wait"


def _needed(budget: MemoryBudget) -> str:
    if budget.needed_gpus is None:
        return "; no group of these GPUs holds it"
    return f"; {budget.needed_gpus} are needed"


CHARS_PER_PAGE = 1800
"""Characters of a standard page, spaces included: 30 lines of 60 (the German *Normseite*, which
publishers and translators count in). A densely printed page has about 3,000."""


@dataclass(frozen=True, slots=True)
class ContextRoom:
    """Room for text in a context window.

    Attributes:
        prompt_tokens: Tokens left for text.
        chars: Characters of this workload's text that they hold, mean.
        pages: These characters in pages.
        documents: Documents of this workload's mean length; None if that is not given.
        figure: The characters as a figure.
    """

    prompt_tokens: int
    chars: float
    pages: float
    documents: float | None
    figure: Figure


def context_room(
    context_tokens: int,
    *,
    tokens_per_char: float,
    reserved_tokens: int = 0,
    tokens_per_document: float | None = None,
    chars_per_page: int = CHARS_PER_PAGE,
    basis: Basis = Basis.EXACT,
) -> ContextRoom:
    """Return how much text of this workload a context window holds.

    Formula: ``(context - reserved) / tokens per character``; pages of `CHARS_PER_PAGE`.

    Source: definition; tokens per character as measured on the workload.

    Args:
        context_tokens: Tokens of the window.
        tokens_per_char: Tokens per character of the workload.
        reserved_tokens: Tokens kept for instructions and the answer.
        tokens_per_document: Mean length of a document.
        chars_per_page: Characters of a page.
        basis: Basis of ``tokens_per_char``.

    Raises:
        UsageError: If a number is out of range.
    """
    if (
        not 0 <= reserved_tokens <= context_tokens
        or not 0 < tokens_per_char < 1e6
        or chars_per_page < 1
        or (tokens_per_document is not None and not 0 < tokens_per_document < 1e15)
    ):
        raise UsageError(
            f"cannot fill {context_tokens} tokens less {reserved_tokens} reserved at "
            f"{tokens_per_char} tokens per character; expected numbers above 0"
        )
    room = context_tokens - reserved_tokens
    chars = room / tokens_per_char
    return ContextRoom(
        prompt_tokens=room,
        chars=chars,
        pages=chars / chars_per_page,
        documents=None if tokens_per_document is None else room / tokens_per_document,
        figure=Figure(
            chars,
            "characters",
            basis,
            f"({context_tokens:,} - {reserved_tokens:,} reserved) / {tokens_per_char:.4f} tokens "
            f"per character; {chars / chars_per_page:,.0f} pages of {chars_per_page:,}",
            "measured on the workload",
        ),
    )
