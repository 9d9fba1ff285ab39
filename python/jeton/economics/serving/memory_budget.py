"""Memory of a group of GPUs, as weights, activations and the engine leave it for requests.

Every function that says what fits asks here, and here asks the engine's rules. A group of GPUs
splits weights and heads (tensor parallelism) and layers (stages); what cannot be split is held as a
copy by each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.engine_rules import GpuMemory
from jeton.economics.serving.memory import kv_copies
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.serving.weights import WeightBytes
from jeton.errors import UsageError


class DoesNotFitError(UsageError):
    """A model that a group of GPUs does not serve: it does not fit, or the engine refuses.

    A finding: commands end with exit code 1.
    """

    exit_code = 1


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Memory of each GPU of a group, in bytes of one GPU unless said otherwise.

    Attributes:
        n_gpus: GPUs of the group: tensor-parallel GPUs of all stages and replicas.
        tensor_parallel: GPUs of a stage.
        n_replicas: Replicas, each with a cache of its own.
        memory_bytes: Memory as the driver reports it.
        usable_bytes: Bytes that the engine may take: the share that it was given.
        weight_bytes: Weights, copies included.
        activation_bytes: Activations at the widest point of a step.
        engine_bytes: CUDA graphs and what the engine takes outside of its tensors.
        kv_bytes: Bytes left for requests; negative where the model does not fit.
        group_kv_bytes: Bytes of all GPUs together, 0 where the model does not fit. With a log, as
            many of the formula's bytes as the tokens that the engine printed take.
        group_weight_bytes: The model's weights, without copies.
        kv_copies: How often the group holds each key-value head.
        needed_gpus: The fewest GPUs that hold the model under the same plan; None: no number of
            them does.
        refused: Reason why the engine does not take the group; empty: it does.
        basis: ``"formula"``, or ``"measured"`` by the engine's log.
    """

    n_gpus: int
    tensor_parallel: int
    n_replicas: int
    memory_bytes: int
    usable_bytes: int
    weight_bytes: int
    activation_bytes: int
    engine_bytes: int
    kv_bytes: int
    group_kv_bytes: int
    group_weight_bytes: int
    kv_copies: Fraction
    needed_gpus: int | None
    refused: str = ""
    basis: str = "formula"

    @property
    def fits(self) -> bool:
        """True where the engine takes the group, and the model leaves room for requests."""
        return self.kv_bytes > 0 and not self.refused

    @property
    def in_words(self) -> str:
        """The subtraction for one GPU, with its numbers."""
        copies = "" if self.n_gpus == 1 else f", {self.n_gpus} GPUs"
        return (
            f"{self.usable_bytes / 1e9:,.2f} GB usable - {self.weight_bytes / 1e9:,.2f} weights - "
            f"{self.activation_bytes / 1e9:,.2f} activations - {self.engine_bytes / 1e9:,.2f} "
            f"engine on each{copies}"
        )


def memory_budget(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan | None = None) -> MemoryBudget:
    """Return what a group of GPUs has left for requests.

    Formula: the engine's (`jeton.economics.serving.engine_rules`); vLLM's, for each of N GPUs, is
    ``u (M - driver) - W/N - copies - activations - engine``, with M as the driver reports it and
    the share u. Without a number of GPUs: the fewest that leave room, among those that the engine
    takes. Memory that the engine's log told replaces the formula's.

    Source: as the engines' rules; compared with published logs in
    ``docs/guides/serving-memory.md``.

    Raises:
        UsageError: The plan's log is of another engine, model or group.
    """
    return _budget(model, gpu, plan or MemoryPlan())


def refusal(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan) -> str:
    """Return why a model cannot be served on a GPU under a plan; empty: it can.

    One sentence that names what would do: the tensor parallelisms that the engine takes, or the
    GPUs that hold the model.
    """
    budget = memory_budget(model, gpu, plan)
    if budget.refused:
        sizes: list[int] = []
        if plan.rules.group_error(model, plan, budget.tensor_parallel):
            sizes = [n for n in plan.rules.group_sizes(model, plan) if n <= 16]
        works = f"; {', '.join(map(str, sizes))} work" if sizes else ""
        return f"{plan.engine} refuses it: {budget.refused}{works}"
    if budget.fits:
        return ""
    needed = budget.needed_gpus
    more = "no number of them holds it" if needed is None else f"{needed} are needed"
    return (
        f"{model.name} ({budget.group_weight_bytes / 1e9:,.1f} GB of weights) does not fit "
        f"{budget.n_gpus} x {gpu.name}: {more}"
    )


def check_served(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, *, where: str = "") -> None:
    """Raise if a model cannot be served on a GPU under a plan.

    Args:
        model: The model.
        gpu: The GPU.
        plan: How the model is held.
        where: Words before the reason, such as the name of an endpoint.

    Raises:
        DoesNotFitError: It cannot; says why, and what would do.
    """
    words = refusal(model, gpu, plan)
    if not words:
        return
    hint = "more GPUs (--tensor-parallel), fewer bits a weight (--weights int4), or a larger GPU"
    if memory_budget(model, gpu, plan).refused:
        hint = "change the setting that the line names, or take another --engine"
    raise DoesNotFitError(f"{where}{words}\nhint: {hint}")


@lru_cache(maxsize=512)
def _budget(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan) -> MemoryBudget:
    weights = plan.weight_bytes(model)
    rules = plan.rules
    needed = next(
        (
            n
            for n in rules.group_sizes(model, plan)
            if _memory(model, gpu, plan, weights, n).left > 0
        ),
        None,
    )
    tensor = plan.n_gpus or needed or 1
    found = _memory(model, gpu, plan, weights, tensor)
    others = plan.pipeline_parallel * plan.data_parallel
    scale = plan.cache_scale(tensor)
    refused = rules.group_error(model, plan, tensor)
    return MemoryBudget(
        n_gpus=tensor * others,
        tensor_parallel=tensor,
        n_replicas=plan.data_parallel,
        memory_bytes=gpu.memory_bytes,
        usable_bytes=found.usable,
        weight_bytes=found.weights,
        activation_bytes=found.activations,
        engine_bytes=found.engine,
        kv_bytes=found.left,
        group_kv_bytes=max(0, int(tensor * others * found.left * scale)),
        group_weight_bytes=weights.total,
        kv_copies=kv_copies(model, tensor) if rules.splits_heads else Fraction(1),
        needed_gpus=None if needed is None else needed * others,
        refused=refused or rules.start_error(model, gpu, plan, tensor, int(found.left * scale)),
        basis="formula" if plan.measured is None else "measured",
    )


def _memory(
    model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
) -> GpuMemory:
    found = plan.rules.memory(model, gpu, plan, weights, tensor)
    measured = plan.measured
    if measured is None or tensor != measured.tensor_parallel:
        return found
    if measured.engine != plan.engine:
        raise UsageError(
            f"{measured.name} is a log of {measured.engine}, and the plan is for {plan.engine}\n"
            f"hint: --engine {measured.engine}"
        )
    usable = found.usable
    if measured.outside_bytes is not None:
        share = plan.rules.share(gpu, plan, tensor)
        usable = int((gpu.memory_bytes - measured.outside_bytes) * share)
    held = found.weights if measured.weight_bytes is None else measured.weight_bytes
    beside = measured.beside_bytes
    if beside is None:
        return GpuMemory(usable, held, found.activations, found.engine)
    activations = measured.activation_bytes or 0
    return GpuMemory(usable, held, activations, beside - activations)
