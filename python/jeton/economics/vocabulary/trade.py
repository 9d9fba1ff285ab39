"""The vocabulary's trade: longer tables and heads against shorter texts; published laws of size.

A larger vocabulary makes texts shorter (every linear cost falls with it) and the output head and
tables longer (memory, and reading the head at every step). Which wins depends on the model's size,
on how much is read against how much is written, and on the tokens per byte that were measured: so
the curve is measured and not assumed.

The published laws are fitted on dense English models of 33M to 3B parameters and vocabularies up to
96,000 (arXiv:2407.13623); beyond that they extrapolate. They minimise the loss for a training
budget and know nothing of inference, memory or other languages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.latency import read_weight_bytes
from jeton.economics.serving.memory import DEFAULT_DTYPE_BYTES
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.errors import UsageError


@dataclass(frozen=True, slots=True)
class VocabularyPoint:
    """One vocabulary size and what the workload costs under it.

    Attributes:
        vocab_size: Ids.
        tokens_per_byte: Measured or interpolated.
        is_measured: True if this very size was measured.
        weight_bytes: Weights with tables of this size.
        table_bytes: Input table and output head.
        head_share: Share of a decoding step's weight reads that the head makes.
        kv_bytes_per_request: KV cache of a request, mean.
        n_concurrent: Requests that safely fit at once.
        gpu_seconds_per_request: Time of the group per request.
        seconds_per_request: Latency.
        usd_per_request: At full load.
    """

    vocab_size: int
    tokens_per_byte: float
    is_measured: bool
    weight_bytes: int
    table_bytes: int
    head_share: float
    kv_bytes_per_request: float
    n_concurrent: int
    gpu_seconds_per_request: float
    seconds_per_request: float
    usd_per_request: Decimal


@dataclass(frozen=True, slots=True)
class VocabularyTrade:
    """The curve over vocabulary sizes and its best point.

    Attributes:
        points: In ascending order of size.
        best: Size with the least of what was asked for; the smaller of equals.
        minimised: Its value.
        reason: Why, with the figures.
        is_at_an_end: True if the best is the smallest or largest size that was tried, so that a
            better one may lie outside.
    """

    points: tuple[VocabularyPoint, ...]
    best: int
    minimised: str
    reason: str
    is_at_an_end: bool


def interpolate_tokens_per_byte(measured: Mapping[int, float], vocab_size: int) -> float:
    """Return tokens per byte at a size between two that were measured.

    Formula: linear in ``ln V`` between the neighbours.

    Source: compression of BPE is close to linear in ln V over an octave (arXiv:2407.13623 fits a
    parabola in ln V over the whole range).

    Raises:
        UsageError: If the size is outside of what was measured: nothing is extrapolated.
    """
    sizes = sorted(measured)
    if not sizes or any(not 0 < measured[v] < math.inf or v < 1 for v in sizes):
        raise UsageError("expected tokens per byte above 0 for at least one vocabulary size")
    if vocab_size in measured:
        return measured[vocab_size]
    if not sizes[0] <= vocab_size <= sizes[-1]:
        raise UsageError(
            f"a vocabulary of {vocab_size:,} is outside of what was measured ({sizes[0]:,} to "
            f"{sizes[-1]:,})\nhint: measure a tokenizer of about that size"
        )
    right = next(v for v in sizes if v > vocab_size)
    left = sizes[sizes.index(right) - 1]
    share = math.log(vocab_size / left) / math.log(right / left)
    return measured[left] * (1 - share) + measured[right] * share


def vocabulary_trade(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    tokens_per_byte: Mapping[int, float],
    reference_vocab_size: int,
    vocab_sizes: Sequence[int] | None = None,
    minimise: Literal["usd_per_request", "seconds_per_request", "weight_bytes"] = "usd_per_request",
    n_concurrent: int | None = None,
    usd_per_hour: Decimal | None = None,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> VocabularyTrade:
    """Return what a workload costs at each vocabulary size, and the best size for it.

    Formula: the workload's lengths, prompts and outputs, times ``tpb(V) / tpb(reference)``; then
    `own_gpu_cost` with tables and head of V rows, prompts read in batches.

    Source: `serving.own_gpu`; ECONOMICS section D (cost per byte = cost per token x tokens
    per byte). Any other size than the model's own means a model that would have to be trained, or
    whose vocabulary is transplanted; quality is not judged here.

    Args:
        model: The model, whose layers stay as they are.
        gpu: The GPU.
        workload: Lengths in tokens of the reference vocabulary.
        tokens_per_byte: Measured on the workload's own text, by vocabulary size.
        reference_vocab_size: Size under which the workload's lengths were counted.
        vocab_sizes: Sizes to try; None: those that were measured.
        minimise: The figure that the best has the least of.
        n_concurrent: Requests side by side; None: as many as safely fit.
        usd_per_hour: Price of a GPU and hour; None: the catalog's low list price.
        plan: How the model is held; None: as published, on the engine's defaults.
        changes: Fields of the plan that are different.

    Raises:
        UsageError: If a size was not measured nor lies between two that were, or nothing fits.
    """
    sizes = sorted(set(tokens_per_byte if vocab_sizes is None else vocab_sizes))
    if not sizes:
        raise UsageError("there is no vocabulary size to try; expected at least one")
    reference = interpolate_tokens_per_byte(tokens_per_byte, reference_vocab_size)
    points = tuple(
        _point(
            model,
            gpu,
            workload,
            vocab_size=size,
            tokens_per_byte=(measured := interpolate_tokens_per_byte(tokens_per_byte, size)),
            factor=measured / reference,
            is_measured=size in tokens_per_byte,
            n_concurrent=n_concurrent,
            usd_per_hour=usd_per_hour,
            plan=changed_plan(changed_plan(plan, **changes), vocab_size=size),
        )
        for size in sizes
    )
    best = min(points, key=lambda point: (getattr(point, minimise), point.vocab_size))
    at_reference = min(points, key=lambda point: abs(point.vocab_size - reference_vocab_size))
    value, other = getattr(best, minimise), getattr(at_reference, minimise)
    change = float(value / other - 1) if other else 0.0
    return VocabularyTrade(
        points=points,
        best=best.vocab_size,
        minimised=minimise,
        reason=f"{best.vocab_size:,} ids have the least {minimise} ({float(value):.4g}, "
        f"{change:+.1%} against {at_reference.vocab_size:,}): {best.tokens_per_byte:.4f} tokens "
        f"per byte, the head is {best.head_share:.1%} of a step's weight reads",
        is_at_an_end=best.vocab_size in (sizes[0], sizes[-1]),
    )


def _point(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    vocab_size: int,
    tokens_per_byte: float,
    factor: float,
    is_measured: bool,
    n_concurrent: int | None,
    usd_per_hour: Decimal | None,
    plan: MemoryPlan,
) -> VocabularyPoint:
    scaled = RequestLengths.from_histogram(
        [round(length * factor) for length in workload.prompt_tokens],
        workload.n_requests,
        output_tokens=workload.output_tokens * factor,
    )
    cost = own_gpu_cost(
        model,
        gpu,
        scaled,
        n_concurrent=n_concurrent,
        usd_per_hour=usd_per_hour,
        plan=plan,
        prompts_in_batches=True,
    )
    weights = plan.weight_bytes(model)
    read = read_weight_bytes(model, 1, plan=plan)
    return VocabularyPoint(
        vocab_size=vocab_size,
        tokens_per_byte=tokens_per_byte,
        is_measured=is_measured,
        weight_bytes=weights.total,
        table_bytes=weights.input_embedding + weights.output_head,
        # Tied or not, the head is read as one table.
        head_share=(weights.output_head or weights.input_embedding) / read,
        kv_bytes_per_request=cost.capacity.bytes_per_request_mean,
        n_concurrent=cost.n_concurrent,
        gpu_seconds_per_request=cost.gpu_seconds_per_request,
        seconds_per_request=cost.seconds_per_request,
        usd_per_request=cost.usd_per_request,
    )


@dataclass(frozen=True, slots=True)
class PrunedVocabulary:
    """A vocabulary without its rarest ids.

    Attributes:
        n_kept: Ids that stay.
        saved_bytes: Bytes of tables that go.
        coverage: Share of the workload's tokens whose id stays.
        min_growth: Growth of the token count at least: every removed id becomes two or more.
    """

    n_kept: int
    saved_bytes: int
    coverage: float
    min_growth: float


def prune_vocabulary(
    id_counts: Sequence[int],
    model: ModelFacts,
    *,
    n_kept: int,
    dtype_bytes: int = DEFAULT_DTYPE_BYTES,
) -> PrunedVocabulary:
    """Return what keeping only the most frequent ids saves and costs at least.

    Formula: ``(V - kept) d b`` for each table; growth at least the removed ids' share of tokens.

    Source: arXiv:2010.05609 (pruning the vocabulary of multilingual models). The growth is a lower
    bound, because how the removed ids' bytes are cut then is only known by encoding again.

    Args:
        id_counts: How often each id came up, by id.
        model: The model.
        n_kept: Ids to keep.
        dtype_bytes: Bytes per table element.

    Raises:
        UsageError: If more ids are kept than there are, or none.
    """
    if not 1 <= n_kept <= len(id_counts) or min(id_counts) < 0:
        raise UsageError(
            f"cannot keep {n_kept} of {len(id_counts)} ids; expected 1 to that many, and counts of "
            "at least 0"
        )
    total = sum(id_counts)
    kept = sum(sorted(id_counts, reverse=True)[:n_kept])
    coverage = kept / total if total else 1.0
    n_tables = 1 if model.tied_embeddings else 2
    n_removed = len(id_counts) - n_kept
    return PrunedVocabulary(
        n_kept=n_kept,
        saved_bytes=n_tables * n_removed * model.table_width * dtype_bytes,
        coverage=coverage,
        min_growth=1 - coverage,
    )


def quantized_table_bytes(
    *, vocab_size: int, hidden_size: int, bits: int, group_size: int = 128, scale_bytes: int = 2
) -> int:
    """Return the bytes of a table in fewer bits, with one scale for each group of elements.

    Formula: ``V (ceil(d bits / 8) + ceil(d / group) scale_bytes)``.

    Source: definition of group-wise quantization (arXiv:2210.17323 section 4, groups of 128);
    formats that also store a zero point need ``bits / 8`` more for each group.

    Raises:
        UsageError: If a number is out of range.
    """
    if min(vocab_size, hidden_size, group_size) < 1 or not 1 <= bits <= 32 or scale_bytes < 0:
        raise UsageError(
            f"cannot quantize {vocab_size} x {hidden_size} to {bits} bits in groups of "
            f"{group_size}; expected sizes above 0 and 1 to 32 bits"
        )
    row = -(-hidden_size * bits // 8) + -(-hidden_size // group_size) * scale_bytes
    return vocab_size * row


@dataclass(frozen=True, slots=True)
class AdaptiveSoftmax:
    """An output head in clusters by frequency.

    Attributes:
        flops_per_token: FLOPs of scoring one position to train or to score a text, mean.
        full_flops_per_token: FLOPs of the full head.
        n_parameters: Parameters of the clustered head.
        shares: Share of the tokens that each cluster scores, head first.
    """

    flops_per_token: float
    full_flops_per_token: int
    n_parameters: int
    shares: tuple[float, ...]


def adaptive_softmax(
    id_counts: Sequence[int], *, hidden_size: int, cutoffs: Sequence[int], shrink: int = 4
) -> AdaptiveSoftmax:
    """Return what clustering the output head by frequency saves when texts are scored.

    Formula: ``2 d (V_0 + k) + sum over clusters p_i 2 d_i (d + V_i)`` with ``d_i = d /
    shrink^i``; p_i the cluster's share of the tokens. It helps training and scoring; generating
    needs the clusters that a sampled token falls into, and saves less.

    Source: arXiv:1609.04309 section 4 (hidden sizes divided by four from cluster to cluster).

    Args:
        id_counts: How often each id came up, by id; clusters are by frequency.
        hidden_size: Width of the model.
        cutoffs: Ascending sizes at which a cluster ends, e.g. ``(4000, 20000)``.
        shrink: Factor by which the width falls from cluster to cluster.

    Raises:
        UsageError: If the cutoffs do not ascend within the vocabulary, or nothing was counted.
    """
    vocab_size, total = len(id_counts), sum(id_counts)
    edges = [0, *cutoffs, vocab_size]
    if total <= 0 or shrink < 1 or hidden_size < 1 or edges != sorted(set(edges)):
        raise UsageError(
            f"cannot cluster {vocab_size} ids at {tuple(cutoffs)}; expected ascending cutoffs "
            "within the vocabulary, and counts"
        )
    counts = sorted(id_counts, reverse=True)
    sizes = [right - left for left, right in pairwise(edges)]
    shares = tuple(sum(counts[left:right]) / total for left, right in pairwise(edges))
    n_clusters = len(sizes) - 1
    flops = 2.0 * hidden_size * (sizes[0] + n_clusters)
    n_parameters = hidden_size * (sizes[0] + n_clusters)
    for i in range(1, len(sizes)):
        width = max(1, hidden_size // shrink**i)
        flops += shares[i] * 2 * width * (hidden_size + sizes[i])
        n_parameters += width * (hidden_size + sizes[i])
    return AdaptiveSoftmax(
        flops_per_token=flops,
        full_flops_per_token=2 * hidden_size * vocab_size,
        n_parameters=n_parameters,
        shares=shares,
    )


_MAX_FITTED_VOCAB = 200_000
"""The fit of tokens per character is held constant above (code of arXiv:2407.13623)."""

Approach = Literal["isoflops", "derivative", "loss"]
"""The paper's approaches 1, 2 and 3."""


