"""Memory that lives only during a pass: activations and the scores over the vocabulary.

With fused attention, activations are linear in the tokens of a pass (arXiv:2205.14135); what is
large is the scores, and in training their three copies.
"""

from __future__ import annotations

from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.memory import DEFAULT_DTYPE_BYTES
from jeton.economics.serving.parameters import table_rows
from jeton.errors import UsageError

LOGIT_BYTES = 4
"""Scores are computed or raised to fp32 before softmax and sampling."""

SAMPLER_BYTES = 22
"""Bytes a score takes while tokens are drawn with top-k and top-p: the fp32 score, sorted scores (4
each) with their ids (8), probabilities, and their running sum. Start-up logs of vLLM come to 37 in
versions 0.6 to 0.11 and to 17 to 26 from 0.14 on (docs/guides/serving-memory.md)."""

TRAINING_LOGIT_COPIES = 3
"""Scores, their softmax and their gradient are alive at once where the loss is not fused: 24,000 MB
for 8,192 tokens of Gemma 2's 256,000 ids (arXiv:2411.09009 table 1)."""


def logit_bytes(n_scored_tokens: int, vocab_size: int, *, logit_bytes: int = LOGIT_BYTES) -> int:
    """Return the bytes of the scores over the vocabulary.

    Formula: ``s V b``, s the positions that are scored: one for each request while generating, all
    of them to score a text.

    Source: definition.

    Raises:
        UsageError: If a number is negative.
    """
    if n_scored_tokens < 0 or vocab_size < 1 or logit_bytes < 1:
        raise UsageError(
            f"cannot score {n_scored_tokens} positions over {vocab_size} ids of {logit_bytes} bytes"
        )
    return n_scored_tokens * vocab_size * logit_bytes


def training_logit_bytes(n_tokens: int, vocab_size: int, *, fused: bool = False) -> int:
    """Return the bytes that the loss of one micro-batch holds in scores.

    Formula: ``3 n V 4`` (`TRAINING_LOGIT_COPIES`); 0 where the loss is fused with the output head,
    which never writes them down.

    Source: arXiv:2411.09009 table 1.
    """
    return 0 if fused else TRAINING_LOGIT_COPIES * logit_bytes(n_tokens, vocab_size)


def attention_score_bytes(
    model: ModelFacts, n_tokens: int, *, dtype_bytes: int = DEFAULT_DTYPE_BYTES
) -> int:
    """Return the bytes of the attention scores of one layer where they are written down.

    Formula: ``H n^2 b``: every query against every key, for every head. Fused kernels keep only
    tiles of it on the chip, so with them this memory is never taken.

    Source: arXiv:2205.14135 section 2.2 (standard attention writes the n x n scores to memory, and
    their softmax as a second matrix of this size).

    Raises:
        UsageError: If ``n_tokens`` is negative or ``dtype_bytes`` below 1.
    """
    if n_tokens < 0 or dtype_bytes < 1:
        raise UsageError(
            f"cannot hold the scores of {n_tokens} tokens in {dtype_bytes} bytes each; expected at "
            "least 0 and 1"
        )
    return model.n_heads * n_tokens**2 * dtype_bytes


def prefill_activation_bytes(
    model: ModelFacts,
    n_tokens: int,
    *,
    n_scored_tokens: int = 1,
    n_gpus: int = 1,
    vocab_size: int | None = None,
    dtype_bytes: int = DEFAULT_DTYPE_BYTES,
    sampler_bytes: int = SAMPLER_BYTES,
) -> int:
    """Return the bytes of activations that are alive at the widest point of a forward pass.

    Formula: ``n b (3 d + max(attention, MLP))`` while layers run: the residual stream, its
    normalised copy and the input of the block, beside queries, keys, values and their output
    ``(2 H + 2 g) e``, or the MLP's ``3 f`` (gate, up and their product; ``2 f`` without a gate),
    times the active experts, whose outputs are ``k d`` more. Layers come one after another, so one
    counts. Or, where it is more, ``2 n b d + s V 22`` while tokens are drawn (`SAMPLER_BYTES`). A
    group of GPUs splits heads and MLP.

    Source: definition of the layers; arXiv:2205.14135 (attention's scores are never stored).
    Measured: Llama-3.1-8B takes 2.99 - 2.07 GiB more for 9,000 tokens more, 109,759 bytes a token
    (vllm-project/vllm#10517); the formula gives 110,592.

    Args:
        model: The model.
        n_tokens: Tokens of the pass.
        n_scored_tokens: Requests whose next token is drawn in it.
        n_gpus: GPUs of a tensor-parallel group.
        vocab_size: Another vocabulary than the model's own.
        dtype_bytes: Bytes of an activation: 16 bits whatever the weights are in.
        sampler_bytes: Bytes of a score while tokens are drawn.

    Raises:
        UsageError: If a number is negative.
    """
    if n_tokens < 0 or n_gpus < 1:
        raise UsageError(f"n_tokens is {n_tokens} and n_gpus {n_gpus}; expected at least 0 and 1")
    d = model.hidden_size
    widest = 0
    for layer in dict.fromkeys(model.layers):
        mixers = sum(mixer.activation_width for mixer in layer.mixers)
        split, outputs = (0, 0) if layer.mlp is None else layer.mlp.activation_width(d)
        widest = max(widest, -(-mixers // n_gpus), -(-split // n_gpus) + outputs)
    layers = n_tokens * (3 * d + widest) * dtype_bytes
    rows = table_rows(model, vocab_size)
    n_drawn = min(n_scored_tokens, n_tokens)
    drawing = 2 * n_tokens * d * dtype_bytes + n_drawn * rows * sampler_bytes
    return max(layers, drawing)
