"""Documents of a shard, whatever somebody did to its files."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from jeton.datasets.formats.base import ShardFormat, ShardIds, ShardLayout, ShardRecord
from jeton.errors import FormatError

_OF_DAMAGE = (ValueError, IndexError, KeyError, OverflowError, TypeError, struct.error)
"""Errors of a reader whose file says what cannot be."""


def documents_of(
    kind: ShardFormat, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
) -> Iterator[ShardIds]:
    """Yield the documents of a shard, some at a time.

    Raises:
        FormatError: The files are not what they should be.
        OSError: One cannot be read.
    """
    name = shard.files[0].name
    path = str(layout.folder / name)
    try:
        for block in kind.read_shard(layout, shard, eos_id):
            offsets = block.offsets
            if offsets[0] != 0 or offsets[-1] != len(block.ids) or (np.diff(offsets) < 0).any():
                raise ValueError("its documents do not follow one another")
            yield block
    except _OF_DAMAGE as error:
        raise FormatError(
            f"{path}: damaged: {(str(error).splitlines() or ['unknown'])[0]}\n"
            "hint: make the data set again, or fetch its files again",
            path=path,
        ) from error