def tokens_per_char(vocab_size: float) -> float:
    """Return the tokens per character of English under a vocabulary of this size.

    Formula: ``0.00639222 ln^2 V - 0.15811069 ln V + 1.20470122``, V at most 200,000.

    Source: constants of the code of arXiv:2407.13623 (BPE on SlimPajama).

    Raises:
        UsageError: If the size is below 256, where no byte vocabulary exists.
    """
    if not 256 <= vocab_size < math.inf:
        raise UsageError(f"vocab_size is {vocab_size}; expected at least 256")
    log = math.log(min(vocab_size, _MAX_FITTED_VOCAB))
    return 0.00639222 * log * log - 0.15811069 * log + 1.20470122


def compute_optimal_flops(n_nonvocab_parameters: float) -> float:
    """Return the training FLOPs for which this number of parameters (without tables) is best.

    Formula: ``N = e^-2.48465 F^0.5`` solved for F.

    Source: arXiv:2407.13623, approach 1.

    Raises:
        UsageError: If the number is not above 0.
    """
    if not 0 < n_nonvocab_parameters < math.inf:
        raise UsageError(
            f"n_nonvocab_parameters is {n_nonvocab_parameters}; expected a number above 0"
        )
    return (n_nonvocab_parameters * math.exp(2.48465)) ** 2


