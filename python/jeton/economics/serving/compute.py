"""FLOPs of prefill, decoding and training, with the attention term apart; energy and carbon.

A multiplication and an addition count as two FLOPs. The linear part is two FLOPs per weight and
token; the input table is a look-up and counts nothing, the output head counts wherever scores
over the vocabulary are computed. The attention part grows with the square of the length, but
only overtakes the linear part around ``n = 12 d`` (53,000 tokens for Llama-3-8B).

Energy is an estimate by nature: power is taken as a share of the thermal design power, the
building's overhead and the grid's carbon are means that the caller should replace by his own.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.layers import Pairs
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.parameters import count_parameters
from jeton.errors import UsageError
from jeton.findings import Basis, Figure


@dataclass(frozen=True, slots=True)
class PrefillFlops:
    """FLOPs of reading a prompt.

    Attributes:
        linear: Matrices of the layers, and the output head where scores are computed.
        attention: Scores of the queries against the keys and the weighted sums of values.
    """

    linear: int
    attention: int

    @property
    def total(self) -> int:
        """Linear and attention part together."""
        return self.linear + self.attention


def forward_flops_per_token(model: ModelFacts, *, vocab_size: int | None = None) -> int:
    """Return the FLOPs of one token through all matrices and the output head, without attention.

    Formula: ``2 (A + V d)`` with A the layers' matrix weights that work on a token; recurrent
    layers add 6 FLOPs per element of their state (decay, update and read, a multiplication and
    an addition each).

    Source: arXiv:2001.08361 section 2.1 (2N per token); the head is included here because scores
    need it and the input table is not, so Llama-3-8B has 15.0 GFLOP per token.
    """
    count = count_parameters(model, vocab_size=vocab_size)
    return 2 * (count.active_layer_matrices + count.head_matrix) + _state_flops_per_token(model)


def prefill_flops(
    model: ModelFacts,
    n_tokens: int,
    *,
    n_scored_tokens: int = 1,
    vocab_size: int | None = None,
) -> PrefillFlops:
    """Return the FLOPs of one causal pass over a prompt.

    Formula: linear ``2 A n + 2 V d s``; attention ``2 H (q + v)`` per attended pair of positions
    and layer, with q and v elements in a head's key and value (``4 H e`` where both are e).

    Source: arXiv:2001.08361 table 1 (with the exact number of causal pairs), arXiv:2204.02311
    appendix B (12 L H Q T for training, full attention).

    Args:
        model: The model.
        n_tokens: Length of the prompt.
        n_scored_tokens: Positions at which scores over the vocabulary are computed: one to
            generate, ``n_tokens`` to score a text or train.
        vocab_size: Another vocabulary than the model's own.

    Raises:
        UsageError: If a number is negative or more positions are scored than read.
    """
    if n_tokens < 0 or n_scored_tokens < 0 or n_scored_tokens > max(n_tokens, 1):
        raise UsageError(
            f"cannot read {n_tokens} tokens and score {n_scored_tokens}; "
            "expected 0 <= scored <= read"
        )
    count = count_parameters(model, vocab_size=vocab_size)
    scored = min(n_scored_tokens, n_tokens)
    return PrefillFlops(
        linear=(2 * count.active_layer_matrices + _state_flops_per_token(model)) * n_tokens
        + 2 * count.head_matrix * scored,
        attention=attention_flops(model, n_tokens),
    )


def attention_flops(model: ModelFacts, n_tokens: int) -> int:
    """Return the attention FLOPs of a causal pass over ``n_tokens``, window honoured.

    Formula and source: as `prefill_flops`. Grouping of key-value heads saves memory, not FLOPs.
    """
    return sum(n * one.flops * _pairs(one, n_tokens) // one.rate for one, n in model.pairs.items())


def _pairs(one: Pairs, n_tokens: int) -> int:
    if one.both_ways:
        return n_tokens * min(n_tokens, one.window or n_tokens)
    return attended_pairs(n_tokens, window_tokens=one.window)


def attended_pairs(n_tokens: int, *, window_tokens: int | None = None) -> int:
    """Return how many (query, key) pairs a causal pass has in one layer.

    Formula: ``n (n + 1) / 2``; with a window w, positions beyond it have w pairs each.

    Source: definition of causal attention; half of ``n^2`` for long texts.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    full = n_tokens if window_tokens is None else min(n_tokens, window_tokens)
    return full * (full + 1) // 2 + (n_tokens - full) * full


def decode_flops_per_token(
    model: ModelFacts, context_tokens: int, *, vocab_size: int | None = None
) -> int:
    """Return the FLOPs of generating one token after ``context_tokens``.

    Formula: `forward_flops_per_token` plus, per layer, ``4 H e n`` with n the attended tokens (the
    new one included), or ``2 H (2 c + r) n`` for latent attention computed in the latent space;
    layers with a window, an index or shared entries as their kind has it (`Mixer.pairs`).

    Source: arXiv:2211.05102 (decode cost), arXiv:2405.04434 section 2.1.2 (absorbed matrices).

    Raises:
        UsageError: If ``context_tokens`` is negative.
    """
    if context_tokens < 0:
        raise UsageError(f"context_tokens is {context_tokens}; expected at least 0")
    attended = context_tokens + 1
    attention = sum(
        n * one.decode_flops * min(attended, one.window or attended) // one.rate
        for one, n in model.pairs.items()
    )
    return forward_flops_per_token(model, vocab_size=vocab_size) + attention


