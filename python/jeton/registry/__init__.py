"""Names to tokenizers: bundled, in ``$JETON_VOCAB_DIR``, cached, or downloaded by hash.

A name is looked for in this order, and the first place that has it wins:

1. bundled with the package; ``jeton-general-32k`` is the newest ``jeton-general-32k-vN`` of words,
2. the folder ``$JETON_VOCAB_DIR``,
3. the user's cache (``$JETON_CACHE_DIR``, else the platform's cache folder),
4. the local Hugging Face cache, for the name of a model on the hub (``org/name``),
5. with ``download=True`` the published address, checked against its SHA-256.

Nothing touches the network unless it is asked to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.registry.adding import add
    from jeton.registry.fetching import fetch
    from jeton.registry.finding import place_of
    from jeton.registry.folders import bundled_dir, cache_dir
    from jeton.registry.loading import load
    from jeton.registry.places import VocabularyEntry, list_vocabularies, training_card
    from jeton.registry.resolving import TokenizerLike, resolve, several, written

__all__ = [
    "TokenizerLike",
    "VocabularyEntry",
    "add",
    "bundled_dir",
    "cache_dir",
    "fetch",
    "list_vocabularies",
    "load",
    "place_of",
    "resolve",
    "several",
    "training_card",
    "written",
]

# Loaded when first asked for: who loads a tokenizer need not wait for what downloads one.
_LAZY = {
    "TokenizerLike": "jeton.registry.resolving",
    "VocabularyEntry": "jeton.registry.places",
    "add": "jeton.registry.adding",
    "bundled_dir": "jeton.registry.folders",
    "cache_dir": "jeton.registry.folders",
    "fetch": "jeton.registry.fetching",
    "list_vocabularies": "jeton.registry.places",
    "load": "jeton.registry.loading",
    "place_of": "jeton.registry.finding",
    "resolve": "jeton.registry.resolving",
    "several": "jeton.registry.resolving",
    "training_card": "jeton.registry.places",
    "written": "jeton.registry.resolving",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
