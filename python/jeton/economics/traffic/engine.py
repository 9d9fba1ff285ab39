"""The discrete-event simulation of one serving group: continuous batching over a paged KV cache.

Requests wait in the order of the policy. A step gives each decoding request one token and reads
prompt tokens of those that were admitted; memory is handed out by the policy; where it runs out,
the request that the policy names loses its cache, waits at the head of the queue and reads
everything again (vLLM's recompute, arXiv:2309.06180). Between two events - a request ends, one
comes, memory runs out - the batch stays as it is, and its steps are one sum in closed form.

The loop is compiled (``crates/jeton-serving``), with the policies that `Admission` asks too. Its
twin in Python is the tests' (``tests/economics/serving_reference``).

Memory is handed out in pages, in closed form. A sequence takes a page whenever its context passes a
multiple of the page's size. Sequences that decode go one token a step, so which of them need a page
at a step depends only on the step's number modulo the page's size: sixteen sums say what any number
of steps will take.

Beginnings of prompts stay for requests to come. A prompt is cut into blocks; requests whose first
blocks have the same numbers begin with the same text. A block can be used from the end of the step
that read it. While requests use it, it takes its memory once; when the last has ended it stays, and
counts as free: where memory is wanted, blocks that nobody uses go, those least recently used first
and of a request its last ones first (vLLM's order: github.com/vllm-project/vllm/issues/2614, read
2026-11-22).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from jeton._core import simulate_traffic
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.admission import Policy
from jeton.economics.serving.capacity import longest_context
from jeton.economics.serving.memory import token_holds
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import PAGE_TOKENS, MemoryPlan, changed_plan
from jeton.economics.serving.weights import whole_bytes
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts
    from jeton.corpus.traces import Trace
    from jeton.economics.serving.memory_plan import MemoryPlan


DONE, TOO_LARGE, TOO_LONG = 0, 1, 2
"""How a request ended: answered; larger than the whole cache; longer than the model's context, or
than what is reserved."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """Memory of a run over time, by equally wide stretches.

    A run may last longer than its trace; beyond 4,096 stretches each two become one.

    Attributes:
        width: Seconds of a stretch.
        allocated: Integral of the bytes handed out, byte seconds.
        peak: The most bytes handed out.
        held: Integral of the layer tokens held by decoding requests.
        seconds: Seconds covered; less than ``width`` only in the last.
    """

    width: float
    allocated: list[float]
    peak: list[int]
    held: list[float]
    seconds: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Outcome of the requests, and the work of the group.

    Attributes:
        arrived: Time of arrival of each request, seconds.
        admitted: When it first left the queue; NaN: never.
        first_token: When its first token came; NaN: none.
        finished: When it ended; NaN: it was refused.
        status: `DONE`, `TOO_LARGE` or `TOO_LONG`.
        n_preempted: How often it lost its cache.
        waits: Stretches of waiting, each from and to: those after a preemption too.
        runs: Stretches in the batch, each from and to.
        memory_out: Moments at which a request had to be preempted.
        end_seconds: When the last request ended.
        prompt_tokens_read: Prompt tokens read, those that were read again included.
        cached_tokens: Prompt tokens that were not read, because the cache had them.
        recomputed_tokens: Tokens of the read ones that were read again after a preemption.
        output_tokens: Tokens given.
        prompt_seconds: Time of steps that read prompts.
        decode_seconds: Time of steps that only decode.
        blocked_seconds: Time in which the head of the queue waited for memory.
        n_steps: Steps.
        allocated_bytes_at_end: Memory still handed out; 0, or the books are wrong.
        predicted: Predicted output lengths, of the requests that had a prediction.
        predicted_actual: Their actual ones.
        memory: Memory over time.
    """

    arrived: NDArray[np.float64]
    admitted: NDArray[np.float64]
    first_token: NDArray[np.float64]
    finished: NDArray[np.float64]
    status: NDArray[np.uint8]
    n_preempted: NDArray[np.uint32]
    waits: tuple[NDArray[np.float64], NDArray[np.float64]]
    runs: tuple[NDArray[np.float64], NDArray[np.float64]]
    memory_out: NDArray[np.float64]
    end_seconds: float
    prompt_tokens_read: int
    cached_tokens: int
    recomputed_tokens: int
    output_tokens: int
    prompt_seconds: float
    decode_seconds: float
    blocked_seconds: float
    n_steps: int
    allocated_bytes_at_end: int
    predicted: NDArray[np.int64]
    predicted_actual: NDArray[np.int64]
    memory: MemoryRecord


