"""Memory that lives only during a pass: activations and the scores over the vocabulary.

With fused attention, activations are linear in the tokens of a pass (arXiv:2205.14135); what is
large is the scores, and in training their three copies.
"""

from __future__ import annotations

from jeton.catalog.model_facts import ModelFacts
from jeton.economics.memory import DEFAULT_DTYPE_BYTES, DTYPE_BYTES
from jeton.economics.parameters import table_rows
from jeton.errors import UsageError

__all__ = [
    "LOGIT_BYTES",
    "TRAINING_LOGIT_COPIES",
    "attention_score_bytes",
    "logit_bytes",
    "prefill_activation_bytes",
    "training_logit_bytes",
]

LOGIT_BYTES = DTYPE_BYTES["fp32"]
"""Scores are computed or raised to fp32 before softmax and sampling."""

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
    vocab_size: int | None = None,
    dtype_bytes: int = DEFAULT_DTYPE_BYTES,
) -> int:
    """Return the bytes of activations that are alive at the widest point of a forward pass.

    Formula: ``n b (2 d + max(attention, MLP)) + s V 4``: the residual stream and its normalised
    copy, and the wider of queries, keys, values and their output ``(2 H + 2 g) e``, or the MLP's
    ``2 f`` (``f`` if it has no gate), times the active experts. Layers come one after another, so
    one layer counts. Engines round up and keep more, hence an estimate from below.

    Source: definition of the layers; arXiv:2205.14135 (attention's scores are never stored).

    Raises:
        UsageError: If a number is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    heads = (2 * model.n_heads + 2 * model.n_kv_heads) * model.head_size
    width = model.intermediate_size
    if model.experts is not None:
        n_at_work = model.experts.n_active + model.experts.n_shared
        width = max(
            n_at_work * model.experts.intermediate_size,
            width if model.experts.n_dense_layers else 0,
        )
    mlp = width * (2 if model.mlp == "gated" else 1)
    per_token = 2 * model.hidden_size + max(heads, mlp)
    rows = table_rows(model, vocab_size)
    return n_tokens * per_token * dtype_bytes + logit_bytes(min(n_scored_tokens, n_tokens), rows)
