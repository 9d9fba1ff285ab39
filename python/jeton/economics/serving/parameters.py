"""How many parameters a model's shape has, and which of them work on a token.

Counted matrix by matrix from the published shape, so that the count can be checked against the
published size and split as memory and compute need it (the input table takes memory but no
arithmetic; of the experts only some work on a token).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from jeton.catalog.model_facts import AttentionKind, ModelFacts, RecurrentLayers
from jeton.errors import UsageError

__all__ = ["PADDED_VOCAB_SHARE", "ParameterCount", "count_parameters", "table_rows"]

PADDED_VOCAB_SHARE = 0.01
"""A vocabulary smaller than the model's table by at most this share is taken to use the whole
table: published tables carry up to 0.6% of unused rows (gpt-oss 201,088 rows for 199,998 ids,
DeepSeek-V3 129,280 for 128,815, Qwen2.5-7B 152,064 for 151,643), rounded up for the hardware."""


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """Parameters of a model by what they do.

    Attributes:
        input_embedding: Input table, ``vocab_size x hidden_size``.
        output_head: Output head where it is a table of its own; 0 where it is tied.
        head_matrix: The matrix that the output head multiplies with, tied or not.
        position_table: Learned positions.
        layer_matrices: Matrices of all layers, with all experts.
        active_layer_matrices: Matrices of all layers that work on one token.
        routed_expert_matrices: The routed experts among the matrices.
        vectors: Norms, biases and sinks.
        n_unused_vectors: Number of the vectors that do not work on a token (idle experts' biases).
        attention_matrices: Queries, keys, values and output of the layers with attention, which
            are among the matrices of the layers.
        router_matrices: Routers of the experts and gates of the shared ones, among the matrices.
        key_value_matrices: Projections to keys and values, among those of attention; of latent
            attention those down to the latents, which every GPU of a group holds.
        value_matrices: Projections to the values, among those of attention; 0 for latent attention.
        down_matrices: Down projections of the MLPs, of all experts too, among the matrices.
    """

    input_embedding: int
    output_head: int
    head_matrix: int
    position_table: int
    layer_matrices: int
    active_layer_matrices: int
    routed_expert_matrices: int
    vectors: int
    n_unused_vectors: int
    attention_matrices: int
    router_matrices: int
    key_value_matrices: int
    value_matrices: int
    down_matrices: int

    @property
    def total(self) -> int:
        """All parameters."""
        return (
            self.input_embedding
            + self.output_head
            + self.position_table
            + self.layer_matrices
            + self.vectors
        )

    @property
    def active(self) -> int:
        """Parameters that work on one token, tables included."""
        idle = self.layer_matrices - self.active_layer_matrices + self.n_unused_vectors
        return self.total - idle


def table_rows(model: ModelFacts, vocab_size: int | None) -> int:
    """Return the rows of the embedding table that a vocabulary of this size needs.

    None, the model's own size, and a size that is smaller by at most `PADDED_VOCAB_SHARE` give
    the model's table; any other size gives a table of exactly that size.

    Raises:
        UsageError: If ``vocab_size`` is below 1.
    """
    if vocab_size is None:
        return model.vocab_size
    if vocab_size < 1:
        raise UsageError(f"vocab_size is {vocab_size}; expected at least 1")
    unused = model.vocab_size - vocab_size
    if 0 <= unused <= PADDED_VOCAB_SHARE * model.vocab_size:
        return model.vocab_size
    return vocab_size


@lru_cache(maxsize=256)  # asked for once per distinct length of a corpus
def count_parameters(model: ModelFacts, *, vocab_size: int | None = None) -> ParameterCount:
    """Count a model's parameters from its shape.

    Formula (d hidden, H query heads, g key-value heads, e head size, f MLP width, L layers):
    attention ``d H e + 2 d g e + H e d`` per layer; MLP ``3 d f`` gated or ``2 d f`` plain; latent
    attention ``d q + q H (n + r) + d (c + r) + c H (n + v) + H v d``; an expert layer has every
    expert's MLP and a router ``d E``; Mamba with inner width i, state s and rank t ``2 d i +
    i (t + 2 s) + t i + i d``; gated delta with keys k, values v and h value heads ``d (2 k + 2 v +
    2 h) + v d``. Unit: parameters.

    Source: arXiv:1706.03762 (attention), arXiv:2002.05202 (gated MLP), arXiv:2405.04434
    (latent attention), arXiv:2401.04088 (experts), arXiv:2312.00752 and 2403.19887 (Mamba, in
    Jamba), arXiv:2412.06464 (gated delta); checked against every published size.
    """
    d, n_layers = model.hidden_size, model.n_layers
    rows = table_rows(model, vocab_size)
    n_mlp_matrices = 3 if model.mlp == "gated" else 2
    experts = model.experts
    n_expert_layers = 0 if experts is None else n_layers - experts.n_dense_layers
    n_dense_layers = n_layers - n_expert_layers

    attention = matrices = model.n_attention_layers * _attention_matrices(model)
    if model.recurrent is not None:
        matrices += model.recurrent.n_layers * _recurrent_matrices(model.recurrent, d)
    matrices += n_dense_layers * n_mlp_matrices * d * model.intermediate_size
    routed = active_routed = routers = 0
    down = n_dense_layers * d * model.intermediate_size
    if experts is not None:
        one_expert = n_mlp_matrices * d * experts.intermediate_size
        routed = n_expert_layers * experts.n_routed * one_expert
        active_routed = n_expert_layers * experts.n_active * one_expert
        routers = n_expert_layers * d * (experts.n_routed + experts.shared_gate)
        matrices += n_expert_layers * experts.n_shared * one_expert + routers
        n_experts = experts.n_routed + experts.n_shared
        down += n_expert_layers * n_experts * d * experts.intermediate_size
    vectors, n_unused_vectors = _vectors(model)
    return ParameterCount(
        input_embedding=rows * d,
        output_head=0 if model.tied_embeddings else rows * d,
        head_matrix=rows * d,
        position_table=model.position_table_tokens * d,
        layer_matrices=matrices + routed,
        active_layer_matrices=matrices + active_routed,
        routed_expert_matrices=routed,
        vectors=vectors,
        n_unused_vectors=n_unused_vectors,
        attention_matrices=attention,
        router_matrices=routers,
        key_value_matrices=model.n_attention_layers * _key_value_matrices(model),
        value_matrices=0
        if model.attention is AttentionKind.LATENT
        else model.n_attention_layers * model.n_kv_heads * d * model.head_size,
        down_matrices=down,
    )


def _key_value_matrices(model: ModelFacts) -> int:
    """Projections whose results are cached, of one layer."""
    mla = model.latent_attention
    if model.attention is AttentionKind.LATENT and mla is not None:
        cached = mla.kv_latent_size + mla.rotary_size + mla.query_latent_size
        return model.hidden_size * cached
    return 2 * model.n_kv_heads * model.hidden_size * model.head_size


def _attention_matrices(model: ModelFacts) -> int:
    d, heads = model.hidden_size, model.n_heads
    if model.attention is AttentionKind.LATENT:
        mla = model.latent_attention
        if mla is None:
            raise UsageError(f"{model.name} has latent attention without its sizes")
        query_size = heads * (mla.nope_size + mla.rotary_size)
        queries = d * query_size
        if mla.query_latent_size:
            queries = (d + query_size) * mla.query_latent_size
        keys_values = d * (mla.kv_latent_size + mla.rotary_size)
        keys_values += mla.kv_latent_size * heads * (mla.nope_size + mla.value_size)
        return queries + keys_values + heads * mla.value_size * d + _index_matrices(model)
    n_query_sized = 3 if model.attention_gate else 2
    return (n_query_sized * heads + 2 * model.n_kv_heads) * d * model.head_size


def _index_matrices(model: ModelFacts) -> int:
    """Matrices of one layer's sparse index: queries from their latent, key, weights of heads."""
    index, mla = model.sparse_index, model.latent_attention
    if index is None or mla is None:
        return 0
    queries = mla.query_latent_size * index.n_heads * index.head_size
    return queries + model.hidden_size * (index.head_size + index.n_heads)


def _recurrent_matrices(recurrent: RecurrentLayers, d: int) -> int:
    value, key = recurrent.value_size, recurrent.key_size
    if recurrent.kind == "mamba":
        steps = recurrent.time_step_rank
        return value * (3 * d + 2 * steps + 2 * recurrent.state_size)
    return d * (2 * key + 2 * value + 2 * recurrent.n_value_heads) + value * d


def _recurrent_vectors(recurrent: RecurrentLayers) -> int:
    """Parameters of convolution, decay, step size and norms of one layer."""
    convolution = recurrent.conv_channels * recurrent.conv_size
    if recurrent.kind == "mamba":
        # Bias of the convolution, decay per state, skip and bias of the step per channel, norms of
        # step size, input and output.
        channels = recurrent.value_size * (recurrent.state_size + 3)
        norms = recurrent.time_step_rank + 2 * recurrent.state_size
        return convolution + channels + norms * recurrent.part_norms
    head_size = recurrent.value_size // recurrent.n_value_heads
    return convolution + 2 * recurrent.n_value_heads + head_size


def _vectors(model: ModelFacts) -> tuple[int, int]:
    """Return the parameters of norms, biases and sinks, and how many of them idle on a token."""
    d, experts = model.hidden_size, model.experts
    query_size = model.n_heads * model.head_size
    kv_size = model.n_kv_heads * model.head_size
    norm_size = d * (2 if model.norm == "layernorm" else 1)
    norms = model.n_norms_per_layer * norm_size
    per_layer = 0
    if model.qk_norm == "head":
        per_layer += 2 * model.head_size
    elif model.qk_norm == "full":
        per_layer += query_size + kv_size
    if model.latent_attention is not None:
        per_layer += (
            model.latent_attention.query_latent_size + model.latent_attention.kv_latent_size
        )
    per_layer += (query_size + 2 * kv_size) * model.qkv_bias
    per_layer += d * model.output_bias
    per_layer += model.n_heads * model.attention_sinks
    mixers = model.n_layers * norms + model.n_attention_layers * per_layer
    if model.recurrent is not None:
        mixers += model.recurrent.n_layers * _recurrent_vectors(model.recurrent)
    n_up_matrices = 2 if model.mlp == "gated" else 1
    if experts is None:
        mlp_bias = (n_up_matrices * model.intermediate_size + d) * model.mlp_bias
        return mixers + model.n_layers * mlp_bias + norm_size, 0
    one_expert = (n_up_matrices * experts.intermediate_size + d) * model.mlp_bias
    per_expert_layer = experts.n_routed * one_expert + experts.n_routed * experts.router_bias
    n_expert_layers = model.n_layers - experts.n_dense_layers
    idle = n_expert_layers * (experts.n_routed - experts.n_active) * one_expert
    return mixers + n_expert_layers * per_expert_layer + norm_size, idle
