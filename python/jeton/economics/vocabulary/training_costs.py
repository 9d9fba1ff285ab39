"""Cost of training a model under each tokenizer, and when a new tokenizer has paid for itself.

A text has fewer or more tokens under another tokenizer, and the tables and the head are smaller or
larger. FLOPs, memory, GPU-hours and dollars follow. Against the cost of training stands what
serving then saves, token by token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.money import TOKENS_PER_MTOK
from jeton.economics.serving.activations import training_logit_bytes
from jeton.economics.serving.compute import training_flops
from jeton.economics.serving.parameters import count_parameters, table_rows
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

TRAINING_FLOPS_SHARE = 0.4
"""Share of the dense 16-bit rate that training reaches: Llama 3 405B reached 38 to 43% on up to
16,384 H100s in bf16 (arXiv:2407.21783 table 4). Assumed, not measured here."""

TRAINING_STATE_BYTES = 16
"""Bytes for each trained parameter in mixed precision with Adam: 2 for the weight, 2 for its
gradient, 12 for the optimizer's fp32 copy and two moments (arXiv:1910.02054 section 3.1)."""

ACTIVATION_BYTES_PER_TOKEN_LAYER_HIDDEN = {"none": 34.0, "full": 2.0}
"""Bytes of activations kept for the backward pass, for each token, layer and element of the hidden
size, in bf16 without tensor parallelism: 34 where all are kept and attention is fused (its
quadratic part is not stored), 2 where only a layer's input is (arXiv:2205.05198 equation 1 and
section 5; for an MLP four times as wide as the hidden size)."""

_MODES = ("pretraining", "continued", "embeddings")
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class TrainingCost:
    """Cost of one training run under one tokenizer.

    Attributes:
        tokenizer: Its name.
        mode: ``pretraining``; ``continued`` (all parameters, fewer tokens); or ``embeddings`` (the
            tables alone are trained, all layers still work on every token).
        vocab_size: Its vocabulary.
        n_tokens: Tokens that the text is under it, all epochs.
        flops_linear: FLOPs of the matrices and the head.
        flops_attention: FLOPs of attention.
        n_trained_parameters: Parameters that are trained.
        state_bytes: Weights, gradients and optimizer, all GPUs together.
        activation_bytes: Activations of one micro-batch, one GPU.
        logit_bytes: Scores over the vocabulary of one micro-batch, one GPU.
        n_gpus: GPUs.
        n_gpus_least: The fewest on which the state fits when it is spread evenly, each with its
            micro-batch.
        gpu_hours: GPUs x hours.
        hours: Hours from start to end on ``n_gpus``.
        usd: Money.
        figures: FLOPs, memory, hours and money as figures with formula and source.
    """

    tokenizer: str
    mode: str
    vocab_size: int
    n_tokens: int
    flops_linear: int
    flops_attention: int
    n_trained_parameters: int
    state_bytes: int
    activation_bytes: int
    logit_bytes: int
    n_gpus: int
    n_gpus_least: int
    gpu_hours: float
    hours: float
    usd: Decimal
    figures: dict[str, Figure]

    @property
    def flops(self) -> int:
        """All FLOPs."""
        return self.flops_linear + self.flops_attention


@dataclass(frozen=True, slots=True)
class BreakEven:
    """When a new tokenizer has paid for itself.

    Attributes:
        usd_once: One-time cost of the change.
        usd_saved_per_mtok: Saving on serving a million of today's tokens; below 0 where it costs
            more.
        tokens: Today's tokens after which the cost is earned; None: never.
        months: Months until then; None: never, or without traffic.
        figure: ``tokens`` as a figure; None: never.
    """

    usd_once: Decimal
    usd_saved_per_mtok: Decimal
    tokens: int | None
    months: float | None
    figure: Figure | None