class PageBytes:
    """Bytes that sequences of one model take in pages.

    Layers with a sliding window keep no more pages than the window needs; where the plan has
    ``full_pages`` they are given pages for all tokens, as engines without an allocator for each
    kind of layer do.
    """

    __slots__ = ("full", "page_tokens", "state", "window", "window_pages")

    def __init__(
        self, model: ModelFacts, *, page_tokens: int, plan: MemoryPlan | None = None
    ) -> None:
        plan = plan or MemoryPlan()
        full = window = Fraction(0)
        longest = 0
        for most, one in token_holds(model, plan=plan).items():
            if most is None or plan.full_pages:
                full += page_tokens * one
            else:
                window += page_tokens * one
                longest = max(longest, most)
        self.page_tokens = page_tokens
        self.full = whole_bytes(full)
        """Bytes of a page in the layers that keep pages for all tokens."""
        self.window = whole_bytes(window)
        """Bytes of a page in the layers with one."""
        # A window that begins inside of a page reaches into one page more.
        self.window_pages = -(-longest // page_tokens) + 1
        """Pages that layers with a window hold at most."""
        self.state = plan.rules.state_of(model, plan)
        """Bytes of a sequence that do not depend on its length."""
        if self.full + self.window == 0:
            raise UsageError(
                f"{model.name} keeps no keys and values; there are no pages to hand out"
            )

    def of(self, context: int) -> int:
        """Bytes of a sequence of `context` tokens."""
        pages = -(-context // self.page_tokens)
        if not self.window:
            return pages * self.full + self.state
        return pages * self.full + min(pages, self.window_pages) * self.window + self.state

    def growth(self, context: int) -> int:
        """Bytes of the next page of such a sequence."""
        pages = -(-context // self.page_tokens)
        return self.full + (self.window if pages < self.window_pages else 0)

    def most_tokens(self, budget_bytes: int) -> int:
        """The longest sequence that fits the bytes; -1: not even an empty one."""
        rest = budget_bytes - self.state
        if rest < 0:
            return -1
        windowed = min(self.window_pages, rest // (self.full + self.window))
        if self.full == 0 and windowed == self.window_pages:
            return 1 << 62
        rest -= windowed * (self.full + self.window)
        beyond = rest // self.full if windowed == self.window_pages and self.full else 0
        return (windowed + beyond) * self.page_tokens


def run_engine(
    arrivals: NDArray[np.float64],
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    *,
    times: StepTimes,
    pages: PageBytes,
    budget_bytes: int,
    policy: Policy,
    settings: EngineSettings,
    bin_seconds: float,
    context_tokens: int | None = None,
    blocks: PromptBlocks | None = None,
    group_of: NDArray[np.int64] | None = None,
    groups: Sequence[tuple[str, ...]] = ((),),
) -> Outcome:
    """Run until every request has ended.

    Args:
        arrivals: When each request comes, seconds, ascending.
        prompts: Tokens of its prompt.
        outputs: Tokens of its answer.
        times: Time of a step.
        pages: Memory of a sequence.
        budget_bytes: Memory of all sequences.
        policy: Policy of admission; lengths that it lacks are the longest here.
        settings: The engine's other settings.
        bin_seconds: Stretches of the memory over time.
        context_tokens: The model's context; None: without end.
        blocks: Blocks of prompts that share memory; None: none do.
        group_of: Which of ``groups`` each request belongs to; None: the first.
        groups: Names that like requests share.
    """
    import numpy as np

    policy = replace(
        policy,
        reserved_tokens=policy.reserved_tokens or max(1, int((prompts + outputs).max(initial=1))),
        max_output_tokens=policy.max_output_tokens or max(1, int(outputs.max(initial=1))),
    )
    reserved = policy.reserved_tokens if policy.name == "static" else None
    status = refusals(
        prompts,
        outputs,
        pages=pages,
        budget_bytes=budget_bytes,
        context_tokens=context_tokens,
        reserved_tokens=reserved or 0,
    )
    found = simulate_traffic(
        arrivals,
        prompts,
        outputs,
        status > 0,
        np.zeros(len(arrivals), dtype=np.int64) if group_of is None else group_of,
        [list(group) for group in groups],
        times=times,
        pages=pages,
        budget_bytes=budget_bytes,
        policy=policy,
        settings=settings,
        bin_seconds=bin_seconds,
        context_tokens=context_tokens,
        blocks=blocks,
    )
    memory = MemoryRecord(**found.pop("memory"))
    return Outcome(status=status, memory=memory, **found)


class PromptBlocks(NamedTuple):
    """Blocks of all prompts.

    Attributes:
        offsets: Where the blocks of each prompt begin and end.
        numbers: Numbers of the blocks.
        block_tokens: Tokens of a block.
        block_bytes: Memory of a block.
    """

    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    block_tokens: int
    block_bytes: int

    @classmethod
    def made_of(
        cls, blocks: Sequence[Sequence[int]], *, block_tokens: int, block_bytes: int
    ) -> PromptBlocks:
        """The blocks of prompts, of which each is a list of numbers."""
        import numpy as np

        ends = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
        numbers = np.fromiter((n for one in blocks for n in one), np.int64, int(ends[-1]))
        return cls(ends, numbers, block_tokens, block_bytes)

    @classmethod
    def of(cls, trace: Trace, pages: PageBytes, model: ModelFacts) -> PromptBlocks:
        """The blocks of a trace, each in whole pages.

        Raises:
            UsageError: The trace does not say which prompts begin alike, or the model keeps
                something else than the keys and values of every token.
        """
        if not trace.block_tokens:
            raise UsageError(
                f"{trace.path}: the trace does not say which prompts begin alike, so that nothing "
                "can be shared\nhint: replay it without the prefix cache, or give a trace with "
                "hash_ids, such as Mooncake's"
            )
        if pages.window or pages.state:
            raise UsageError(
                f"{model.name} has layers with a window or with a state; shared prefixes are "
                "simulated for models that keep all keys and values\nhint: replay the trace "
                "without the prefix cache"
            )
        n_pages = max(1, round(trace.block_tokens / pages.page_tokens))
        return cls.made_of(
            trace.prompt_blocks(),
            block_tokens=n_pages * pages.page_tokens,
            block_bytes=n_pages * pages.full,
        )


def check_prefixes(trace: Trace, model: ModelFacts, *, page_tokens: int = PAGE_TOKENS) -> None:
    """Say at once if prefixes of a trace cannot be shared on a model.

    Raises:
        UsageError: As `PrefixCache.of`.
    """
    PromptBlocks.of(trace, PageBytes(model, page_tokens=page_tokens), model)


def refused_requests(
    model: ModelFacts,
    gpu: GpuFacts,
    plan: MemoryPlan,
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Return for each request 0, or why an engine with this plan refuses it."""
    budget = memory_budget(model, gpu, plan)
    pages = PageBytes(
        model,
        page_tokens=plan.page or 1,
        plan=changed_plan(plan, n_gpus=budget.tensor_parallel),
    )
    # A request lies on one replica.
    context = plan.context_tokens(model)
    status = refusals(
        prompts,
        outputs,
        pages=pages,
        budget_bytes=budget.group_kv_bytes // budget.n_replicas,
        context_tokens=context,
    )
    # Engines keep layers of several kinds in pages of one size, which hold less than bytes say.
    most = longest_context(model, gpu, plan=changed_plan(plan, n_gpus=budget.tensor_parallel))
    if most < context:
        status[(status == DONE) & (prompts + outputs - (outputs > 0) > most)] = TOO_LARGE
    return status


def refusals(
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    *,
    pages: PageBytes,
    budget_bytes: int,
    context_tokens: int | None = None,
    reserved_tokens: int = 0,
) -> NDArray[np.uint8]:
    """Return for each request 0, or why it is refused: `TOO_LONG` or `TOO_LARGE`.

    Args:
        prompts: Tokens of the prompts.
        outputs: Tokens of the answers.
        pages: Pages of a sequence.
        budget_bytes: Memory for requests.
        context_tokens: The model's context; None: without end.
        reserved_tokens: Tokens reserved for each in one piece; 0: pages, as tokens come.
    """
    import numpy as np

    longest = prompts + outputs
    status = np.zeros(len(longest), dtype=np.uint8)
    if reserved_tokens:
        if pages.of(reserved_tokens) > budget_bytes:
            status[:] = TOO_LARGE
        status[longest > reserved_tokens] = TOO_LONG
    else:
        # The last token that is given is never read again: it needs no place.
        status[longest - (outputs > 0) > pages.most_tokens(budget_bytes)] = TOO_LARGE
    if context_tokens is not None:
        status[longest > context_tokens] = TOO_LONG
    return status
