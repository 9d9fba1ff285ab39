"""Steps for training besides a split pattern: normalizers, rules, indentation, segmenters.

``normalizers`` and ``rules`` become steps of the tokenizer itself. The others are made of Python:
``indentation`` writes it with two special tokens, ``segmenters`` cut pretokens further, in training
and, by ``SegmentedTokenizer``, in use.
"""

from __future__ import annotations

from jeton.pretokenizing.indentation import IndentationTokenizer
from jeton.pretokenizing.morphemes import MorfessorSegmenter, MorphemeLexicon, learn_morphemes
from jeton.pretokenizing.rules import NORMALIZERS, RULES, pretokenizer_steps
from jeton.pretokenizing.segmenters import SEGMENTERS, SegmentedTokenizer, Segmenter, find_segmenter

__all__ = [
    "NORMALIZERS",
    "RULES",
    "SEGMENTERS",
    "IndentationTokenizer",
    "MorfessorSegmenter",
    "MorphemeLexicon",
    "SegmentedTokenizer",
    "Segmenter",
    "find_segmenter",
    "learn_morphemes",
    "pretokenizer_steps",
]
