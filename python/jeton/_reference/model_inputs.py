"""Rows of ids for a model: cut to a length, put into a template, filled up to one length.

A template is a list of parts. A part is ``"$A"`` (the first text), ``"$B"`` (the second) or an id,
each with a token type: ``[("$A", 0), (2, 0), ("$B", 1), (2, 1)]``. A text here is a list of ids.

Three steps, one function each:

``keep``
    How many ids of each text remain, by taking them away one by one.
``windows``
    What is kept of a text and what overflows, as lists that share ``stride`` ids.
``rows``
    The template with these lists in it: what has overflowed of one part meets every window of the
    next; then what is kept of the one meets what overflows in the next.

``pad`` makes the rows equally long.

Source: what Hugging Face ``tokenizers`` 0.23.3 does, written down anew.
"""

from __future__ import annotations

from collections.abc import Sequence

Row = list[tuple[int, int, bool]]
"""Ids, each with its token type and whether it is of the template."""


def keep(first: int, second: int, room: int, strategy: str) -> tuple[int, int]:
    """How many ids of two texts remain if there is room for so many in all.

    ``longest_first`` takes from the longer text. If two are equally long, it takes from the one
    that was shorter in the beginning, or from the first.

    Example:
        >>> (
        ...     keep(9, 9, 5, "longest_first"),
        ...     keep(9, 8, 5, "longest_first"),
        ...     keep(9, 1, 5, "only_first"),
        ... )
        ((2, 3), (3, 2), (4, 1))
        >>> keep(1, 9, 5, "only_first")
        Traceback (most recent call last):
        ...
        ValueError: nothing would be left of the text that is cut
    """
    a, b = first, second
    while a + b > room:
        if room == 0:
            return 0, 0
        if strategy == "longest_first":
            from_first = a > b or (a == b and first <= second)
        else:
            from_first = strategy == "only_first"
            if (a if from_first else b) <= 1:
                raise ValueError("nothing would be left of the text that is cut")
        if from_first:
            a -= 1
        else:
            b -= 1
    return a, b


def windows(ids: Sequence[int], size: int, stride: int, side: str) -> list[list[int]]:
    """Return the kept ids of a text, then the overflow in windows that share ``stride`` ids.

    Example:
        >>> windows([1, 2, 3, 4, 5], 3, 1, "right"), windows([1, 2, 3, 4, 5], 3, 0, "left")
        ([[1, 2, 3], [3, 4, 5]], [[3, 4, 5], [1, 2]])
        >>> windows([1, 2], 3, 1, "right"), windows([1, 2], 0, 0, "right")
        ([[1, 2]], [[]])
    """
    if side == "left":
        return [window[::-1] for window in windows(ids[::-1], size, stride, "right")]
    found = [list(ids[:size])]
    start = size - stride
    while size > stride and start + stride < len(ids):
        found.append(list(ids[start : start + size]))
        start += size - stride
    return found


def rows(
    template: Sequence[tuple[str | int, int]], texts: dict[str, list[list[int]]], *, overflow: bool
) -> list[Row]:
    """The template with the windows of the texts in it, the kept ones first.

    Example:
        >>> kept, other = rows([(7, 0), ("$A", 0)], {"$A": [[1, 2], [3]]}, overflow=True)
        >>> kept, other
        ([(7, 0, True), (1, 0, False), (2, 0, False)], [(7, 0, True), (3, 0, False)])
        >>> both = {"$A": [[1], [2]], "$B": [[3], [4]]}
        >>> joined = rows([("$A", 0), ("$B", 1)], both, overflow=True)
        >>> [[id for id, _, _ in row] for row in joined]
        [[1, 3], [2, 3], [2, 4], [1, 4]]
    """
    kept: Row = []
    overflowing: list[Row] = []
    for part, type_id in template:
        if isinstance(part, int):
            choices: list[Row] = [[(part, type_id, True)]]
        else:
            choices = [[(id, type_id, False) for id in window] for window in texts[part]]
        overflowing = [before + choice for before in overflowing for choice in choices] + [
            kept + choice for choice in choices[1:]
        ]
        kept = kept + choices[0]
    return [kept, *overflowing] if overflow else [kept]


def pad(
    given: Sequence[Row], length: int | None, multiple: int, side: str, filler: tuple[int, int]
) -> list[Row]:
    """Rows of one length: the longest's, or the one that is given, and a multiple.

    Example:
        >>> pad([[(1, 0, False)], []], None, 2, "left", (9, 3))
        [[(9, 3, True), (1, 0, False)], [(9, 3, True), (9, 3, True)]]
    """
    n_columns = max(map(len, given), default=0) if length is None else length
    n_columns += -n_columns % multiple
    filled = []
    for row in given:
        fill: Row = [(*filler, True)] * (n_columns - len(row))
        filled.append(fill + row if side == "left" else row + fill)
    return filled
