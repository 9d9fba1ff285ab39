"""Sizes of steps by the GPU's roofline: prompt tokens of a step, and edges of buckets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import __version__
from jeton._shown import NotebookResult
from jeton.economics.admission import Policy
from jeton.economics.traffic.simulate import replay, step_times
from jeton.errors import UsageError
from jeton.planning.packing import best_bucket_edges
from jeton.planning.serving.admission import saturation_rate
from jeton.planning.serving.replays import LatencyObjective, check_traffic, drawn_windows
from jeton.planning.serving.servers import capacity_tokens, engine_defaults, server_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace
    from jeton.economics.serving.memory_plan import MemoryPlan
    from jeton.economics.traffic.engine import Outcome
    from jeton.economics.traffic.step_times import StepTimes, StepWork


CHUNK_SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)

_ENOUGH = 0.98
"""A smaller chunk is taken where it reads at least so much of what the best one reads a second."""

_REPLAYED = 2000
"""Requests of the replay that batches are taken from."""

_MAX_TOKENS = 10_000_000
_MAX_BUCKETS = 64
_MAX_WIDTHS = 2048
"""Widths at most that edges are chosen from; longer prompts have wider tiles."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """A step that reads some prompt tokens beside a decoding batch.

    Attributes:
        chunk_tokens: Prompt tokens of the step.
        step_seconds: Time of the step.
        prompt_tokens_per_second: Prompt tokens that such steps read.
        arithmetic_share: Arithmetic's time over the step's; 1: the GPU calculates all the time.
        decode_slowdown: Time of the step over that of the decoding batch alone.
        ttft_seconds: Time to read the mean prompt in such steps, with no queue.
        keeps_limit: True if the step takes no longer than the limit between tokens.
    """

    chunk_tokens: int
    step_seconds: float
    prompt_tokens_per_second: float
    arithmetic_share: float
    decode_slowdown: float
    ttft_seconds: float
    keeps_limit: bool


@dataclass(frozen=True, slots=True)
class BucketEdges:
    """Edges of buckets, and the time that padding to them adds.

    Attributes:
        name: Work that is padded: ``prompts`` or ``decode batches``.
        edges: Edges with the least time.
        added_share: Time that padding adds, as a share of the time without.
        padding_edges: Edges with the least padding, which is another question.
        padding_added_share: Time that these add.
        doubling_edges: Powers of two.
        doubling_added_share: Time that these add.
    """

    name: str
    edges: tuple[int, ...]
    added_share: float
    padding_edges: tuple[int, ...]
    padding_added_share: float
    doubling_edges: tuple[int, ...]
    doubling_added_share: float


@dataclass(frozen=True, slots=True)
class ChunkPlan(NotebookResult):
    """Sizes of steps on a server.

    Attributes:
        model: The model.
        gpu: The GPU.
        n_gpus: GPUs of the group.
        n_decoding: Requests that decode beside.
        context_tokens: Tokens that each of them has in the cache, mean.
        prompt_tokens: Tokens of the mean prompt.
        tpot_seconds: Limit of the time between tokens.
        decode_seconds: Time of a step that only decodes.
        knee_tokens: Prompt tokens from which on arithmetic takes longer than memory; None: it
            does whatever the chunk.
        sizes: Sizes that were tried.
        today: The step that the engine reads now: its default, or as the plan has it.
        best_tokens: The size that is advised; None: none keeps the limit.
        step_tokens: ``max_num_batched_tokens`` of that size: decoding requests and chunk.
        reason: Why.
        buckets: Edges for prompts, and for the number of requests of a decoding step; empty
            without a trace.
    """

    _page = "jeton.report.plans.chunks:chunk_html"
    _table = "sizes"
    _line = ("model", "gpu", "best_tokens")

    model: str
    gpu: str
    n_gpus: int
    n_decoding: int
    context_tokens: int
    prompt_tokens: int
    tpot_seconds: float
    decode_seconds: float
    knee_tokens: int | None
    sizes: tuple[ChunkSize, ...]
    today: ChunkSize
    best_tokens: int | None
    step_tokens: int | None
    reason: str
    buckets: tuple[BucketEdges, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "schema_version": "jeton.plan_chunks/1",
            "jeton_version": __version__,
            **asdict(self),
        }


def plan_chunks(
    trace: Trace | None = None,
    *,
    model: str,
    gpu: str,
    prompt_tokens: int | None = None,
    output_tokens: int | None = None,
    n_decoding: int | None = None,
    tpot_seconds: float = 0.1,
    max_buckets: int = 8,
    multiple: int = 64,
    load: float = 0.8,
    plan: MemoryPlan | None = None,
    step_overhead_seconds: float = 0.0,
) -> ChunkPlan:
    """Find the prompt tokens of a step, and edges of buckets, by a GPU's roofline.

    A size keeps the limit if its step takes no longer. The smallest of these is advised that reads
    98% of the prompt tokens a second that the best of them reads.

    Args:
        trace: Traffic; its lengths and its batches are taken. None: lengths are given.
        model: The model.
        gpu: The GPU.
        prompt_tokens: Tokens of the mean prompt, without a trace.
        output_tokens: Tokens of the mean answer, without a trace.
        n_decoding: Requests that decode beside; None: as many of mean length as the cache holds.
        tpot_seconds: Longest time between tokens.
        max_buckets: Edges at most.
        multiple: Tile of the hardware, tokens: edges of prompts are multiples of it.
        load: Load of the replay that batches are taken from, over the rate that is sustained.
        plan: How the model is held on the GPUs.
        step_overhead_seconds: Time of each step beside the roofline.

    Returns:
        Sizes, the advised one, and edges.

    Raises:
        UsageError: Lengths are missing or given twice, or a number is out of range.

    Example:
        >>> from jeton.planning import plan_chunks
        >>> found = plan_chunks(
        ...     model="llama-3.1-8b", gpu="h100-sxm", prompt_tokens=2000, output_tokens=200
        ... )
        >>> found.best_tokens is not None and found.best_tokens >= 256
        True
    """
    prompt, output = _lengths(trace, prompt_tokens, output_tokens)
    objective = LatencyObjective(tpot_seconds=tpot_seconds)
    _check("n_decoding", n_decoding, most=1 << 20)
    _check("max_buckets", max_buckets, most=_MAX_BUCKETS)
    _check("multiple", multiple, most=1 << 20)
    if not 0 < load <= 10:
        raise UsageError(f"load is {load}; expected above 0, at most 10")
    server = server_of(model, gpu, plan=plan)
    settings = engine_defaults(server, step_overhead_seconds=step_overhead_seconds)
    times = step_times(server, overhead_seconds=step_overhead_seconds)
    if n_decoding is None:
        held = capacity_tokens(server, settings) // max(1, prompt + output)
        n_decoding = max(1, min(settings.max_requests, held))
    context = prompt + output // 2
    step = _Step(times, n_decoding, context, prompt)
    alone = step.seconds(0)
    sizes = tuple(_size(step, chunk, alone, tpot_seconds) for chunk in CHUNK_SIZES)
    best, reason = _best(sizes, alone, tpot_seconds)
    buckets: tuple[BucketEdges, ...] = ()
    if trace is not None:
        check_traffic(trace)
        drawn = drawn_windows(trace, n_requests=_REPLAYED, seed=0)
        factor = load * saturation_rate(drawn, server, settings, objective)
        dense = drawn.part(rate_factor=factor / drawn.requests_per_second)
        outcome = replay(dense, server, policy=Policy("dynamic"), settings=settings).outcome
        buckets = (
            _prompt_buckets(trace, times, max_buckets, multiple),
            _batch_buckets(outcome, times, context, max_buckets),
        )
    return ChunkPlan(
        model=server.model.name,
        gpu=server.gpu.name,
        n_gpus=server.group,
        n_decoding=n_decoding,
        context_tokens=context,
        prompt_tokens=prompt,
        tpot_seconds=tpot_seconds,
        decode_seconds=alone,
        knee_tokens=step.knee(),
        sizes=sizes,
        today=_size(step, max(1, settings.step_tokens - n_decoding), alone, tpot_seconds),
        best_tokens=best,
        step_tokens=None if best is None else best + n_decoding,
        reason=reason,
        buckets=buckets,
    )


def _lengths(
    trace: Trace | None, prompt_tokens: int | None, output_tokens: int | None
) -> tuple[int, int]:
    """Tokens of the mean prompt and answer."""
    if trace is not None:
        if prompt_tokens is not None or output_tokens is not None:
            raise UsageError(
                "lengths are given twice: by the trace, and by prompt_tokens or output_tokens; "
                "expected one of the two"
            )
        return max(1, round(trace.prompt_tokens.mean())), max(1, round(trace.output_tokens.mean()))
    if prompt_tokens is None or output_tokens is None:
        raise UsageError(
            "no lengths are given; expected a trace, or prompt_tokens and output_tokens\n"
            "hint: name a trace, or give --prompt-tokens and --output-tokens"
        )
    _check("prompt_tokens", prompt_tokens, most=_MAX_TOKENS)
    _check("output_tokens", output_tokens, most=_MAX_TOKENS)
    return prompt_tokens, output_tokens


def _check(name: str, value: int | None, *, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise UsageError(f"{name} is {value}; expected from 1 to {most:,}")


class _Step:
    """A step of a decoding batch with a chunk of one prompt, in the middle of which it is."""

    def __init__(self, times: StepTimes, n_decoding: int, context: int, prompt: int) -> None:
        self._times, self._decoding = times, times.decoding(n_decoding, context)
        self.prompt = prompt

    def seconds(self, chunk: int) -> float:
        """Time of the step."""
        start = max(0, (self.prompt - chunk) // 2)
        return self._times.seconds(self._mixed(start, start + chunk))

    def prompt_seconds(self, chunk: int) -> float:
        """Time to read the prompt in chunks, one step after the other."""
        starts = range(0, self.prompt, chunk)
        parts = (self._mixed(start, min(start + chunk, self.prompt)) for start in starts)
        return sum(map(self._times.seconds, parts))

    def arithmetic_share(self, chunk: int) -> float:
        """Arithmetic's time over the step's."""
        start = max(0, (self.prompt - chunk) // 2)
        work = self._mixed(start, start + chunk)
        whole = self._times.seconds(work) - self._times.overhead_seconds
        return min(1.0, self._times.arithmetic_seconds(work) / whole) if whole > 0 else 1.0

    def knee(self) -> int | None:
        """The fewest prompt tokens with which arithmetic takes as long as memory; None: any."""
        if self.arithmetic_share(1) >= 1:
            return None
        low, high = 1, 1 << 20
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.arithmetic_share(middle) >= 1 else (middle, high)
        return high

    def _mixed(self, start: int, end: int) -> StepWork:
        """Work of the batch's step beside tokens ``start`` to ``end`` of the prompt."""
        if end <= start:
            return self._decoding
        return replace(
            self._decoding,
            n_prompt_tokens=end - start,
            pairs=self._times.pairs(start, end),
            past=self._times.tokens(start),
            n_prompts=1,
        )


