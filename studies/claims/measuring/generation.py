"""Ids across vocabularies, and which ids may be generated."""

from __future__ import annotations

import numpy as np

from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "KIND", "PAIRS", "measure"]

ABOUT = "Ids that mean the same bytes in two vocabularies; end tokens in the mask of forbidden ids"
KIND = "fast"

PAIRS = (
    ("r50k_base", "p50k_base"),
    ("r50k_base", "cl100k_base"),
    ("cl100k_base", "o200k_base"),
    ("cl100k_base", "llama3"),
    ("llama2", "llama3"),
    ("llama3", "o200k_base"),
)

SENTENCE = "The patient was given 200 mg of hydroxychloroquine on Monday."


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for one, other in PAIRS:
        first, second = data.tokenizer(one), data.tokenizer(other)
        n = min(first.vocab_size, second.vocab_size)
        tokens = _tokens(data, one, n), _tokens(data, other, n)
        same = sum(a is not None and a == b for a, b in zip(*tokens, strict=True))
        key = f"{one}-{other}"
        figures[f"same-id.{key}"] = Figure(same / n, "share", n=n)
        shared = {token for token in tokens[0] if token} & {token for token in tokens[1] if token}
        figures[f"same-bytes.{key}"] = Figure(len(shared) / n, "share", n=n)
        ids = np.array(first.encode(SENTENCE))
        right = [int(i) < n and tokens[0][i] == tokens[1][i] for i in ids]
        figures[f"sentence.{key}"] = Figure(sum(right) / len(ids), "share", n=len(ids))
    for name in ("r50k_base", "cl100k_base", "llama3"):
        tokenizer = data.tokenizer(name)
        mask = tokenizer.never_generated_mask()
        strict = tokenizer.never_generated_mask(allow=())
        ends = tokenizer.end_token_ids
        figures[f"mask.forbidden.{name}"] = Figure(int(mask.sum()), "ids")
        figures[f"mask.ends.{name}"] = Figure(len(ends), "ids")
        figures[f"mask.ends-forbidden.{name}"] = Figure(int(mask[ends].sum()), "ids")
        figures[f"mask.ends-forbidden-by-all.{name}"] = Figure(int(strict[ends].sum()), "ids")
    return figures


def _tokens(data: Data, name: str, n: int) -> list[bytes | None]:
    tokenizer = data.tokenizer(name)
    found: list[bytes | None] = []
    for id_ in range(n):
        try:
            found.append(tokenizer.id_to_bytes(id_))
        except Exception:
            found.append(None)
    return found
