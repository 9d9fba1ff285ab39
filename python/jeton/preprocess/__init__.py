"""Preprocessing that saves tokens, with what it saves under a tokenizer and what it loses.

A step is one module behind one protocol (``TextStep``) and says its class of loss. ``StepPipeline``
runs steps in order and each alone, counts tokens, and looks for what no longer stands in a
document. ``preprocess_texts`` and ``preprocess_files`` are its doors; no step is on by itself.
"""

from __future__ import annotations

from jeton.preprocess.by_name import STEP_NAMES
from jeton.preprocess.files import preprocess_files
from jeton.preprocess.pipeline import preprocess_texts
from jeton.preprocess.results import PreprocessedTexts, PreprocessReport, StepReport, TokenSaving
from jeton.preprocess.steps import LOSS_CLASSES, PreprocessOptions

__all__ = [
    "LOSS_CLASSES",
    "STEP_NAMES",
    "PreprocessOptions",
    "PreprocessReport",
    "PreprocessedTexts",
    "StepReport",
    "TokenSaving",
    "preprocess_files",
    "preprocess_texts",
]
