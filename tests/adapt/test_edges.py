"""Changes of a vocabulary at their edges: the last id, parts without bytes, many alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from jeton.adapt.remapping_columns import check_fits
from jeton.adapt.weights.methods import _by_bytes
from jeton.adapt.weights.similar import _TOP, _focus, sparsemax
from jeton.errors import UsageError


def test_the_last_id_of_a_type_fits() -> None:
    def change(n: int) -> Any:
        return SimpleNamespace(n_new_ids=n)

    check_fits(change(256), np.dtype(np.uint8))
    with pytest.raises(UsageError, match="does not hold 257 ids"):
        check_fits(change(257), np.dtype(np.uint8))


def test_parts_without_bytes_count_alike() -> None:
    change = SimpleNamespace(
        offsets=np.array([0, 2, 4]), part_bytes=np.array([0, 0, 1, 3]), parts=np.arange(4)
    )
    assert _by_bytes(cast(Any, change)).tolist() == [0.5, 0.5, 0.25, 0.75]


def test_more_atoms_alike_than_are_looked_at_first() -> None:
    """A sparse mean of 600 equal atoms has all of them: the 512 looked at first do not end it."""
    n = _TOP + 88
    atoms = np.ones((n, 4), dtype=np.float32)
    ((base, weights),) = _focus(np.ones((1, 4), dtype=np.float32), atoms, np.arange(n))
    assert base.tolist() == list(range(n))
    assert np.allclose(weights, 1 / n)
    assert np.allclose(weights, sparsemax(np.ones(n)))
