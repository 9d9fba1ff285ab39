"""Commands that change the vocabulary of a model of one's own, as remedies name them.

A closed model's findings get another remedy when they are settled (`jeton.auditing.settling`).
"""

from __future__ import annotations

import shlex


def extend_commands(tokenizer: str) -> str:
    """Returns the commands that extend a tokenizer and its model, as a sentence."""
    name = shlex.quote(tokenizer)
    return (
        f"With a model of your own: `jeton adapt terms INPUT... -t {name}` shows the words that "
        f"are worth a slot, `jeton adapt extend {name} INPUT... --add N -o DIR` adds them, and "
        "`jeton adapt apply MODEL DIR -o OUT` gives the model their rows, to be trained."
    )


def prune_commands(tokenizer: str) -> str:
    """Returns the commands that prune a tokenizer and its model, as a sentence."""
    name = shlex.quote(tokenizer)
    return (
        f"With a model of your own: `jeton adapt prune {name} INPUT... --to N -o DIR` removes "
        "unused entries, and `jeton adapt apply MODEL DIR -o OUT` their rows."
    )
