"""Recipes from tokens that both vocabularies have: FOCUS, and orthogonal matching pursuit.

Both say how a new token relates to shared tokens in another space (that of a donor model, or of the
tokens' own letters), and carry the relation over to the rows of the model.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.adapt.change import VocabularyChange
from jeton.adapt.segmenting import shadowed_bytes
from jeton.adapt.weights.matrices import Matrix, OpenFiles, are_equal, rows_at_once
from jeton.adapt.weights.methods import Recipe, Recipes, recipes_of
from jeton.adapt.weights.storage import stored_matrix
from jeton.adapt.weights.tokenizers import TokenizerPair
from jeton.checkpoint.configuration import read_configuration
from jeton.checkpoint.safetensors import Tensor
from jeton.checkpoint.snapshot import read_groups
from jeton.checkpoint.vocabulary_tensors import Role, role_of
from jeton.errors import AdaptError
from jeton.registry import load

# Orthogonal matching pursuit: a vector as a sum of few others (Pati et al. 1993).

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


_LETTER_COLUMNS = 256
"""Dimensions of the space of letters: sums of hashed n-grams of bytes."""
_GRAMS = (1, 2, 3, 4)
_TOP = 512
"""Largest similarities that are looked at first; sparsemax rarely keeps as many."""

Parts = list[tuple[NDArray[np.int64], NDArray[np.float64]]]


@dataclass(frozen=True, slots=True)
class _Shared:
    """Tokens that two vocabularies have.

    Attributes:
        base: int64 (n,): their ids in the old vocabulary.
        other: int64 (n,): their ids in the other one.
        wanted: int64 (n_added,): the other's id of each added token, -1 where it has none.
    """

    base: NDArray[np.int64]
    other: NDArray[np.int64]
    wanted: NDArray[np.int64]


def similar_recipes(
    method: str, sides: TokenizerPair, change: VocabularyChange, donor: Path | None
) -> Recipes:
    """Returns the recipes of ``"focus"`` or ``"omp"``; tokens without a relation get the mean.

    Raises:
        AdaptError: The donor shares no token with the model, or has no known embeddings.
    """
    if not sides.has_old:
        raise AdaptError(
            f"{sides.model} has no tokenizer, and {method!r} looks for tokens that two "
            "vocabularies share\nhint: put the old tokenizer into the model directory"
        )
    mean = recipes_of("mean", change)
    if donor is None:
        recipe = _recipe(change, _focus(*_letters(sides, change)), mean.input)
        return Recipes(recipe, recipe)
    shared = _shared(sides, change, load(donor))
    if not len(shared.base):
        raise AdaptError(f"{donor} shares no token with {sides.model}\nhint: name another donor")
    with OpenFiles() as files:
        tables = _tables(donor, files)
        made = [
            _recipe(change, _related(method, table, shared, files), mean.input) for table in tables
        ]
    return Recipes(made[0], made[-1])


def sparsemax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the nearest point of the simplex (Martins and Astudillo 2016), most of it zero."""
    ordered = np.sort(values)[::-1]
    sums = np.cumsum(ordered) - 1.0
    places = np.arange(1, len(values) + 1)
    n = int(np.flatnonzero(ordered * places > sums)[-1]) + 1
    nearest: NDArray[np.float64] = np.maximum(values - sums[n - 1] / n, 0.0)
    return nearest


def _recipe(change: VocabularyChange, parts: Parts, fallback: Recipe) -> Recipe:
    ids, weights, sizes = [], [], []
    for token, (of, by) in enumerate(parts):
        chosen, with_weights = of, by
        if not len(of):
            start, end = fallback.offsets[token], fallback.offsets[token + 1]
            chosen, with_weights = fallback.ids[start:end], fallback.weights[start:end]
        ids.append(chosen)
        weights.append(with_weights)
        sizes.append(len(chosen))
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    assert len(sizes) == len(change.added_ids)
    return Recipe(offsets, np.concatenate(ids), np.concatenate(weights))


def _shared(sides: TokenizerPair, change: VocabularyChange, donor: Tokenizer) -> _Shared:
    base, other = [], []
    donor_special = set(donor.special_tokens.values())
    for old in _ordinary_ids(sides.old):
        found = donor.bytes_to_id(sides.old.id_to_bytes(old))
        if found is not None and found not in donor_special:
            base.append(old)
            other.append(found)
    wanted = []
    for new in change.added_ids.tolist():
        found = donor.bytes_to_id(sides.new.id_to_bytes(new))
        wanted.append(-1 if found is None else found)
    as_ids = (np.array(ids, dtype=np.int64) for ids in (base, other, wanted))
    return _Shared(*as_ids)


