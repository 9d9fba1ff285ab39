"""Adapting a vocabulary, and the model that has it, to a domain.

A change of vocabulary is one value, ``VocabularyChange``. It is written beside every tokenizer that
this package makes; weights, configurations and token files follow it and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names
from jeton.adapt.change import CHANGE_FILE, MAX_IDS, VocabularyChange

if TYPE_CHECKING:
    from jeton.adapt.agreement import Disagreement, disagreement
    from jeton.adapt.extending import Extended, extend
    from jeton.adapt.pruning import Pruned, prune
    from jeton.adapt.reading import Reading
    from jeton.adapt.remapping import remap_file
    from jeton.adapt.remapping_columns import remap_ids
    from jeton.adapt.replacing import Replacement, replacement
    from jeton.adapt.saving import adapted_target, save_adapted
    from jeton.adapt.term_worth import TermWorth, term_worth

__all__ = [
    "CHANGE_FILE",
    "MAX_IDS",
    "Disagreement",
    "Extended",
    "Pruned",
    "Reading",
    "Replacement",
    "TermWorth",
    "VocabularyChange",
    "adapted_target",
    "disagreement",
    "extend",
    "prune",
    "remap_file",
    "remap_ids",
    "replacement",
    "save_adapted",
    "term_worth",
]

_HOMES = {
    "Disagreement": "jeton.adapt.agreement",
    "Extended": "jeton.adapt.extending",
    "Pruned": "jeton.adapt.pruning",
    "Reading": "jeton.adapt.reading",
    "Replacement": "jeton.adapt.replacing",
    "TermWorth": "jeton.adapt.term_worth",
    "adapted_target": "jeton.adapt.saving",
    "disagreement": "jeton.adapt.agreement",
    "extend": "jeton.adapt.extending",
    "prune": "jeton.adapt.pruning",
    "remap_file": "jeton.adapt.remapping",
    "remap_ids": "jeton.adapt.remapping_columns",
    "replacement": "jeton.adapt.replacing",
    "save_adapted": "jeton.adapt.saving",
    "term_worth": "jeton.adapt.term_worth",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
