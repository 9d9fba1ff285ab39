"""Result types whose own modules are still to come; each goes when its module is there."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.findings import Figure

__all__ = ["QualityMetrics"]


@dataclass(frozen=True, slots=True)
class QualityMetrics:
    """What the audit shows of a tokenizer's quality."""

    renyi_efficiency_2_5_full: float
    renyi_efficiency_3_0_observed: float
    gini: float
    words_kept_share: float
    continued_word_share: float
    bits_per_byte: Figure | None
    n_unreachable: int
    n_undertrained: int
    stability: dict[str, float]
