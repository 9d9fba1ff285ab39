"""``jeton predict``: numbers before they are known, each with its error."""

from __future__ import annotations

import click

from jeton.cli.lazy_group import LazyGroup

__all__ = ["predict"]

_LINES = {
    "tokens": "Tell the tokens of texts before they are encoded.",
    "calibrate": "Learn from texts how many tokens bytes of each script make.",
    "output": "Foresee the lengths of answers, and judge that on later traffic.",
    "memory": "Foresee the KV cache of the next minutes, and when it is full.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_LINES)
def predict() -> None:
    """Predict tokens of texts, lengths of answers and the memory of the next minutes.

    \b
    Examples:
      jeton predict tokens book.txt --tokenizer o200k_base
      jeton predict output requests.jsonl --by customer --html report.html
      jeton predict memory requests.jsonl --model llama-3.1-8b --gpu l4 --horizon 10m
    """
