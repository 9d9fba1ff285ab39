"""How long a step of a serving engine takes: the roofline, as coefficients that add up.

A step gives each decoding request one token and reads some prompt tokens beside them. Its time is
the larger of bytes over bandwidth and FLOPs over their rate (`serving.latency`), and both
are sums over the requests. Layers differ in how far back they look: all of them together have a few
terms, each linear in ``min(c, m)`` for a context of c tokens and its own most m (a window, the
tokens that an index chooses). While a batch stays as it is, these grow by the same number each
step, so that many steps have a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.compute import attended_pairs, forward_flops_per_token, prefill_flops
from jeton.economics.serving.latency import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    read_weight_bytes,
)
from jeton.economics.serving.memory import token_holds, token_reads
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.errors import UsageError

UNCAPPED = 1 << 62
"""Most tokens of a term that grows with every token."""


class ExpertWeights(NamedTuple):
    """Weights that a step reads, where each of its tokens chooses experts.

    Formula: ``(rest - experts x idle_share ^ tokens + head) x seconds``, as `read_weight_bytes`.
    """

    rest_bytes: float
    head_bytes: float
    expert_bytes: float
    idle_share: float
    seconds_per_byte: float


class ContextTerm(NamedTuple):
    """Work of all layers that look back equally far, for each token of a sequence up to the most.

    Attributes:
        most_tokens: Tokens that count at most; `UNCAPPED`: all.
        held_bytes: Memory that a token keeps.
        read_seconds: Reading a cached token, to generate one.
        decode_seconds: Arithmetic of a generated token with one before it.
        prompt_seconds: Arithmetic of one pair of prompt positions.
    """

    most_tokens: int
    held_bytes: float
    read_seconds: float
    decode_seconds: float
    prompt_seconds: float


@dataclass(frozen=True, slots=True)
class StepWork:
    """Work of a step. Tuples have a place for each term of `StepTimes.terms`.

    Attributes:
        n_decoding: Requests that get a token.
        tokens: Their cached tokens before the step, each request up to the term's most.
        growth: Tokens that the step adds to them.
        n_prompt_tokens: Prompt tokens read.
        n_scored: Prompts that end in this step: scores are computed at their last token.
        pairs: Pairs of positions that these tokens attend.
        past: Cached tokens of the parts of those prompts read before.
        n_prompts: Prompts of which tokens are read.
    """

    n_decoding: int = 0
    tokens: tuple[int, ...] = ()
    growth: tuple[int, ...] = ()
    n_prompt_tokens: int = 0
    n_scored: int = 0
    pairs: tuple[int, ...] = ()
    past: tuple[int, ...] = ()
    n_prompts: int = 0


@dataclass(slots=True)
class StepTimes:
    """Coefficients of a step's time. Seconds, for one group of GPUs.

    Attributes:
        terms: Work that grows with the context, by how far back layers look.
        decode_flop_seconds: Arithmetic of one output token without attention.
        prompt_flop_seconds: Arithmetic of one prompt token without attention and head.
        head_flop_seconds: Scores over the vocabulary at one position.
        state_bytes: Recurrent states of one request.
        state_seconds: Reading them.
        weight_seconds: Reading the weights; below 0: `weights` says it for a step.
        overhead_seconds: Time of each step beside (launches, scheduling).
    """

    terms: tuple[ContextTerm, ...]
    decode_flop_seconds: float
    prompt_flop_seconds: float
    head_flop_seconds: float
    state_bytes: float
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

        One request alone takes exactly `jeton.economics.prefill_seconds` and `decode_seconds`.

        Source: roofline, doi:10.1145/1498765.1498785; shares as in `serving.latency`.

        Raises:
            UsageError: A share is outside (0, 1], a number is below its least value, or the model
                is an encoder.
        """
        for share in (flops_share, bandwidth_share):
            if not 0 < share <= 1:
                raise UsageError(
                    f"a share of the datasheet's rate is {share}; expected 0 < share <= 1"
                )
        if not 0 <= overhead_seconds < 60:
            raise UsageError(f"overhead_seconds is {overhead_seconds}; expected at least 0")
        if model.reads_whole:
            raise UsageError(
                f"{model.name} reads a text whole; only models that read and write one text are "
                "replayed\nhint: `jeton memory` says what it takes and how large a batch fits"
            )
        plan = changed_plan(plan, **changes)
        vocab_size = plan.vocab_size
        per_flop = 1 / (plan.all_gpus * gpu.bf16_dense_flops_per_s * flops_share)
        per_byte = 1 / (plan.all_gpus * gpu.memory_bandwidth_bytes_per_s * bandwidth_share)
        one = prefill_flops(model, 1, n_scored_tokens=0, vocab_size=vocab_size).linear
        token = forward_flops_per_token(model, vocab_size=vocab_size)
        state = plan.rules.state_of(model, plan)
        return cls(
            terms=_terms(model, plan, per_byte=per_byte, per_flop=per_flop),
            decode_flop_seconds=token * per_flop,
            prompt_flop_seconds=one * per_flop,
            head_flop_seconds=(token - one) * per_flop,
            state_bytes=state,
            state_seconds=state * per_byte,
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

    def tokens(self, context: int, *, n_requests: int = 1) -> tuple[int, ...]:
        """Tokens of sequences of one length, up to the most of each term."""
        return tuple(n_requests * min(context, term.most_tokens) for term in self.terms)

    def pairs(self, start: int, end: int) -> tuple[int, ...]:
        """Pairs of positions that prompt tokens ``start`` to ``end`` attend, for each term."""
        return tuple(
            attended_pairs(end, window_tokens=term.most_tokens)
            - attended_pairs(start, window_tokens=term.most_tokens)
            for term in self.terms
        )

    def decoding(self, n_requests: int, context: int) -> StepWork:
        """Work of a step that gives each request of one length a token."""
        tokens = self.tokens(context, n_requests=n_requests)
        after = self.tokens(context + 1, n_requests=n_requests)
        growth = tuple(more - now for now, more in zip(tokens, after, strict=True))
        return StepWork(n_requests, tokens, growth)

    def reading(self, n_prompts: int, n_tokens: int) -> StepWork:
        """Work of a step that reads whole prompts of one length."""
        pairs = tuple(n_prompts * one for one in self.pairs(0, n_tokens))
        return StepWork(
            n_prompt_tokens=n_prompts * n_tokens,
            n_scored=n_prompts,
            pairs=pairs,
            n_prompts=n_prompts,
        )

    def arithmetic_seconds(self, work: StepWork) -> float:
        """Seconds of a step's arithmetic alone."""
        total = (
            self.decode_flop_seconds * work.n_decoding
            + self.prompt_flop_seconds * work.n_prompt_tokens
            + self.head_flop_seconds * work.n_scored
        )
        for k, term in enumerate(self.terms):
            if work.tokens:
                total += term.decode_seconds * (work.tokens[k] + work.growth[k])
            if work.pairs:
                total += term.prompt_seconds * work.pairs[k]
        return total

    def seconds(self, work: StepWork) -> float:
        """Seconds of one step that decodes and reads prompt tokens."""
        has_past = any(work.past)
        memory = self.weights(work.n_decoding + work.n_prompt_tokens) + self.state_seconds * (
            work.n_decoding + (work.n_prompts if has_past else 0)
        )
        for k, term in enumerate(self.terms):
            cached = (work.tokens[k] if work.tokens else 0) + (work.past[k] if has_past else 0)
            memory += term.read_seconds * cached
        return max(memory, self.arithmetic_seconds(work)) + self.overhead_seconds


def _terms(
    model: ModelFacts, plan: MemoryPlan, *, per_byte: float, per_flop: float
) -> tuple[ContextTerm, ...]:
    """Return the terms of a model's layers, those that look back least first."""
    found: dict[int, list[float]] = {}
    for most, size in token_holds(model, plan=plan).items():
        found.setdefault(most or UNCAPPED, [0.0] * 4)[0] += float(size)
    for most, size in token_reads(model, plan=plan).items():
        found.setdefault(most or UNCAPPED, [0.0] * 4)[1] += float(size) * per_byte
    for one, n in model.pairs.items():
        term = found.setdefault(one.window or UNCAPPED, [0.0] * 4)
        term[2] += n * one.decode_flops / one.rate * per_flop
        term[3] += n * one.flops / one.rate * per_flop
    return tuple(ContextTerm(most, *found[most]) for most in sorted(found))
