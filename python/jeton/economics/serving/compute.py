"""FLOPs of prefill, decoding and training, with the attention term apart.

A multiplication and an addition count as two FLOPs. The linear part is two FLOPs per weight and
token; the input table is a look-up and counts nothing, the output head counts wherever scores
over the vocabulary are computed. The attention part grows with the square of the length, but
only overtakes the linear part around ``n = 12 d`` (53,000 tokens for Llama-3-8B).
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton.catalog.layers import Pairs
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.parameters import count_parameters
from jeton.errors import UsageError


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
