"""Cost of a vocabulary's size when a model decodes: more rows to read, fewer tokens to make.

At small batches a decode step reads all active weights but the input table, so the time for a text
is ``tokens x bytes read per token``. Another vocabulary changes both: the head by its rows, the
tokens by what was counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton.catalog import ModelFacts
from jeton.economics.serving.parameters import count_parameters


@dataclass(frozen=True, slots=True)
class VocabularyCost:
    """A model that decodes a text with one vocabulary.

    Attributes:
        vocab_size: Rows asked for.
        head_share: Part of the weights read per token that is the output head, 0 to 1.
        read_parameters: Weights read per token.
        cost: Weights read for the text: tokens x weights read per token.
    """

    vocab_size: int
    head_share: float
    read_parameters: int
    cost: int


def vocabulary_cost(model: ModelFacts, *, vocab_size: int, n_tokens: int) -> VocabularyCost:
    """Weights read to generate a text of so many tokens, one token at a time."""
    parameters = count_parameters(model, vocab_size=vocab_size)
    read = parameters.active_layer_matrices + parameters.head_matrix
    return VocabularyCost(vocab_size, parameters.head_matrix / read, read, read * n_tokens)
