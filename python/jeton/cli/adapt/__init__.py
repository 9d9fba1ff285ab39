"""``jeton adapt``: change a vocabulary, and the model that has it, for a domain."""

from __future__ import annotations

import click

from jeton.cli.lazy_group import LazyGroup

__all__ = ["adapt"]

_LINES = {
    "apply": "Give a model the vocabulary of a tokenizer that `jeton adapt` made.",
    "terms": "List the words that are worth a slot of the vocabulary, and where to stop.",
    "extend": "Add tokens to a tokenizer: learned from text, or terms that are asked for.",
    "replace": "Give a model another tokenizer: its rows are found by the bytes of tokens.",
    "remap": "Make files of old token ids files of new ones, where that is exact.",
    "prune": "Take tokens out that a text does not need, those first that cost it least.",
    "plan": "Lay the ways to a new vocabulary side by side: nothing, extension, training on, all "
    "anew.",
    "shadow": "Compare two tokenizers on logged traffic, with a verdict for each stage.",
    "verify": "Read a model back and prove that the change made it from its base.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_LINES)
def adapt() -> None:
    """Adapt a vocabulary, and the model that has it, to a domain.

    Each tokenizer that is made has a vocabulary_change.json beside it: which old id became which
    new one, what is gone, and of what the new ones are made. Everything else follows that file.

    \b
    Examples:
      jeton adapt terms notes.jsonl --tokenizer cl100k_base --slots 2000
      jeton adapt extend cl100k_base notes.jsonl --add 5000 -o domain/
      jeton adapt prune ./model notes.jsonl --to 32000 -o small-model/
      jeton adapt apply my-model/ domain/ -o my-model-domain/
      jeton adapt verify my-model-domain/ --base my-model/
    """
