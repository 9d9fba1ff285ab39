"""Published laws of the best vocabulary size for training, and what they leave out.

Fitted on dense English models of 33M to 3B parameters and vocabularies up to 96,000
(arXiv:2407.13623); beyond that they extrapolate. They minimise the loss for a training budget
and know nothing of inference, memory or other languages: `jeton.economics.vocabulary.trade` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from jeton.errors import UsageError

_MAX_FITTED_VOCAB = 200_000
"""The fit of tokens per character is held constant above (code of arXiv:2407.13623)."""

Approach = Literal["isoflops", "derivative", "loss"]
"""The paper's approaches 1, 2 and 3."""


def tokens_per_char(vocab_size: float) -> float:
    """Return the tokens per character of English under a vocabulary of this size.

    Formula: ``0.00639222 ln^2 V - 0.15811069 ln V + 1.20470122``, V at most 200,000.

    Source: constants of the code of arXiv:2407.13623 (BPE on SlimPajama).

    Raises:
        UsageError: If the size is below 256, where no byte vocabulary exists.
    """
    if not 256 <= vocab_size < math.inf:
        raise UsageError(f"vocab_size is {vocab_size}; expected at least 256")
    log = math.log(min(vocab_size, _MAX_FITTED_VOCAB))
    return 0.00639222 * log * log - 0.15811069 * log + 1.20470122


def compute_optimal_flops(n_nonvocab_parameters: float) -> float:
    """Return the training FLOPs for which so many parameters (without tables) are the best.

    Formula: ``N = e^-2.48465 F^0.5`` solved for F.

    Source: arXiv:2407.13623, approach 1.

    Raises:
        UsageError: If the number is not above 0.
    """
    if not 0 < n_nonvocab_parameters < math.inf:
        raise UsageError(
            f"n_nonvocab_parameters is {n_nonvocab_parameters}; expected a number above 0"
        )
    return (n_nonvocab_parameters * math.exp(2.48465)) ** 2


def training_loss(
    vocab_size: float, *, n_nonvocab_parameters: float, hidden_size: int, training_flops: float
) -> float:
    """Return the unigram-normalised loss that approach 3 predicts.

    Formula: ``-5.53278 + 1.83139 / N^0.446606 + 0.195842 / (V d)^0.670737 + 2.12411 / D^0.446606``
    with N and V d in millions of parameters, and D = F / (6 (N + V d)) in thousands of millions.

    Source: arXiv:2407.13623, approach 3, constants of its code.
    """
    n = n_nonvocab_parameters / 1e6
    table = vocab_size * hidden_size / 1e6
    data = training_flops / 1e15 / (6 * (n + table))
    found = 1.83139 / n**0.446606 + 0.195842 / table**0.670737 + 2.12411 / data**0.446606
    return float(found - 5.53278)


def optimal_vocab_size(
    *,
    n_nonvocab_parameters: float,
    hidden_size: int,
    approach: Approach = "isoflops",
    training_flops: float | None = None,
) -> float:
    """Return the vocabulary size that a published law calls best for training.

    Formula: ``isoflops`` ``V d = e^-1.58903 F^0.416362``; ``derivative`` ``V d = 3145728
    (N / 33e6)^0.835397``; ``loss`` the minimum of `training_loss` over V.

    Source: arXiv:2407.13623, approaches 1 to 3, constants of its code.

    Args:
        n_nonvocab_parameters: Parameters without the tables.
        hidden_size: Width of the model.
        approach: Which of the three.
        training_flops: Training budget; None: the best for these parameters. Only ``loss`` can
            tell what more training changes.

    Raises:
        UsageError: If a number is not above 0, or a budget is given to another approach.
    """
    if hidden_size < 1 or (training_flops is not None and not 0 < training_flops < math.inf):
        raise UsageError(
            f"hidden_size is {hidden_size} and training_flops {training_flops}; expected numbers "
            "above 0"
        )
    flops = compute_optimal_flops(n_nonvocab_parameters)
    if training_flops is not None and approach != "loss":
        raise UsageError(f"the approach {approach!r} knows no training budget\nhint: use 'loss'")
    if approach == "isoflops":
        return float(math.exp(-1.58903) * flops**0.416362 / hidden_size)
    if approach == "derivative":
        return float(3_145_728 * (n_nonvocab_parameters / 33e6) ** 0.835397 / hidden_size)
    return _minimise(
        lambda log: training_loss(
            math.exp(log),
            n_nonvocab_parameters=n_nonvocab_parameters,
            hidden_size=hidden_size,
            training_flops=training_flops or flops,
        )
    )


def _minimise(loss: Callable[[float], float]) -> float:
    """Return the V with the least loss by golden sections of ln V: the law has one minimum."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(256), math.log(10_000_000)
    for _ in range(100):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return math.exp((low + high) / 2)