def training_cost(
    model: ModelFacts,
    gpu: GpuFacts,
    *,
    n_bytes: float,
    bytes_per_token: float,
    epochs: float = 1.0,
    mode: Literal["pretraining", "continued", "embeddings"] = "pretraining",
    sequence_tokens: int | None = None,
    micro_batch_sequences: int = 1,
    n_gpus: int | None = None,
    vocab_size: int | None = None,
    flops_share: float = TRAINING_FLOPS_SHARE,
    recomputation: Literal["none", "full"] = "none",
    fused_loss: bool = False,
    reserved_share: float = 0.1,
    usd_per_hour: Decimal | None = None,
    tokenizer: str = "",
) -> TrainingCost:
    """Return what training a model on a text takes under one tokenizer.

    Formula: ``D = bytes x epochs / bytes per token``; FLOPs ``6 N D`` plus attention
    (`serving.compute.training_flops`), times 4/3 where activations are recomputed (a second forward
    pass beside forward and backward), times 2/3 where the tables alone are trained (the gradients
    of the frozen weights are not needed); ``GPU-hours = FLOPs / (rate x share x 3600)``.

    Source: arXiv:2001.08361 section 2.1 (6ND), arXiv:2205.05198 (activations, recomputation),
    arXiv:1910.02054 section 3.1 (state), arXiv:2407.21783 table 4 (share).

    Args:
        model: The model.
        gpu: The GPU.
        n_bytes: Text, UTF-8 bytes: the same for every tokenizer, as tokens are not.
        bytes_per_token: Bytes per token of the tokenizer on this text (an audit measures it).
        epochs: How often the text is read.
        mode: The trained part.
        sequence_tokens: Length of a sequence; None: the model's context, at most 8,192.
        micro_batch_sequences: Sequences that a GPU works on at once.
        n_gpus: GPUs; None: the fewest on which it fits.
        vocab_size: The tokenizer's vocabulary; None: the model's.
        flops_share: Share of the dense rate that is reached.
        recomputation: True if activations are recomputed instead of kept.
        fused_loss: True if the loss never writes the scores down (arXiv:2411.09009).
        reserved_share: Share of the memory kept for buffers and fragments.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
        tokenizer: Name, for the result.

    Raises:
        UsageError: A number is out of range, or a GPU does not hold even one micro-batch.
    """
    _check(n_bytes, bytes_per_token, epochs, flops_share, reserved_share, mode, recomputation)
    sequence = min(model.context_tokens, 8192) if sequence_tokens is None else sequence_tokens
    if sequence < 1 or micro_batch_sequences < 1 or (n_gpus is not None and n_gpus < 1):
        raise UsageError(
            f"sequence_tokens is {sequence}, micro_batch_sequences {micro_batch_sequences} and "
            f"n_gpus {n_gpus}; expected at least 1"
        )
    n_tokens = max(1, round(n_bytes * epochs / bytes_per_token))
    linear = training_flops(model, n_tokens, vocab_size=vocab_size)
    both = training_flops(model, n_tokens, sequence_tokens=sequence, vocab_size=vocab_size)
    # In thirds of what training takes: one forward pass, two backward ones.
    thirds = 3 + (recomputation == "full") - (mode == "embeddings")
    linear, attention = linear * thirds // 3, (both - linear) * thirds // 3
    count = count_parameters(model, vocab_size=vocab_size)
    tables = count.input_embedding + count.output_head
    trained = tables if mode == "embeddings" else count.total
    state = trained * TRAINING_STATE_BYTES + (count.total - trained) * 2
    micro_tokens = sequence * micro_batch_sequences
    activations = round(
        ACTIVATION_BYTES_PER_TOKEN_LAYER_HIDDEN[recomputation]
        * micro_tokens
        * model.n_layers
        * model.hidden_size
    )
    rows = table_rows(model, vocab_size)
    logits = training_logit_bytes(micro_tokens, rows, fused=fused_loss)
    room = int(gpu.memory_bytes * (1 - reserved_share)) - activations - logits
    if room <= 0:
        raise UsageError(
            f"a micro-batch of {micro_tokens:,} tokens takes "
            f"{(activations + logits) / 1e9:,.1f} GB of activations and scores, which do not fit "
            f"one {gpu.name}\nhint: shorter or fewer sequences, recomputation, or a fused loss"
        )
    least = -(-state // room)
    group = least if n_gpus is None else n_gpus
    if group < least:
        raise UsageError(
            f"{state / 1e9:,.1f} GB of weights, gradients and optimizer do not fit {group} x "
            f"{gpu.name} beside the micro-batch; {least} hold them\n"
            "hint: more GPUs, recomputation, or train the embeddings alone"
        )
    price = gpu.price_low.usd_per_hour if usd_per_hour is None else usd_per_hour
    gpu_hours = (linear + attention) / (gpu.bf16_dense_flops_per_s * flops_share) / 3600
    usd = (Decimal(repr(gpu_hours)) * price).quantize(_CENT)
    return TrainingCost(
        tokenizer=tokenizer,
        mode=mode,
        vocab_size=vocab_size or model.vocab_size,
        n_tokens=n_tokens,
        flops_linear=linear,
        flops_attention=attention,
        n_trained_parameters=trained,
        state_bytes=state,
        activation_bytes=activations,
        logit_bytes=logits,
        n_gpus=group,
        n_gpus_least=least,
        gpu_hours=gpu_hours,
        hours=gpu_hours / group,
        usd=usd,
        figures={
            "n_tokens": Figure(
                n_tokens,
                "tokens",
                Basis.CALIBRATED,
                f"{n_bytes:,.0f} bytes x {epochs:g} epochs / {bytes_per_token:.4g} bytes per token",
                "bytes per token as measured",
            ),
            "flops": Figure(
                linear + attention,
                "FLOP",
                Basis.ESTIMATED,
                f"{linear:.4g} (6 N D with N = {linear // (6 * n_tokens):,}) + {attention:.4g} of "
                f"attention in sequences of {sequence:,} tokens"
                + (f", {thirds}/3 of forward and backward" if thirds != 3 else ""),
                f"arXiv:2001.08361 section 2.1; {model.cited_source}",
            ),
            "memory_bytes": Figure(
                state + group * (activations + logits),
                f"bytes on {group} x {gpu.name}",
                Basis.ESTIMATED,
                f"{trained:,} trained parameters x {TRAINING_STATE_BYTES} bytes + "
                f"{count.total - trained:,} frozen x 2 + {group} x ({activations / 1e9:,.1f} GB "
                f"activations + {logits / 1e9:,.1f} GB scores)",
                "arXiv:1910.02054, 2205.05198, 2411.09009",
            ),
            "gpu_hours": Figure(
                gpu_hours,
                f"hours of one {gpu.name}",
                Basis.ESTIMATED,
                f"{linear + attention:.4g} FLOP / ({gpu.bf16_dense_flops_per_s:.4g} x "
                f"{flops_share:g} x 3600)",
                f"share: arXiv:2407.21783 table 4; {gpu.cited_source}",
            ),
            "usd": Figure(
                usd,
                "USD",
                Basis.ESTIMATED,
                f"{gpu_hours:,.1f} GPU-hours x ${price:f}",
                "given"
                if usd_per_hour is not None
                else f"{gpu.price_low.source}, {gpu.price_low.date.isoformat()}",
            ),
        },
    )


def break_even(
    *,
    usd_once: Decimal,
    usd_per_mtok_now: Decimal,
    tokens_ratio: float,
    usd_per_mtok_then: Decimal | None = None,
    tokens_per_month: float | None = None,
) -> BreakEven:
    """Return after how many tokens served a change of tokenizer has paid for itself.

    Formula: serving the text of a million of today's tokens costs ``p`` now and ``r p'`` then, with
    r new tokens for one of today's; ``tokens = once / (p - r p') x 1e6``.

    Source: definition.

    Args:
        usd_once: Training, and whatever else the change costs once.
        usd_per_mtok_now: Serving a million tokens today, prompts and output.
        tokens_ratio: New tokens for one of today's, on the same text.
        usd_per_mtok_then: Serving a million of the new tokens; None: as today.
        tokens_per_month: Traffic in today's tokens.

    Raises:
        UsageError: A number is out of range.
    """
    then = usd_per_mtok_now if usd_per_mtok_then is None else usd_per_mtok_then
    month = tokens_per_month
    if (
        min(usd_once, usd_per_mtok_now, then) < 0
        or not 0 < tokens_ratio < 1e6
        or (month is not None and not 0 <= month < 1e30)
    ):
        raise UsageError(
            f"cannot work out when ${usd_once} are earned at ${usd_per_mtok_now} and ${then} per "
            f"million tokens, {tokens_ratio} new tokens for one and {month} tokens a month; "
            "expected numbers of at least 0"
        )
    saved = usd_per_mtok_now - then * Decimal(repr(tokens_ratio))
    if saved <= 0:
        never = None if usd_once else 0
        return BreakEven(usd_once, saved, never, None, None)
    tokens = math.ceil(usd_once / saved * TOKENS_PER_MTOK)
    return BreakEven(
        usd_once=usd_once,
        usd_saved_per_mtok=saved,
        tokens=tokens,
        months=tokens / month if month else None,
        figure=Figure(
            tokens,
            "tokens served",
            Basis.ESTIMATED,
            f"${usd_once:,.2f} / (${usd_per_mtok_now:f} - {tokens_ratio:.4g} x ${then:f}) x "
            "1,000,000",
            "definition",
        ),
    )


def _check(
    n_bytes: float,
    bytes_per_token: float,
    epochs: float,
    flops_share: float,
    reserved_share: float,
    mode: str,
    recomputation: str,
) -> None:
    if not 0 < n_bytes < 1e21 or not 0 < bytes_per_token < 1e9 or not 0 < epochs < 1e6:
        raise UsageError(
            f"cannot train on {n_bytes} bytes at {bytes_per_token} bytes per token for {epochs} "
            "epochs; expected numbers above 0"
        )
    if not 0 < flops_share <= 1 or not 0 <= reserved_share < 1:
        raise UsageError(
            f"flops_share is {flops_share} and reserved_share {reserved_share}; expected shares"
        )
    if mode not in _MODES or recomputation not in ACTIVATION_BYTES_PER_TOKEN_LAYER_HIDDEN:
        raise UsageError(
            f"mode is {mode!r} and recomputation {recomputation!r}; expected one of "
            f"{', '.join(_MODES)}, and none or full"
        )
