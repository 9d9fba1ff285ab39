"""Orthogonal matching pursuit: a vector as a sum of few others (Pati et al. 1993)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MAX_ATOMS = 64
"""Most vectors that one sum takes, as published (arXiv 2506.06607)."""

_BATCH_BYTES = 64 << 20
"""Bytes of the orthogonal bases that are held at once."""
_CLOSE = 1e-6
"""Residual, as a share of the vector's length, at which a sum is good enough."""

_FAINT = 0.1
"""Length of an atom, as a share of their median, below which no sum takes it.

Rows of tokens that were hardly trained are nearly zero. Their direction is noise, and a sum would
need weights of thousands and more to use them.
"""


def matching_pursuit(
    atoms: NDArray[np.float32], targets: NDArray[np.float32], *, n_atoms: int = MAX_ATOMS
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Gives for each target the atoms of its sum and their weights.

    Atoms that are nearly zero are in no sum.

    Args:
        atoms: float32 (n, n_columns).
        targets: float32 (m, n_columns).
        n_atoms: Most atoms of one sum.
    """
    norms = np.linalg.norm(atoms, axis=1, keepdims=True)
    lengths = norms[norms > 0]
    least = _FAINT * float(np.median(lengths)) if len(lengths) else 0.0
    unit = np.where(norms > least, atoms / np.where(norms > 0, norms, 1.0), 0.0)
    unit = unit.astype(np.float32)
    n_columns = atoms.shape[1]
    n_atoms = min(n_atoms, n_columns, len(atoms))
    step = max(1, _BATCH_BYTES // max(4 * n_atoms * n_columns, 1))
    for start in range(0, len(targets), step):
        batch = targets[start : start + step].astype(np.float32)
        chosen = _choose(unit, batch, n_atoms)
        for target, places in zip(batch, chosen, strict=True):
            picked = np.array(places, dtype=np.int64)
            weights = np.linalg.lstsq(
                atoms[picked].T.astype(np.float64), target.astype(np.float64), rcond=None
            )[0]
            yield picked, weights


def _choose(unit: NDArray[np.float32], batch: NDArray[np.float32], n_atoms: int) -> list[list[int]]:
    """The atoms of each target, the one most like what is left first."""
    left = batch.copy()
    limits = _CLOSE * np.linalg.norm(batch, axis=1)
    bases = np.zeros((len(batch), n_atoms, batch.shape[1]), dtype=np.float32)
    chosen: list[list[int]] = [[] for _ in batch]
    for step in range(n_atoms):
        open_rows = np.flatnonzero(np.linalg.norm(left, axis=1) > limits)
        if not len(open_rows):
            break
        likeness = np.abs(left[open_rows] @ unit.T)
        for place, row in enumerate(open_rows.tolist()):
            likeness[place, chosen[row]] = -1.0
        best = likeness.argmax(axis=1)
        for place, row in enumerate(open_rows.tolist()):
            atom = unit[best[place]]
            basis = bases[row, :step]
            # Twice is enough: once leaves an error of the size of rounding.
            direction = atom - basis.T @ (basis @ atom)
            direction -= basis.T @ (basis @ direction)
            length = float(np.linalg.norm(direction))
            if length < 1e-4:
                limits[row] = np.inf
                continue
            direction /= length
            bases[row, step] = direction
            left[row] -= direction * float(direction @ left[row])
            chosen[row].append(int(best[place]))
    return chosen
