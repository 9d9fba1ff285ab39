"""Each step of encoding and training as data.

``trace_encode`` follows one text through a tokenizer: normalization, pretokens, and every step of
the model, with the pairs that could have merged and lost, the candidates that did not match, or the
lattice with its scores. ``trace_train`` follows training: the best pairs of each step with their
counts, the rounds of expectation and pruning.

Steps come from the plain twins in ``jeton._reference``, not from the fast core. Every trace is
compared with the core's result when it is made: ``matches_engine`` is that comparison.
"""

from __future__ import annotations

from jeton.tracing.encoding import MAX_CHARS, EncodeTrace, TracedPart, trace_encode
from jeton.tracing.models import TRACED_MODELS
from jeton.tracing.steps import (
    DrawTraced,
    LatticeTraced,
    MatchTraced,
    MergeTraced,
    TracedArc,
    TracedPair,
    TracedStep,
    TracedToken,
)
from jeton.tracing.training import (
    TRACED_ALGORITHMS,
    LearnedMerge,
    TrainRound,
    TrainTrace,
    trace_train,
)

__all__ = [
    "MAX_CHARS",
    "TRACED_ALGORITHMS",
    "TRACED_MODELS",
    "DrawTraced",
    "EncodeTrace",
    "LatticeTraced",
    "LearnedMerge",
    "MatchTraced",
    "MergeTraced",
    "TracedArc",
    "TracedPair",
    "TracedPart",
    "TracedStep",
    "TracedToken",
    "TrainRound",
    "TrainTrace",
    "trace_encode",
    "trace_train",
]
