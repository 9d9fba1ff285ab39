"""What to choose before anything runs: the tokenizer, and the vocabulary size, of a workload.

``recommend`` tries each choice on a sample; ``sweep`` trains once and tells tokens, memory, time
and money of every size; ``NestedVocabularies`` is the theorem that makes one training enough;
``cost_aware`` learns the vocabulary with the least bill and judges it against plain BPE.
"""

from __future__ import annotations

from jeton.planning.cost_aware import (
    ALGORITHMS_COMPARED,
    Candidate,
    CostAware,
    Judgement,
    cost_aware,
)
from jeton.planning.nested import NestedVocabularies
from jeton.planning.recommend import Decision, DomainTrial, Recommendation, Trial, recommend
from jeton.planning.sweep import (
    DEFAULT_GPU,
    DEFAULT_VOCAB_SIZES,
    LawfulSize,
    ModelSweep,
    Sweep,
    SweepPoint,
    sweep,
)

__all__ = [
    "ALGORITHMS_COMPARED",
    "DEFAULT_GPU",
    "DEFAULT_VOCAB_SIZES",
    "Candidate",
    "CostAware",
    "Decision",
    "DomainTrial",
    "Judgement",
    "LawfulSize",
    "ModelSweep",
    "NestedVocabularies",
    "Recommendation",
    "Sweep",
    "SweepPoint",
    "Trial",
    "cost_aware",
    "recommend",
    "sweep",
]
