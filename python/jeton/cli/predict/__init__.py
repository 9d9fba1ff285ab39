"""``jeton predict``: numbers before they are known, each with its error."""

from __future__ import annotations

import click

from jeton.cli.lazy_group import LazyGroup

__all__ = ["predict"]

_HOMES = {
    "tokens": (
        "jeton.cli.predict.tokens",
        "tokens",
        "Tell the tokens of texts before they are encoded: bounds, intervals, samples.",
    ),
    "calibrate": (
        "jeton.cli.predict.calibrate",
        "calibrate",
        "Learn from texts how many tokens bytes of each script make.",
    ),
    "output": (
        "jeton.cli.predict.output",
        "output",
        "Foresee the lengths of answers from logs, and judge that on later traffic.",
    ),
    "memory": (
        "jeton.cli.predict.memory",
        "memory",
        "Foresee the KV cache of the next minutes, and when it is full.",
    ),
}


@click.group(cls=LazyGroup, homes=_HOMES)
def predict() -> None:
    """Predict tokens of texts, lengths of answers and the memory of the next minutes.

    \b
    Examples:
      jeton predict tokens book.txt --tokenizer o200k_base
      jeton predict output requests.jsonl --by customer --html report.html
      jeton predict memory requests.jsonl --model llama-3.1-8b --gpu l4 --horizon 10m
    """
