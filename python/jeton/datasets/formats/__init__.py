"""Formats of data sets: a subclass of `ShardFormat` in a module each, and its line here."""

from __future__ import annotations

from jeton.datasets.formats.base import ShardFormat, ShardIds, ShardLayout, ShardRecord
from jeton.datasets.formats.columns import ArrowFormat, ParquetFormat
from jeton.datasets.formats.datatrove import DatatroveFormat
from jeton.datasets.formats.litdata import LitDataFormat
from jeton.datasets.formats.mds import MdsFormat
from jeton.datasets.formats.megatron import MegatronFormat
from jeton.datasets.formats.nanochat import NanochatFormat
from jeton.datasets.formats.numpy_map import NumpyFormat

__all__ = ["FORMATS", "ShardFormat", "ShardIds", "ShardLayout", "ShardRecord"]

FORMATS: dict[str, ShardFormat] = {
    kind.name: kind
    for kind in (
        MegatronFormat(),
        NumpyFormat(),
        ParquetFormat(),
        ArrowFormat(),
        MdsFormat(),
        LitDataFormat(),
        DatatroveFormat(),
        NanochatFormat(),
    )
}
"""Formats by their names, in the order of messages."""