def training_flops(
    model: ModelFacts,
    n_tokens: int,
    *,
    sequence_tokens: int | None = None,
    vocab_size: int | None = None,
) -> int:
    """Return the FLOPs of training on ``n_tokens``: three times the forward pass.

    Formula: ``6 N D`` with N the matrix weights that work on a token, the output head included
    (the input table has gradients, but no arithmetic worth counting), plus three times the
    attention of sequences of ``sequence_tokens`` (left out if None).

    Source: arXiv:2001.08361 section 2.1 (6ND; backward is twice forward).

    Raises:
        UsageError: If a number is negative, or sequences are empty.
    """
    if n_tokens < 0 or (sequence_tokens is not None and sequence_tokens < 1):
        raise UsageError(
            f"cannot train on {n_tokens} tokens in sequences of {sequence_tokens}; "
            "expected numbers above 0"
        )
    flops = 3 * forward_flops_per_token(model, vocab_size=vocab_size) * n_tokens
    if sequence_tokens is not None:
        n_full, n_rest = divmod(n_tokens, sequence_tokens)
        attention = n_full * attention_flops(model, sequence_tokens)
        flops += 3 * (attention + attention_flops(model, n_rest))
    return flops


_FLOPS_PER_STATE_ELEMENT = 6
"""Decay, update and read of one element of a recurrent state, each a multiplication and an
addition (arXiv:2312.00752 equation 2; the gated delta rule of arXiv:2412.06464 needs as
many up to the order of a head's size)."""


def _state_flops_per_token(model: ModelFacts) -> int:
    """Return the FLOPs per token of the layers' states; 0 without such layers."""
    return _FLOPS_PER_STATE_ELEMENT * sum(
        mixer.state.state_elements
        for layer in model.layers
        for mixer in layer.mixers
        if mixer.state is not None
    )


POWER_SHARE = 1.0
"""Power while working, as a share of the thermal design power: the upper bound, not a measurement.
`jeton.catalog.live_gpu` reads the real one where there is a GPU."""

POWER_USAGE_EFFECTIVENESS = 1.56
"""Energy of a data centre over that of its computers: mean of the Uptime Institute's Global Data
Center Survey 2024. Large providers report about 1.1."""

GRID_GRAMS_CO2_PER_KWH = 473.0
"""Carbon of electricity, world mean of 2024, grams of CO2 per kWh: Ember, Global Electricity Review
2025. Regions differ by a factor of more than ten."""

_JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy and carbon of one request or of any stretch of GPU time.

    Attributes:
        kwh: Electricity at the meter of the building, kWh.
        grams_co2: Carbon dioxide of that electricity, grams.
        kwh_figure: The first as a figure with formula and source.
        co2_figure: The second.
    """

    kwh: float
    grams_co2: float
    kwh_figure: Figure
    co2_figure: Figure


def gpu_energy(
    gpu: GpuFacts,
    *,
    gpu_seconds: float,
    n_gpus: int = 1,
    watts: float | None = None,
    power_usage_effectiveness: float = POWER_USAGE_EFFECTIVENESS,
    grams_co2_per_kwh: float = GRID_GRAMS_CO2_PER_KWH,
    per: str = "request",
) -> Energy:
    """Return energy and carbon of ``gpu_seconds`` on ``n_gpus`` GPUs.

    Formula: ``kWh = seconds x GPUs x watts x PUE / 3.6e6``, ``g = kWh x g per kWh``. Only the GPUs
    are counted, not the host's processors nor what making the hardware took.

    Source: definition; the constants' own sources.

    Args:
        gpu: The GPU.
        gpu_seconds: Seconds of the group (from `own_gpu_cost`).
        n_gpus: GPUs of the group.
        watts: Measured power of one GPU; None: thermal design power x `POWER_SHARE`.
        power_usage_effectiveness: Building over computers, at least 1.
        grams_co2_per_kwh: Carbon of the electricity.
        per: The unit that the seconds belong to.

    Raises:
        UsageError: If a number is out of range.
    """
    power = gpu.tdp_watts * POWER_SHARE if watts is None else watts
    if (
        not 0 <= gpu_seconds < 1e15
        or n_gpus < 1
        or not 0 <= power < 1e6
        or not 1 <= power_usage_effectiveness < 10
        or not 0 <= grams_co2_per_kwh < 1e5
    ):
        raise UsageError(
            f"cannot work out the energy of {gpu_seconds} s on {n_gpus} GPU(s) of {power} W with a "
            f"power usage effectiveness of {power_usage_effectiveness} and {grams_co2_per_kwh} g "
            "CO2 per kWh. Expected are numbers of at least 0, and an effectiveness of at least 1"
        )
    kwh = gpu_seconds * n_gpus * power * power_usage_effectiveness / _JOULES_PER_KWH
    grams = kwh * grams_co2_per_kwh
    basis = Basis.ESTIMATED if watts is None else Basis.CALIBRATED
    kind = "thermal design power" if watts is None else "measured"
    return Energy(
        kwh=kwh,
        grams_co2=grams,
        kwh_figure=Figure(
            kwh,
            f"kWh per {per}",
            basis,
            f"{gpu_seconds:.4g} s x {n_gpus} GPU x {power:g} W ({kind}) x "
            f"{power_usage_effectiveness:g} / 3.6e6",
            f"{gpu.cited_source}; effectiveness: Uptime Institute survey 2024 unless given",
        ),
        co2_figure=Figure(
            grams,
            f"g CO2 per {per}",
            Basis.ESTIMATED,
            f"{kwh:.4g} kWh x {grams_co2_per_kwh:g} g per kWh",
            "Ember, Global Electricity Review 2025 (world mean of 2024) unless given",
        ),
    )