def _ordinary_ids(tokenizer: Tokenizer) -> list[int]:
    """Ids that text can become: without special tokens and bytes that have another token."""
    hidden = set(tokenizer.special_tokens.values()) | shadowed_bytes(tokenizer)
    return [id for id in np.flatnonzero(tokenizer.is_token_mask()).tolist() if id not in hidden]


def _tables(donor: Path, files: OpenFiles) -> list[Matrix]:
    """The donor's embeddings, and its output layer where it has one of its own."""
    configuration = read_configuration(donor / "config.json")
    model_type = None if configuration is None else configuration.model_type
    inputs: list[Tensor] = []
    heads: list[Tensor] = []
    for group in read_groups(donor):
        for name, tensor in group.tensors.items():
            role = role_of(name, model_type=model_type)
            if role is Role.INPUT:
                inputs.append(tensor)
            elif role is Role.HEAD:
                heads.append(tensor)
        if inputs:
            found = [stored_matrix(inputs[0], group.tensors, files).matrix]
            if heads and not are_equal(inputs[0], heads[0], files):
                found.append(stored_matrix(heads[0], group.tensors, files).matrix)
            return found
    raise AdaptError(f"{donor} has no embeddings of a known name\nhint: name another donor")


def _related(method: str, table: Matrix, shared: _Shared, files: OpenFiles) -> Parts:
    """Sums of old rows for each added token, as the donor's table has them."""
    atoms = _read(table, files, shared.other)
    has_row = (shared.wanted >= 0) & (shared.wanted < table.n_rows)
    targets = _read(table, files, shared.wanted[has_row])
    if method == "omp":
        found = [
            (shared.base[places], weights) for places, weights in matching_pursuit(atoms, targets)
        ]
    else:
        found = _focus(targets, atoms, shared.base)
    nothing = (np.zeros(0, np.int64), np.zeros(0))
    waiting = iter(found)
    return [next(waiting) if has else nothing for has in has_row.tolist()]


def _read(table: Matrix, files: OpenFiles, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    rows = np.empty((len(ids), table.n_columns), dtype=np.float32)
    step = rows_at_once(table.n_columns)
    for start in range(0, len(ids), step):
        rows[start : start + step] = table.read(files, ids[start : start + step])
    return rows


def _focus(
    targets: NDArray[np.float32], atoms: NDArray[np.float32], base: NDArray[np.int64]
) -> Parts:
    """The sparse mean of the atoms that are most like each target."""
    unit = atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-12)
    found: Parts = []
    for target in targets:
        length = float(np.linalg.norm(target))
        if length == 0.0:
            found.append((np.zeros(0, np.int64), np.zeros(0)))
            continue
        likeness = (unit @ (target / length)).astype(np.float64)
        n = min(_TOP, len(likeness))
        top = np.argpartition(-likeness, n - 1)[:n]
        weights = sparsemax(likeness[top])
        if n < len(likeness) and (weights > 0).all():
            top = np.arange(len(likeness))
            weights = sparsemax(likeness)
        order = np.flatnonzero(weights > 0)
        order = order[np.argsort(top[order])]
        found.append((base[top[order]], weights[order]))
    return found


def _letters(
    sides: TokenizerPair, change: VocabularyChange
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Added tokens, old tokens and their ids, in a space where like letters are near."""
    old = _ordinary_ids(sides.old)
    atoms = np.zeros((len(old), _LETTER_COLUMNS), dtype=np.float32)
    for row, id in zip(_rows(atoms), old, strict=True):
        _add_grams(row, sides.old.id_to_bytes(id))
    targets = np.zeros((len(change.added_ids), _LETTER_COLUMNS), dtype=np.float32)
    for row, id in zip(_rows(targets), change.added_ids.tolist(), strict=True):
        _add_grams(row, sides.new.id_to_bytes(id))
    return targets, atoms, np.array(old, dtype=np.int64)


def _rows(matrix: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    return (matrix[i] for i in range(len(matrix)))


def _add_grams(row: NDArray[np.float32], token: bytes) -> None:
    for n in _GRAMS:
        for start in range(len(token) - n + 1):
            hashed = zlib.crc32(token[start : start + n])
            row[hashed % _LETTER_COLUMNS] += 1.0 if hashed & 0x10000 else -1.0
