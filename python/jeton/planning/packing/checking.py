"""Checks of what callers give: lengths and whole numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError

MAX_CAPACITY = 2**32 - 1
"""Greatest capacity: lengths within a bin have 32 bits in the core."""


def whole_number(value: Any, name: str, *, least: int, most: int | None = None) -> int:
    """Returns a whole number within bounds.

    Raises:
        UsageError: It is no whole number, or out of range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}; expected a whole number") from None
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
        raise UsageError(f"{name} is {number:,}; expected {bounds}")
    return number


def checked_lengths(lengths: ArrayLike, *, where: str = "lengths") -> NDArray[np.int64]:
    """Returns lengths as int64 (n_documents,).

    Raises:
        UsageError: They are no whole numbers from 0 on in one dimension.
    """
    try:
        given = np.asarray(lengths)
    except ValueError as error:
        raise UsageError(f"{where} are no array of numbers: {error}") from None
    if given.ndim != 1:
        hint = "\nhint: give the length of each document, not its ids" if given.ndim == 2 else ""
        raise UsageError(f"{where} have {given.ndim} dimensions; expected one{hint}")
    if not given.size:
        return np.zeros(0, dtype=np.int64)
    if given.dtype.kind not in "iu":
        raise UsageError(
            f"{where} are of type {given.dtype}; expected whole numbers\n"
            "hint: give the number of tokens of each document"
        )
    worst = int(given.argmin())
    if given[worst] < 0:
        raise UsageError(f"{where}: document {worst} has {int(given[worst])} tokens; expected >= 0")
    worst = int(given.argmax())
    if int(given[worst]) > 2**62:
        raise UsageError(
            f"{where}: document {worst} has {int(given[worst]):,} tokens; expected at most 2^62"
        )
    return given.astype(np.int64, copy=False)
