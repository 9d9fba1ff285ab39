"""Numbers for the blocks that prompts are made of, so that equal beginnings have equal numbers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

from jeton.errors import LimitError

MAX_BLOCKS: Final = 20_000_000
"""Blocks of all prompts of a trace: 160 MB, and some GB while they are numbered."""


class BlockNumbers:
    """Numbers a block by itself and all that is before it, in the order in which blocks come up.

    Traces differ in what their ids stand for: Mooncake's for a block and what is before it,
    Qwen-Bailian's for the block alone. Numbered anew, two prompts have the same number at the same
    place if and only if their ids are the same up to there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._numbers: dict[tuple[int, int | str], int] = {}
        self._n = 0

    def of(self, ids: Sequence[int | str]) -> array[int]:
        """Number the blocks of a prompt.

        Raises:
            LimitError: The trace has more than `MAX_BLOCKS`.
        """
        self._n += len(ids)
        if self._n > MAX_BLOCKS:
            raise LimitError(
                f"{self._path}: more than {MAX_BLOCKS:,} blocks are too many for a trace",
                what="blocks",
                limit=MAX_BLOCKS,
            )
        numbers, before = self._numbers, -1
        found = array("q")
        for block in ids:
            before = numbers.setdefault((before, block), len(numbers))
            found.append(before)
        return found


def are_block_ids(value: Any) -> bool:
    """True if these can be the ids of blocks: a list of whole numbers or of texts."""
    return isinstance(value, list) and all(type(b) is int or type(b) is str for b in value)
