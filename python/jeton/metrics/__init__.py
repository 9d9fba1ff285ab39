"""Effects of a tokenizer on a text: the counts of the core, finished in NumPy.

The core counts in integers that merge (`TextStats`, `TokenStats`); this package turns those
counts into the figures that people read: quantiles, shares, compression, shatter, waste.
Everything here is a pure function of counts and of the tokenizer's own bytes.
"""

from __future__ import annotations

from jeton.metrics.bootstrap import (
    Interval,
    bootstrap_mean,
    bootstrap_quantile,
    bootstrap_ratio,
    bootstrap_sums,
)
from jeton.metrics.boundaries import (
    BoundaryReport,
    BoundaryScore,
    GoldWord,
    boundary_scores,
    morpheme_boundaries,
    read_gold,
)
from jeton.metrics.code import CodeUse, code_use, identifier_parts
from jeton.metrics.lengths import (
    Histogram,
    LengthCounts,
    LengthSummary,
    PaddingWaste,
    padding_waste,
)
from jeton.metrics.ngram import KneserNey, NgramBits, ngram_bits_per_byte
from jeton.metrics.parity import AlignedText, LanguageParity, ParityReport, parity
from jeton.metrics.quality import QualityMetrics, quality
from jeton.metrics.reachability import Category, Reachability, reachability
from jeton.metrics.renyi import RenyiEfficiency, renyi_efficiency, renyi_entropy_bits
from jeton.metrics.stability import Stability, stability
from jeton.metrics.undertrained import UndertrainedTokens, undertrained_tokens
from jeton.metrics.vocabulary import VocabularyUse, gini, vocabulary_use
from jeton.metrics.words import (
    Compression,
    ScriptUse,
    TermPieces,
    WordUse,
    compression,
    cut_term,
    readable_piece,
    script_use,
    word_use,
)

__all__ = [
    "AlignedText",
    "BoundaryReport",
    "BoundaryScore",
    "Category",
    "CodeUse",
    "Compression",
    "GoldWord",
    "Histogram",
    "Interval",
    "KneserNey",
    "LanguageParity",
    "LengthCounts",
    "LengthSummary",
    "NgramBits",
    "PaddingWaste",
    "ParityReport",
    "QualityMetrics",
    "Reachability",
    "RenyiEfficiency",
    "ScriptUse",
    "Stability",
    "TermPieces",
    "UndertrainedTokens",
    "VocabularyUse",
    "WordUse",
    "bootstrap_mean",
    "bootstrap_quantile",
    "bootstrap_ratio",
    "bootstrap_sums",
    "boundary_scores",
    "code_use",
    "compression",
    "cut_term",
    "gini",
    "identifier_parts",
    "morpheme_boundaries",
    "ngram_bits_per_byte",
    "padding_waste",
    "parity",
    "quality",
    "reachability",
    "read_gold",
    "readable_piece",
    "renyi_efficiency",
    "renyi_entropy_bits",
    "script_use",
    "stability",
    "undertrained_tokens",
    "vocabulary_use",
    "word_use",
]
