"""Where a saving comes from: steps from ``o200k_base`` to a domain's superwords, which add up.

Each step changes one thing: whose text was learned from (our general tokenizer of as many ids), how
many ids, the domain's text, superwords. A step is given in shares of the first total, so that the
steps sum to the change from the first to the last.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton.metrics import bootstrap_sums
from studies.claims.data import Data
from studies.claims.figures import Figure
from studies.domain_tokenizers.recipes import O200K_SIZE, TARGET_SIZE, general_tokenizer
from studies.domain_tokenizers.texts import DOMAINS, Texts
from studies.domain_tokenizers.tokens import BASE, Case
from studies.domain_tokenizers.work import Work

__all__ = ["STEPS", "measure_steps", "step", "steps"]

STEPS = ("text", "size", "domain", "superwords")
"""From ``o200k_base`` to ours of as many ids, to `TARGET_SIZE`, to the domain's, to superwords."""


def step(tokens: NDArray[np.int64], first: int, last: int) -> Figure:
    """``(sum of column last - sum of column first) / sum of column 0``, with its interval.

    Args:
        tokens: int64 (n_documents, n_vocabularies).
        first: Number of the column that the step begins at.
        last: Number of the column that it ends at.
    """
    sums = tokens.sum(axis=0)
    interval = bootstrap_sums(tokens, lambda s: (s[:, last] - s[:, first]) / s[:, 0])
    value = float((sums[last] - sums[first]) / sums[0])
    if interval is None:
        return Figure(value, "share", n=len(tokens))
    return Figure(value, "share", interval.low, interval.high, len(tokens))


def steps(tokens: NDArray[np.int64]) -> list[Figure]:
    """The steps from each column to the next; they sum to the change from first to last."""
    return [step(tokens, place, place + 1) for place in range(tokens.shape[1] - 1)]


def measure_steps(
    work: Work, texts: Texts, data: Data, domain: str, case: Case
) -> dict[str, Figure]:
    """The steps of a domain on held-out documents of its sources."""

    def make() -> Mapping[str, NDArray[np.int64]]:
        batch = _core.TextBatch.from_texts(
            [text for source in DOMAINS[domain] for text in texts.held_out(domain, source.name)]
        )
        nested = general_tokenizer(work, texts, domain)
        sizes = [min(O200K_SIZE, nested.vocab_size), TARGET_SIZE]
        columns = nested.tokens_of_documents(nested.tokenizer.encode_batch(batch), sizes)
        return {"whole": columns[:, 0], "plain": columns[:, 1]}

    general = work.arrays(f"general-{domain}", make)
    path = np.column_stack(
        [
            case.tokens[BASE],
            general["whole"],
            general["plain"],
            case.tokens[f"plain.{TARGET_SIZE}"],
            case.tokens[f"superwords.{TARGET_SIZE}"],
        ]
    )
    figures = {
        f"steps.{domain}.{name}": figure for name, figure in zip(STEPS, steps(path), strict=True)
    }
    figures[f"steps.{domain}.all"] = step(path, 0, len(STEPS))
    return figures
