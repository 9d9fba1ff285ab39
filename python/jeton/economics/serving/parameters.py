"""How many parameters a model's shape has, and which of them work on a token.

Counted matrix by matrix from the published shape, so that the count can be checked against the
published size and split as memory and compute need it (the input table takes memory but no
arithmetic; of the experts only some work on a token).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from jeton.catalog.layers import Part
from jeton.catalog.model_facts import ModelFacts
from jeton.errors import UsageError

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
        position_table: Learned positions, and tables of per-layer embeddings.
        layer_matrices: Matrices of all layers, with all experts.
        active_layer_matrices: Matrices of all layers that work on one token.
        routed_expert_matrices: The routed experts among the matrices.
        vectors: Norms, biases and sinks.
        n_unused_vectors: Number of the vectors that do not work on a token (idle experts' biases).
        attention_matrices: Matrices of attention, states and convolutions, among those of the
            layers.
        router_matrices: Routers of the experts and gates of the shared ones, among the matrices.
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
    """Count a model's text parameters from its shape.

    Formula: the sum of every layer's tensors (`jeton.catalog.layers`, each kind with its own
    source), and of the tables. Towers for images and sound and layers that predict further tokens
    are left out. Unit: parameters.

    Source: as the kinds of layers; checked against every published size, and against the classes
    of transformers.
    """
    d = model.hidden_size
    rows, width = table_rows(model, vocab_size), model.table_width
    parts = [part for layer in model.layers for part in layer.parts(d)]
    beside = [part for part in model.extra_parts if part.role not in ("vision", "mtp")]
    matrices = [part for part in parts if part.role != "norms"]
    vectors = [part for part in parts if part.role == "norms"]
    tables = sum(part.n_parameters for part in beside if part.role == "embedding")
    rest = [part for part in beside if part.role not in ("embedding", "norms")]
    layer_matrices = sum(part.n_parameters for part in (*matrices, *rest))
    attention = [part for part in matrices if part.role == "attention"]
    return ParameterCount(
        input_embedding=rows * width,
        output_head=0 if model.tied_embeddings else rows * width,
        head_matrix=rows * width,
        position_table=model.position_table_tokens * d + tables,
        layer_matrices=layer_matrices,
        active_layer_matrices=sum(part.n_active for part in (*matrices, *rest)),
        routed_expert_matrices=_sum(matrices, "experts"),
        vectors=sum(part.n_parameters for part in vectors)
        + sum(part.n_parameters for part in beside if part.role == "norms")
        + model.final_norm,
        n_unused_vectors=sum(part.n_parameters - part.n_active for part in vectors),
        attention_matrices=sum(part.n_parameters for part in attention),
        router_matrices=_sum(matrices, "gate"),
    )


def _sum(parts: list[Part], role: str) -> int:
    return sum(part.n_parameters for part in parts if part.role == role)
