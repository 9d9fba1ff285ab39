"""Passages that answer questions, whole or torn, by the way in which a text is divided."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from jeton.chunking import chunk_text, read_questions
from jeton.chunking.division import By
from studies.claims.data import Data
from studies.claims.figures import Figure, mean

__all__ = ["ABOUT", "KIND", "measure"]

ABOUT = "Share of reference passages that lie whole in one chunk, by chunker and budget"
KIND = "fast"

_BUDGETS = (100, 200, 400, 800)
Span = tuple[int, int]

_BY: tuple[By, ...] = ("tokens", "sentences", "structure", "semantic")


def measure(data: Data) -> dict[str, Figure]:
    """The share of each way and budget: a mean over the questions of all texts."""
    tokenizer = data.tokenizer("cl100k_base")
    figures = {}
    for budget in _BUDGETS:
        for by in _BY:
            shares: list[float] = []
            for path in sorted((data.folder / "chunking").glob("*.md")):
                text = path.read_text(encoding="utf-8")
                questions = read_questions(path.with_suffix(".questions.jsonl"), n_chars=len(text))
                found = chunk_text(text, tokenizer=tokenizer, max_tokens=budget, by=by)
                spans = [(part.start, part.end) for part in found.chunks]
                shares += [_share_whole(question.references, spans) for question in questions]
            figures[f"whole.{budget}.{by}"] = mean(np.array(shares), unit="share")
    return figures


def _share_whole(references: Sequence[Span], spans: Sequence[Span]) -> float:
    ends = dict(spans)
    starts = sorted(ends)
    n_whole = 0
    for first, last in references:
        place = bisect_right(starts, first) - 1
        n_whole += last <= ends[starts[place]]
    return n_whole / len(references)
