"""What to choose before anything runs: the vocabulary size that a workload should have.

``sweep`` trains once and tells tokens, memory, time and money of every size; ``NestedVocabularies``
is the theorem that makes one training enough.
"""

from __future__ import annotations

from jeton.planning.nested import NestedVocabularies
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
    "DEFAULT_GPU",
    "DEFAULT_VOCAB_SIZES",
    "LawfulSize",
    "ModelSweep",
    "NestedVocabularies",
    "Sweep",
    "SweepPoint",
    "sweep",
]
