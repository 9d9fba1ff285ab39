"""How long a step of a serving engine takes: the roofline, as coefficients that add up.

A step gives each decoding request one token and reads some prompt tokens beside them. Its time is
the larger of bytes over bandwidth and FLOPs over their rate (`serving.latency`), and both
are sums over the requests. A sequence counts by its *layer tokens*, the cached tokens of all
attention layers together: ``(L - S) c + S min(c, w)`` for a context of c tokens, S of L layers
having a window of w tokens. While a batch stays as it is, these grow by the same number each step,
so that many steps have a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.compute import (
    attended_pairs,
    attention_flops,
    decode_flops_per_token,
    forward_flops_per_token,
    prefill_flops,
)
from jeton.economics.serving.latency import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    read_weight_bytes,
)
from jeton.economics.serving.memory import state_bytes
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.economics.traffic.pool import layer_token_bytes
from jeton.errors import UsageError

__all__ = ["ExpertWeights", "StepTimes"]


class ExpertWeights(NamedTuple):
    """Weights that a step reads, where each of its tokens chooses experts.

    Formula: ``(rest - experts x idle_share ^ tokens + head) x seconds``, as `read_weight_bytes`.
    """

    rest_bytes: float
    head_bytes: float
    expert_bytes: float
    idle_share: float
    seconds_per_byte: float


@dataclass(slots=True)
class StepTimes:
    """Coefficients of a step's time. Seconds, for one group of GPUs.

    Attributes:
        n_layers: Attention layers.
        n_window_layers: Number of them with a window.
        window_tokens: The window; 0 without.
        decode_flop_seconds: Arithmetic of one output token without attention.
        prompt_flop_seconds: Arithmetic of one prompt token without attention and head.
        head_flop_seconds: Scores over the vocabulary at one position.
        decode_pair_seconds: Attention's arithmetic of one output token and one layer token.
        prompt_pair_seconds: Seconds for prompt tokens.
        cache_seconds: Reading one layer token from memory.
        state_seconds: Reading the recurrent state of one request.
        weight_seconds: Reading the weights, for steps of so many tokens (`weights`).
        overhead_seconds: Time of each step beside (launches, scheduling).
    """

    n_layers: int
    n_window_layers: int
    window_tokens: int
    decode_flop_seconds: float
    prompt_flop_seconds: float
    head_flop_seconds: float
    decode_pair_seconds: float
    prompt_pair_seconds: float
    cache_seconds: float
    state_seconds: float
    overhead_seconds: float = 0.0
    weight_seconds: float = 0.0
    _model: ModelFacts | None = None
    _plan: MemoryPlan | None = None
    _seconds_per_byte: float = 0.0
    _by_tokens: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: ModelFacts,
        gpu: GpuFacts,
        *,
        flops_share: float = PREFILL_FLOPS_SHARE,
        bandwidth_share: float = DECODE_BANDWIDTH_SHARE,
        overhead_seconds: float = 0.0,
        plan: MemoryPlan | None = None,
        **changes: Unpack[PlanChanges],
    ) -> StepTimes:
        """Return the coefficients of a model on a GPU.

        One request alone takes exactly `jeton.economics.prefill_seconds` and `decode_seconds`,
        where all attention layers are alike but for one window. Otherwise the mean of the layers
        is taken, which is off by a third to a half for Gemma 4 and DeepSeek-V4 on long contexts.

        Source: roofline, doi:10.1145/1498765.1498785; shares as in `serving.latency`.

        Raises:
            UsageError: A share is outside (0, 1], or a number below its least value.
        """
        for share in (flops_share, bandwidth_share):
            if not 0 < share <= 1:
                raise UsageError(
                    f"a share of the datasheet's rate is {share}; expected 0 < share <= 1"
                )
        if not 0 <= overhead_seconds < 60:
            raise UsageError(f"overhead_seconds is {overhead_seconds}; expected at least 0")
        plan = changed_plan(plan, **changes)
        n_gpus = (plan.n_gpus or 1) * plan.pipeline_parallel * plan.data_parallel
        vocab_size = plan.vocab_size
        per_flop = 1 / (n_gpus * gpu.bf16_dense_flops_per_s * flops_share)
        per_byte = 1 / (n_gpus * gpu.memory_bandwidth_bytes_per_s * bandwidth_share)
        n_window = model.n_sliding_layers
        layers = model.n_attention_layers
        one = prefill_flops(model, 1, n_scored_tokens=0, vocab_size=vocab_size).linear
        token = forward_flops_per_token(model, vocab_size=vocab_size)
        # The cost of one output token for each layer token: the first token attends itself alone.
        pair = (decode_flops_per_token(model, 0, vocab_size=vocab_size) - token) / max(layers, 1)
        cache = layer_token_bytes(model, dtype_bytes=plan.element(model), n_gpus=plan.n_gpus or 1)
        return cls(
            n_layers=layers,
            n_window_layers=n_window,
            window_tokens=model.sliding_window_tokens or 0,
            decode_flop_seconds=token * per_flop,
            prompt_flop_seconds=one * per_flop,
            head_flop_seconds=(token - one) * per_flop,
            decode_pair_seconds=pair * per_flop,
            prompt_pair_seconds=attention_flops(model, 1) / max(layers, 1) * per_flop,
            cache_seconds=cache * per_byte,
            state_seconds=state_bytes(model) * per_byte,
            overhead_seconds=overhead_seconds,
            weight_seconds=-1.0
            if model.experts is not None
            else read_weight_bytes(model, 1, plan=plan) * per_byte,
            _model=model,
            _plan=plan,
            _seconds_per_byte=per_byte,
        )

    @property
    def expert_weights(self) -> ExpertWeights | None:
        """Weights of a model whose tokens choose experts; None: each step reads all weights."""
        if self._model is None or self._model.experts is None:
            return None
        experts = self._model.experts
        weights = changed_plan(self._plan).weight_bytes(self._model)
        return ExpertWeights(
            float(weights.rest),
            float(weights.output_head or weights.input_embedding),
            float(weights.experts),
            1 - experts.n_active / experts.n_routed,
            self._seconds_per_byte,
        )

    def weights(self, n_tokens: int) -> float:
        """Seconds of reading the weights for ``n_tokens``; of experts those that they choose."""
        if self.weight_seconds >= 0 or self._model is None:
            return self.weight_seconds
        found = self._by_tokens.get(n_tokens)
        if found is None:
            found = self._seconds_per_byte * read_weight_bytes(
                self._model, n_tokens, plan=self._plan
            )
            self._by_tokens[n_tokens] = found
        return found

    def layer_tokens(self, context: int) -> int:
        """Cached tokens of all layers of a sequence."""
        n_window = self.n_window_layers
        if n_window == 0:
            return self.n_layers * context
        return (self.n_layers - n_window) * context + n_window * min(context, self.window_tokens)

    def prompt_pairs(self, start: int, end: int) -> int:
        """Pairs of positions, over all layers, that prompt tokens ``start`` to ``end`` attend."""
        n_window = self.n_window_layers
        pairs = (self.n_layers - n_window) * (attended_pairs(end) - attended_pairs(start))
        if n_window:
            window = self.window_tokens
            pairs += n_window * (
                attended_pairs(end, window_tokens=window)
                - attended_pairs(start, window_tokens=window)
            )
        return pairs

    def mixed_seconds(
        self,
        *,
        n_decoding: int,
        layer_tokens: int,
        growth: int,
        n_prompt_tokens: int,
        n_scored: int,
        prompt_pairs: int,
        past_layer_tokens: int,
        n_prompts: int,
    ) -> float:
        """Seconds of one step that decodes and reads prompt tokens.

        Args:
            n_decoding: Requests that get a token.
            layer_tokens: Their cached layer tokens before the step.
            growth: Layer tokens that the step adds to them.
            n_prompt_tokens: Prompt tokens read.
            n_scored: Prompts that end in this step: scores are computed at their last token.
            prompt_pairs: As `prompt_pairs` gives them, summed.
            past_layer_tokens: Cached layer tokens of the parts of those prompts read before.
            n_prompts: Prompts of which tokens are read.
        """
        weights = self.weight_seconds
        if weights < 0:
            weights = self.weights(n_decoding + n_prompt_tokens)
        memory = (
            weights
            + self.state_seconds * (n_decoding + (n_prompts if past_layer_tokens else 0))
            + self.cache_seconds * (layer_tokens + past_layer_tokens)
        )
        arithmetic = (
            self.decode_flop_seconds * n_decoding
            + self.decode_pair_seconds * (layer_tokens + growth)
            + self.prompt_flop_seconds * n_prompt_tokens
            + self.head_flop_seconds * n_scored
            + self.prompt_pair_seconds * prompt_pairs
        )
        return (memory if memory > arithmetic else arithmetic) + self.overhead_seconds
