"""Tokens of each request by kind of block: the parts that a bill is divided into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.corpus.requests.blocks import BlockKind, Blocks

N_KINDS = len(BlockKind)
"""Kinds of blocks: one column of tokens each."""

N_BLOCK_NUMBERS = N_KINDS + 2
"""Numbers of a request: tokens by kind of block, messages of earlier turns, passages."""


def block_numbers(
    tokenizer: Tokenizer,
    texts: TextBatch,
    blocks: Blocks,
    *,
    num_threads: int | None,
    allow_special: str | None = None,
) -> NDArray[np.int64]:
    """Count the tokens of each block by itself, and add them up by request and kind.

    Blocks that come again (system prompts, tools, turns that are sent again) are counted once.

    Args:
        tokenizer: The tokenizer in use.
        texts: The texts of the requests.
        blocks: Their blocks.
        num_threads: Threads of the core; None: all.
        allow_special: ``all`` where a chat template wrote control tokens.

    Returns:
        int64 (n_requests, `N_BLOCK_NUMBERS`).
    """
    places: dict[bytes, int] = {}
    which = [places.setdefault(text, len(places)) for text in blocks.texts(texts)]
    counts = tokenizer.count_batch(
        TextBatch.from_texts(list(places)),
        num_threads=num_threads,
        allow_special=allow_special,
    )[which]
    n = len(blocks)
    row = np.repeat(np.arange(n), np.diff(blocks.offsets))
    cell = row * N_KINDS + blocks.kinds
    tokens = np.bincount(cell, weights=counts, minlength=n * N_KINDS).astype(np.int64)
    numbers = np.empty((n, N_BLOCK_NUMBERS), dtype=np.int64)
    numbers[:, :N_KINDS] = tokens.reshape(n, N_KINDS)
    for place, kind in enumerate((BlockKind.EARLIER, BlockKind.PASSAGE), start=N_KINDS):
        numbers[:, place] = np.bincount(row[blocks.kinds == kind], minlength=n)
    return numbers
