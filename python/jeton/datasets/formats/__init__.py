"""Formats of data sets, one module each, behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton.datasets.formats.base import ShardFormat, ShardIds, ShardLayout, ShardRecord

if TYPE_CHECKING:
    from jeton.datasets.options import DataFormat

__all__ = ["ShardFormat", "ShardIds", "ShardLayout", "ShardRecord", "shard_format"]


def shard_format(name: DataFormat) -> ShardFormat:
    """Return the format of a name."""
    from jeton.datasets.formats.columns import ArrowFormat, ParquetFormat
    from jeton.datasets.formats.datatrove import DatatroveFormat
    from jeton.datasets.formats.litdata import LitDataFormat
    from jeton.datasets.formats.mds import MdsFormat
    from jeton.datasets.formats.megatron import MegatronFormat
    from jeton.datasets.formats.nanochat import NanochatFormat
    from jeton.datasets.formats.numpy_map import NumpyFormat

    known: tuple[ShardFormat, ...] = (
        MegatronFormat(),
        NumpyFormat(),
        ParquetFormat(),
        ArrowFormat(),
        MdsFormat(),
        LitDataFormat(),
        DatatroveFormat(),
        NanochatFormat(),
    )
    return next(found for found in known if found.name == name)
