"""Under-trained tokens by their rows: suspects with a rank, never facts.

Rows that training never touched stay near each other. The published indicators (S. Land and M.
Bartolo, "Fishing for Magikarp", EMNLP 2024, arXiv:2405.05417) measure the distance of every row to
the mean of rows that are known to be unused: Euclidean and by angle, with and without the first
principal component. A token is a suspect if its row lies among the known ones by all of them.
Only a prompt can prove it, for which the model has to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton._plain import counted
from jeton.checkpoint import ModelDirectory, Tensor, read_rows
from jeton.checkpoint.rows import can_read_rows, row_blocks
from jeton.guard.verdict import GuardLevel
from jeton.guard.vocabulary.source import VocabularyFinding, found
from jeton.metrics.reachability import Category, reachability

MIN_UNUSED: Final = 3
"""Rows known to be unused without which nothing is said: their spread would not be known."""

MAX_UNUSED: Final = 4096
"""Known rows that are read; more say nothing new."""

_QUANTILE: Final = 0.99
"""Share of the known rows that lie within the bounds of a suspect."""

_SAMPLE_ROWS: Final = 8192
_POWER_ROUNDS: Final = 30

_NEVER_BYTES: Final = (0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that UTF-8 does not have: a token of one of them is never met."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A token whose row lies among rows that were never trained.

    Attributes:
        id: Its id.
        rank: 1 for the most suspicious.
        distance: Euclidean distance to the mean of the known rows, in units of their own median.
        cosine: Cosine to that mean, without the first component.
    """

    id: int
    rank: int
    distance: float
    cosine: float


def unused_ids(tokenizer: Tokenizer, n_rows: int) -> list[int]:
    """Return ids that training cannot have met, by bytes, name and reach; rows without token."""
    mask = tokenizer.is_token_mask()
    known = [*range(len(mask), n_rows), *np.flatnonzero(~mask).tolist()]
    known += [
        id_ for byte in _NEVER_BYTES if (id_ := tokenizer.bytes_to_id(bytes([byte]))) is not None
    ]
    reach = reachability(tokenizer)
    known += reach.ids(Category.UNREACHABLE_SINGLE).tolist()
    known += reach.ids(Category.UNREACHABLE_MULTI).tolist()
    for token in tokenizer.added_tokens:
        if any(
            word in token.content.lower() for word in ("unused", "reserved", "dummy", "placeholder")
        ):
            known.append(token.id)
    for id_ in np.flatnonzero(mask).tolist():
        text = tokenizer.id_to_token(id_) or ""
        if text.startswith(
            ("[unused", "<unused", "<reserved", "<|reserved", "<0xC0", "<0xC1", "<0xF", "[UNUSED")
        ) and not text.startswith(("<0xF0", "<0xF1", "<0xF2", "<0xF3", "<0xF4")):
            known.append(id_)
    return sorted({id_ for id_ in known if id_ < n_rows})