def _size(step: _Step, chunk: int, alone: float, limit: float) -> ChunkSize:
    seconds = step.seconds(chunk)
    return ChunkSize(
        chunk_tokens=chunk,
        step_seconds=seconds,
        prompt_tokens_per_second=chunk / seconds,
        arithmetic_share=step.arithmetic_share(chunk),
        decode_slowdown=seconds / alone,
        ttft_seconds=step.prompt_seconds(chunk),
        keeps_limit=seconds <= limit,
    )


def _best(sizes: tuple[ChunkSize, ...], alone: float, limit: float) -> tuple[int | None, str]:
    kept = [size for size in sizes if size.keeps_limit]
    if alone > limit:
        return None, (
            f"a step that only decodes takes {alone * 1e3:.3g} ms already, and the limit is "
            f"{limit * 1e3:g} ms: fewer requests side by side, or a faster GPU"
        )
    if not kept:
        least = sizes[0]
        return None, (
            f"even {least.chunk_tokens} prompt tokens make the step {least.step_seconds * 1e3:.3g} "
            f"ms long, and the limit is {limit * 1e3:g} ms"
        )
    most = max(size.prompt_tokens_per_second for size in kept)
    best = next(size for size in kept if size.prompt_tokens_per_second >= _ENOUGH * most)
    beyond = next((size for size in sizes if not size.keeps_limit), None)
    why = (
        f"{best.prompt_tokens_per_second:,.0f} prompt tokens a second, "
        f"{best.step_seconds * 1e3:.3g} ms a step"
    )
    if beyond is None:
        return best.chunk_tokens, f"{why}; larger ones read no more than 2% faster"
    if best is kept[-1]:
        return best.chunk_tokens, (
            f"{why}; {beyond.chunk_tokens:,} would take {beyond.step_seconds * 1e3:.3g} ms, beyond "
            f"the limit of {limit * 1e3:g} ms"
        )
    return best.chunk_tokens, f"{why}; larger ones within the limit read no more than 2% faster"


