"""One call for many texts against a loop, by core."""

from __future__ import annotations

import time
from collections.abc import Callable

from jeton import _core
from scripts.claims.data import Data
from scripts.claims.figures import Figure

__all__ = ["ABOUT", "KIND", "measure"]

ABOUT = "A loop over texts against one call: processor time, and threads side by side"
KIND = "timing"

TOKENIZER = "cl100k_base"

_ROUNDS = 7

_LENGTHS = {"100 bytes": (100, 4_000), "2,500 bytes": (2_500, 400)}
"""Characters of a text, and how many texts."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group: the best of some rounds, so that other work disturbs little."""
    tokenizer = data.tokenizer(TOKENIZER)
    source = " ".join(data.heldout(("english-news", "english-textbook")))
    figures: dict[str, Figure] = {"cores": Figure(_core.available_threads(), "cores")}
    for name, (n_chars, n_texts) in _LENGTHS.items():
        texts = [source[i * n_chars : (i + 1) * n_chars] for i in range(n_texts)]
        batch = _core.TextBatch.from_texts(texts)

        def loop(texts: list[str] = texts) -> None:
            for text in texts:
                tokenizer.encode(text)

        def call(n: int, batch: _core.TextBatch = batch) -> None:
            tokenizer.encode_batch(batch, num_threads=n)

        def loop_of_arrays(texts: list[str] = texts) -> None:
            for text in texts:
                tokenizer.encode_array(text)

        one = _seconds(lambda: call(1))
        figures[f"loop-over-call.{name}"] = Figure(_seconds(loop)[0] / one[0], "ratio", n=n_texts)
        figures[f"loop-of-arrays-over-call.{name}"] = Figure(
            _seconds(loop_of_arrays)[0] / one[0], "ratio", n=n_texts
        )
        for threads in range(2, _core.available_threads() + 1):
            many = _seconds(lambda threads=threads: call(threads))
            figures[f"threads.{threads}.{name}"] = Figure(one[1] / many[1], "ratio", n=n_texts)
            figures[f"work.{threads}.{name}"] = Figure(many[0] / one[0], "ratio", n=n_texts)
    return figures


def _seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Processor time and wall-clock time, the least of some rounds each."""
    work()
    processor, wall = [], []
    for _ in range(_ROUNDS):
        started = time.perf_counter(), time.process_time()
        for _ in range(3):
            work()
        wall.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
    return min(processor), min(wall)