def suspects(tensor: Tensor, unused: list[int], candidates: NDArray[np.int64]) -> list[Suspect]:
    """Return the ids among ``candidates`` whose rows lie among the unused ones, by rank.

    Args:
        tensor: Embedding matrix, (n_rows, hidden_size).
        unused: Ids known to be unused, at least ``MIN_UNUSED``.
        candidates: int64, ids that may be suspects.

    Cost: the matrix is read twice, block by block.
    """
    step = max(1, len(unused) // MAX_UNUSED)
    rows = read_rows(tensor, unused[::step]).astype(np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < MIN_UNUSED:
        return []
    center, first = _first_component(tensor)
    mean = rows.mean(axis=0)
    bounds = _bounds(rows, center, first)
    found_: list[tuple[int, float, float, float]] = []
    for ids, block in _candidate_blocks(tensor, candidates):
        measures = _measures(block, mean, center, first)
        is_near = np.all([m <= b for m, b in zip(measures, bounds, strict=True)], axis=0)
        found_ += [
            (int(id_), float(d), float(c), float(c1))
            for id_, d, c, c1, near in zip(ids, *measures, is_near, strict=True)
            if near
        ]
    if not found_:
        return []
    table = np.array([row[1:] for row in found_])
    ranks = table.argsort(axis=0).argsort(axis=0).mean(axis=1)
    typical = float(np.median(np.linalg.norm(rows - mean, axis=1))) or 1.0
    order = np.lexsort(([row[0] for row in found_], ranks))
    return [
        Suspect(found_[at][0], rank, found_[at][1] / typical, 1.0 - found_[at][3])
        for rank, at in enumerate(order.tolist(), 1)
    ]


Measures = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _measures(
    rows: NDArray[np.float64],
    mean: NDArray[np.float64],
    center: NDArray[np.float64],
    first: NDArray[np.float64],
) -> Measures:
    """Distance, one less the cosine, and that without the first component; (n_rows,) each."""
    return (
        np.linalg.norm(rows - mean, axis=1),
        1.0 - _cosine(rows, mean),
        1.0 - _cosine(_without(rows - center, first), _without((mean - center)[None], first)[0]),
    )


def _bounds(
    rows: NDArray[np.float64], center: NDArray[np.float64], first: NDArray[np.float64]
) -> list[float]:
    """For each measure the bound that nearly all known rows keep, against the mean of the rest."""
    n = len(rows)
    others = (rows.sum(axis=0) - rows) / (n - 1)
    measured = [_measures(rows[i : i + 1], others[i], center, first) for i in range(n)]
    return [
        float(np.quantile([m[which][0] for m in measured], _QUANTILE)) * (1 + 1 / n) + 1e-12
        for which in range(3)
    ]


def _cosine(rows: NDArray[np.float64], one: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(one)
    products = rows @ one
    made: NDArray[np.float64] = np.divide(
        products, lengths, out=np.ones_like(products), where=lengths > 0
    )
    return made


def _without(rows: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    made: NDArray[np.float64] = rows - np.outer(rows @ first, first)
    return made


def _first_component(tensor: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and first principal component of rows at even distances."""
    step = max(1, tensor.shape[0] // _SAMPLE_ROWS)
    sample = read_rows(tensor, range(0, tensor.shape[0], step)).astype(np.float64)
    sample = sample[np.isfinite(sample).all(axis=1)]
    center = sample.mean(axis=0)
    sample -= center
    first = np.ones(sample.shape[1]) / np.sqrt(sample.shape[1])
    for _ in range(_POWER_ROUNDS):
        first = sample.T @ (sample @ first)
        length = np.linalg.norm(first)
        if length == 0:
            break
        first /= length
    return center, first


def _candidate_blocks(
    tensor: Tensor, candidates: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    wanted = np.zeros(tensor.shape[0], dtype=np.bool_)
    wanted[candidates[candidates < tensor.shape[0]]] = True
    at = 0
    for block in row_blocks(tensor):
        here = np.flatnonzero(wanted[at : at + len(block)])
        rows = block[here].astype(np.float64)
        is_finite = np.isfinite(rows).all(axis=1)
        if is_finite.any():
            yield here[is_finite] + at, rows[is_finite]
        at += len(block)


def model_findings(tokenizer: Tokenizer, model: ModelDirectory) -> Iterator[VocabularyFinding]:
    """Yield the faults of rows, and the suspects."""
    tensor = model.weights.embedding
    n_rows = model.n_rows
    for problem in model.weights.problems:
        if problem.kind in ("damaged", "missing"):
            yield found("damaged-file", GuardLevel.ERROR, problem.detail, problem.file)
    if n_rows is not None and tokenizer.vocab_size > n_rows:
        yield found(
            "model-rows",
            GuardLevel.ERROR,
            f"{tokenizer.vocab_size - n_rows:,} ids have no row in the model's {n_rows:,}",
            str(model.path),
            ids=range(n_rows, tokenizer.vocab_size),
        )
    if tensor is None or not can_read_rows(tensor):
        return
    yield from _zeros_and_equals(tokenizer, tensor)
    unused = unused_ids(tokenizer, tensor.shape[0])
    reach = reachability(tokenizer)
    if len(unused) < MIN_UNUSED:
        return
    candidates = np.setdiff1d(reach.ids(Category.OK), np.array(unused, dtype=np.int64))
    listed = suspects(tensor, unused, candidates)
    if listed:
        yield found(
            "undertrained-suspects",
            GuardLevel.INFO,
            f"{len(listed):,} of {len(candidates):,} reachable tokens have rows like the "
            f"{len(unused):,} that no training met: suspects, by rank",
            tensor.name,
            ids=[one.id for one in listed],
            examples=[
                f"{one.rank}. {one.id} {tokenizer.id_to_bytes(one.id)!r} "
                f"(distance {one.distance:.2f}, cosine {one.cosine:.3f})"
                for one in listed
            ],
        )


def _zeros_and_equals(tokenizer: Tokenizer, tensor: Tensor) -> Iterator[VocabularyFinding]:
    # Equal rows have equal products with any vector; two vectors make chance equality unlikely.
    random = np.random.default_rng(0).standard_normal((tensor.shape[1], 2))
    products = np.concatenate([block.astype(np.float64) @ random for block in row_blocks(tensor)])
    n = min(len(products), tokenizer.vocab_size)
    is_token = tokenizer.is_token_mask()[:n]
    used = np.flatnonzero(is_token)
    is_bad = ~np.isfinite(products[used]).all(axis=1)
    if is_bad.any():
        yield found(
            "bad-rows",
            GuardLevel.ERROR,
            f"{counted(int(is_bad.sum()), 'token')} with rows of NaN or infinity",
            tensor.name,
            ids=used[is_bad].tolist(),
        )
    is_zero = (products[used] == 0).all(axis=1)
    if is_zero.any():
        yield found(
            "zero-rows",
            GuardLevel.WARNING,
            f"{counted(int(is_zero.sum()), 'token')} with rows of zeros",
            tensor.name,
            ids=used[is_zero].tolist(),
        )
    rest = used[~is_zero & np.isfinite(products[used]).all(axis=1)]
    _, group, sizes = np.unique(products[rest], axis=0, return_inverse=True, return_counts=True)
    is_equal = sizes[group.reshape(-1)] > 1
    if is_equal.any():
        ids = rest[is_equal].tolist()
        yield found(
            "equal-rows",
            GuardLevel.INFO,
            f"{len(ids):,} tokens share their row with another token",
            tensor.name,
            ids=ids,
            examples=[f"{i} {tokenizer.id_to_bytes(i)!r}" for i in ids[:20]],
        )
