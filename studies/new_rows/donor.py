"""A donor of our own: vectors of tokens by what stands near them, learned from the same text.

FOCUS takes such vectors, too; models that have a domain's tokens and any licence are rare.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import jeton

__all__ = ["write_donor"]

N_COLUMNS = 128
NEAR = 5
"""Tokens on each side that count as near."""
LEAST = 5
"""Times that a token occurs before it has a vector."""


def write_donor(folder: Path, tokenizer: jeton.Tokenizer, texts: Sequence[str]) -> Path:
    """Writes a model folder with a table of vectors and no body."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / "tokenizer.json")
    vectors = _vectors(tokenizer.encode_batch(texts), tokenizer.vocab_size)
    save_file({"model.embed_tokens.weight": vectors}, folder / "model.safetensors")
    config = {"model_type": "llama", "vocab_size": tokenizer.vocab_size, "hidden_size": N_COLUMNS}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _vectors(batch: jeton.TokenBatch, n_tokens: int) -> NDArray[np.float32]:
    """Singular vectors of the positive mutual information of near tokens."""
    import torch

    ids = batch.ids.astype(np.int64)
    owner = np.repeat(np.arange(len(batch.offsets) - 1), np.diff(batch.offsets))
    often = np.bincount(ids, minlength=n_tokens)
    is_kept = often[ids] >= LEAST
    ids, owner = ids[is_kept], owner[is_kept]
    codes = []
    for distance in range(1, NEAR + 1):
        is_one = owner[distance:] == owner[:-distance]
        codes.append((ids[:-distance] * n_tokens + ids[distance:])[is_one])
    pairs, counts = np.unique(np.concatenate(codes), return_counts=True)
    left, right = pairs // n_tokens, pairs % n_tokens
    # Near is near on both sides.
    rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
    values = np.concatenate([counts, counts]).astype(np.float64)
    sums = np.bincount(rows, weights=values, minlength=n_tokens)
    # The power flattens contexts, as for word vectors (Levy et al. 2015).
    smooth = sums**0.75
    total = sums.sum()
    ratio = np.log(values / sums[rows] / (smooth[columns] / smooth.sum()))
    is_positive = ratio > 0
    assert total > 0
    matrix = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows[is_positive], columns[is_positive]])),
        torch.from_numpy(ratio[is_positive].astype(np.float32)),
        (n_tokens, n_tokens),
    ).coalesce()
    torch.manual_seed(0)
    left_vectors, strengths, _ = torch.svd_lowrank(matrix, q=N_COLUMNS, niter=2)
    made: NDArray[np.float32] = (left_vectors * strengths.sqrt()).numpy().astype(np.float32)
    return np.ascontiguousarray(made)
