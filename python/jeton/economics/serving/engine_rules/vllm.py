"""vLLM: activations, and from 0.21 on CUDA graphs, lie within the share that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.activations import SAMPLER_BYTES, prefill_activation_bytes
from jeton.economics.serving.engine_rules.base import DRIVER_BYTES, GIB, MIB, EngineRules, GpuMemory
from jeton.economics.serving.memory import row_copies
from jeton.economics.serving.weights import WeightBytes

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

ENGINE_BYTES = 200 * MIB
"""Memory outside of tensors: libraries' workspaces, the context. Measured: 0.16 GiB (H100, #12126),
0.20 and 0.35 GiB (RTX 3090, #14447 and #10517)."""

GROUP_BYTES = 100 * MIB
"""Memory that each GPU of a group takes besides, to talk to the others: with the engine's 0.25 GiB
on two RTX 4090 (vllm-project/vllm#13061)."""

_NVLINK_BYTES = 640 * MIB
"""Buffers of NCCL and of custom all-reduce on GPUs that NVLink joins, for each GPU of a group: 5.2
to 5.7 GiB lay outside of tensors on each of eight H200 (vllm-project/vllm#10702). Two H100 had 1.79
GiB more than one, on a shared machine (#10511)."""

_NVLINK_GPUS = 8
"""GPUs that one machine joins; further ones talk over the network."""

_LARGE_GPU_BYTES = 70 * GIB
"""From here on the server takes larger batches, A100s left out (``vllm/engine/arg_utils.py``)."""

_V0_ENGINE_BYTES = 350 * MIB
"""As `ENGINE_BYTES`, before the V1 engine (RTX 3090, #10517)."""

_NEWEST = (99,)
_GROUPS = (0, 10)
"""Before this version layers with a window had pages for all tokens."""
_REQUESTS_PRINTED = (0, 20, 2)
"""From here on the tokens that are printed are those of requests of the longest context."""
_V1 = (0, 8)
_GRAPHS_INSIDE = (0, 21)
"""From this version on graphs are profiled and taken off the share."""
_OLD_SHARE = 0.9
"""Default share before graphs lay inside; 0.92 from then on (``vllm/config/cache.py`` of 0.25 and
0.30, read 2026-11-29)."""
_SMALL_SAMPLER = _TRITON_MXFP4 = (0, 12)
"""From here on drawing tokens takes less, and Hopper runs MXFP4 by Triton: logs of gpt-oss-120b by
0.10.1 (#23278) and 0.11.0 (#27508) against 0.14.1 (#33155)."""
_OLD_SAMPLER_BYTES = 37
"""Bytes of a score while tokens are drawn, before: peaks of 1.26 GiB for 256 requests of Llama 3
(#10511), and the rest of gpt-oss-120b's logs."""

_STATES_CHECKED = (0, 26)
"""From here on a server starts only with a block of states for each request that it may run."""
_MAMBA_BLOCKS = 2
"""Blocks of a state that a request holds with prefix caching: the running one and the last kept."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Layers that share a table of blocks: number, kind, tokens of a block, window."""

    n_layers: int
    block_tokens: int
    window: int | None
    is_state: bool = False


class Vllm(EngineRules):
    """Rules of vLLM's V1 engine."""

    name: ClassVar[str] = "vllm"
    version: ClassVar[str] = "0.8 to 0.30"
    source: ClassVar[str] = (
        "vllm/v1/worker/gpu_worker.py (determine_available_memory) and "
        "vllm/v1/core/kv_cache_utils.py, read 2026-11-29"
    )
    utilization: ClassVar[float] = 0.92
    utilization_name: ClassVar[str] = "gpu-memory-utilization"
    page_tokens: ClassVar[int] = 16
    vendors: ClassVar[tuple[str, ...]] = ("NVIDIA", "AMD", "Intel", "Google")

    def step_tokens(self, gpu: GpuFacts) -> int:
        """2,048; 8,192 from 70 GiB on, A100s left out."""
        return 8192 if _is_large(gpu) else 2048

    def requests(self, gpu: GpuFacts) -> int:
        """256; 1,024 from 70 GiB on, A100s left out."""
        return 1024 if _is_large(gpu) else 256

    def default_share(self, gpu: GpuFacts, plan: MemoryPlan, tensor: int) -> float:
        """0.92; 0.9 before 0.21."""
        version = version_of(plan.engine_version, _NEWEST)
        return self.utilization if version >= _GRAPHS_INSIDE else _OLD_SHARE

    def memory(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> GpuMemory:
        """``u (M - driver) - weights - activations - workspaces - graphs``."""
        share = self.share(gpu, plan, tensor)
        held = self.held_weights(model, gpu, plan, weights, tensor)
        if not plan.engine_share:
            return GpuMemory(int(gpu.memory_bytes * share), held, 0, 0)
        version = version_of(plan.engine_version, _NEWEST)
        is_old = version < _SMALL_SAMPLER
        activations = prefill_activation_bytes(
            model,
            plan.batched_tokens(gpu),
            n_scored_tokens=plan.requests(gpu),
            n_gpus=tensor,
            vocab_size=plan.vocab_size,
            sampler_bytes=_OLD_SAMPLER_BYTES if is_old else SAMPLER_BYTES,
        )
        engine = _V0_ENGINE_BYTES if version < _V1 else ENGINE_BYTES
        engine += _group_bytes(gpu, plan, tensor)
        if not plan.eager and version >= _GRAPHS_INSIDE:
            engine += graph_bytes(model, gpu, plan)
        usable = int((gpu.memory_bytes - DRIVER_BYTES) * share)
        return GpuMemory(usable, held, activations, engine)

    def start_error(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, tensor: int, left: int
    ) -> str:
        """One request of the stated length has to fit, and states of all requests.

        Source: ``check_enough_kv_cache_memory`` in ``vllm/v1/core/kv_cache_utils.py``;
        vllm-project/vllm#27508; states: vllm-project/recipes#831.
        """
        words = super().start_error(model, gpu, plan, tensor, left)
        if words or left <= 0:
            return words
        room = left * tensor * plan.pipeline_parallel
        context = plan.context_tokens(model)
        if plan.max_context_tokens is not None:
            longest = self.longest_tokens(model, plan, gpu, tensor, room)
            if longest < context:
                one = self.sequence_bytes(model, context, plan, gpu, tensor)
                return (
                    f"one request of max-model-len {context:,} takes {one / GIB:,.2f} GiB of "
                    f"cache, and {room / GIB:,.2f} are left; {longest:,} tokens fit"
                )
        groups, page = self._groups(model, plan, tensor)
        has_states = any(group.is_state for group in groups) and page > 0
        # A server whose log was read has started.
        if not has_states or plan.measured or plan.state_bytes_per_request is not None:
            return ""
        if version_of(plan.engine_version, _NEWEST) < _STATES_CHECKED:
            return ""
        size = max(group.n_layers for group in groups)
        n_blocks = int(left // (page * -(-size // plan.pipeline_parallel)))
        if plan.requests(gpu) > n_blocks:
            return (
                f"max-num-seqs {plan.requests(gpu):,} is above the {n_blocks:,} blocks of states "
                f"that fit; --max-requests {n_blocks:,} starts"
            )
        return ""

    def cache_tokens(
        self, model: ModelFacts, left: int, plan: MemoryPlan, gpu: GpuFacts, tensor: int
    ) -> int:
        """Return the tokens that vLLM prints: requests of the longest context, times its length.

        Formula: layers are grouped by kind, each group with as many layers; a block is a page of
        one group. ``blocks / blocks of a request x context``. Attention's block is lengthened until
        it is no smaller than a state.

        Source: ``_get_kv_cache_groups_uniform_page_size`` and
        ``get_max_concurrency_for_kv_cache_config``.
        """
        groups, page = self._groups(model, plan, tensor)
        if not groups or left <= 0 or page <= 0:
            return 0
        size = max(group.n_layers for group in groups)
        n_blocks = int(left // (page * -(-size // plan.pipeline_parallel)))
        version = version_of(plan.engine_version, _NEWEST)
        if version < _REQUESTS_PRINTED and len(groups) > 1:
            return n_blocks // len(groups) * min(g.block_tokens for g in groups if not g.is_state)
        context = plan.context_tokens(model)
        if len(groups) == 1 and not groups[0].is_state and groups[0].window is None:
            return n_blocks * groups[0].block_tokens
        needed = sum(self._blocks(group, context, plan, gpu) for group in groups)
        return int(n_blocks * context / needed)

    def sequence_bytes(
        self, model: ModelFacts, n_tokens: int, plan: MemoryPlan, gpu: GpuFacts, tensor: int
    ) -> float:
        """Return what a sequence takes on all GPUs of a replica, in blocks."""
        groups, page = self._groups(model, plan, tensor)
        if plan.kv_bytes_per_token is not None or not groups:
            return super().sequence_bytes(model, n_tokens, plan, gpu, tensor)
        size = max(group.n_layers for group in groups)
        blocks = sum(self._blocks(group, n_tokens, plan, gpu) for group in groups)
        return float(blocks * page * size * tensor)

    def _blocks(self, group: _Group, n_tokens: int, plan: MemoryPlan, gpu: GpuFacts) -> int:
        if group.is_state:
            return _MAMBA_BLOCKS + plan.draft_tokens
        tokens = n_tokens
        if group.window is not None and not plan.full_pages:
            kept = group.window - 1 + plan.batched_tokens(gpu)
            if kept < n_tokens:
                return -(-kept // group.block_tokens) + 1
        return -(-tokens // group.block_tokens)

    def _groups(
        self, model: ModelFacts, plan: MemoryPlan, tensor: int
    ) -> tuple[list[_Group], Fraction]:
        """Return the groups of layers, and the bytes of a page of one layer on one GPU."""
        element, page = plan.element(model), max(plan.page, 1)
        kinds: dict[tuple[Fraction, int | None], int] = {}
        for layer in model.layers:
            size = Fraction(0)
            window = None
            for row in layer.rows:
                size += row.size(element) * row_copies(row, tensor) / tensor / row.rate
                window = row.window if not plan.full_pages else None
            if size:
                kinds[size, window] = kinds.get((size, window), 0) + 1
        states: dict[Fraction, int] = {}
        for layer in model.layers:
            for mixer in layer.mixers:
                if mixer.state is not None:
                    held = mixer.state.size(Fraction(2), draft_tokens=plan.draft_tokens) / tensor
                    states[held] = states.get(held, 0) + 1
        drafts = any(part.role == "mtp" for part in model.extra_parts) and plan.draft_tokens
        if drafts and kinds:
            # The layer that drafts has a cache like the last full layer's.
            widest = max(kinds, key=lambda one: one[1] is None)
            kinds[widest] += 1
        if not kinds:
            n = sum(states.values())
            return (
                ([_Group(n, 1, None, is_state=True)], max(states)) if states else ([], Fraction(0))
            )
        version = version_of(plan.engine_version, _NEWEST)
        if not states and (len(kinds) == 1 or plan.full_pages or version < _GROUPS):
            total = sum((size * n for (size, _), n in kinds.items()), Fraction(0))
            n = sum(kinds.values())
            window = next(iter(kinds))[1] if len(kinds) == 1 and version >= _GROUPS else None
            return [_Group(n, page, window)], total * page / n
        largest = max(size for size, _ in kinds)
        if states:
            wanted = max(states) / largest
            page = int(-(-wanted // page)) * page
        whole = largest * int(page)
        counts = [*kinds.values(), *states.values()]
        each = min(counts)
        if max(counts) < 1.5 * each:
            each = max(counts)
        groups = []
        for (per_token, window), n in kinds.items():
            tokens = int(whole // per_token)
            groups += [_Group(each, tokens, window)] * -(-n // each)
        for n in states.values():
            groups += [_Group(each, 1, None, is_state=True)] * -(-n // each)
        return groups, whole

    def held_weights(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> int:
        """Return the weights on each GPU, with what the engine pads.

        MXFP4 experts are padded: by the Triton kernels of Hopper the hidden size to a multiple of
        256, by Marlin's the experts' width to one of 128 too.

        Source: ``vllm/model_executor/layers/quantization/mxfp4.py``; 64.38 GiB of gpt-oss-120b with
        Triton (vllm-project/vllm#33155), 65.97 GiB with Marlin (#23278).
        """
        held = self.loaded_weights(model, plan, weights, tensor)
        experts = model.experts
        written = next((p.written for p in weights.parts if p.role == "experts"), "")
        if experts is None or not written.startswith(("mxfp4", "U8")) or weights.basis == "given":
            return held
        if model.quantization is None or model.quantization.method != "mxfp4":
            return held
        hidden = Fraction(-(-model.hidden_size // 256) * 256, model.hidden_size)
        width = experts.width // tensor or 1
        has_triton = gpu.name.startswith(("H100", "H200", "H20", "B", "GB", "GH"))
        if has_triton and version_of(plan.engine_version, _NEWEST) >= _TRITON_MXFP4:
            inner = Fraction(1)
        else:
            inner = Fraction(-(-width // 128) * 128, width)
        ranks = tensor * plan.pipeline_parallel
        return held + int(weights.experts * (hidden * inner - 1) / ranks)


def graph_bytes(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan) -> int:
    """Return the memory of CUDA graphs, as vLLM estimates it.

    Formula: 200 MiB. Estimates of 0.14 to 0.73 GiB were printed (wtdcode/vllm-backport#34,
    aivrar/vllm-windows-build#4, vllm-project/vllm#39559).
    """
    return 200 * MIB


def _group_bytes(gpu: GpuFacts, plan: MemoryPlan, tensor: int) -> int:
    """Return what a GPU takes to talk to the others of its group."""
    if tensor > 1 and _has_nvlink(gpu):
        return min(tensor, _NVLINK_GPUS) * _NVLINK_BYTES
    alone = tensor * plan.pipeline_parallel * plan.data_parallel == 1
    return 0 if alone else GROUP_BYTES


def _has_nvlink(gpu: GpuFacts) -> bool:
    return "SXM" in gpu.name or gpu.name.startswith(("B200", "B300", "GB", "GH", "H20"))


def version_of(text: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return a version's numbers; the default where there are none."""
    found = []
    for word in text.strip().removeprefix("v").split(".")[:3]:
        digits = "".join(sign for sign in word if sign.isdigit())
        if not digits:
            break
        found.append(int(digits[:6]))
    return tuple(found) or default


def _is_large(gpu: GpuFacts) -> bool:
    return gpu.memory_bytes >= _LARGE_GPU_BYTES and not gpu.name.startswith("A100")