def _prompt_buckets(trace: Trace, times: StepTimes, max_buckets: int, multiple: int) -> BucketEdges:
    """Edges for prompts that are read alone, each in one step."""
    import numpy as np

    longest = int(trace.prompt_tokens.max())
    tile = multiple * max(1, math.ceil(longest / multiple / _MAX_WIDTHS))
    tiled = -(-trace.prompt_tokens // tile) * tile
    alone = _Step(times, 0, 1, 1)

    def seconds(width: int) -> float:
        return times.seconds(alone._mixed(0, width))

    widths, counts = np.unique(tiled, return_counts=True)
    padding = best_bucket_edges(trace.prompt_tokens, max_buckets=max_buckets, multiple=tile)
    return _edges("prompts", widths, counts.astype(np.float64), seconds, max_buckets, padding)


def _batch_buckets(
    outcome: Outcome, times: StepTimes, context: int, max_buckets: int
) -> BucketEdges:
    """Edges for the requests of a decoding step, by the time that a replay spends with each."""
    import numpy as np

    starts, ends = outcome.runs
    moments = np.concatenate((starts, ends))
    changes = np.concatenate((np.ones(len(starts)), -np.ones(len(ends))))
    order = np.argsort(moments, kind="stable")
    running = np.cumsum(changes[order])[:-1].astype(np.int64)
    spent = np.diff(moments[order])
    weights = np.bincount(running[running > 0], weights=spent[running > 0])
    widths = np.flatnonzero(weights).astype(np.int64)

    def seconds(width: int) -> float:
        return _Step(times, width, context, 1).seconds(0)

    # Time at a batch over its step is the number of its steps.
    each = np.array([seconds(int(width)) for width in widths])
    steps = weights[widths] / each
    scaled = np.maximum(1, np.rint(steps / steps.max() * 10_000)).astype(np.int64)
    padding = best_bucket_edges(np.repeat(widths, scaled), max_buckets=max_buckets)
    return _edges("decode batches", widths, steps, seconds, max_buckets, padding)


def _edges(
    name: str,
    widths: NDArray[np.int64],
    weights: NDArray[np.float64],
    seconds: Callable[[int], float],
    max_buckets: int,
    padding: tuple[int, ...],
) -> BucketEdges:
    import numpy as np

    each = np.array([seconds(int(width)) for width in widths])
    edges = timed_edges(widths, weights, each, max_edges=max_buckets)
    longest = int(widths[-1])
    doubling = tuple(1 << power for power in range(longest.bit_length()) if 1 << power < longest)
    doubling = (*doubling[-(max_buckets - 1) :], longest) if max_buckets > 1 else (longest,)
    known = dict(zip(widths.tolist(), each.tolist(), strict=True))
    known |= {edge: seconds(edge) for edge in {*padding, *doubling} if edge not in known}
    bare = float((each * weights).sum())

    def added(chosen: tuple[int, ...]) -> float:
        return padded_seconds(chosen, widths, weights, known) / bare - 1 if bare else 0.0

    return BucketEdges(
        name=name,
        edges=edges,
        added_share=added(edges),
        padding_edges=padding,
        padding_added_share=added(padding),
        doubling_edges=doubling,
        doubling_added_share=added(doubling),
    )


_ROUNDING = 1e-12
"""Gain below which two sums are equal but for rounding."""


def timed_edges(
    widths: NDArray[np.int64],
    weights: NDArray[np.float64],
    seconds: NDArray[np.float64],
    *,
    max_edges: int,
) -> tuple[int, ...]:
    """Return the edges with which padded work takes the least time: an exact optimum.

    Work of a width is done at the first edge that is not below it. Where a step waits for memory,
    a wider one takes no longer, and padding is free; so the edges lie where time grows.

    Formula: ``D_k(e) = min over p < e of D_(k-1)(p) + (W(e) - W(p)) t(e)``, W the running sum of
    the weights, t the seconds at an edge.

    Args:
        widths: Distinct widths, ascending; each may be an edge, and the last one is.
        weights: How often each comes.
        seconds: Time of the work at each width; does not fall.
        max_edges: Edges at most.
    """
    n = len(widths)
    if not n:
        return ()
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    times = np.maximum.accumulate(seconds)
    best = sums[1:] * times
    came_from = [np.full(n, -1, dtype=np.int64)]
    for _ in range(min(max_edges, n) - 1):
        # Row e, column p: the last edge before e is p.
        found = np.full(n, np.inf)
        places = np.full(n, -1, dtype=np.int64)
        for edge in range(1, n):
            costs = best[:edge] + (sums[edge + 1] - sums[1 : edge + 1]) * times[edge]
            place = int(costs.argmin())
            found[edge], places[edge] = costs[place], place
        # One edge more that gains nothing is none: the layer falls back on the one before.
        places[found >= best * (1 - _ROUNDING)] = -1
        best = np.where(places >= 0, found, best)
        came_from.append(places)
    layer, edge = len(came_from) - 1, n - 1
    edges = [edge]
    while layer > 0:
        place = int(came_from[layer][edge])
        if place >= 0:
            edge = place
            edges.append(edge)
        layer -= 1
    return tuple(int(widths[place]) for place in reversed(edges))


def padded_seconds(
    edges: tuple[int, ...],
    widths: NDArray[np.int64],
    weights: NDArray[np.float64],
    seconds_at: dict[int, float],
) -> float:
    """Return the time of all work, each width at the first edge that holds it."""
    at = np.searchsorted(np.array(edges), widths)
    times = np.array([seconds_at[edge] for edge in edges])
    return float((times[at] * weights).sum())
