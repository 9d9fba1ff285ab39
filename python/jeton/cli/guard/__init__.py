"""``jeton guard``: text that hides, forges or disguises, and vocabularies that lie."""

from __future__ import annotations

import click

from jeton.cli.lazy_group import LazyGroup

__all__ = ["guard"]

_LINES = {
    "scan": "Find what text hides, forges or disguises, and clean it.",
    "vocab": "Find faults and suspicions in a vocabulary, its files and the rows of its model.",
    "sign": "Sign a lock file with a key, so that a change of it shows.",
    "verify": "Check the signature of a lock file.",
}


@click.group(
    cls=LazyGroup, package=__name__, lines=_LINES, modules={"sign": "signing", "verify": "signing"}
)
def guard() -> None:
    """Guard a model's input: text that lies, and vocabularies that lie.

    Decoded payloads are shown and never executed. Nothing is sent anywhere.

    \b
    Examples:
      jeton guard scan prompts.jsonl --policy strict
      jeton guard scan page.md --fix -o clean.md
      jeton guard vocab my-model/ --base gpt2
    """
