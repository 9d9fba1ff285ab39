"""One call for many texts against a loop over them, on one core."""

from __future__ import annotations

import time
from collections.abc import Callable

from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "KIND", "measure"]

ABOUT = "A loop over texts against one call for all, processor time of one thread"
KIND = "timing"

TOKENIZER = "cl100k_base"

_ROUNDS = 15
_REPEATS = 3

_LENGTHS = {"100 bytes": (100, 20_000), "2,500 bytes": (2_500, 1_600)}
"""Characters of a text, and how many texts."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group.

    Processor time of one thread, the least of some rounds: other work on the machine disturbs it
    least. Threads side by side are not timed: on two cores that others use too, two threads were
    1.4 to 2.2 times as fast as one from run to run (2026-11-22), which is no figure.
    """
    tokenizer = data.tokenizer(TOKENIZER)
    source = " ".join(data.texts("english", "english-news"))
    figures: dict[str, Figure] = {}
    for name, (n_chars, n_texts) in _LENGTHS.items():
        texts = [source[i * n_chars : (i + 1) * n_chars] for i in range(n_texts)]

        def lists(texts: list[str] = texts) -> None:
            for text in texts:
                tokenizer.encode(text)

        def arrays(texts: list[str] = texts) -> None:
            for text in texts:
                tokenizer.encode_array(text)

        def call(texts: list[str] = texts) -> None:
            tokenizer.encode_batch(texts, num_threads=1)

        one = _seconds(call)
        for key, work in (("lists", lists), ("arrays", arrays)):
            figures[f"{key}-over-call.{name}"] = Figure(_seconds(work) / one, "ratio", n=n_texts)
    return figures


def _seconds(work: Callable[[], None]) -> float:
    """Processor seconds, the least of some rounds."""
    work()
    taken = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        for _ in range(_REPEATS):
            work()
        taken.append(time.process_time() - started)
    return min(taken)