def training_loss(
    vocab_size: float, *, n_nonvocab_parameters: float, hidden_size: int, training_flops: float
) -> float:
    """Return the unigram-normalised loss that approach 3 predicts.

    Formula: ``-5.53278 + 1.83139 / N^0.446606 + 0.195842 / (V d)^0.670737 + 2.12411 / D^0.446606``
    with N and V d in millions of parameters, and D = F / (6 (N + V d)) in thousands of millions.

    Source: arXiv:2407.13623, approach 3, constants of its code.
    """
    n = n_nonvocab_parameters / 1e6
    table = vocab_size * hidden_size / 1e6
    data = training_flops / 1e15 / (6 * (n + table))
    found = 1.83139 / n**0.446606 + 0.195842 / table**0.670737 + 2.12411 / data**0.446606
    return float(found - 5.53278)


def optimal_vocab_size(
    *,
    n_nonvocab_parameters: float,
    hidden_size: int,
    approach: Approach = "isoflops",
    training_flops: float | None = None,
) -> float:
    """Return the vocabulary size that a published law calls best for training.

    Formula: ``isoflops`` ``V d = e^-1.58903 F^0.416362``; ``derivative`` ``V d = 3145728
    (N / 33e6)^0.835397``; ``loss`` the minimum of `training_loss` over V.

    Source: arXiv:2407.13623, approaches 1 to 3, constants of its code.

    Args:
        n_nonvocab_parameters: Parameters without the tables.
        hidden_size: Width of the model.
        approach: Which of the three.
        training_flops: Training budget; None: the best for these parameters. Only ``loss`` can
            tell what more training changes.

    Raises:
        UsageError: If a number is not above 0, or a budget is given to another approach.
    """
    if hidden_size < 1 or (training_flops is not None and not 0 < training_flops < math.inf):
        raise UsageError(
            f"hidden_size is {hidden_size} and training_flops {training_flops}; expected numbers "
            "above 0"
        )
    flops = compute_optimal_flops(n_nonvocab_parameters)
    if training_flops is not None and approach != "loss":
        raise UsageError(f"the approach {approach!r} knows no training budget\nhint: use 'loss'")
    if approach == "isoflops":
        return float(math.exp(-1.58903) * flops**0.416362 / hidden_size)
    if approach == "derivative":
        return float(3_145_728 * (n_nonvocab_parameters / 33e6) ** 0.835397 / hidden_size)
    return _minimise(
        lambda log: training_loss(
            math.exp(log),
            n_nonvocab_parameters=n_nonvocab_parameters,
            hidden_size=hidden_size,
            training_flops=training_flops or flops,
        )
    )


def _minimise(loss: Callable[[float], float]) -> float:
    """Return the V with the least loss by golden sections of ln V: the law has one minimum."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(256), math.log(10_000_000)
    for _ in range(100):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return math.exp((low + high) / 2)
