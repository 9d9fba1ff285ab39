"""Adapting a vocabulary, and the model that has it, to a domain.

A change of vocabulary is one value, ``VocabularyChange``. It is written beside every tokenizer that
this package makes; weights, configurations and token files follow it and nothing else.
"""

from __future__ import annotations

from jeton.adapt.change import CHANGE_FILE, MAX_IDS, VocabularyChange

__all__ = ["CHANGE_FILE", "MAX_IDS", "VocabularyChange"]
